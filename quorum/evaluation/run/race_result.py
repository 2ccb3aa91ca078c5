"""The result of a race, and each method's standing: how many questions it was asked, and an interval for its mean."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorum.algorithms.betting import compute_interval, compute_lower_bound
from quorum.algorithms.race import RaceMode

SEED = 0  # of the random order of the questions
Units = tuple[tuple[str, ...], ...]
"""The ids of all questions, in units; a unit is one step of the race. In the mode "future" (see
`quorum.algorithms.race.Race`), the questions of one document or conversation are one unit. Any other question is a unit
by itself."""


@dataclass(frozen=True)
class Standing:
    """One method at one moment of a race.

    asked_count: how many questions were settled while this method was in the race (a question is settled when every
    method still in the race has answered it); mean: the mean of the deciding measure over the questions that the method
    answered (None: it answered none); low, high: an interval that holds at every moment of the race, with a confidence
    of 95%; dropped: whether the method is no longer asked.
    """

    method: str
    asked_count: int
    mean: float | None
    low: float
    high: float
    dropped: bool


@dataclass(frozen=True)
class RaceResult:
    """The result of a race. error: the highest allowed probability that the race drops the best method; seed: of
    the random order of the questions; measure: the deciding measure; units: the questions' ids in that order;
    settled_count: how many questions all methods that were still in the race have answered; standings: by method.
    """

    mode: RaceMode
    error: float
    seed: int
    measure: str
    units: Units
    settled_count: int
    standings: Mapping[str, Standing]

    @property
    def question_count(self) -> int:
        """How many questions there are."""
        return sum(map(len, self.units))

    @property
    def is_finished(self) -> bool:
        """Whether the methods that are still in the race have answered all questions."""
        return self.settled_count == self.question_count

    @property
    def survivors(self) -> list[str]:
        """The methods that are still in the race."""
        return [name for name, standing in self.standings.items() if not standing.dropped]

    @property
    def dropped_standings(self) -> list[Standing]:
        """The standings of the dropped methods, in the order in which they were dropped."""
        return sorted(
            (standing for standing in self.standings.values() if standing.dropped),
            key=lambda standing: standing.asked_count,
        )

    @property
    def saved_share(self) -> float:
        """How much the race saved: of the answers that all methods would have given to the settled questions, the share
        that was not needed.
        """
        asked_count = sum(standing.asked_count for standing in self.standings.values())
        return 1 - asked_count / max(1, self.settled_count * len(self.standings))

    def is_dropped(self, name: str) -> bool:
        return name in self.standings and self.standings[name].dropped

    def compute_anytime_interval(self, values: Mapping[str, float], asked_count: int) -> tuple[float, float]:
        """The 95% interval for the mean of `values` after `asked_count` questions; it holds whenever the race stops.

        values: numbers in [-1, 1], by the question's id; questions without a value are left out.
        """
        asked_units = take_units(self.units, asked_count)
        means = [
            np.mean(unit_values)
            for unit in asked_units
            if (unit_values := [values[id_] for id_ in unit if id_ in values])
        ]
        return compute_interval(
            means, population=count_population(self.mode, len(self.units) - len(asked_units) + len(means))
        )

    def to_json(self) -> dict[str, Any]:
        """The content of race.json."""
        rows = [
            {
                "method": standing.method,
                "asked": standing.asked_count,
                "of": self.question_count,
                "dropped": standing.dropped,
            }
            | {"mean": standing.mean, "low": round(standing.low, 6), "high": round(standing.high, 6)}
            for standing in self.standings.values()
        ]
        settings = {"mode": self.mode, "error": self.error, "seed": self.seed, "measure": self.measure}
        counts = {"questions": self.question_count, "settled": self.settled_count, "finished": self.is_finished}
        return settings | counts | {"survivors": self.survivors, "saved": round(self.saved_share, 6), "methods": rows}


def sort_standings(standings: Iterable[Standing]) -> list[Standing]:
    """The methods still in the race, then the dropped ones, the last dropped first; in a tie, the higher mean first."""
    return sorted(standings, key=lambda standing: (standing.dropped, -standing.asked_count, -(standing.mean or 0.0)))


def take_units(units: Units, asked_count: int) -> list[tuple[str, ...]]:
    """The units of the first `asked_count` questions."""
    taken_units: list[tuple[str, ...]] = []
    for unit in units:
        if asked_count <= 0:
            break
        taken_units.append(unit)
        asked_count -= len(unit)
    return taken_units


def count_population(mode: RaceMode, unit_count: int) -> int | None:
    """The size of the population whose mean an interval covers: `unit_count`; None (unlimited) in the mode "future"."""
    return None if mode == "future" else unit_count


def compute_anytime_mean_interval(
    low: Sequence[float], high: Sequence[float], population: int | None
) -> tuple[float, float]:
    """The 95% interval for the mean of values in [0, 1].

    low, high: the bounds of each value, equal if the value is known; population: see `count_population`.
    """
    least = compute_lower_bound(2 * np.array(low) - 1, 0.025, population=population)
    most = -compute_lower_bound(1 - 2 * np.array(high), 0.025, population=population)
    return (1 + least) / 2, (1 + most) / 2
