"""Cascades of methods, designed and certified on answers that were recorded.

A cascade asks its stages in turn, three at most: a stage's answer is accepted when it passes that stage's test, else
the next stage is asked; the last one answers. Every answer that the stages would give was recorded when the methods
were compared, so what a cascade would have answered, and what that would have taken, is known without a further call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorum.algorithms.paired import margin_p_value

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
TestName = Literal["known", "confidence", "same", "certified"]

MOST_STAGES = 3
MOST_THRESHOLDS = 8
DESIGN_SHARE = 3  # a third of the questions designs
BETTER = 1e-12


@dataclass(frozen=True)
class Accept:
    """When a stage's answer is accepted: always when it is known, and besides by `test`.

    known: nothing besides; confidence: it is at least `at_least`; same: it is the answer of an earlier stage, up to
    normalisation; certified: the vote stands if any one passage is replaced.
    """

    test: TestName
    at_least: float | None = None

    def words(self) -> str:
        """'known', 'confidence 0.6 or more', 'same as an earlier answer', 'certified'."""
        if self.test == "confidence":
            return f"confidence {self.at_least:g} or more"
        return {"known": "known", "same": "same as an earlier answer", "certified": "certified"}[self.test]


@dataclass(frozen=True)
class Stage:
    """A method and the test of its answer; None: the answer is final."""

    method: str
    accept: Accept | None


Cascade = tuple[Stage, ...]


@dataclass(frozen=True)
class Recorded:
    """The answers of several methods to the same questions, as arrays of methods by questions.

    worst, best: what an answer is worth, in an interval of length 1; of a missing answer the least and the most that it
    may be worth. known: an answer was given that is not unknown; failed: none was given; key: equal numbers are equal
    answers; confidence: NaN without one; certified: see `Accept`. cost: of all calls of an answer; shared [A, B]: what
    of B's calls A made as well. group: questions with the same number belong together (one document).
    """

    methods: tuple[str, ...]
    worst: Floats
    best: Floats
    known: Flags
    failed: Flags
    key: NDArray[np.int64]
    confidence: Floats
    certified: Flags
    cost: Floats
    shared: Floats
    group: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def questions(self) -> int:
        return int(self.worst.shape[1])

    def at(self, questions: NDArray[np.int64]) -> "Recorded":
        """The answers to these questions only."""
        names = ("worst", "best", "known", "failed", "key", "confidence", "certified", "cost")
        parts = {name: getattr(self, name)[:, questions] for name in names}
        return replace(self, **parts, shared=self.shared[:, :, questions], group=self.group[questions])


@dataclass(frozen=True)
class Replayed:
    """What a cascade makes of recorded questions: worth and cost by question, and where each stage was asked."""

    worst: Floats
    cost: Floats
    asked: Flags


def split(group: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The questions that design and those that certify: a third and the rest, whole groups, by the seed."""
    groups = np.unique(group)
    chosen = np.random.default_rng(seed).permutation(groups)[: max(1, len(groups) // DESIGN_SHARE)]
    designs = np.isin(group, chosen)
    return np.flatnonzero(designs), np.flatnonzero(~designs)


def passes(recorded: Recorded, method: int, accept: Accept, earlier: Sequence[int]) -> Flags:
    """On which questions the stage's answer is accepted."""
    known: Flags = recorded.known[method]
    if accept.test == "confidence":
        sure = recorded.confidence[method]
        known = known & (np.nan_to_num(sure, nan=-1.0) >= float(accept.at_least or 0.0))
    if accept.test == "certified":
        known = known & recorded.certified[method]
    if accept.test == "same":
        same = np.zeros_like(known)
        for one in earlier:
            same |= recorded.known[one] & (recorded.key[one] == recorded.key[method])
        known = known & same
    return known


def marginal_cost(recorded: Recorded, method: int, earlier: Sequence[int]) -> Floats:
    """The cost that a stage adds: its calls without those of the one earlier stage that shares most of them."""
    found: Floats = recorded.cost[method]
    if earlier:
        found = found - np.max([recorded.shared[one, method] for one in earlier], axis=0)
    return found


def replay(recorded: Recorded, cascade: Cascade) -> Replayed:
    """Answer the recorded questions by the cascade. A stage that failed fails the question."""
    places = [recorded.methods.index(stage.method) for stage in cascade]
    n = recorded.questions
    open_, failed = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    worst, cost, asked = np.zeros(n), np.zeros(n), np.zeros((len(cascade), n), dtype=np.bool_)
    for number, (stage, place) in enumerate(zip(cascade, places, strict=True)):
        asked[number] = open_
        cost += np.where(open_, marginal_cost(recorded, place, places[:number]), 0.0)
        failed |= open_ & recorded.failed[place]
        done = open_ if stage.accept is None else open_ & passes(recorded, place, stage.accept, places[:number])
        worst = np.where(done, recorded.worst[place], worst)
        open_ = open_ & ~done
    lowest = float(recorded.worst.min()) if n else 0.0
    return Replayed(np.where(failed, lowest, worst), cost, asked)


def tests_of(recorded: Recorded, method: int, *, first: bool) -> list[Accept]:
    """The tests that a stage of this method can have, by what its recorded answers carry."""
    found = [Accept("known")]
    known = recorded.known[method]
    sure = recorded.confidence[method]
    values = np.unique(sure[known & np.isfinite(sure)])
    if len(values) > MOST_THRESHOLDS:
        values = np.unique(np.quantile(values, np.linspace(0, 1, MOST_THRESHOLDS), method="nearest"))
    found += [Accept("confidence", float(value)) for value in values]
    if recorded.certified[method].any():
        found.append(Accept("certified"))
    if not first:
        found.append(Accept("same"))
    return found


@dataclass(frozen=True)
class Candidate:
    """A cascade, with its score and its cost on the questions that designed it."""

    cascade: Cascade
    score: float
    cost: float


def design(recorded: Recorded) -> list[Candidate]:
    """The Pareto front of all cascades that are cheaper than the best single method here, from the highest score to
    the cheapest. Of equals the one with fewer stages.
    """
    score, cost = recorded.worst.mean(axis=1), recorded.cost.mean(axis=1)
    best = max(range(len(recorded.methods)), key=lambda one: (score[one], -cost[one]))
    found = [one for one in every_cascade(recorded) if one.cost < cost[best] - BETTER]
    front: list[Candidate] = []
    for one in sorted(found, key=lambda one: (one.cost, -one.score, len(one.cascade))):
        if not front or one.score > front[-1].score + BETTER:
            front.append(one)
    return front[::-1]


def every_cascade(recorded: Recorded) -> Iterator[Candidate]:
    """All cascades, but those of three stages thinned out: for every first two stages the cheapest of each score."""
    names, count, n = recorded.methods, len(recorded.methods), max(recorded.questions, 1)
    for method in range(count):
        score, cost = recorded.worst[method].mean(), recorded.cost[method].mean()
        yield Candidate((Stage(names[method], None),), float(score), float(cost))
    lowest = float(recorded.worst.min()) if recorded.worst.size else 0.0
    worst = np.where(recorded.failed, lowest, recorded.worst)
    for one in range(count):
        for accept in tests_of(recorded, one, first=True):
            taken = passes(recorded, one, accept, ()) | recorded.failed[one]
            gained, left = np.where(taken, worst[one], 0.0), ~taken
            first = Stage(names[one], accept)
            if not left.any():
                continue
            for other in (place for place in range(count) if place != one):
                added = recorded.cost[other] - recorded.shared[one, other]
                paid = recorded.cost[one] + np.where(left, added, 0.0)
                last = Stage(names[other], None)
                total = (gained + np.where(left, worst[other], 0.0)).sum()
                yield Candidate((first, last), float(total) / n, float(paid.sum()) / n)
                yield from of_three_stages(recorded, worst, (one, other), first, gained, left, paid)


def of_three_stages(
    recorded: Recorded,
    worst: Floats,
    places: tuple[int, int],
    first: Stage,
    gained: Floats,
    left: Flags,
    paid: Floats,
) -> Iterator[Candidate]:
    """The cascades that begin with these two methods and end with a third."""
    names, n = recorded.methods, recorded.questions
    one, other = places
    thirds = [place for place in range(len(names)) if place not in places]
    if not thirds:
        return
    accepts = tests_of(recorded, other, first=False)
    failed = recorded.failed[other]
    taken = np.array([passes(recorded, other, accept, (one,)) | failed for accept in accepts]) & left
    after = left & ~taken
    added = recorded.cost[thirds] - np.maximum(recorded.shared[one, thirds], recorded.shared[other, thirds])
    scores = ((gained + taken * worst[other]).sum(axis=1)[:, None] + after @ worst[thirds].T) / n
    costs = (paid.sum() + after @ added.T) / n
    for row, accept in enumerate(accepts):
        if not after[row].any() or not taken[row].any():
            continue
        best: float | None = None
        for column in np.lexsort((-scores[row], costs[row])):  # the cheapest of each score: the rest is never needed
            if best is not None and scores[row, column] <= best + BETTER:
                continue
            best = float(scores[row, column])
            stages = (first, Stage(names[other], accept), Stage(names[thirds[column]], None))
            yield Candidate(stages, best, float(costs[row, column]))


@dataclass(frozen=True)
class Certificate:
    """What the certifying questions say of a cascade. p: of "some single method is better by lose_at_most or more";
    against: that method; loss: its mean lead over the cascade.
    """

    candidate: Candidate
    p: float
    against: str | None
    loss: float
    passed: bool


def losses(recorded: Recorded, cascade: Cascade, wrong_cost: float) -> dict[str, Floats]:
    """x of each single method less x of the cascade, by question, or by group where groups are larger; in [-1, 1]."""
    worth = replay(recorded, cascade).worst
    same = cascade[0].method if len(cascade) == 1 else None
    found = {}
    for place, name in enumerate(recorded.methods):
        if name != same:
            found[name] = by_group((recorded.best[place] - worth) / (1 + wrong_cost), recorded.group)
    return found


def by_group(values: Floats, group: NDArray[np.int64]) -> Floats:
    """The mean of each group."""
    _, place = np.unique(group, return_inverse=True)
    found: Floats = np.bincount(place, weights=values) / np.bincount(place)
    return found


def certify(
    recorded: Recorded, candidates: Sequence[Candidate], lose_at_most: float, error: float, wrong_cost: float = 0.0
) -> list[Certificate]:
    """Test the candidates in their order and stop at the first that fails, which is the last one returned.

    An intersection-union test for each: its p-value is the greatest over all single methods, without correction
    (Berger 1982); and in a fixed order no correction is needed for the number of candidates (Maurer et al. 1995).
    """
    found: list[Certificate] = []
    margin = lose_at_most / (1 + wrong_cost)
    for candidate in candidates:
        by_method = losses(recorded, candidate.cascade, wrong_cost)
        p_values = {name: margin_p_value(values, margin) for name, values in by_method.items()}
        against = max(p_values, key=lambda name: p_values[name]) if p_values else None
        p = p_values[against] if against else 1.0
        loss = float(by_method[against].mean()) * (1 + wrong_cost) if against else 0.0
        found.append(Certificate(candidate, p, against, loss, p <= error))
        if p > error:
            break
    return found


def stage_shares(recorded: Recorded, cascade: Cascade) -> Mapping[str, float]:
    """The share of questions that reach each stage, by method."""
    asked = replay(recorded, cascade).asked.mean(axis=1)
    return {stage.method: float(share) for stage, share in zip(cascade, asked, strict=True)}
