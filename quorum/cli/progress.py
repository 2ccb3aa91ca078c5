"""A progress bar on stderr; nothing is drawn when stderr is no terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from quorum.cli.show import stderr


class Tell(Protocol):
    """Told of a stage, the steps done and the steps in all (None: not known)."""

    def __call__(self, stage: str, done: int, total: int | None) -> None: ...


@contextmanager
def resumable() -> Iterator[None]:
    """Say how to go on, where Ctrl-C ends what the block does."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; the same command again goes on from here.", err=True)
        raise


@contextmanager
def progress_bar() -> Iterator[Tell]:
    """One bar for each stage, by its name."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = stderr()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield tell
