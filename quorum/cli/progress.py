"""Shows progress on stderr. On a terminal it shows bars. Elsewhere it prints a line every ten seconds during indexing,
and nothing during other work.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from quorum.cli.show import make_stderr_console
from quorum.core.files import escape_name

if TYPE_CHECKING:
    from quorum.retrievers.index_report import IndexProgress, WatchCallback

SECONDS_BETWEEN_LINES = 10.0  # seconds between lines where there is no terminal
REDRAW_SECONDS = 0.1  # least time between two redraws of the bar for indexing
SECONDS_TO_SETTLE = 5.0  # seconds until an estimate of the time left is reliable
SMOOTHING_SECONDS = 20.0  # the speed is a mean over about the last 20 seconds


class Bars(Progress):
    """Bars that print nothing where they are disabled; Rich before 14.3 prints an empty line there at the end."""

    def stop(self) -> None:
        """End the display."""
        if not self.disable:
            super().stop()


class ProgressCallback(Protocol):
    """A callback for progress.

    stage: the name of the work; done: how many of its steps are done; total: how many it has, or None if this is not
    known.
    """

    def __call__(self, stage: str, done: int, total: int | None) -> None: ...


@contextmanager
def explain_resuming() -> Iterator[None]:
    """If Ctrl-C ends the block, print how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; to continue from here, run the same command again.", err=True)
        raise


@contextmanager
def show_progress_bar() -> Iterator[ProgressCallback]:
    """Show a bar for each stage of the work. Yields the callback that updates the bars."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = make_stderr_console()
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        yield make_stage_callback(bars)


def make_stage_callback(bars: Progress) -> ProgressCallback:
    """Make a callback that shows a bar for each stage."""
    tasks: dict[str, TaskID] = {}

    def show(stage: str, done: int, total: int | None) -> None:
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done, total=total)

    return show


class TimeLeft:
    """Estimates the seconds until a task is done, from its speed in about the last 20 seconds. The estimate is None in
    the first five seconds, and while there is no progress.

    >>> time_left = TimeLeft(now=0.0)
    >>> time_left.update(0.1, now=2.0), time_left.update(0.5, now=10.0)
    (None, 10.0)
    """

    def __init__(self, now: float) -> None:
        self.started_at, self.last_update, self.share, self.speed = now, now, 0.0, 0.0

    def update(self, share: float, now: float) -> float | None:
        """The seconds left. share: the share that is done; now: the time in seconds."""
        if now > self.last_update:
            latest_speed = (share - self.share) / (now - self.last_update)
            weight = min(1.0, (now - self.last_update) / min(SMOOTHING_SECONDS, now - self.started_at))
            self.speed += weight * (latest_speed - self.speed)
            self.last_update, self.share = now, share
        if now - self.started_at < SECONDS_TO_SETTLE or self.speed <= 0:
            return None
        return (1 - share) / self.speed


@contextmanager
def show_index_progress(clock: Callable[[], float] = time.monotonic) -> Iterator["WatchCallback"]:
    """Show how far indexing is: a bar on a terminal, elsewhere a line every ten seconds. Yields the callback that the
    indexer calls with its progress.
    """
    console = make_stderr_console()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[status]}"))
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("index", total=1.0, status="")
        started_at = clock()
        time_left, last_line_at, last_drawn_at = TimeLeft(started_at), started_at, 0.0

        def watch(progress: "IndexProgress") -> None:
            nonlocal last_line_at, last_drawn_at
            now = clock()
            if console.is_terminal and now - last_drawn_at >= REDRAW_SECONDS:
                last_drawn_at = now
                bars.update(
                    task,
                    completed=progress.share,
                    status=describe_index_progress(progress, time_left.update(progress.share, now)),
                )
            elif not console.is_terminal and now - last_line_at >= SECONDS_BETWEEN_LINES:
                last_line_at = now
                line = describe_index_progress(progress, time_left.update(progress.share, now))
                console.print(f"quorum: {line}, at {escape_name(Path(progress.path).name)}", soft_wrap=True)

        yield watch


def describe_index_progress(progress: "IndexProgress", seconds_left: float | None) -> str:
    """A status line such as '1,240 passages from 12 of 300 files, 4%, about 2 min left'."""
    time_left = "" if seconds_left is None else f", about {format_duration(seconds_left)} left"
    return (
        f"{progress.passages:,} passages from {progress.files:,} of {progress.all_files:,} files, "
        f"{progress.share:.0%}{time_left}"
    )


def format_duration(seconds: float) -> str:
    """A rounded duration, such as '40 s', '12 min' or '2 h 5 min'."""
    if seconds < 55:
        return f"{max(5, round(seconds / 5) * 5)} s"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
