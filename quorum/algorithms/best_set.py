"""Which of several methods may be the best, from their scores on the same questions (the Model Confidence Set).

Hansen, Lunde and Nason (2011, Econometrica 79: 453-497) compare all pairs of methods, drop the method that is furthest
behind, and go on until the remaining ones cannot be told apart. Their bootstrap is replaced by random signs: if no
method of a pair is better, the difference on each unit might as well have the other sign, and one pattern of signs for
all methods keeps their dependence. A **unit** is a question, or all questions of one document or conversation.

Notation: X[u, j] is the sum of method j's scores over the questions of unit u. s_j is the sum over all units, and
Q_ij = sum_u (X[u, i] - X[u, j])^2. The lead of i over j is T_ij = (s_i - s_j - k) / sqrt(Q_ij + k). k is 0 if every
score is right or wrong, and 1 for graded scores (F1, worth): one more question lost outright, because a rare large
difference that the questions do not contain would otherwise make many small ones look certain. A pair that never
differs (Q_ij = 0) is no evidence.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

ALPHA = 0.05  # the probability with which a set may miss a method that is best; an interval, its mean
SIGN_PATTERNS = 10_000
PATTERNS_AT_ONCE = 1_000  # how many patterns of signs are drawn at once, so that they fit into memory
SMALLEST_SQUARE = 1e-18  # a sum of squared differences below this is 0, apart from rounding
ROUNDING_ERROR = 1e-9  # a lead that equals the observed one up to this counts as extreme, too
POWER = 0.8  # the probability with which the questions that would be enough show a difference

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BestSet:
    """Which methods may be the best.

    p_values: for each method, the adjusted p-value of "this method is one of the best". The methods with ALPHA or more
    **may be the best: with probability 0.95 they include every method that is**. critical_value: the lead that one
    method would need over another, with the methods of this set, to show that the other is not the best; None with
    one method. pair_critical_value: the same among all methods; it makes the intervals of all differences simultaneous.
    """

    p_values: Floats
    critical_value: float | None
    pair_critical_value: float

    @property
    def members(self) -> list[int]:
        """The numbers of the methods that may be the best."""
        return [int(number) for number in np.flatnonzero(self.p_values >= ALPHA)]


@dataclass(frozen=True)
class BaselineTest:
    """Methods against a fixed baseline. p_values: for each method, adjusted for all of them (1 for the baseline);
    own_p_values: for each method alone; critical_value: that of the simultaneous intervals.
    """

    p_values: Floats
    own_p_values: Floats
    critical_value: float


def sum_by_unit(scores: ArrayLike, units: ArrayLike | None = None) -> Floats:
    """The sums of the rows of each unit. scores: questions by methods; units: the unit of each question, by default
    each question is a unit of its own. Returns units by methods, in the order in which the units appear first.

    >>> sum_by_unit([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], ["a", "a", "b"]).tolist()
    [[2.0, 1.0], [0.0, 1.0]]
    """
    table = np.asarray(scores, dtype=np.float64)
    if units is None:
        return table
    place_of_unit = {unit: place for place, unit in enumerate(dict.fromkeys(np.asarray(units).tolist()))}
    sums = np.zeros((len(place_of_unit), *table.shape[1:]))
    np.add.at(sums, [place_of_unit[unit] for unit in np.asarray(units).tolist()], table)
    return sums


def find_best_set(
    scores: ArrayLike,
    units: ArrayLike | None = None,
    *,
    graded: bool,
    patterns: int = SIGN_PATTERNS,
    seed: int = 0,
    signed_sums: Floats | None = None,
) -> BestSet:
    """Find the methods that may be the best.

    scores: questions by methods, each in an interval of length 1, or with a cost c of wrong answers divided by 1 + c.
    units: the unit of each question (see `sum_by_unit`). graded: whether a score can be other than right or wrong.
    patterns: how many patterns of signs are drawn; if there are no more patterns than that, all of them count, and the
    p-values are exact. signed_sums: what `draw_signed_sums` gives for these sums, if it is known. At least one method.

    >>> scores = [[1, 0, 1]] * 12 + [[0, 0, 1]] * 2 + [[1, 0, 0]]
    >>> find_best_set(scores, graded=False).members
    [0, 2]
    """
    sums = sum_by_unit(scores, units)
    method_count, offset = sums.shape[1], float(graded)
    squares = compute_squares(sums)
    order, leads = order_elimination(compute_leads(sums.sum(axis=0), squares, offset))
    signed_sums = draw_signed_sums(sums, patterns, seed) if signed_sums is None else signed_sums
    is_exact = 2 ** len(sums) <= patterns
    scales = compute_scales(squares)
    largest_leads = np.zeros(len(signed_sums))  # R: under each pattern, the largest lead among the methods inside
    inside, stage_p_values, quantiles = [order[-1]], {}, {}
    for method, lead in zip(order[-2::-1], leads[::-1], strict=True):  # from the last pair back to all methods
        for other in inside:
            np.maximum(
                largest_leads,
                np.abs(signed_sums[:, other] - signed_sums[:, method]) / scales[other, method],
                out=largest_leads,
            )
        inside.append(method)
        stage_p_values[method] = compute_share(largest_leads, lead, is_exact=is_exact)
        quantiles[method] = float(np.quantile(largest_leads, 1 - ALPHA))
    p_values, largest, critical_value = np.ones(method_count), 0.0, None
    for method in order[:-1]:
        largest = max(largest, stage_p_values[method])
        p_values[method] = largest
        if largest >= ALPHA and critical_value is None:
            critical_value = quantiles[method]
    pair_critical_value = quantiles[order[0]] if method_count > 1 else 0.0
    return BestSet(p_values, critical_value, pair_critical_value)


def compare_with_fixed(
    scores: ArrayLike,
    baseline: int,
    units: ArrayLike | None = None,
    *,
    graded: bool,
    patterns: int = SIGN_PATTERNS,
    seed: int = 0,
) -> BaselineTest:
    """Compare methods with a baseline that was named beforehand: a two-sided step-down test of the largest lead
    (Westfall and Young 1993, algorithm 2.8, with signs). The arguments are those of `find_best_set`.

    baseline: the number of the baseline's column. With two methods the test is the sign-flip test of their difference.

    >>> compare_with_fixed([[1, 0, 1]] * 8 + [[0, 0, 1]] * 2, 0, graded=False).p_values.round(3).tolist()
    [1.0, 0.008, 0.5]
    """
    sums = sum_by_unit(scores, units)
    others = [method for method in range(sums.shape[1]) if method != baseline]
    p_values, own_p_values = np.ones(sums.shape[1]), np.ones(sums.shape[1])
    if not others:
        return BaselineTest(p_values, own_p_values, 0.0)
    differences, offset = sums[:, others] - sums[:, [baseline]], float(graded)
    squares = (differences**2).sum(axis=0)
    leads = np.maximum(np.abs(differences.sum(axis=0)) - offset, 0) / np.sqrt(
        np.where(squares < SMALLEST_SQUARE, np.inf, squares) + offset
    )
    signed_leads = np.abs(draw_signed_sums(differences, patterns, seed)) / compute_scales(squares)
    is_exact = 2 ** len(sums) <= patterns
    order = np.argsort(-leads, kind="stable")
    largest_remaining = np.maximum.accumulate(signed_leads[:, order[::-1]], axis=1)[:, ::-1]
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, compute_share(largest_remaining[:, place], leads[index], is_exact=is_exact))
        p_values[others[index]] = largest
        own_p_values[others[index]] = compute_share(signed_leads[:, index], leads[index], is_exact=is_exact)
    return BaselineTest(p_values, own_p_values, float(np.quantile(signed_leads.max(axis=1), 1 - ALPHA)))


def compute_squares(sums: Floats) -> Floats:
    """Q: for each pair of methods, the sum of the squared differences over the units."""
    return np.array([((sums - sums[:, [method]]) ** 2).sum(axis=0) for method in range(sums.shape[1])])


def compute_leads(totals: Floats, squares: Floats, offset: float) -> Floats:
    """T: [i, j] is the lead of method i over method j. offset: k in the description of this module."""
    divisors = np.sqrt(np.where(squares < SMALLEST_SQUARE, np.inf, squares) + offset)
    leads: Floats = (totals[:, None] - totals[None, :] - offset) / divisors
    np.fill_diagonal(leads, -np.inf)
    return leads


def compute_scales(squares: Floats) -> Floats:
    """The standard deviation of a sum of differences under random signs; infinite if the differences are all 0."""
    return np.where(squares < SMALLEST_SQUARE, np.inf, np.sqrt(squares))


def order_elimination(leads: Floats) -> tuple[list[int], list[float]]:
    """The methods in the order in which they are dropped, the last one left at the end, and for each dropped method the
    largest lead over it at that moment. Each time the method goes over which another has the largest lead.
    """
    alive, order, largest_leads = list(range(len(leads))), [], []
    while len(alive) > 1:
        over = leads[np.ix_(alive, alive)].max(axis=0)
        place = int(over.argmax())
        largest_leads.append(float(over[place]))
        order.append(alive.pop(place))
    return [*order, *alive], largest_leads


def draw_signed_sums(sums: Floats, patterns: int = SIGN_PATTERNS, seed: int = 0) -> Floats:
    """The methods' sums under random signs of the units: a row for each pattern of signs, a column for each method.

    All patterns if there are at most `patterns`. For speed the products are in float32, and a pattern is drawn as bits.
    """
    unit_count = len(sums)
    if 2**unit_count <= patterns:
        bits = (np.arange(2**unit_count)[:, None] >> np.arange(unit_count)) & 1
        all_sums: Floats = (1.0 - 2.0 * bits) @ sums
        return all_sums
    return np.concatenate(list(draw_blocks(sums, patterns, np.random.default_rng(seed)))).astype(np.float64)


def draw_blocks(sums: Floats, patterns: int, generator: np.random.Generator) -> Iterator[Floats]:
    """The rows of `draw_signed_sums` in blocks. A bit of 1 is a minus: it takes twice the unit's sum off the total."""
    unit_count, totals, halves = len(sums), sums.sum(axis=0), sums.astype(np.float32)
    for start in range(0, patterns, PATTERNS_AT_ONCE):
        shape = (min(PATTERNS_AT_ONCE, patterns - start), -(-unit_count // 8))
        bits = np.unpackbits(generator.integers(0, 256, size=shape, dtype=np.uint8), axis=1)[:, :unit_count]
        yield totals - 2.0 * (bits.astype(np.float32) @ halves)


def compute_share(values: Floats, observed: float, *, is_exact: bool) -> float:
    """The p-value: the share of the values that are at least the observed one. If the patterns are a random draw, the
    observed one counts with them.
    """
    hits = int((values >= observed - ROUNDING_ERROR).sum())
    return hits / len(values) if is_exact else (hits + 1) / (len(values) + 1)


def compute_simultaneous_interval(sums: ArrayLike, sizes: ArrayLike, critical_value: float) -> tuple[float, float]:
    """The interval of a mean difference that belongs to a test by signs at this critical value.

    It holds all delta with (sum_u D_u - delta n)^2 <= c^2 sum_u (D_u - delta n_u)^2. sums: D_u, the sum of the
    differences of each unit; sizes: n_u, how many questions it has; each difference lies in [-1, 1]. Where no unit
    differs, the half-width is c^2 / (units + c^2), not 0.

    >>> [round(end, 3) for end in compute_simultaneous_interval([1.0] * 12 + [-1.0] * 2 + [0.0] * 36, [1] * 50, 2.5)]
    [0.015, 0.385]
    """
    differences, counts = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    question_count, total, square = counts.sum(), differences.sum(), critical_value**2
    # a delta^2 - 2 b delta + e <= 0
    a = question_count**2 - square * (counts**2).sum()
    if a <= 0:
        return -1.0, 1.0
    b = question_count * total - square * (differences * counts).sum()
    e = total**2 - square * (differences**2).sum()
    half_width = max(math.sqrt(max(b * b - a * e, 0.0)) / a, square / (len(counts) + square))
    return float(max(-1.0, b / a - half_width)), float(min(1.0, b / a + half_width))


def estimate_units_needed(differences: ArrayLike, critical_value: float) -> int | None:
    """About how many units would show a difference at this critical value with probability POWER, if mean and spread
    stay as they are. More than there are now, because these do not show it.

    differences: of two methods, one for each unit. None with fewer than two units, or if the means are equal.

    >>> estimate_units_needed([1.0] * 6 + [-1.0] * 4 + [0.0] * 40, 2.8)
    1678
    """
    values = np.asarray(differences, dtype=np.float64)
    if len(values) < 2 or abs(mean := float(values.mean())) < ROUNDING_ERROR:
        return None
    needed = ((critical_value + NormalDist().inv_cdf(POWER)) * float(values.std(ddof=1)) / mean) ** 2
    return max(len(values) + 1, math.ceil(needed))


def count_units(units: ArrayLike | None, question_count: int) -> int:
    """How many units the questions form; units: as in `sum_by_unit`."""
    return question_count if units is None else len(np.unique(np.asarray(units)))
