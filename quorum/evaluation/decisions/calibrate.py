"""Finds a confidence threshold from recorded results, with a promise: few answers that reach the threshold are wrong.

The promise holds with a given probability (see `quorum.algorithms.abstention`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from quorum.algorithms.abstention import Threshold, count_fewest_answers, find_threshold
from quorum.algorithms.best_set import ROUNDING_ERROR, Floats
from quorum.algorithms.recommend import choose_method
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.decisions.choose import choose_recorded_method, measure_tokens
from quorum.evaluation.decisions.recorded_results import RecordedResults, check_method
from quorum.evaluation.run.result_files import write_json

# A calibration file may be used even if these settings have changed since the recorded run.
CHANGEABLE_SETTINGS = {"answer_type", "calibration"}


@dataclass(frozen=True)
class CalibratedMethod:
    """A threshold of one method, or why there is none.

    method: its name in the results. threshold: None if no promise is possible. questions_needed: without a threshold,
    roughly how many questions would be enough; None if more would not help. answer_count: how many answers have a
    confidence and a score and are not "unknown". recommended: if this method is not among the best of the results, the
    one that is recommended there (see `quorum.algorithms.recommend`); else None.
    """

    method: str
    threshold: Threshold | None
    questions_needed: int | None
    answer_count: int
    recommended: str | None = None


def calibrate_methods(
    results: RecordedResults, wrong_at_most: float, error: float, method: str | None = None
) -> list[CalibratedMethod]:
    """Calibrate the given method or, if `method` is None, every method that states a confidence.

    The recommended method comes first, then those that answer the most questions at their thresholds; methods without a
    threshold come last. Recommended is, of the methods with a threshold that may be the best of all methods, or else of
    all with a threshold, the one that the rule of `quorum.algorithms.recommend` chooses by the right answers that are
    not withheld.

    wrong_at_most: the largest share of wrong answers that is promised. error: the largest allowed probability that any
    of the promises is not kept; each method gets an equal part of it. Raises `SetupError` if the measure has more
    values than right and wrong, if no method states a confidence, or if the questions are too few for any promise.
    """
    if not results.is_right_or_wrong:
        raise SetupError(
            f"A share of wrong answers needs a measure that says right or wrong, and {results.measure} does not; name "
            "another with --measure, or run quorum compare again with --judge."
        )
    names = [check_method(results, method)] if method else list(results.methods)
    methods_with_confidence = [name for name in names if np.isfinite(results.get_numbers(name, "confidence")).any()]
    if not methods_with_confidence:
        subject = method or "any method here"
        raise SetupError(
            f"The results hold no confidence of {subject}; calibrate a method that votes, samples or ranks "
            "(post_fusion, sure, concat with samples=5)."
        )
    error_per_method = error / len(methods_with_confidence)
    if len(results.ids) < count_fewest_answers(wrong_at_most, error_per_method):
        raise make_too_few_error(results, wrong_at_most, error, len(methods_with_confidence))
    calibrated_methods = [
        calibrate_method(results, name, wrong_at_most, error_per_method) for name in methods_with_confidence
    ]
    calibrated_methods.sort(key=lambda result: -(result.threshold.answered if result.threshold else 0))
    return put_recommended_first(results, mark_methods_behind(results, calibrated_methods))


def mark_methods_behind(
    results: RecordedResults, calibrated_methods: Sequence[CalibratedMethod]
) -> list[CalibratedMethod]:
    """The methods, each of those that are not among the best of the results with the recommended method's name."""
    choice = choose_recorded_method(results)
    if choice is None:
        return list(calibrated_methods)
    return [
        replace(item, recommended=choice.recommended) if item.method in choice.not_among_best else item
        for item in calibrated_methods
    ]


def put_recommended_first(
    results: RecordedResults, calibrated_methods: Sequence[CalibratedMethod]
) -> list[CalibratedMethod]:
    """The methods in their order, but the recommended one first (see `calibrate_methods`)."""
    candidates = [
        item for item in calibrated_methods if item.threshold is not None and item.method in results.complete_methods
    ]
    preferred = [item for item in candidates if item.recommended is None] or candidates
    if not preferred:
        return list(calibrated_methods)
    tokens = measure_tokens(results)
    right = np.column_stack([find_right_answers(results, item) for item in preferred])
    names = [item.method for item in preferred]
    choice = choose_method(names, right, [tokens[name] for name in names], results.group_numbers, graded=False)
    return sorted(calibrated_methods, key=lambda item: item.method != choice.recommended)


def find_right_answers(results: RecordedResults, calibrated_method: CalibratedMethod) -> Floats:
    """For each question, 1 if the method's answer is right and reaches the threshold, else 0."""
    if calibrated_method.threshold is None:
        return np.zeros(len(results.ids))
    confidence = results.get_numbers(calibrated_method.method, "confidence")
    score = results.get_numbers(calibrated_method.method, results.measure)
    is_known = results.get_numbers(calibrated_method.method, "unknown") != 1
    is_given = np.isfinite(confidence) & is_known & (confidence >= calibrated_method.threshold.value - ROUNDING_ERROR)
    return np.where(is_given & (score == 1), 1.0, 0.0)


def make_too_few_error(results: RecordedResults, wrong_at_most: float, error: float, method_count: int) -> SetupError:
    """The exception that says that the results have too few questions for the promise.

    error: the largest allowed probability that a promise is not kept, which the methods share.
    """
    questions = format_count(len(results.ids), "question")
    needed = count_fewest_answers(wrong_at_most, error / method_count)
    if method_count > 1:
        one = count_fewest_answers(wrong_at_most, error)
        needed_text = f"{needed} answers for each of {method_count} methods at once ({one} for one method, by --method)"
    else:
        needed_text = f"{needed} answers"
    return SetupError(
        f"{questions} are too few for {100 * wrong_at_most:g}% wrong at most: that takes {needed_text} even if none is "
        "wrong; ask more questions, or promise less with a higher --wrong-at-most."
    )


def calibrate_method(results: RecordedResults, method: str, wrong_at_most: float, error: float) -> CalibratedMethod:
    """Find the threshold of one method. Unknown answers, failed answers and answers without a confidence count as
    abstentions.
    """
    confidence, score = results.get_numbers(method, "confidence"), results.get_numbers(method, results.measure)
    is_answered = np.isfinite(confidence) & np.isfinite(score) & (results.get_numbers(method, "unknown") != 1)
    question_count = int(results.find_asked_questions(method).sum())
    threshold = find_threshold(confidence[is_answered], score[is_answered] < 1, question_count, wrong_at_most, error)
    if isinstance(threshold, Threshold):
        return CalibratedMethod(method, threshold, None, int(is_answered.sum()))
    return CalibratedMethod(method, None, threshold.questions_needed, int(is_answered.sum()))


def make_calibration_content(
    results: RecordedResults, calibrated_method: CalibratedMethod, wrong_at_most: float, error: float
) -> dict[str, Any]:
    """The content of the calibration file: the promise, the counts that support it, and the method and settings for
    which it holds. Raises `SetupError` if the method has no threshold.
    """
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
        "recommended_instead": calibrated_method.recommended,
        "measure": results.measure,
        "answer_measure": results.answer_measure,
        "data": dict(results.data_and_source),
        "settings": settings,
    }


def write_calibration(path: Path, content: dict[str, Any]) -> None:
    """Write the file, whole or not at all. Raises `SetupError` if it cannot be written."""
    if not path.parent.is_dir():
        raise SetupError(f"{path} cannot be written: there is no folder {path.parent}; give another file with --out.")
    write_json(path, content)


def describe_promise(calibrated_method: CalibratedMethod, wrong_at_most: float, confidence_level: float) -> str:
    """'post_fusion: answer where the confidence is 0.6 or more. ... At most 5% of the answers are wrong ...'."""
    threshold = calibrated_method.threshold
    if threshold is None:
        raise ValueError(f"{calibrated_method.method} has no threshold to describe")
    return (
        f"{calibrated_method.method}: answer where the confidence is {threshold.value:g} or more. That was "
        f"{threshold.answered} of {threshold.questions} questions ({threshold.answered / threshold.questions:.0%}), "
        f"{threshold.wrong} of them wrong. On questions like these, at most {100 * wrong_at_most:g}% of the answers "
        f"are wrong, with confidence {confidence_level:g}.{describe_behind(calibrated_method)}"
    )


def describe_behind(calibrated_method: CalibratedMethod) -> str:
    """What to add if the method is not among the best of the results."""
    if calibrated_method.recommended is None:
        return ""
    return (
        f" Not among the best of these methods (p < .05, corrected): {calibrated_method.method}; recommended is "
        f"{calibrated_method.recommended}."
    )


def describe_no_threshold(calibrated_method: CalibratedMethod, wrong_at_most: float, question_count: int) -> str:
    """Explain why the method has no threshold, and what would help."""
    share = f"{100 * wrong_at_most:g}% wrong at most"
    if calibrated_method.answer_count == 0:
        return (
            f"{calibrated_method.method} cannot promise {share}: all its answers are unknown, failed or without a "
            "confidence; calibrate another method."
        )
    if calibrated_method.questions_needed is None:
        return (
            f"{calibrated_method.method} cannot promise {share}: even its surest answers are wrong more often, and "
            "more questions would not help; promise less with a higher --wrong-at-most, or take another method."
        )
    return (
        f"{calibrated_method.method} cannot promise {share} from {format_count(question_count, 'question')}; about "
        f"{calibrated_method.questions_needed:,} would be enough, or promise less with a higher --wrong-at-most."
    )
