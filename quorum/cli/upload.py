"""`--langsmith NAME`: uploads the results of a command as a LangSmith dataset with experiments."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer


def check_langsmith(name: str | None) -> None:
    """Raise a `SetupError`, before any question is asked, if the upload is impossible.

    name: the dataset's name; None if there will be no upload.
    """
    if name is not None:
        from quorum.evaluation.report.langsmith_upload import check_access

        check_access(name)


@contextmanager
def upload_after_printing(name: str | None, folder: Path) -> Iterator[None]:
    """Upload the results in `folder` after the block has printed them. name: the dataset's; None: upload nothing.

    If the block exits with a code, because questions failed, the results are uploaded before the exit.
    """
    failure_exit: typer.Exit | None = None
    try:
        yield
    except typer.Exit as exit_:
        failure_exit = exit_
    if name is not None:
        upload_results(name, folder)
    if failure_exit is not None:
        raise failure_exit


def upload_results(name: str, folder: Path) -> None:
    from quorum.cli.progress import show_progress_bar
    from quorum.core.text import format_count
    from quorum.evaluation.report.langsmith_upload import upload_to_langsmith

    with show_progress_bar() as progress:
        uploaded_results = upload_to_langsmith(folder, name, progress)
    answer_count = uploaded_results.answer_count
    sent_text = f"{format_count(answer_count, 'answer')} sent now" if answer_count else "all sent before"
    url_text = f": {uploaded_results.url}" if uploaded_results.url else ""
    experiment_count = format_count(len(uploaded_results.experiments), "experiment")
    typer.echo(
        f"quorum: LangSmith's dataset {name} has {experiment_count} of these results ({sent_text}){url_text}",
        err=True,
    )
