"""Runs a race over the questions of a run: settles them in order, and drops methods that cannot win (`--race`).

The questions come in one random order. A question is settled once every method that is still in the race has answered
it; answers that arrive early wait for their turn. So the drops depend on the answers alone, not on the order in which
they arrive, and a race that is killed and continued ends like an uninterrupted one.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from quorum.algorithms.race import RACE_ERROR_PROBABILITY, Race, RaceMode, compute_worth
from quorum.datasets.records import Record
from quorum.evaluation.metrics.statistics import Floats
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet, group_records
from quorum.evaluation.run.race_result import (
    SEED,
    RaceResult,
    Standing,
    Units,
    compute_anytime_mean_interval,
    count_population,
    sort_standings,
    take_units,
)
from quorum.evaluation.run.results import Results
from quorum.evaluation.run.tasks import list_deciding_measures, list_short_answers_of_parts

# Beyond the settled questions, methods may be asked the questions of the race's next step, and after these
# AHEAD_FACTOR * concurrency more.
AHEAD_FACTOR = 2
RaceWatcher = Callable[["RunningRace"], None]


@dataclass(frozen=True)
class RaceRules:
    """How a race is run.

    mode: when a method is dropped (see `quorum.algorithms.race.Race`); task: the task of every question, None: each has
    its own; wrong_cost: what a wrong answer costs. names_that_may_drop_others: the names of the columns that may make
    others drop out; None: all may. asking_order: the names of the columns in the order in which each question is asked;
    empty: in the plan's order.
    """

    mode: RaceMode
    task: str | None = None
    wrong_cost: float = 0.0
    names_that_may_drop_others: frozenset[str] | None = None
    asking_order: Sequence[str] = ()

    def order(self, columns: Sequence[Column]) -> Sequence[Column]:
        """The columns in the order in which each question is asked."""
        if not self.asking_order:
            return columns
        return sorted(columns, key=lambda column: self.asking_order.index(column.name))


class RunningRace:
    """The race while answers arrive. Begin with `start_race`.

    names: the names of the methods. units: the ids of the questions in order; the questions of one unit, for example
    those about one document, count as one step of the race. mode: when a method is dropped (see
    `quorum.algorithms.race.Race`). measure: the deciding measure. names_that_may_drop_others: the methods that may make
    others drop out; None: all may. live_names: the methods still in the race. positions: by question id, the place in
    the order, from 0. asked_when_dropped: for each dropped method, how many questions were settled when it was dropped.
    scores: by (method, question id), the deciding measure of the answer; None if the answer failed, or if the question
    does not have this measure. worth_bounds: by (method, question id), the lowest and the highest possible worth of the
    answer, divided by 1 + wrong_cost; None if the question does not have the deciding measure. watch_race: called with
    this race whenever an answer of this run has settled questions.
    """

    def __init__(
        self,
        names: Sequence[str],
        units: Units,
        *,
        mode: RaceMode,
        measure: str,
        wrong_cost: float = 0.0,
        names_that_may_drop_others: frozenset[str] | None = None,
        watch_race: RaceWatcher | None = None,
    ) -> None:
        self.names, self.units, self.mode, self.measure = list(names), units, mode, measure
        self.wrong_cost = wrong_cost
        may_drop_others = (
            None
            if names_that_may_drop_others is None
            else np.array([name in names_that_may_drop_others for name in names], dtype=np.bool_)
        )
        self.race = Race(
            len(names), population=len(units), mode=mode, error=RACE_ERROR_PROBABILITY, may_drop_others=may_drop_others
        )
        self.live_names = set(names)
        self.positions = {id_: position for position, id_ in enumerate(chain.from_iterable(units))}
        self.settled_count = 0
        self.asked_when_dropped: dict[str, int] = {}
        self.scores: dict[tuple[str, str], float | None] = {}
        self.worth_bounds: dict[tuple[str, str], tuple[float, float] | None] = {}
        self.watch_race = watch_race
        self.progress_event = asyncio.Event()  # set, and replaced by a new one, whenever questions are settled

    @property
    def question_count(self) -> int:
        """How many questions there are."""
        return len(self.positions)

    @property
    def is_finished(self) -> bool:
        """Whether every question is settled."""
        return self.settled_count == self.question_count

    def is_live(self, name: str) -> bool:
        """Whether a method is still asked."""
        return name in self.live_names

    def is_counted(self, name: str, id_: str) -> bool:
        """Whether a method's answer counts: the question was settled while the method was still in the race."""
        return self.positions.get(id_, self.question_count) < self.asked_when_dropped.get(name, self.settled_count)

    def load(self, results: Results) -> None:
        """Add the answers of earlier runs. Failed answers are left out, because their questions are asked again."""
        for name, scores in results.scores.items():
            for id_, score, unknown in zip(
                scores.ids, scores.values[self.measure], scores.values["unknown"], strict=True
            ):
                self.record(name, id_, score, bool(unknown == 1))
        self.settle()

    def add(self, row: Row) -> None:
        """Add an answer of this run. The worth of a failed answer is unknown, so its bounds are the widest possible."""
        measures: Any = row
        score = math.nan if measures[self.measure] is None else float(measures[self.measure])
        if row["error"] is not None:
            self.scores[row["method"], row["id"]] = None
            self.worth_bounds[row["method"], row["id"]] = (self.scale(-self.wrong_cost), self.scale(1.0))
        else:
            self.record(row["method"], row["id"], score, bool(row["unknown"]))
        if self.settle() and self.watch_race is not None:
            self.watch_race(self)

    def record(self, name: str, id_: str, score: float, unknown: bool) -> None:
        """Record the score and the worth of an answer that did not fail. score: NaN if the question has none."""
        if math.isnan(score):  # the question does not have the measure
            self.scores[name, id_] = self.worth_bounds[name, id_] = None
            return
        scaled_worth = self.scale(compute_worth(score, unknown, self.wrong_cost))
        self.scores[name, id_], self.worth_bounds[name, id_] = score, (scaled_worth, scaled_worth)

    def scale(self, worth: float) -> float:
        """The worth, scaled so that all possible values lie in an interval of length 1, as `Race` requires."""
        return worth / (1 + self.wrong_cost)

    def settle(self) -> bool:
        """Settle, in order, the questions that all live methods have answered. Returns whether any was settled."""
        settled_before = self.settled_count
        while self.race.step_count < len(self.units) and self.is_answered(self.units[self.race.step_count]):
            unit = self.units[self.race.step_count]
            self.settled_count += len(unit)
            losers = self.race.add_step(*self.compute_bounds(unit))
            if not self.is_finished:  # after the last question, no method needs to be dropped
                for number in losers:
                    self.live_names.discard(self.names[number])
                    self.asked_when_dropped[self.names[number]] = self.settled_count
        if self.settled_count == settled_before:
            return False
        self.progress_event.set()
        self.progress_event = asyncio.Event()
        return True

    def is_answered(self, unit: Sequence[str]) -> bool:
        """Whether all methods in the race have answered all questions of the unit."""
        return all((name, id_) in self.worth_bounds for id_ in unit for name in self.live_names)

    def compute_bounds(self, unit: Sequence[str]) -> tuple[Floats, Floats]:
        """The lowest and the highest possible mean worth of each method's answers to the questions of a unit.

        A question without the deciding measure counts as 0 for all methods, and so does every question for a dropped
        method.
        """
        bounds = np.zeros((2, len(self.names)))
        for id_ in unit:
            bounds_by_name = {name: self.worth_bounds[name, id_] for name in self.live_names}
            if all(answer_bounds is not None for answer_bounds in bounds_by_name.values()):
                bounds += np.array([bounds_by_name.get(name) or (0.0, 0.0) for name in self.names]).T
        low, high = bounds / len(unit)
        return low, high

    async def wait_for_turn(self, id_: str, concurrency: int) -> None:
        """Wait while too many earlier questions are not settled: their answers may drop methods, which then need not be
        asked this question.
        """
        while not self.is_finished:
            end_of_next_unit = self.settled_count + len(self.units[self.race.step_count])
            if self.positions[id_] < end_of_next_unit + AHEAD_FACTOR * concurrency:
                return
            await self.progress_event.wait()

    def make_standing(self, name: str) -> Standing:
        """The standing of a method. For its interval, a failed answer may have any score from 0 to 1."""
        asked_count = self.asked_when_dropped.get(name, self.settled_count)
        unit_lows, unit_highs, scores = [], [], []
        asked_units = take_units(self.units, asked_count)
        for unit in asked_units:
            unit_scores = [self.scores[name, id_] for id_ in unit if self.worth_bounds.get((name, id_)) is not None]
            scores += [score for score in unit_scores if score is not None]
            if unit_scores:
                unit_lows.append(float(np.mean([score or 0.0 for score in unit_scores])))
                unit_highs.append(float(np.mean([1.0 if score is None else score for score in unit_scores])))
        # All units except those asked units in which no question has the deciding measure.
        unit_count = len(self.units) - len(asked_units) + len(unit_lows)
        low, high = compute_anytime_mean_interval(unit_lows, unit_highs, count_population(self.mode, unit_count))
        mean = round(math.fsum(scores) / len(scores), 6) if scores else None
        return Standing(name, asked_count, mean, low, high, name not in self.live_names)

    def list_standings(self) -> list[Standing]:
        """The standings of all methods, as `sort_standings` orders them."""
        return sort_standings(self.make_standing(name) for name in self.names)

    def make_result(self) -> RaceResult:
        """The result of the race, or its state if it was stopped."""
        standings = {name: self.make_standing(name) for name in self.names}
        return RaceResult(
            self.mode, RACE_ERROR_PROBABILITY, SEED, self.measure, self.units, self.settled_count, standings
        )


def choose_deciding_measure(columns: Sequence[Column], tasks: Sequence[str], *, has_short_answers: bool = True) -> str:
    """The measure that decides between these columns on questions of these tasks, as in a comparison without a race.

    has_short_answers: see `list_deciding_measures`.
    """
    answer_types = {column.make_context(task).answer_type for column in columns for task in tasks}
    return list_deciding_measures(answer_types, has_short_answers=has_short_answers)[0]


def start_race(
    rules: RaceRules,
    columns: Sequence[Column],
    dataset: DataSet,
    results: Results,
    watch_race: RaceWatcher | None = None,
) -> RunningRace:
    """The race with the answers of earlier runs, which `results` holds. Blocks while it reads the questions.

    dataset: its records come in the random order of the race.
    """
    records: list[Record] = list(dataset.read_records())
    tasks = sorted({rules.task or dataset.get_task(record) for record in records})
    units = tuple(tuple(record["id"] for record in unit) for unit in group_records(records, by_group=dataset.by_group))
    has_short_answers = any(list_short_answers_of_parts(record) for record in records)
    measure = choose_deciding_measure(columns, tasks, has_short_answers=has_short_answers)
    names = [column.name for column in columns]
    race = RunningRace(
        names,
        units,
        mode=rules.mode,
        measure=measure,
        wrong_cost=rules.wrong_cost,
        names_that_may_drop_others=rules.names_that_may_drop_others,
        watch_race=watch_race,
    )
    race.load(results)
    if watch_race is not None:
        watch_race(race)
    return race
