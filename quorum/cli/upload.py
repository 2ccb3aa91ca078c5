"""`--langsmith NAME`: uploads the results of a command as a LangSmith dataset with experiments."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer


def check_langsmith(name: str | None) -> None:
    """Raise a `SetupError` for a missing account before any question is asked."""
    if name is not None:
        from quorum.evaluation.langsmith_upload import check_access

        check_access(name)


@contextmanager
def upload_after(name: str | None, folder: Path) -> Iterator[None]:
    """Upload the results after the block has printed them. If questions failed, upload first, then exit with code 1."""
    failed: typer.Exit | None = None
    try:
        yield
    except typer.Exit as exit_:
        failed = exit_
    if name is not None:
        upload_results(name, folder)
    if failed is not None:
        raise failed


def upload_results(name: str, folder: Path) -> None:
    from quorum.cli.progress import progress_bar
    from quorum.core.text import format_count
    from quorum.evaluation.langsmith_upload import upload

    with progress_bar() as progress:
        done = upload(folder, name, progress)
    sent = f"{format_count(done.runs, 'run')} sent now" if done.runs else "all sent before"
    where = f": {done.url}" if done.url else ""
    typer.echo(
        f"quorum: LangSmith's dataset {name} has {format_count(len(done.experiments), 'experiment')} of these results "
        f"({sent}){where}",
        err=True,
    )
