"""A race between methods: a method that cannot be the best is no longer asked.

All methods answer the same questions in one random order. For every method B we test the hypothesis "B is the best".
Two gamblers bet against it; the capital of both together is 1 at the start, and each has half of it. The first divides
its half equally among the other methods A and bets each part on "A is better than B". The second bets, at each
question, on the method whose lead over B is the largest so far. If B is the best, no bet is favourable, and the
probability that the capital ever reaches 1/error is at most `error` (Ville 1939). B is dropped when the capital reaches
1/error. So

    P(the best is ever dropped) <= error,

however often the capital is checked. If several methods are equally the best, each of them is dropped with a
probability of at most `error`. So the probability that all of them are dropped is at most `error` as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.algorithms.betting import ROUNDING_ERROR, STAKES, compute_log_factors

RaceMode = Literal["exact", "questions", "future"]
RACE_MODES: tuple[RaceMode, ...] = ("exact", "questions", "future")
RACE_ERROR_PROBABILITY = 0.05  # the probability that the best method is dropped is at most this
LARGEST_LOG = 600.0  # larger logarithms of a capital are cut to this, because exp() of them could overflow

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass
class Race:
    """The state of a race after some steps. A step is one question, or a unit of questions that belong together.

    Methods are numbered from 0. method_count: how many methods run; population: how many steps the whole race has.
    error: the highest allowed probability that the best method is dropped. mode: when a method is dropped. "exact": it
    can no longer win on these questions, whatever the remaining answers are; "questions": it is unlikely to win on
    these questions; "future": it is unlikely to be the best on new questions like these. may_drop_others: whether each
    method may make others drop out; None: all may. step_count: how many steps so far; is_live: whether each method is
    still asked; asked_when_dropped: for each dropped method, the step_count at which it was dropped.

    After method 0 has won 51 of 51 steps, method 1 cannot catch up in the remaining 49:

    >>> race = Race(2, population=100, mode="exact")
    >>> for _ in range(51):
    ...     losers = race.add_step([1.0, 0.0])
    >>> losers, race.is_live.tolist()
    ([1], [True, False])
    """

    method_count: int
    population: int
    mode: RaceMode = "questions"
    error: float = RACE_ERROR_PROBABILITY
    may_drop_others: Flags | None = None
    step_count: int = 0
    asked_when_dropped: dict[int, int] = field(default_factory=dict)
    is_live: Flags = field(init=False)
    leads: Floats = field(init=False)  # [A, B]: the sum of A's worth minus B's worth over the steps so far
    log_capital_on_pairs: Floats = field(init=False)  # [A, B, stake]: bet on "A is better than B"
    log_capital_on_leader: Floats = field(init=False)  # [B, stake]: bet on the method that leads B by most

    def __post_init__(self) -> None:
        n, stake_count = self.method_count, len(STAKES)
        self.is_live = np.ones(n, dtype=np.bool_)
        self.leads = np.zeros((n, n))
        self.log_capital_on_pairs, self.log_capital_on_leader = (
            np.zeros((n, n, stake_count)),
            np.zeros((n, stake_count)),
        )

    def add_step(self, lowest_worth: ArrayLike, highest_worth: ArrayLike | None = None) -> list[int]:
        """Bet on one more step and drop the methods that have lost. Returns the numbers of the methods dropped now.

        lowest_worth, highest_worth: bounds of the worth of each method's answer; for a unit of questions, bounds of the
        mean worth of the method's answers. All values lie in one interval of length 1. The two bounds differ only if an
        answer is missing, because its call failed; without `highest_worth`, no answer is missing. The values of methods
        that were dropped earlier are ignored.
        """
        low = np.asarray(lowest_worth, dtype=np.float64)
        high = low if highest_worth is None else np.asarray(highest_worth, dtype=np.float64)
        rivals = self.find_rivals()
        differences = np.where(rivals, low[:, None] - high[None, :], 0.0)
        if self.mode != "exact":
            self.place_bets(differences, rivals)
        self.leads += differences
        self.step_count += 1
        losers = self.find_losers()
        for loser in losers:
            self.is_live[loser] = False
            self.asked_when_dropped[loser] = self.step_count
        return losers

    def find_rivals(self) -> Flags:
        """[A, B]: whether A may make B drop out."""
        rivals: Flags = self.is_live[:, None] & self.is_live[None, :] & ~np.eye(self.method_count, dtype=np.bool_)
        return rivals if self.may_drop_others is None else rivals & self.may_drop_others[:, None]

    def place_bets(self, differences: Floats, rivals: Flags) -> None:
        """Multiply the capital by the factors that the bets on this step gain.

        differences: [A, B], the worth of A's answer minus that of B's. rivals: see `find_rivals`.
        """
        remaining_steps = self.population - self.step_count
        null_means = (  # [A, B]: the largest mean that the remaining differences can have if B is the best
            -self.leads / remaining_steps
            if self.mode == "questions" and remaining_steps > 0
            else np.zeros_like(differences)
        )
        log_factors = np.where(rivals[..., None], compute_log_factors(differences, null_means), 0.0)
        self.log_capital_on_pairs += log_factors
        leaders = np.where(rivals, self.leads, -np.inf).argmax(axis=0)  # A for every B, by the leads before this step
        self.log_capital_on_leader += log_factors[leaders, np.arange(self.method_count)]

    def compute_evidence(self) -> Floats:
        """The capital won against each live method; infinite if the method cannot win on these questions any more.

        In the mode "future" it is never infinite; in the mode "exact" it is 0 or infinite. Dropped methods have 0.
        """
        rivals = self.find_rivals()
        evidence = np.zeros(self.method_count)
        if self.mode != "exact" and self.method_count > 1:
            pair_capital = np.exp(np.minimum(self.log_capital_on_pairs, LARGEST_LOG)).mean(axis=-1)
            leader_capital = np.exp(np.minimum(self.log_capital_on_leader, LARGEST_LOG)).mean(axis=-1)
            mean_pair_capital = np.where(rivals, pair_capital, 0.0).sum(axis=0) / (self.method_count - 1)
            evidence = (mean_pair_capital + leader_capital) / 2
        if self.mode != "future":
            remaining_steps = self.population - self.step_count
            cannot_win = (rivals & (self.leads > remaining_steps + ROUNDING_ERROR)).any(axis=0)
            evidence = np.where(cannot_win, np.inf, evidence)
        return np.where(self.is_live, evidence, 0.0)

    def find_losers(self) -> list[int]:
        """The numbers of the live methods that have lost.

        If all methods that may drop others have lost, the one with the least evidence against it stays.
        """
        evidence = self.compute_evidence()
        has_lost = self.is_live & (evidence >= 1 / self.error)
        may_drop = self.is_live if self.may_drop_others is None else self.is_live & self.may_drop_others
        if may_drop.any() and has_lost[may_drop].all():
            winner = min(np.flatnonzero(may_drop), key=lambda index: (float(evidence[index]), int(index)))
            has_lost[winner] = False
        return [int(index) for index in np.flatnonzero(has_lost)]


def compute_worth(score: float, unknown: bool, wrong_cost: float = 0.0) -> float:
    """The worth of an answer: its score in [0, 1] minus `wrong_cost` times the wrong part, 1 - score. Saying unknown
    costs nothing.

    >>> compute_worth(0.0, False, 0.5), compute_worth(0.0, True, 0.5), compute_worth(1.0, False, 0.5)
    (-0.5, 0.0, 1.0)
    """
    return score if unknown else score - wrong_cost * (1 - score)


def run_race(
    values: Sequence[Sequence[float]] | Floats, mode: RaceMode, *, error: float = RACE_ERROR_PROBABILITY
) -> Race:
    """Replay a race over a full table, whose rows are the questions in order and whose columns are the methods.

    Each value lies in [0, 1]. The method in column b would have been asked
    `race.asked_when_dropped.get(b, race.step_count)` questions.
    """
    table = np.asarray(values, dtype=np.float64)
    race = Race(table.shape[1], population=table.shape[0], mode=mode, error=error)
    for row in table:
        race.add_step(row)
    return race
