"""A race over the questions of a run: settles them in order, and drops methods that cannot win (`--race`).

The questions come in one random order. A question is settled once every method that is still in the race has answered
it; answers that arrive early wait for their turn. So who is dropped when follows from the answers alone, not from the
order in which they arrive, and a race that was killed and taken up again ends like one that was not.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from quorum.algorithms.betting import compute_interval, compute_lower_bound
from quorum.algorithms.race import ERROR, Mode, Race, compute_worth
from quorum.datasets.records import Record
from quorum.evaluation.metrics.statistics import Floats
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet, group_records
from quorum.evaluation.run.results import Results, Row
from quorum.evaluation.run.tasks import measures_of

SEED = 0
AHEAD = 2  # a question may be asked when at most this many times the concurrency wait to be settled before it
Units = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Standing:
    """One method at one moment of a race. asked: how many questions count for it; mean: of the deciding measure, over
    those that it answered (None: none); low, high: an interval that holds at every moment of the race, with a
    confidence of 95%; dropped: whether it is no longer asked.
    """

    method: str
    asked: int
    mean: float | None
    low: float
    high: float
    dropped: bool


@dataclass(frozen=True)
class RaceResult:
    """How a race ended. measure: the deciding measure; units: the ids in the order of the race, those that are bet on
    as one together; settled: how many questions are settled; standings: by method.
    """

    mode: Mode
    error: float
    seed: int
    measure: str
    units: Units
    settled: int
    standings: Mapping[str, Standing]

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return sum(map(len, self.units))

    @property
    def finished(self) -> bool:
        """Whether the survivors were asked everything."""
        return self.settled == self.questions

    @property
    def survivors(self) -> list[str]:
        """The methods that are still in the race."""
        return [name for name, one in self.standings.items() if not one.dropped]

    @property
    def dropped(self) -> list[Standing]:
        """The methods that are out, the first to go before the others."""
        return sorted((one for one in self.standings.values() if one.dropped), key=lambda one: one.asked)

    @property
    def saved(self) -> float:
        """The share of the full run's answers that the race did without."""
        asked = sum(one.asked for one in self.standings.values())
        return 1 - asked / max(1, self.settled * len(self.standings))

    def is_dropped(self, name: str) -> bool:
        return name in self.standings and self.standings[name].dropped

    def anytime_interval(self, values: Mapping[str, float], asked: int) -> tuple[float, float]:
        """The interval for a mean in [-1, 1] after the first `asked` questions that holds whenever the race stops.

        values: by question; those that have none are left out.
        """
        seen = asked_units(self.units, asked)
        means = [np.mean(found) for unit in seen if (found := [values[id_] for id_ in unit if id_ in values])]
        return compute_interval(means, population=population_of(self.mode, len(self.units) - len(seen) + len(means)))

    def to_json(self) -> dict[str, Any]:
        """For race.json."""
        rows = [
            {"method": one.method, "asked": one.asked, "of": self.questions, "dropped": one.dropped}
            | {"mean": one.mean, "low": round(one.low, 6), "high": round(one.high, 6)}
            for one in self.standings.values()
        ]
        about = {"mode": self.mode, "error": self.error, "seed": self.seed, "measure": self.measure}
        counts = {"questions": self.questions, "settled": self.settled, "finished": self.finished}
        return about | counts | {"survivors": self.survivors, "saved": round(self.saved, 6), "methods": rows}


Watch = Callable[["RunningRace"], None]


class RunningRace:
    """The race while answers arrive. Begin with `start_race`.

    units: the ids of the questions in order, those that are bet on as one together. values: by method and question the
    least and the most that an answer is worth, divided by 1 + wrong_cost, as far as it is known; score: its measure,
    None where the call failed.
    """

    def __init__(
        self,
        names: Sequence[str],
        units: Units,
        *,
        mode: Mode,
        measure: str,
        wrong_cost: float = 0.0,
        challengers: frozenset[str] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.names, self.units, self.mode, self.measure = list(names), units, mode, measure
        self.wrong_cost = wrong_cost
        allowed = None if challengers is None else np.array([name in challengers for name in names], dtype=np.bool_)
        self.race = Race(len(names), population=len(units), mode=mode, error=ERROR, challengers=allowed)
        self.live = set(names)
        self.places = {id_: place for place, id_ in enumerate(chain.from_iterable(units))}
        self.settled = 0  # questions
        self.asked: dict[str, int] = {}  # of the methods that are out
        self.scores: dict[tuple[str, str], float | None] = {}
        self.values: dict[tuple[str, str], tuple[float, float] | None] = {}
        self.watch = watch
        self.moved = asyncio.Event()

    @property
    def questions(self) -> int:
        """How many questions there are."""
        return len(self.places)

    @property
    def finished(self) -> bool:
        """Whether every question is settled."""
        return self.settled == self.questions

    def is_live(self, name: str) -> bool:
        """Whether a method is still asked."""
        return name in self.live

    def counts(self, name: str, id_: str) -> bool:
        """Whether an answer counts: its question was settled while the method was in the race."""
        return self.places.get(id_, self.questions) < self.asked.get(name, self.settled)

    def load(self, results: Results) -> None:
        """Take over the answers of earlier runs. Their failed calls are asked again, and so do not count."""
        for name, scores in results.scores.items():
            for id_, score, unknown in zip(
                scores.ids, scores.values[self.measure], scores.values["unknown"], strict=True
            ):
                self.record(name, id_, score, bool(unknown == 1))
        self.settle()

    def add(self, row: Row) -> None:
        """Take over an answer of this run; a failed one counts as the worst for what is claimed."""
        key: Any = row
        score = math.nan if key[self.measure] is None else float(key[self.measure])
        if row["error"] is not None:
            self.scores[row["method"], row["id"]] = None
            self.values[row["method"], row["id"]] = (self.scale(-self.wrong_cost), self.scale(1.0))
        else:
            self.record(row["method"], row["id"], score, bool(row["unknown"]))
        if self.settle() and self.watch is not None:
            self.watch(self)

    def record(self, name: str, id_: str, score: float, unknown: bool) -> None:
        if math.isnan(score):  # the question does not have the measure
            self.scores[name, id_] = self.values[name, id_] = None
            return
        value = self.scale(compute_worth(score, unknown, self.wrong_cost))
        self.scores[name, id_], self.values[name, id_] = score, (value, value)

    def scale(self, worth: float) -> float:
        """The worth in an interval of length 1, as bets need it."""
        return worth / (1 + self.wrong_cost)

    def settle(self) -> bool:
        """Settle the questions that all live methods have answered, as far as their turn has come. Returns whether
        there was one.
        """
        before = self.settled
        while self.race.asked < len(self.units) and self.is_answered(self.units[self.race.asked]):
            unit = self.units[self.race.asked]
            self.settled += len(unit)
            losers = self.race.add_question(*self.bounds(unit))
            for number in losers if not self.finished else ():  # after the last question all were asked everything
                self.live.discard(self.names[number])
                self.asked[self.names[number]] = self.settled
        if self.settled == before:
            return False
        self.moved.set()
        self.moved = asyncio.Event()
        return True

    def is_answered(self, unit: Sequence[str]) -> bool:
        return all((name, id_) in self.values for id_ in unit for name in self.live)

    def bounds(self, unit: Sequence[str]) -> tuple[Floats, Floats]:
        """The least and the most that each method's answers to these questions are worth, on average."""
        bounds = np.zeros((2, len(self.names)))
        for id_ in unit:
            found = {name: self.values[name, id_] for name in self.live}
            if all(one is not None for one in found.values()):
                bounds += np.array([found.get(name) or (0.0, 0.0) for name in self.names]).T
        low, high = bounds / len(unit)
        return low, high

    async def wait_for_turn(self, id_: str, concurrency: int) -> None:
        """Wait while too many questions before this one are not settled: some of these answers may not be needed."""
        while not self.finished:
            turn = self.settled + len(self.units[self.race.asked])
            if self.places[id_] < turn + AHEAD * concurrency:
                return
            await self.moved.wait()

    def standing(self, name: str) -> Standing:
        """Where a method stands."""
        asked = self.asked.get(name, self.settled)
        low, high, scores = [], [], []
        seen = asked_units(self.units, asked)
        for unit in seen:
            found = [self.scores[name, id_] for id_ in unit if self.values.get((name, id_)) is not None]
            scores += [one for one in found if one is not None]
            if found:
                low.append(float(np.mean([one or 0.0 for one in found])))
                high.append(float(np.mean([1.0 if one is None else one for one in found])))
        least, most = share_bounds(low, high, population_of(self.mode, len(self.units) - len(seen) + len(low)))
        mean = round(math.fsum(scores) / len(scores), 6) if scores else None
        return Standing(name, asked, mean, least, most, name not in self.live)

    def standings(self) -> list[Standing]:
        """Where every method stands, as `sort_standings` orders them."""
        return sort_standings(self.standing(name) for name in self.names)

    def result(self) -> RaceResult:
        """How the race ended, or where it was stopped."""
        standings = {name: self.standing(name) for name in self.names}
        return RaceResult(self.mode, ERROR, SEED, self.measure, self.units, self.settled, standings)


def sort_standings(standings: Iterable[Standing]) -> list[Standing]:
    """Those that are still in the race first, then those that went last; the best before the others."""
    return sorted(standings, key=lambda one: (one.dropped, -one.asked, -(one.mean or 0.0)))


def asked_units(units: Units, asked: int) -> list[tuple[str, ...]]:
    """The units of the first `asked` questions."""
    found: list[tuple[str, ...]] = []
    for unit in units:
        if asked <= 0:
            break
        found.append(unit)
        asked -= len(unit)
    return found


def population_of(mode: Mode, units: int) -> int | None:
    """How many units an interval is about; None where it is about future ones."""
    return None if mode == "future" else units


def share_bounds(low: Sequence[float], high: Sequence[float], population: int | None) -> tuple[float, float]:
    """The interval for a mean in [0, 1]. low, high: the least and the most of each value, equal where it is known."""
    least = compute_lower_bound(2 * np.array(low) - 1, 0.025, population=population)
    most = -compute_lower_bound(1 - 2 * np.array(high), 0.025, population=population)
    return (1 + least) / 2, (1 + most) / 2


def deciding_measure(columns: Sequence[Column], tasks: Sequence[str]) -> str:
    """The measure that decides between these columns on questions of these tasks."""
    return measures_of({column.context_for(task).answer_type for column in columns for task in tasks})[0]


def start_race(
    columns: Sequence[Column],
    dataset: DataSet,
    results: Results,
    *,
    mode: Mode,
    task: str | None = None,
    wrong_cost: float = 0.0,
    challengers: frozenset[str] | None = None,
    watch: Watch | None = None,
) -> RunningRace:
    """The race as far as earlier runs got. Reads the questions, and blocks."""
    records: list[Record] = list(dataset.questions())
    tasks = sorted({task or dataset.task_of(record) for record in records})
    units = tuple(tuple(record["id"] for record in unit) for unit in group_records(records, by_group=dataset.by_group))
    measure = deciding_measure(columns, tasks)
    names = [column.name for column in columns]
    race = RunningRace(
        names, units, mode=mode, measure=measure, wrong_cost=wrong_cost, challengers=challengers, watch=watch
    )
    race.load(results)
    if watch is not None:
        watch(race)
    return race
