"""Is a promise still kept? Bets that a break of the promise makes rich, checked after every answer.

Every answer breaks the promise by z in [0, 1], and the promise is that the mean of z is at most a limit m. Only some
answers are sampled and labelled: in stratum h an answer is sampled with probability q_h, and its z - m counts q_0 / q_h
times, so that the mean of the sampled terms u = (q_0 / q_h) (z - m) has the sign of the mean over all answers.

A gambler bets on "the mean is above m" with constant stakes, and begins anew at the start of each block with a part of
the capital kept for it. If in truth the mean since the start of every block keeps to m, no bet is favourable, so the
probability that the capital *ever* reaches 1/d is at most d (Ville 1939). With several promises watched at once, k/d in
place of 1/d keeps the probability of any false alarm below d. Because a bet that begins at the start of a block need
not win back what was lost in the good times before it, a model that worsens after months is noticed as soon as one that
worsens in its first week.

Source: Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting (arXiv:2010.09686),
section 4; restarts with summable weights: Shin, Ramdas and Rinaldo 2024, E-detectors (arXiv:2203.03532), section 2.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

ALARM_STAKES = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6])
CONFIRMING_STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.8])
BISECTION_STEPS = 40
LARGEST = 1e290  # a capital stays below it, so that no product overflows
LARGEST_LOG = math.log(LARGEST)
MOST_OFTEN, LEAST_SHARE = 8.0, 0.01


def compute_alarm_capital(z: ArrayLike, limit: float, starts: ArrayLike, weights: ArrayLike = 1.0) -> Floats:
    """The capital after each sampled answer, from bets on "the mean of z is above `limit`". It begins at 1.

    z: (..., n), in the order in which the answers were asked, each in [0, 1]; 0 for an answer without a label yet, so a
    late or lost label cannot raise an alarm. limit: m, in (0, 1). starts: (n,), true where a block begins; the first
    answer always begins one. weights: q_0 / q_h of each answer, in (0, 1], as it was when the answer was sampled.

    Returns an array like z.

    >>> capital = compute_alarm_capital([1, 1, 1, 0], limit=0.05, starts=[True, False, False, False])
    >>> [round(float(value), 2) for value in capital]
    [2.63, 16.66, 164.09, 75.21]
    """
    values = np.asarray(z, dtype=np.float64)
    gains = np.broadcast_to(np.asarray(weights, dtype=np.float64), values.shape) * (values - limit) / limit
    begins = np.asarray(starts, dtype=bool)
    bets = np.zeros((*values.shape[:-1], ALARM_STAKES.size))
    capital = np.empty_like(values)
    block = -1
    for i in range(values.shape[-1]):
        if begins[i] or i == 0:
            block += 1
            bets += 1 / ((block + 1) * (block + 2))
        bets *= 1 + gains[..., i, None] * ALARM_STAKES
        np.minimum(bets, LARGEST, out=bets)
        capital[..., i] = bets.mean(axis=-1) + 1 / (block + 2)
    return capital


def compute_confirming_capital(z: ArrayLike, limit: float, weights: ArrayLike = 1.0) -> Floats:
    """The capital after each sampled answer, from bets on "the mean of z is below `limit`", with one start.

    z: as above, but 1 for an answer without a label yet. A capital of 20 or more confirms the promise: it is reached
    with a probability of at most 0.05 if the mean is above the limit.

    >>> count = next(i for i, value in enumerate(compute_confirming_capital([0] * 200, limit=0.05), 1) if value >= 20)
    >>> count
    114
    """
    values = np.asarray(z, dtype=np.float64)
    return grow(np.asarray(weights, dtype=np.float64) * (limit - values) / (1 - limit), CONFIRMING_STAKES)


def grow(gains: Floats, stakes: Floats) -> Floats:
    """The capital after each bet, the mean over the stakes: a stake f multiplies its part by 1 + f gain, gain >= -1."""
    logs = np.cumsum(np.log1p(gains[..., None] * stakes), axis=-2)
    capital: Floats = np.exp(np.minimum(logs, LARGEST_LOG)).mean(axis=-1)
    return capital


def compute_broken_share(
    z_low: ArrayLike, z_high: ArrayLike, weights: ArrayLike = 1.0, *, error: float = 0.05
) -> tuple[float, float]:
    """An interval for the mean of z that holds after every answer at once, with probability 1 - error.

    z_low: the labels with 0 where there is none yet; z_high: with 1 there. error: half of it for each end.

    >>> [round(end, 3) for end in compute_broken_share([0] * 200, [0] * 200)]
    [0.0, 0.033]
    >>> compute_broken_share([], [])
    (0.0, 1.0)
    """
    low_values, high_values = np.asarray(z_low, dtype=np.float64), np.asarray(z_high, dtype=np.float64)
    if not low_values.size:
        return 0.0, 1.0
    shares = np.asarray(weights, dtype=np.float64)

    def is_above(limit: float) -> bool:
        return bool(grow(shares * (low_values - limit) / limit, ALARM_STAKES).max() >= 2 / error)

    def is_below(limit: float) -> bool:
        return bool(grow(shares * (limit - high_values) / (1 - limit), CONFIRMING_STAKES).max() >= 2 / error)

    return find_last(is_above), 1 - find_last(lambda distance: is_below(1 - distance))


def find_last(holds: Callable[[float], bool]) -> float:
    """The largest number in (0, 1) for which a condition holds that holds for all smaller ones; 0 if it holds for none.

    >>> round(find_last(lambda number: number < 0.3), 6)
    0.3
    """
    low, high = 0.0, 1.0
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def choose_sampling(
    labels: Sequence[int], broken: Sequence[float], answers: Sequence[int], budget: float
) -> tuple[float, float]:
    """The probabilities with which the answers of the two strata are sampled next week.

    The second stratum holds the answers that look doubtful. It is sampled up to eight times as often as the first: in
    proportion to the root of its rate of broken promises, which makes the sum of the weighted terms vary least.

    labels, broken, answers: of each stratum so far the number of labels, the sum of z over them, and the number of all
    answers; budget: the share of all answers to be labelled, in (0, 1]. No probability is below 1% or above 1.

    >>> choose_sampling([0, 0], [0, 0], [700, 300], 0.05)
    (0.05, 0.05)
    >>> [round(share, 4) for share in choose_sampling([160, 40], [2, 20], [700, 300], 0.05)]
    [0.0276, 0.1023]
    """
    rates = [(wrong + 2) / (count + 40) for wrong, count in zip(broken, labels, strict=True)]
    ratio = min(MOST_OFTEN, max(1.0, math.sqrt(rates[1] / rates[0])))
    total = sum(answers)
    first = budget * total / (answers[0] + ratio * answers[1]) if total else budget
    return min(1.0, max(LEAST_SHARE, first)), min(1.0, max(LEAST_SHARE, first * ratio))
