"""Common rules that decide when to stop asking a method, on one table of right (1) and wrong (0) answers.

A table has one row for each question, in the order in which they are asked, and one column for each method. Each rule
returns {column number of a method: the number of questions after which the method is dropped}, without the methods that
are never dropped. No rule corrects its p-values or intervals for looking at the answers repeatedly.
"""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
QuestionsWhenDropped = dict[int, int]

QUESTIONS_BETWEEN_LOOKS = 5
WALD_Z = 1.645  # for a two-sided 90% interval
ALPHA = 0.05  # of McNemar's test
FIRST_MEDIAN_LOOK = 10  # questions; the median rule drops no method earlier


def drop_by_wald(table: Floats) -> QuestionsWhenDropped:
    """Every five questions: drop methods whose unpaired 90% Wald interval lies below the leader's."""
    means = compute_running_means(table)
    half_widths = WALD_Z * np.sqrt(means * (1 - means) / make_question_counts(table))

    def is_worse(asked_count: int, live: NDArray[np.int64], leader: int) -> NDArray[np.bool_]:
        row = asked_count - 1
        worse: NDArray[np.bool_] = (
            means[row, live] + half_widths[row, live] < means[row, leader] - half_widths[row, leader]
        )
        return worse

    return drop_at_looks(table, is_worse, QUESTIONS_BETWEEN_LOOKS)


def drop_by_mcnemar(table: Floats) -> QuestionsWhenDropped:
    """After every question: drop methods that McNemar's exact test at 5% finds worse than the leader."""
    right = table > 0.5
    p_values = make_mcnemar_table(len(table))

    def is_worse(asked_count: int, live: NDArray[np.int64], leader: int) -> NDArray[np.bool_]:
        leader_right, live_right = right[:asked_count, [leader]], right[:asked_count][:, live]
        wins, losses = (leader_right & ~live_right).sum(axis=0), (~leader_right & live_right).sum(axis=0)
        worse: NDArray[np.bool_] = (wins > losses) & (p_values[wins + losses, losses] < ALPHA)
        return worse

    return drop_at_looks(table, is_worse, 1)


def drop_by_posterior(table: Floats) -> QuestionsWhenDropped:
    """Every five questions: drop methods that are worse than the leader with a posterior probability above 0.95.

    The priors are uniform and the methods independent. Normal distributions approximate the Beta posteriors.
    """
    n = make_question_counts(table)
    means = (np.cumsum(table, axis=0) + 1) / (n + 2)
    variance = means * (1 - means) / (n + 3)
    z = 1.6448536269514722  # the 95% quantile

    def is_worse(asked_count: int, live: NDArray[np.int64], leader: int) -> NDArray[np.bool_]:
        row = asked_count - 1
        gap = means[row, leader] - means[row, live]
        worse: NDArray[np.bool_] = gap > z * np.sqrt(variance[row, leader] + variance[row, live])
        return worse

    return drop_at_looks(table, is_worse, QUESTIONS_BETWEEN_LOOKS)


def drop_by_median(table: Floats) -> QuestionsWhenDropped:
    """Every five questions, from ten on: drop methods whose mean lies below the median of the means of all methods that
    are still asked.
    """
    means = compute_running_means(table)

    def is_worse(asked_count: int, live: NDArray[np.int64], leader: int) -> NDArray[np.bool_]:
        live_means = means[asked_count - 1, live]
        worse: NDArray[np.bool_] = (live_means < np.median(live_means)) & (asked_count >= FIRST_MEDIAN_LOOK)
        return worse

    return drop_at_looks(table, is_worse, QUESTIONS_BETWEEN_LOOKS)


RULES: Mapping[str, Callable[[Floats], QuestionsWhenDropped]] = {
    "Wald interval, every 5": drop_by_wald,
    "McNemar .05, every 1": drop_by_mcnemar,
    "median rule, every 5": drop_by_median,
    "posterior > .95, every 5": drop_by_posterior,
}


def drop_at_looks(
    table: Floats, is_worse: Callable[[int, NDArray[np.int64], int], NDArray[np.bool_]], interval: int
) -> QuestionsWhenDropped:
    """After every `interval` questions, drop the methods for which `is_worse` is true, except the leader. The leader is
    the method with the most right answers among those still asked.

    is_worse(how many questions were asked, the methods still asked, the leader) returns a flag for each method that is
    still asked.
    """
    totals, live, questions_when_dropped = np.cumsum(table, axis=0), np.arange(table.shape[1]), QuestionsWhenDropped()
    for asked_count in range(interval, len(table) + 1, interval):
        leader = int(live[totals[asked_count - 1, live].argmax()])
        worse = is_worse(asked_count, live, leader) & (live != leader)
        if worse.any():
            questions_when_dropped.update(dict.fromkeys(live[worse].tolist(), asked_count))
            live = live[~worse]
            if len(live) == 1:
                break
    return questions_when_dropped


def make_question_counts(table: Floats) -> Floats:
    """How many questions have been asked after each row of the table: 1, 2, ..., as a column."""
    return np.arange(1.0, len(table) + 1)[:, None]


def compute_running_means(table: Floats) -> Floats:
    """[row, method]: the share of right answers of the method up to this row."""
    means: Floats = np.cumsum(table, axis=0) / make_question_counts(table)
    return means


@cache
def make_mcnemar_table(max_answers: int) -> Floats:
    """[n, k]: the two-sided p-value if k of n discordant answers favour one method, k <= n / 2."""
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, max_answers + 1)))])
    n, k = np.meshgrid(np.arange(max_answers + 1), np.arange(max_answers + 1), indexing="ij")
    probabilities = np.where(
        k <= n,
        np.exp(log_factorials[n] - log_factorials[k] - log_factorials[np.maximum(n - k, 0)] - n * np.log(2)),
        0.0,
    )
    p_values: Floats = np.minimum(1.0, 2 * np.cumsum(probabilities, axis=1))
    return p_values
