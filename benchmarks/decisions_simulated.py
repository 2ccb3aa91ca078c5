"""Simulates comparisons whose truth is known: how often a set, a test or an interval claims something false.

Every quantity is measured for the procedures of today and, on the same draws, for those used before
(`benchmarks.decisions_former`). A false claim about the best: a method that is one of the best is named as not among
them ("significantly worse", before).
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions_former import compute_bootstrap_interval, name_methods_behind
from benchmarks.decisions_recorded import RecordedSet
from quorum.algorithms.best_set import ALPHA, compare_with_fixed, find_best_set
from quorum.algorithms.recommend import estimate_questions_needed
from quorum.evaluation.metrics.statistics import compute_mean_interval
from quorum.evaluation.run.differences import compute_difference_interval

PATTERNS = 1_000  # of signs, in simulations; Quorum itself draws ten times as many
FORMER_RESAMPLES = 500
DEPENDENCE = 0.5  # how much of an answer is decided by the question's difficulty, which all methods share
ROUNDING_SLACK = 1e-9

Floats = NDArray[np.float64]
Units = NDArray[np.int64]
Draw = tuple[Floats, Units | None]  # scores of questions by methods, the document of each question


@dataclass(frozen=True)
class Case:
    """A source of comparisons. draw: a generator -> scores and documents; true_means: the methods' true means."""

    name: str
    draw: Callable[[np.random.Generator], Draw]
    true_means: Floats
    graded: bool = False

    @property
    def is_best(self) -> NDArray[np.bool_]:
        best: NDArray[np.bool_] = self.true_means >= self.true_means.max() - ROUNDING_SLACK
        return best

    @property
    def seed(self) -> int:
        """A seed that depends on the case alone."""
        return zlib.crc32(self.name.encode())


def draw_latent(
    rng: np.random.Generator, questions: int, methods: int, documents: Units | None = None, share: float = 0.0
) -> Floats:
    """Normal numbers, low where a method answers well; `share` of a method's own part is shared within a document."""
    own = rng.normal(size=(questions, methods))
    if documents is not None:
        of_document = rng.normal(size=(int(documents.max()) + 1, methods))[documents]
        own = np.sqrt(share) * of_document + np.sqrt(1 - share) * own
    return np.sqrt(DEPENDENCE) * rng.normal(size=(questions, 1)) + np.sqrt(1 - DEPENDENCE) * own


def make_right_or_wrong(means: Sequence[float], questions: int, name: str = "") -> Case:
    """Methods that are right with these probabilities."""
    limits = np.array([NormalDist().inv_cdf(mean) for mean in means])

    def draw(rng: np.random.Generator) -> Draw:
        return (draw_latent(rng, questions, len(means)) < limits).astype(float), None

    title = name or f"right or wrong, {len(means)} equal, p = {means[0]:g}, n = {questions:,}"
    return Case(title, draw, np.array(means))


def make_f1(methods: int, questions: int) -> Case:
    """Equal methods with an F1 of 1 (40%), of 0 (30%), or between."""

    def draw(rng: np.random.Generator) -> Draw:
        ranks = np.vectorize(NormalDist().cdf)(draw_latent(rng, questions, methods))
        between = np.round(1 - (ranks - 0.4) / 0.3, 2) * 0.8
        return np.where(ranks < 0.4, 1.0, np.where(ranks < 0.7, between, 0.0)), None

    return Case(f"F1, {methods} equal, n = {questions:,}", draw, np.ones(methods), graded=True)


def make_rare_losses(questions: int, share: float = 0.01) -> Case:
    """Two equal methods: the second is a little better on almost all questions, and loses a rare one entirely."""
    loss = 0.9
    gain = share * loss / (1 - share)

    def draw(rng: np.random.Generator) -> Draw:
        is_rare = rng.random(questions) < share
        return np.column_stack([np.full(questions, 0.95), np.where(is_rare, 0.95 - loss, 0.95 + gain)]), None

    return Case(f"F1, rare large losses, n = {questions:,}", draw, np.ones(2), graded=True)


def make_documents(documents: int, size: int, share: float, methods: int = 10) -> Case:
    """Equal methods; each document suits some methods better than others."""

    def draw(rng: np.random.Generator) -> Draw:
        places = np.repeat(np.arange(documents), rng.integers(1, 2 * size, size=documents))
        latent = draw_latent(rng, len(places), methods, places, share)
        return (latent < 0).astype(float), places

    return Case(f"{documents} documents of about {size} questions, {methods} equal", draw, np.ones(methods))


def make_exchangeable(recorded_set: RecordedSet, questions: int) -> Case:
    """Recorded answers, each question's shuffled among the methods, so that all are equal."""
    table = recorded_set.right_by_question

    def draw(rng: np.random.Generator) -> Draw:
        return rng.permuted(table[rng.integers(len(table), size=questions)], axis=1), None

    return Case(
        f"{recorded_set.name}, answers shuffled among methods, n = {questions:,}", draw, np.ones(table.shape[1])
    )


def make_drawn(recorded_set: RecordedSet, questions: int) -> Case:
    """Questions drawn from a recorded set; its full means are the truth."""
    table = recorded_set.right_by_question

    def draw(rng: np.random.Generator) -> Draw:
        return table[rng.integers(len(table), size=questions)], None

    return Case(f"{recorded_set.name}, n = {questions:,}", draw, table.mean(axis=0))


def list_equal_cases(recorded_sets: Sequence[RecordedSet]) -> list[Case]:
    """Cases in which false claims are counted."""
    return [
        *(make_right_or_wrong([0.5] * methods, 200) for methods in (2, 5, 10, 23, 30)),
        *(make_right_or_wrong([0.5] * 23, questions) for questions in (20, 50, 1_000)),
        make_right_or_wrong([0.9] * 23, 200),
        *(make_f1(methods, questions) for methods, questions in ((2, 50), (5, 50), (23, 50), (23, 200))),
        *(make_rare_losses(questions) for questions in (20, 100, 400)),
        *(make_documents(*shape) for shape in ((8, 10, 0.3), (20, 10, 0.3), (50, 4, 0.3), (200, 3, 0.2))),
        *(make_exchangeable(recorded_set, 200) for recorded_set in recorded_sets),
    ]


def name_with_former_test(case: Case, scores: Floats) -> NDArray[np.bool_]:
    """The methods that were called "significantly worse" before, when documents were not looked at."""
    return name_methods_behind(scores, graded=case.graded, resamples=FORMER_RESAMPLES)


def judge_claims(case: Case, repetitions: int) -> dict[str, float]:
    """The shares of comparisons with a false claim (`false`), and of the methods that are truly behind the share that
    is named (`power`, NaN if all are equal); `former_...`: by the procedure used before.
    """
    rng, counts, is_best = np.random.default_rng(case.seed), np.zeros(4), case.is_best
    for repetition in range(repetitions):
        scores, units = case.draw(rng)
        best_set = find_best_set(scores, units, graded=case.graded, patterns=PATTERNS, seed=repetition)
        for place, named in enumerate((best_set.p_values < ALPHA, name_with_former_test(case, scores))):
            counts[2 * place] += named[is_best].any()
            counts[2 * place + 1] += np.nan if is_best.all() else named[~is_best].mean()
    return dict(zip(("false", "power", "former_false", "former_power"), (counts / repetitions).tolist(), strict=True))


def judge_baseline(case: Case, repetitions: int) -> dict[str, float]:
    """Of equal methods, the first is the baseline: the share of comparisons that find a difference (`false`), and how
    often the interval of the method with the highest mean covers 0 (`winner`), and all intervals do (`all`);
    `former_winner`: with the percentile bootstrap.
    """
    rng, counts = np.random.default_rng(case.seed), np.zeros(4)
    for repetition in range(repetitions):
        scores, units = case.draw(rng)
        test = compare_with_fixed(scores, 0, units, graded=case.graded, patterns=PATTERNS, seed=repetition)
        differences = scores[:, 1:] - scores[:, [0]]
        winner = int(differences.mean(axis=0).argmax())
        intervals = [
            compute_difference_interval(column, units, test.critical_value, binary=not case.graded)
            for column in differences.T
        ]
        is_covered = [low - ROUNDING_SLACK <= 0 <= high + ROUNDING_SLACK for low, high in intervals]
        _, low, high = compute_bootstrap_interval(differences[:, winner], resamples=FORMER_RESAMPLES)
        counts += (test.p_values < ALPHA).any(), is_covered[winner], all(is_covered), low <= 0 <= high
    return dict(zip(("false", "winner", "all", "former_winner"), (counts / repetitions).tolist(), strict=True))


def judge_mean_intervals(case: Case, true_mean: float, repetitions: int) -> dict[str, float]:
    """How often the interval of the first method's mean covers the true one: today's, and the percentile bootstrap."""
    rng, counts = np.random.default_rng(case.seed), np.zeros(2)
    for _ in range(repetitions):
        scores, units = case.draw(rng)
        today = compute_mean_interval(scores[:, 0], units)
        former = compute_bootstrap_interval(scores[:, 0], resamples=2_000)
        counts += [
            interval.low - ROUNDING_SLACK <= true_mean <= interval.high + ROUNDING_SLACK for interval in (today, former)
        ]
    return dict(zip(("today", "former"), (counts / repetitions).tolist(), strict=True))


def list_mean_cases() -> list[tuple[Case, float]]:
    """Cases for intervals of a mean, with the true mean."""
    cases = [
        (make_right_or_wrong([share], questions, f"{share:.0%} right, n = {questions}"), share)
        for share in (0.5, 0.9, 0.97)
        for questions in (10, 30, 100, 400)
    ]
    middle = 0.4 + float(np.mean([np.round(1 - step, 2) * 0.8 for step in np.linspace(0, 1, 3001)])) * 0.3
    cases += [(make_f1(1, questions), middle) for questions in (10, 30, 100)]
    return cases + [(make_documents(*shape, methods=1), 0.5) for shape in ((8, 10, 0.3), (20, 10, 0.3), (50, 4, 0.3))]


def judge_questions_needed(recorded_set: RecordedSet, repetitions: int, questions: int = 100) -> dict[str, float]:
    """How good "about N questions would be enough" is, for the methods that may be the best and truly are not.

    enough: how often N is not above the questions at hand, which did not show it; named: how often the method is named
    on N new questions (N up to 3,000); `former_...`: by the number given before, that of a single two-sided test.
    """
    table, rng = recorded_set.right_by_question, np.random.default_rng(zlib.crc32(recorded_set.name.encode()))
    is_best = table.mean(axis=0) >= table.mean(axis=0).max() - ROUNDING_SLACK
    former_value = NormalDist().inv_cdf(1 - ALPHA / 2)
    outcomes: dict[str, list[bool]] = {name: [] for name in ("enough", "named", "former_enough", "former_named")}
    for repetition in range(repetitions):
        scores = table[rng.integers(len(table), size=questions)]
        best_set = find_best_set(scores, graded=False, patterns=PATTERNS, seed=repetition)
        best = int(scores.mean(axis=0).argmax())
        candidates = [
            method
            for method in best_set.members
            if not is_best[method] and scores[:, method].mean() < scores[:, best].mean()
        ]
        if not candidates:
            continue
        method = int(rng.choice(candidates))
        differences = scores[:, best] - scores[:, method]
        needed = estimate_questions_needed(differences, best_set.critical_value or 0.0, 1.0)
        spread = float(differences.std(ddof=1)) / float(differences.mean())
        former = max(2, int(np.ceil(((former_value + NormalDist().inv_cdf(0.8)) * spread) ** 2)))
        for prefix, number in (("", needed), ("former_", former)):
            if number is None or number > 3_000:
                continue
            outcomes[f"{prefix}enough"].append(number <= questions)
            drawn = table[rng.integers(len(table), size=max(number, 20))]
            again = find_best_set(drawn, graded=False, patterns=PATTERNS // 2, seed=repetition)
            outcomes[f"{prefix}named"].append(bool(again.p_values[method] < ALPHA))
    return {name: float(np.mean(values)) if values else float("nan") for name, values in outcomes.items()}
