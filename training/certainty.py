"""Fit the certainty of the statement shown with an answer: python -m training.certainty --help. Needs no torch.

Takes questions held out of the reader's training, with and without their gold passage. Ranks the statements in their
passages (a statement is a sentence or the like), as `quorum.models.embedded.statements` does, and fits a logistic
regression: does the best statement hold the answer? Writes to reader.json the weights of the regression, and the
certainty below which an answer is shown with a warning. The reader's name in journals does not change, because no
answer depends on these numbers.
"""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.core.text import squad_contains_answer
from quorum.models.embedded import FOLDER
from quorum.models.embedded.batching import Job, read_jobs
from quorum.models.embedded.reading import Calibration
from quorum.models.embedded.statements import SIGNALS, measure_signals, rank_statements_blocking
from training.calibration_cases import HELD_OUT_DATA_HELP, Case, make_cases, read_wrong_passages
from training.evaluate import compute_auroc
from training.examples import read_examples
from training.logistic_regression import fit_logistic_regression

FOLDS = 5
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(10, 20))  # below 0.5 a statement is more likely wrong
LEAST_SHARE_WARNED = 0.75  # the least share of the questions without an answer that get a warning
LEAST_SHARE_RIGHT = 0.75  # the least share of the statements without a warning that hold the answer


@dataclass(frozen=True)
class MeasuredCase:
    """One case with its best statement. signals: the statement's values of SIGNALS, in that order; is_right: the
    statement holds a gold answer; is_answerable: the case has a gold answer; agrees: the statement holds the reader's
    own answer. A statement that does not agree gets a warning at every threshold.
    """

    question: str
    signals: list[float]
    is_right: bool
    is_answerable: bool
    agrees: bool


def measure_case(case: Case, calibration: Calibration) -> MeasuredCase | None:
    """Measure the best statement of a case; None if its passages have no statement."""
    ranked_statements = rank_statements_blocking(case.question, case.passages)
    if not ranked_statements:
        return None
    best = ranked_statements[0]
    statement = case.passages[best.passage]["text"][best.start : best.end]
    (result,) = read_jobs([Job(case.question, case.passages)], calibration=calibration)
    threshold = calibration.threshold_one_passage if len(case.passages) == 1 else calibration.threshold_several_passages
    is_known = bool(result.reading.spans) and result.reading.probability >= threshold
    agrees = is_known and squad_contains_answer(statement, [result.reading.spans[0].text])
    signals = measure_signals(ranked_statements, agrees)
    is_right = bool(case.answers) and squad_contains_answer(statement, case.answers)
    return MeasuredCase(case.question, [float(signals[name]) for name in SIGNALS], is_right, bool(case.answers), agrees)


def compute_certainties(weights: NDArray[np.float64], signals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The certainty of each of n cases, a probability. signals: (n, signals); weights: the signals', then the bias."""
    return np.asarray(1 / (1 + np.exp(-(signals @ weights[:-1] + weights[-1]))))


def cross_validate(
    signals: NDArray[np.float64], is_right: NDArray[np.float64], questions: Sequence[str], seed: int = 0
) -> NDArray[np.float64]:
    """(n,) certainties of n cases, each by weights that are fitted to the other folds. All cases of a question are in
    one fold. signals: (n, signals); is_right: 1 or 0 for each case; questions: the question of each case.
    """
    _, question_numbers = np.unique(questions, return_inverse=True)
    folds = np.random.default_rng(seed).permutation(question_numbers.max() + 1)[question_numbers] % FOLDS
    certainties = np.zeros(len(is_right))
    for fold in range(FOLDS):
        weights = fit_logistic_regression(signals[folds != fold], is_right[folds != fold])
        certainties[folds == fold] = compute_certainties(weights, signals[folds == fold])
    return certainties


def choose_warning_threshold(certainties: NDArray[np.float64], cases: Sequence[MeasuredCase]) -> float:
    """The lowest certainty without a warning: the lowest of THRESHOLDS at which at least LEAST_SHARE_WARNED of the
    questions without an answer get a warning, and at least LEAST_SHARE_RIGHT of the statements without a warning are
    right. If there is no such threshold, the highest of THRESHOLDS.
    """
    agrees = np.array([case.agrees for case in cases])
    is_unanswerable = np.array([not case.is_answerable for case in cases])
    is_right = np.array([case.is_right for case in cases])
    for threshold in THRESHOLDS:
        has_no_warning = agrees & (certainties >= threshold)
        share_warned = 1 - has_no_warning[is_unanswerable].mean()
        if share_warned >= LEAST_SHARE_WARNED and (
            not has_no_warning.any() or is_right[has_no_warning].mean() >= LEAST_SHARE_RIGHT
        ):
            return threshold
    return THRESHOLDS[-1]


def fit_certainty(cases: Sequence[MeasuredCase]) -> tuple[dict[str, Any], dict[str, float]]:
    """(the entry `certainty` of reader.json, figures from cross-validation)."""
    signals = np.array([case.signals for case in cases])
    is_right = np.array([float(case.is_right) for case in cases])
    certainties = cross_validate(signals, is_right, [case.question for case in cases])
    threshold = choose_warning_threshold(certainties, cases)
    has_no_warning = np.array([case.agrees for case in cases]) & (certainties >= threshold)
    is_unanswerable = np.array([not case.is_answerable for case in cases])
    weights = fit_logistic_regression(signals, is_right)
    fitted_weights = dict(zip([*SIGNALS, "bias"], (round(float(weight), 3) for weight in weights), strict=True))
    figures = {
        "cases": len(cases),
        "unanswerable": sum(not case.is_answerable for case in cases),
        "right": float(is_right.mean()),
        "auroc": compute_auroc(list(certainties[is_right == 1]), list(certainties[is_right == 0])),
        "lowest_sure": threshold,
        "unanswerable with a warning": float(1 - has_no_warning[is_unanswerable].mean()),
        "right without a warning": float(has_no_warning[is_right == 1].mean()),
        "right among those without a warning": float(is_right[has_no_warning].mean()) if has_no_warning.any() else 0.0,
    }
    return {"weights": fitted_weights, "lowest_sure": threshold}, figures


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.certainty", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help=HELD_OUT_DATA_HELP)
    parser.add_argument(
        "--negatives", type=Path, required=True, help="file of mined wrong passages, at least 5 for each question"
    )
    parser.add_argument(
        "--limit", type=int, default=600, help="at most this many cases, half of them over several passages"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--manifest", type=Path, default=FOLDER / "reader.json", help="the reader.json to write to")
    options = parser.parse_args(arguments)
    manifest = json.loads(options.manifest.read_text(encoding="utf-8"))
    rng = random.Random(options.seed)
    examples = [example for file in options.data for example in read_examples(file)]
    rng.shuffle(examples)
    one_passage_cases, several_passage_cases = make_cases(
        examples, read_wrong_passages(options.negatives), options.seed
    )
    rng.shuffle(one_passage_cases)
    rng.shuffle(several_passage_cases)
    half = options.limit // 2
    calibration = Calibration.from_manifest(manifest)
    cases = [
        case
        for case in (
            measure_case(case, calibration) for case in [*one_passage_cases[:half], *several_passage_cases[:half]]
        )
        if case
    ]
    manifest["certainty"], figures = fit_certainty(cases)
    options.manifest.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(manifest["certainty"] | figures, indent=2))


if __name__ == "__main__":
    main()
