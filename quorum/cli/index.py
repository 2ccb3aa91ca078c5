"""`quorum index`: files and folders into a collection."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import Embeddings, Engine, Store

if TYPE_CHECKING:
    from quorum.retrievers.index_report import IndexReport


def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)],
    collection: Annotated[str, typer.Option("--collection", metavar="NAME", help="Collection to fill.")],
    words: Annotated[int, typer.Option("--words", metavar="N", help="Words in a passage.")] = 100,
    prune: Annotated[bool, typer.Option("--prune", help="Remove what is no longer among the files.")] = False,
    store: Store = None,
    embeddings: Embeddings = None,
    engine: Engine = "local",
) -> None:
    """Index documents (txt, md, html, pdf, docx, jsonl, jsonl.gz); again: only what changed."""
    from quorum.cli.progress import progress_bar
    from quorum.cli.settings import made_context
    from quorum.retrievers.index import index_documents

    context = made_context(None, store=store, embeddings=embeddings)
    with progress_bar() as progress:
        report = index_documents(
            paths,
            collection=collection,
            store=context.store,
            embeddings=context.embeddings,
            words=words,
            prune=prune,
            engine=engine,
            progress=lambda done, total, path: progress("index", done, total),
        )
    print_report(report, collection)


def print_report(report: "IndexReport", collection: str) -> None:
    """What was done on stdout, what was skipped on stderr. Nothing in the collection but skipped files: exit code 1."""
    from quorum.core.text import format_count

    for path, reason in report.skipped:
        typer.echo(f"quorum: skipped {path}: {reason}", err=True)
    changes = {what: getattr(report, what) for what in ("added", "replaced", "unchanged", "removed")}
    done = ", ".join(f"{count} {what}" for what, count in changes.items() if count) or "nothing to do"
    typer.echo(f"{collection}: {done}; {format_count(report.passages, 'passage')} in all.")
    if report.skipped and not report.passages:
        raise typer.Exit(1)
