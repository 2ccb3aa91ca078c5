"""Finds a confidence threshold from recorded results, with a guarantee: above it, few answers are wrong."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quorum.algorithms.abstention import Threshold, count_fewest_answers, find_threshold
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.decisions.recorded_results import RecordedResults, check_method
from quorum.evaluation.run.result_files import write_json

# A run with other values of these settings may still use the calibration file.
CHANGEABLE_SETTINGS = {"answer_type", "calibration"}


@dataclass(frozen=True)
class CalibratedMethod:
    """A threshold of one method, or why there is none.

    method: its name in the results. threshold: None if no promise is possible. questions_needed: without a threshold,
    roughly how many questions would be enough; None if more would not help. answer_count: how many answers have a
    confidence and a score and are not "unknown".
    """

    method: str
    threshold: Threshold | None
    questions_needed: int | None
    answer_count: int


def calibrate_methods(
    results: RecordedResults, wrong_at_most: float, error: float, method: str | None = None
) -> list[CalibratedMethod]:
    """The thresholds of the named method, or of every method that states a confidence.

    The method that answers the most questions comes first.

    error: the probability that a promise fails, divided equally among the methods. Raises `SetupError` if
    the measure is not right-or-wrong, or no method states a confidence.
    """
    if not results.is_right_or_wrong:
        raise SetupError(
            f"A share of wrong answers needs a measure that says right or wrong, and {results.measure} does not; name "
            "another with --measure, or compare with a --judge."
        )
    names = [check_method(results, method)] if method else list(results.methods)
    with_confidence = [name for name in names if np.isfinite(results.get_numbers(name, "confidence")).any()]
    if not with_confidence:
        subject = method or "any method here"
        raise SetupError(
            f"The results hold no confidence of {subject}; calibrate a method that votes, samples or ranks "
            "(post_fusion, sure, concat with samples=5)."
        )
    if len(results.ids) < count_fewest_answers(wrong_at_most, error / len(with_confidence)):
        raise make_too_few_error(results, wrong_at_most, error / len(with_confidence))
    calibrated_methods = [
        calibrate_method(results, name, wrong_at_most, error / len(with_confidence)) for name in with_confidence
    ]
    return sorted(calibrated_methods, key=lambda method: -(method.threshold.answered if method.threshold else 0))


def make_too_few_error(results: RecordedResults, wrong_at_most: float, error: float) -> SetupError:
    fewest_answers, questions = count_fewest_answers(wrong_at_most, error), format_count(len(results.ids), "question")
    return SetupError(
        f"{questions} are too few for {100 * wrong_at_most:g}% wrong at most: that takes {fewest_answers} answers even "
        "if none is wrong; ask more questions, or promise less with --wrong-at-most."
    )


def calibrate_method(results: RecordedResults, method: str, wrong_at_most: float, error: float) -> CalibratedMethod:
    """The threshold of one method. Unknown answers, failed answers and answers without a confidence count as
    abstentions.
    """
    confidence, score = results.get_numbers(method, "confidence"), results.get_numbers(method, results.measure)
    is_answered = np.isfinite(confidence) & np.isfinite(score) & (results.get_numbers(method, "unknown") != 1)
    question_count = int(results.find_asked_questions(method).sum())
    threshold = find_threshold(confidence[is_answered], score[is_answered] < 1, question_count, wrong_at_most, error)
    if isinstance(threshold, Threshold):
        return CalibratedMethod(method, threshold, None, int(is_answered.sum()))
    return CalibratedMethod(method, None, threshold.questions_needed, int(is_answered.sum()))


def make_calibration_file(
    results: RecordedResults, calibrated_method: CalibratedMethod, wrong_at_most: float, error: float
) -> dict[str, Any]:
    """The content of the calibration file: the promise, its evidence, and for which method and settings it holds."""
    if calibrated_method.threshold is None:
        raise SetupError(describe_no_threshold(calibrated_method, wrong_at_most, len(results.ids)))
    threshold = calibrated_method.threshold
    settings = {
        name: value
        for name, value in results.get_settings(calibrated_method.method).items()
        if name not in CHANGEABLE_SETTINGS
    }
    return {
        "kind": "quorum calibration",
        "method": settings.pop("method", calibrated_method.method),
        "lowest_confidence": threshold.value,
        "wrong_at_most": wrong_at_most,
        "confidence_level": round(1 - error, 12),
        "answered": threshold.answered,
        "wrong": threshold.wrong,
        "questions": threshold.questions,
        "measure": results.measure,
        "data": dict(results.data_and_source),
        "settings": settings,
    }


def write_calibration(path: Path, content: dict[str, Any]) -> None:
    """Write the file, whole or not at all. Raises `SetupError` if it cannot be written."""
    if not path.parent.is_dir():
        raise SetupError(f"{path} cannot be written: there is no folder {path.parent}; give another with --out.")
    write_json(path, content)


def describe_promise(calibrated_method: CalibratedMethod, wrong_at_most: float, confidence: float) -> str:
    """'post_fusion: answer where the confidence is 0.6 or more. ... At most 5% of the answers are wrong ...'."""
    threshold = calibrated_method.threshold
    if threshold is None:
        raise ValueError("no threshold")
    return (
        f"{calibrated_method.method}: answer where the confidence is {threshold.value:g} or more. That was "
        f"{threshold.answered} of {threshold.questions} questions ({threshold.answered / threshold.questions:.0%}), "
        f"{threshold.wrong} of them wrong. On questions like these, at most {100 * wrong_at_most:g}% of the answers "
        f"are wrong, with confidence {confidence:g}."
    )


def describe_no_threshold(calibrated_method: CalibratedMethod, wrong_at_most: float, questions: int) -> str:
    """Explain why no threshold can be promised, and what would help."""
    share = f"{100 * wrong_at_most:g}% wrong at most"
    if calibrated_method.questions_needed is None:
        return (
            f"{calibrated_method.method} cannot promise {share}: even its surest answers are wrong more often, and "
            "more questions would not help; promise less with --wrong-at-most, or take another method."
        )
    return (
        f"{calibrated_method.method} cannot promise {share} from {format_count(questions, 'question')}; about "
        f"{calibrated_method.questions_needed:,} would be enough, or promise less with --wrong-at-most."
    )
