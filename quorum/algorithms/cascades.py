"""Designs and certifies cascades of methods on recorded answers.

A cascade asks at most three methods, its stages, in turn. If a stage's answer passes the stage's test, it is the answer
of the cascade; else the next stage is asked. The last stage has no test. The comparison recorded the answers of all
methods, so we can compute the answers and the cost of any cascade without a further call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quorum.algorithms.paired import compute_margin_p_value

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
TestName = Literal["known", "confidence", "same", "certified"]

MOST_STAGES = 3
MOST_THRESHOLDS = 8
DESIGN_SHARE = 3  # a third of the questions designs
SMALLEST_GAIN = 1e-12


@dataclass(frozen=True)
class AcceptanceTest:
    """The test of a stage. An unknown answer never passes.

    known: every other answer passes; confidence: if its confidence is `at_least` or more; same: if an earlier stage
    gave the same answer, after normalisation; certified: if no replacement of a single passage changes the vote.
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
    """A method and the test of its answer; None for the last stage, whose answer is always accepted."""

    method: str
    accept: AcceptanceTest | None


Cascade = tuple[Stage, ...]


@dataclass(frozen=True)
class RecordedAnswers:
    """The answers of several methods to the same questions, as arrays of methods by questions.

    worst, best: the worth of an answer; if the method failed, the lowest and the highest worth possible. known: there
    is an answer, and it is not unknown; failed: there is none; key: equal answers have equal numbers; confidence: NaN
    if there is none; certified: see `AcceptanceTest`. cost: of all calls for an answer; shared [A, B]: the cost of
    those of B's calls that A makes, too. group: questions of the same document or conversation have the same number.
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

    def at(self, questions: NDArray[np.int64]) -> "RecordedAnswers":
        """The answers to these questions only."""
        names = ("worst", "best", "known", "failed", "key", "confidence", "certified", "cost")
        parts = {name: getattr(self, name)[:, questions] for name in names}
        return replace(self, **parts, shared=self.shared[:, :, questions], group=self.group[questions])


@dataclass(frozen=True)
class ReplayResult:
    """The outcome of a cascade on recorded questions. worst, cost: by question; asked: stages by questions."""

    worst: Floats
    cost: Floats
    asked: Flags


def split_questions(group: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a third of the questions for the design; the others certify. Groups are not divided."""
    groups = np.unique(group)
    chosen = np.random.default_rng(seed).permutation(groups)[: max(1, len(groups) // DESIGN_SHARE)]
    designs = np.isin(group, chosen)
    return np.flatnonzero(designs), np.flatnonzero(~designs)


def find_accepted(recorded: RecordedAnswers, method: int, accept: AcceptanceTest, earlier: Sequence[int]) -> Flags:
    """The questions on which the method's answer passes the test. earlier: the methods of the stages before it."""
    known: Flags = recorded.known[method]
    if accept.test == "confidence":
        sure = recorded.confidence[method]
        known = known & (np.nan_to_num(sure, nan=-1.0) >= float(accept.at_least or 0.0))
    if accept.test == "certified":
        known = known & recorded.certified[method]
    if accept.test == "same":
        same = np.zeros_like(known)
        for earlier_stage in earlier:
            same |= recorded.known[earlier_stage] & (recorded.key[earlier_stage] == recorded.key[method])
        known = known & same
    return known


def compute_added_cost(recorded: RecordedAnswers, method: int, earlier: Sequence[int]) -> Floats:
    """The cost that a stage adds: its calls, less those shared with the earlier stage that shares most."""
    cost: Floats = recorded.cost[method]
    if earlier:
        cost = cost - np.max([recorded.shared[stage, method] for stage in earlier], axis=0)
    return cost


def replay_cascade(recorded: RecordedAnswers, cascade: Cascade) -> ReplayResult:
    """Answer the recorded questions with the cascade. If a stage failed on a question, the cascade fails, too."""
    places = [recorded.methods.index(stage.method) for stage in cascade]
    n = recorded.questions
    open_, failed = np.ones(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    worst, cost, asked = np.zeros(n), np.zeros(n), np.zeros((len(cascade), n), dtype=np.bool_)
    for number, (stage, place) in enumerate(zip(cascade, places, strict=True)):
        asked[number] = open_
        cost += np.where(open_, compute_added_cost(recorded, place, places[:number]), 0.0)
        failed |= open_ & recorded.failed[place]
        done = open_ if stage.accept is None else open_ & find_accepted(recorded, place, stage.accept, places[:number])
        worst = np.where(done, recorded.worst[place], worst)
        open_ = open_ & ~done
    lowest = float(recorded.worst.min()) if n else 0.0
    return ReplayResult(np.where(failed, lowest, worst), cost, asked)


def list_tests(recorded: RecordedAnswers, method: int, *, first: bool) -> list[AcceptanceTest]:
    """The tests that fit the recorded answers of this method."""
    tests = [AcceptanceTest("known")]
    known = recorded.known[method]
    sure = recorded.confidence[method]
    values = np.unique(sure[known & np.isfinite(sure)])
    if len(values) > MOST_THRESHOLDS:
        values = np.unique(np.quantile(values, np.linspace(0, 1, MOST_THRESHOLDS), method="nearest"))
    tests += [AcceptanceTest("confidence", float(value)) for value in values]
    if recorded.certified[method].any():
        tests.append(AcceptanceTest("certified"))
    if not first:
        tests.append(AcceptanceTest("same"))
    return tests


@dataclass(frozen=True)
class Candidate:
    """A cascade with its score and its cost on the design questions."""

    cascade: Cascade
    score: float
    cost: float


def design_cascades(recorded: RecordedAnswers) -> list[Candidate]:
    """The Pareto front of all cascades cheaper than the best single method, from the highest score to the cheapest.

    Of cascades with equal score and cost, the front has the one with fewest stages.
    """
    score, cost = recorded.worst.mean(axis=1), recorded.cost.mean(axis=1)
    best = max(range(len(recorded.methods)), key=lambda index: (score[index], -cost[index]))
    cheaper = [cascade for cascade in list_cascades(recorded) if cascade.cost < cost[best] - SMALLEST_GAIN]
    front: list[Candidate] = []
    for cascade in sorted(cheaper, key=lambda cascade: (cascade.cost, -cascade.score, len(cascade.cascade))):
        if not front or cascade.score > front[-1].score + SMALLEST_GAIN:
            front.append(cascade)
    return front[::-1]


def list_cascades(recorded: RecordedAnswers) -> Iterator[Candidate]:
    """All cascades that can be on the Pareto front: for the same first two stages, only the cheapest of each score."""
    names, count, n = recorded.methods, len(recorded.methods), max(recorded.questions, 1)
    for method in range(count):
        score, cost = recorded.worst[method].mean(), recorded.cost[method].mean()
        yield Candidate((Stage(names[method], None),), float(score), float(cost))
    lowest = float(recorded.worst.min()) if recorded.worst.size else 0.0
    worst = np.where(recorded.failed, lowest, recorded.worst)
    for first_place in range(count):
        for accept in list_tests(recorded, first_place, first=True):
            taken = find_accepted(recorded, first_place, accept, ()) | recorded.failed[first_place]
            gained, left = np.where(taken, worst[first_place], 0.0), ~taken
            first = Stage(names[first_place], accept)
            if not left.any():
                continue
            for second_place in (place for place in range(count) if place != first_place):
                added = recorded.cost[second_place] - recorded.shared[first_place, second_place]
                paid = recorded.cost[first_place] + np.where(left, added, 0.0)
                last = Stage(names[second_place], None)
                total = (gained + np.where(left, worst[second_place], 0.0)).sum()
                yield Candidate((first, last), float(total) / n, float(paid.sum()) / n)
                yield from list_three_stage_cascades(
                    recorded, worst, (first_place, second_place), first, gained, left, paid
                )


def list_three_stage_cascades(
    recorded: RecordedAnswers,
    worst: Floats,
    places: tuple[int, int],
    first: Stage,
    gained: Floats,
    left: Flags,
    paid: Floats,
) -> Iterator[Candidate]:
    """The three-stage cascades that begin with the two methods at `places`."""
    names, n = recorded.methods, recorded.questions
    one, other = places
    thirds = [place for place in range(len(names)) if place not in places]
    if not thirds:
        return
    accepts = list_tests(recorded, other, first=False)
    failed = recorded.failed[other]
    taken = np.array([find_accepted(recorded, other, accept, (one,)) | failed for accept in accepts]) & left
    after = left & ~taken
    added = recorded.cost[thirds] - np.maximum(recorded.shared[one, thirds], recorded.shared[other, thirds])
    scores = ((gained + taken * worst[other]).sum(axis=1)[:, None] + after @ worst[thirds].T) / n
    costs = (paid.sum() + after @ added.T) / n
    for row, accept in enumerate(accepts):
        if not after[row].any() or not taken[row].any():
            continue
        best: float | None = None
        for column in np.lexsort(
            (-scores[row], costs[row])
        ):  # the cheapest first; a higher cost must buy a higher score
            if best is not None and scores[row, column] <= best + SMALLEST_GAIN:
                continue
            best = float(scores[row, column])
            stages = (first, Stage(names[other], accept), Stage(names[thirds[column]], None))
            yield Candidate(stages, best, float(costs[row, column]))


@dataclass(frozen=True)
class Certificate:
    """The test of a cascade on the certifying questions. p: the p-value of "some single method is better by
    `lose_at_most` or more"; against: the method that comes nearest to it; loss: its mean lead over the cascade.
    """

    candidate: Candidate
    p: float
    against: str | None
    loss: float
    passed: bool


def compute_losses(recorded: RecordedAnswers, cascade: Cascade, wrong_cost: float) -> dict[str, Floats]:
    """For each single method, its worth minus the cascade's, averaged by group and scaled to [-1, 1]."""
    worth = replay_cascade(recorded, cascade).worst
    same = cascade[0].method if len(cascade) == 1 else None
    losses = {}
    for place, name in enumerate(recorded.methods):
        if name != same:
            losses[name] = average_by_group((recorded.best[place] - worth) / (1 + wrong_cost), recorded.group)
    return losses


def average_by_group(values: Floats, group: NDArray[np.int64]) -> Floats:
    """The mean of each group."""
    _, place = np.unique(group, return_inverse=True)
    averages: Floats = np.bincount(place, weights=values) / np.bincount(place)
    return averages


def certify_cascades(
    recorded: RecordedAnswers,
    candidates: Sequence[Candidate],
    lose_at_most: float,
    error: float,
    wrong_cost: float = 0.0,
) -> list[Certificate]:
    """Test the candidates in their order, up to and including the first that fails.

    A candidate's p-value is the largest over all single methods: an intersection-union test, which needs no correction
    (Berger 1982). Tests in a fixed order need none for the number of candidates either (Maurer et al. 1995).
    """
    certificates: list[Certificate] = []
    margin = lose_at_most / (1 + wrong_cost)
    for candidate in candidates:
        by_method = compute_losses(recorded, candidate.cascade, wrong_cost)
        p_values = {name: compute_margin_p_value(values, margin) for name, values in by_method.items()}
        against = max(p_values, key=lambda name: p_values[name]) if p_values else None
        p = p_values[against] if against else 1.0
        loss = float(by_method[against].mean()) * (1 + wrong_cost) if against else 0.0
        certificates.append(Certificate(candidate, p, against, loss, p <= error))
        if p > error:
            break
    return certificates


def compute_stage_shares(recorded: RecordedAnswers, cascade: Cascade) -> Mapping[str, float]:
    """The share of questions that reach each stage, by method."""
    asked = replay_cascade(recorded, cascade).asked.mean(axis=1)
    return {stage.method: float(share) for stage, share in zip(cascade, asked, strict=True)}
