"""Checks intervals, gates, calibrations and scores on questions drawn from recorded answers.

A `RecordedSet` holds the recorded answers of all methods to all questions of a set (see
`benchmarks.decisions_recorded`). What was computed from the drawn questions is compared with the true value, which is
computed from the full set.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.decisions_former import compute_bootstrap_interval
from benchmarks.decisions_recorded import RecordedSet
from benchmarks.decisions_replay import QUESTIONS_PER_DRAW
from quorum.algorithms.abstention import Threshold, find_threshold
from quorum.algorithms.betting import compute_interval
from quorum.algorithms.cross_fit import compute_cross_fitted_score
from quorum.algorithms.paired import compute_margin_p_value, compute_paired_interval, compute_superiority_p_value

GATE_MARGIN = 0.03  # a gate passes a change only if its loss is significantly below this
GATE_AND_CALIBRATION_ERROR = 0.05  # the highest accepted probability that a gate or a calibration is wrong
ROUNDING_SLACK = 1e-9


def measure_coverage(recorded_set: RecordedSet, draws: int, questions: int, seed: int = 3) -> dict[str, float]:
    """For each kind of 95% interval: the share of the intervals that contain the true difference of two random methods.

    Each interval is computed from `questions` drawn questions.
    """
    table, rng = recorded_set.right_by_question, np.random.default_rng(seed)
    is_covered: dict[str, list[bool]] = {
        "Tango": [],
        "betting, anytime": [],
        "percentile bootstrap": [],
    }
    for _ in range(draws):
        method, other_method = rng.choice(table.shape[1], size=2, replace=False)
        all_differences = table[:, method] - table[:, other_method]
        drawn_differences = all_differences[rng.integers(len(all_differences), size=questions)]
        intervals = (
            compute_paired_interval(drawn_differences),
            compute_interval(drawn_differences),
            compute_bootstrap_interval(drawn_differences, resamples=2000)[1:],
        )
        for name, (low, high) in zip(is_covered, intervals, strict=True):
            is_covered[name].append(bool(low - ROUNDING_SLACK <= all_differences.mean() <= high + ROUNDING_SLACK))
    return {name: float(np.mean(hits)) for name, hits in is_covered.items()}


def judge_gates(recorded_set: RecordedSet, draws: int, seed: int = 4) -> Mapping[str, float]:
    """How often a gate gives each verdict on QUESTIONS_PER_DRAW drawn questions, as shares. Of two random methods, one
    is the baseline and the other the change that the gate judges. A verdict is wrong if it passes a change whose true
    loss is GATE_MARGIN or more, or fails one that truly loses nothing.
    """
    table, rng = recorded_set.right_by_question, np.random.default_rng(seed)
    verdicts = {"pass": 0, "fail": 0, "cannot tell": 0, "wrong": 0}
    for _ in range(draws):
        baseline, change = rng.choice(table.shape[1], size=2, replace=False)
        all_losses = table[:, baseline] - table[:, change]
        drawn_losses = all_losses[rng.integers(len(all_losses), size=QUESTIONS_PER_DRAW)]
        loss = float(all_losses.mean())
        if compute_margin_p_value(drawn_losses, GATE_MARGIN) <= GATE_AND_CALIBRATION_ERROR:
            verdicts["pass"] += 1
            verdicts["wrong"] += loss >= GATE_MARGIN
        elif compute_superiority_p_value(drawn_losses) <= GATE_AND_CALIBRATION_ERROR:
            verdicts["fail"] += 1
            verdicts["wrong"] += loss <= 0
        else:
            verdicts["cannot tell"] += 1
    return {name: count / draws for name, count in verdicts.items()}


def judge_calibrations(
    recorded_set: RecordedSet, draws: int, limits: Sequence[float], seed: int = 6
) -> dict[float, dict[str, float]]:
    """Calibrate a random method on QUESTIONS_PER_DRAW drawn questions, `draws` times for each promised share of wrong
    answers. Returns for each of these shares: how often a threshold was found ("given"); how often the promise was kept
    in the full set, where a draw without a threshold counts as kept, because it promises nothing ("promise_kept");
    and the mean share of questions that are answered, over the draws with a threshold ("answered").

    limits: the promised shares.
    """
    rng, judgements = np.random.default_rng(seed), {}
    arrays = {name: recorded_set.arrays[name].astype(np.float64) for name in ("right", "unknown", "confidence")}
    methods_with_confidence = np.flatnonzero(np.isfinite(arrays["confidence"]).any(axis=1))
    for limit in limits:
        promises: list[tuple[bool, float]] = []  # for each threshold: whether its promise holds, share answered
        for _ in range(draws):
            method = rng.choice(methods_with_confidence)
            right, unknown, confidence = (table[method] for table in arrays.values())
            drawn_questions = rng.integers(len(right), size=QUESTIONS_PER_DRAW)
            is_known = (unknown == 0) & np.isfinite(confidence)
            drawn_and_known = drawn_questions[is_known[drawn_questions]]
            threshold = find_threshold(
                confidence[drawn_and_known],
                right[drawn_and_known] == 0,
                QUESTIONS_PER_DRAW,
                limit,
                GATE_AND_CALIBRATION_ERROR,
            )
            if isinstance(threshold, Threshold):
                is_answered = is_known & (confidence >= threshold.value - ROUNDING_SLACK)
                promises.append((bool((right[is_answered] == 0).mean() <= limit), float(is_answered.mean())))
        is_kept, answered_share = np.array(promises).T if promises else np.array([[1.0], [0.0]])
        judgements[limit] = {
            "given": len(promises) / draws,
            "promise_kept": 1 - float((is_kept == 0).sum()) / draws,
            "answered": float(answered_share.mean()),
        }
    return judgements


def judge_scores(recorded_set: RecordedSet, draws: int, questions: int, seed: int = 5) -> dict[str, float]:
    """By how many percentage points, on average, each of two estimates of the winner's score is too high.

    The winner is the method that is best on the drawn questions; its true score is its score in the full set. The
    estimates are its score on the drawn questions, and the cross-fitted score of the drawn questions.
    """
    table, rng = recorded_set.right_by_question, np.random.default_rng(seed)
    true_scores, own_excesses, cross_fitted_excesses = table.mean(axis=0), [], []
    for _ in range(draws):
        drawn = table[rng.integers(len(table), size=questions)]
        best = int(drawn.mean(axis=0).argmax())
        own_excesses.append(float(drawn[:, best].mean() - true_scores[best]))
        cross_fitted_excesses.append(compute_cross_fitted_score(drawn) - float(true_scores[best]))
    return {
        "winner's own score": 100 * float(np.mean(own_excesses)),
        "cross-fitted": 100 * float(np.mean(cross_fitted_excesses)),
    }
