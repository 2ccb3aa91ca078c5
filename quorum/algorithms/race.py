"""A race between methods: a method that cannot be the best is no longer asked.

All methods answer the same questions in one random order. Against every method B two gamblers bet, each with half of
the capital, that some other method is better: one divides it among all others, each part on "A is better than B"; the
other bets each question on the method that leads B by most so far. Were B the best, no bet would be favourable, so the
capital reaches 1/error with chance `error` at most, whenever one looks: then B is dropped. So

    P(the best is ever dropped) <= error.

Of several equally good best methods that holds for each, and for losing all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.algorithms.betting import SLACK, STAKES, log_factors

Mode = Literal["exact", "questions", "future"]
MODES: tuple[Mode, ...] = ("exact", "questions", "future")
ERROR = 0.05
LARGEST_LOG = 600.0

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass
class Race:
    """The state of a race after some questions.

    methods: how many there are; population: how many questions there are. mode: "exact" drops a method when arithmetic
    leaves it no way to win on these questions; "questions" when it is unlikely to win on these questions; "future" when
    it is unlikely to be the best on questions like these. live: whether each is still asked; dropped: after how many
    questions each of the others was dropped.

    >>> race = Race(2, population=100, mode="exact")
    >>> for _ in range(51):
    ...     gone = race.settle([1.0, 0.0])
    >>> gone, race.live.tolist()
    ([1], [True, False])
    """

    methods: int
    population: int
    mode: Mode = "questions"
    error: float = ERROR
    settled: int = 0
    dropped: dict[int, int] = field(default_factory=dict)
    live: Flags = field(init=False)
    leads: Floats = field(init=False)  # [A, B]: the sum of x_A - x_B
    pairs: Floats = field(init=False)  # [A, B, stake]: the log of the capital bet on "A is better than B"
    leader: Floats = field(init=False)  # [B, stake]: the log of the capital bet on whoever leads B

    def __post_init__(self) -> None:
        n, stakes = self.methods, len(STAKES)
        self.live = np.ones(n, dtype=np.bool_)
        self.leads = np.zeros((n, n))
        self.pairs, self.leader = np.zeros((n, n, stakes)), np.zeros((n, stakes))

    def settle(self, worst: ArrayLike, best: ArrayLike | None = None) -> list[int]:
        """Bet on one more question and drop the methods that have lost. Returns the methods dropped now.

        worst, best: what each answer is worth, in an interval of length 1; for an answer that is missing the least and
        the most that it can be worth (`best` is `worst` where it is left out). What is given for a method that was
        dropped before is not read.
        """
        low = np.asarray(worst, dtype=np.float64)
        high = low if best is None else np.asarray(best, dtype=np.float64)
        against = self.live[:, None] & self.live[None, :] & ~np.eye(self.methods, dtype=np.bool_)
        x = np.where(against, low[:, None] - high[None, :], 0.0)
        if self.mode != "exact":
            self.bet(x, against)
        self.leads += x
        self.settled += 1
        gone = self.losers()
        for one in gone:
            self.live[one] = False
            self.dropped[one] = self.settled
        return gone

    def bet(self, x: Floats, against: Flags) -> None:
        """Multiply the capital by what the bets on this question gain."""
        left = self.population - self.settled
        m = -self.leads / left if self.mode == "questions" and left > 0 else np.zeros_like(x)
        gains = np.where(against[..., None], log_factors(x, m), 0.0)
        self.pairs += gains
        ahead = np.where(against, self.leads, -np.inf).argmax(axis=0)  # A for every B; known before the question
        self.leader += gains[ahead, np.arange(self.methods)]

    def evidence(self) -> Floats:
        """The capital won against each live method; infinite where it certainly is not the best of these questions."""
        against = self.live[:, None] & self.live[None, :] & ~np.eye(self.methods, dtype=np.bool_)
        found = np.zeros(self.methods)
        if self.mode != "exact" and self.methods > 1:
            pairs = np.where(against, np.exp(np.minimum(self.pairs, LARGEST_LOG)).mean(axis=-1), 0.0)
            leader = np.exp(np.minimum(self.leader, LARGEST_LOG)).mean(axis=-1)
            found = (pairs.sum(axis=0) / (self.methods - 1) + leader) / 2
        if self.mode != "future":
            left = self.population - self.settled
            certain = (against & (self.leads > left + SLACK)).any(axis=0)
            found = np.where(certain, np.inf, found)
        return np.where(self.live, found, 0.0)

    def losers(self) -> list[int]:
        """The live methods that have lost. If all have, the one with the least evidence against it stays."""
        evidence = self.evidence()
        lost = [int(one) for one in np.flatnonzero(self.live & (evidence >= 1 / self.error))]
        if len(lost) == int(self.live.sum()):
            lost.remove(min(lost, key=lambda one: (float(evidence[one]), one)))
        return lost


def worth(score: float, unknown: bool, wrong_cost: float = 0.0) -> float:
    """What an answer is worth: its measure s in [0, 1] less `wrong_cost` for the part that is wrong. To say unknown is
    never charged for.

    >>> worth(0.0, False, 0.5), worth(0.0, True, 0.5), worth(1.0, False, 0.5)
    (-0.5, 0.0, 1.0)
    """
    return score if unknown else score - wrong_cost * (1 - score)


def run_race(values: Sequence[Sequence[float]] | Floats, mode: Mode, *, error: float = ERROR) -> Race:
    """The race over a full table, questions in their order by methods, each value in [0, 1].

    Method b would have been asked `race.dropped.get(b, race.settled)` questions.
    """
    table = np.asarray(values, dtype=np.float64)
    race = Race(table.shape[1], population=table.shape[0], mode=mode, error=error)
    for row in table:
        race.settle(row)
    return race
