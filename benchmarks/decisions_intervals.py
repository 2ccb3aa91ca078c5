"""Checks intervals, gates, calibrations and scores on draws from recorded answers; the full matrix is the truth."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.decisions_recorded import Matrix
from benchmarks.decisions_replay import QUESTIONS_PER_DRAW
from quorum.algorithms.abstention import Threshold, find_threshold
from quorum.algorithms.betting import compute_interval
from quorum.algorithms.cross_fit import compute_cross_fitted_score
from quorum.algorithms.paired import compute_margin_p_value, compute_paired_interval, compute_superiority_p_value
from quorum.evaluation.metrics.statistics import compute_bootstrap_interval

GATE_MARGIN, ERROR = 0.03, 0.05
ROUNDING_SLACK = 1e-9


def measure_coverage(matrix: Matrix, draws: int, questions: int, seed: int = 3) -> dict[str, float]:
    """The share of 95% intervals of two random methods' difference that contain the difference in the full matrix."""
    table, rng = matrix.right, np.random.default_rng(seed)
    is_covered: dict[str, list[bool]] = {
        "Tango (ours for fewer than 100 questions)": [],
        "betting, anytime": [],
        "percentile bootstrap": [],
    }
    for _ in range(draws):
        first, second = rng.choice(table.shape[1], size=2, replace=False)
        all_differences = table[:, first] - table[:, second]
        drawn_differences = all_differences[rng.integers(len(all_differences), size=questions)]
        intervals = (
            compute_paired_interval(drawn_differences),
            compute_interval(drawn_differences),
            compute_bootstrap_interval(drawn_differences, resamples=2000)[1:],
        )
        for name, (low, high) in zip(is_covered, intervals, strict=True):
            is_covered[name].append(bool(low - ROUNDING_SLACK <= all_differences.mean() <= high + ROUNDING_SLACK))
    return {name: float(np.mean(hits)) for name, hits in is_covered.items()}


def judge_gates(matrix: Matrix, draws: int, seed: int = 4) -> Mapping[str, float]:
    """How often a gate gives each verdict on QUESTIONS_PER_DRAW drawn questions, as shares. Of two random methods, one
    is the baseline and the other the change that the gate judges. A verdict is wrong if it passes a change whose true
    loss is GATE_MARGIN or more, or fails one that truly loses nothing.
    """
    table, rng = matrix.right, np.random.default_rng(seed)
    verdicts = {"pass": 0, "fail": 0, "cannot tell": 0, "wrong": 0}
    for _ in range(draws):
        baseline, change = rng.choice(table.shape[1], size=2, replace=False)
        all_losses = table[:, baseline] - table[:, change]
        drawn_losses = all_losses[rng.integers(len(all_losses), size=QUESTIONS_PER_DRAW)]
        loss = float(all_losses.mean())
        if compute_margin_p_value(drawn_losses, GATE_MARGIN) <= ERROR:
            verdicts["pass"] += 1
            verdicts["wrong"] += loss >= GATE_MARGIN
        elif compute_superiority_p_value(drawn_losses) <= ERROR:
            verdicts["fail"] += 1
            verdicts["wrong"] += loss <= 0
        else:
            verdicts["cannot tell"] += 1
    return {name: count / draws for name, count in verdicts.items()}


def judge_calibrations(
    matrix: Matrix, draws: int, limits: Sequence[float], seed: int = 6
) -> dict[float, dict[str, float]]:
    """Calibrate a random method on QUESTIONS_PER_DRAW drawn questions, `draws` times for each promised share of wrong
    answers. Returns how often a threshold is found, how often no promise is broken in the full matrix (without a
    threshold nothing is promised), and the mean share of questions that are answered with a threshold.
    """
    rng, judgements = np.random.default_rng(seed), {}
    arrays = {name: matrix.arrays[name].astype(np.float64) for name in ("right", "unknown", "confidence")}
    methods_with_confidence = np.flatnonzero(np.isfinite(arrays["confidence"]).any(axis=1))
    for limit in limits:
        promises: list[tuple[bool, float]] = []  # for each threshold: whether its promise holds, share answered
        for _ in range(draws):
            method = rng.choice(methods_with_confidence)
            right, unknown, confidence = (table[method] for table in arrays.values())
            drawn = rng.integers(len(right), size=QUESTIONS_PER_DRAW)
            is_known = (unknown == 0) & np.isfinite(confidence)
            known_draws = drawn[is_known[drawn]]
            threshold = find_threshold(
                confidence[known_draws], right[known_draws] == 0, QUESTIONS_PER_DRAW, limit, ERROR
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


def judge_scores(matrix: Matrix, draws: int, questions: int, seed: int = 5) -> dict[str, float]:
    """How many points the winner's own score and its cross-fitted score are above its score in the full matrix."""
    table, rng = matrix.right, np.random.default_rng(seed)
    truth, own_scores, cross_fitted_scores = table.mean(axis=0), [], []
    for _ in range(draws):
        drawn = table[rng.integers(len(table), size=questions)]
        best = int(drawn.mean(axis=0).argmax())
        own_scores.append(float(drawn[:, best].mean() - truth[best]))
        cross_fitted_scores.append(compute_cross_fitted_score(drawn) - float(truth[best]))
    return {
        "winner's own score": 100 * float(np.mean(own_scores)),
        "cross-fitted": 100 * float(np.mean(cross_fitted_scores)),
    }
