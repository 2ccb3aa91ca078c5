"""Shows a running race: on a terminal, a live table; with --json, lines of JSON; with neither, a line for each dropped
method.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.console import RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from quorum.cli.progress import ProgressCallback, make_stage_callback
from quorum.cli.show import make_stderr_console

if TYPE_CHECKING:
    from quorum.evaluation.run.race import RaceWatcher, RunningRace

# --json divides the questions into this many parts. It prints a line at the start, whenever another part is settled,
# and whenever a method is dropped.
REPORTED_PARTS = 20
REDRAW_SECONDS = 0.5


class RaceBars(Progress):
    """Progress bars, and below them the table of a race."""

    table: RenderableType = ""

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.table:
            yield self.table


@contextmanager
def show_race(
    *, as_json: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[ProgressCallback, "RaceWatcher"]]:
    """Make two callbacks: the first shows the progress of the comparison, the second the progress of its race."""
    console = make_stderr_console()
    bar_columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with RaceBars(*bar_columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        last_drawn_at, shown_state = -math.inf, ShownState()

        def watch(race: "RunningRace") -> None:
            nonlocal last_drawn_at
            newly_dropped, is_due = shown_state.find_newly_dropped(race), shown_state.is_due(race)
            if console.is_terminal and (newly_dropped or race.is_finished or clock() - last_drawn_at >= REDRAW_SECONDS):
                last_drawn_at = clock()
                bars.table = draw_standings(race)
            if as_json and (newly_dropped or is_due):
                typer.echo(format_line(race))
            elif not as_json and not console.is_terminal:
                for name in newly_dropped:
                    progress_words = f"after {race.asked_when_dropped[name]:,} of {race.question_count:,} questions"
                    typer.echo(f"quorum: the race dropped {name} {progress_words}.", err=True)

        yield make_stage_callback(bars), watch


class ShownState:
    """What the callback `watch` saw of a race when it last ran.

    dropped: the methods that were dropped by then. last_twentieth: how many twentieths of the questions were settled by
    then; -1 before the first time.
    """

    def __init__(self) -> None:
        self.dropped: set[str] = set()
        self.last_twentieth = -1

    def find_newly_dropped(self, race: "RunningRace") -> list[str]:
        """The methods that were dropped since `watch` last ran.

        Updates `dropped`, so each run of `watch` calls it once.
        """
        newly_dropped = [name for name in race.asked_when_dropped if name not in self.dropped]
        # If a method exceeded the budget, `quorum compare` runs the race again. A method that was dropped in the first
        # race can stay in the second.
        self.dropped = set(race.asked_when_dropped)
        return newly_dropped

    def is_due(self, race: "RunningRace") -> bool:
        """Whether another twentieth of the questions has been settled since `watch` last ran, or `watch` never ran.
        Updates `last_twentieth`, so each run of `watch` calls it once.
        """
        current_twentieth = race.settled_count * REPORTED_PARTS // max(1, race.question_count)
        is_due_now, self.last_twentieth = current_twentieth != self.last_twentieth, current_twentieth
        return is_due_now


def draw_standings(race: "RunningRace") -> RenderableType:
    from quorum.cli.tables import make_standings_table

    return make_standings_table(race, race.list_standings())


def format_line(race: "RunningRace") -> str:
    """A line of JSON: the progress of the race, and each method's mean with its anytime-valid confidence interval.

    A question is settled once every method that is still in the race has answered it.
    """
    methods = [asdict(standing) for standing in race.list_standings()]
    line = {"event": "race", "settled": race.settled_count, "questions": race.question_count, "measure": race.measure}
    return json.dumps({**line, "methods": methods}, ensure_ascii=False)
