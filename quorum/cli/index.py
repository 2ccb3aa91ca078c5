"""`quorum index`: indexes files and folders into a collection."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.cli.options import Embeddings, Engine, Prices, Store

if TYPE_CHECKING:
    from quorum.retrievers.index_report import IndexReport

MaxIndexingCost: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="DOLLARS",
        min=0,
        help="Stop before a server's embeddings cost more than this.",
        show_default=False,
    ),
]
# If more files than this are skipped for the same reason, or get the same note, one line on stderr stands for all.
MAX_NAMED_FILES = 20


def index(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files and folders.", show_default=False)],
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            "-c",
            metavar="NAME",
            help="Collection to fill; if omitted, it is named after the folder or file.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[int, typer.Option("--words", metavar="N", help="Most words in a passage.")] = 100,
    add_context: Annotated[
        str | None,
        typer.Option(
            "--context",
            metavar="CONTEXT",
            help="Index with each passage, unseen, also: 'outline' (the first sentence of its section) or 'none'; if "
            "omitted, as the collection has it.",
            show_default=False,
        ),
    ] = None,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Remove documents whose files below PATH are gone, or are now left out by --include, --exclude or "
            ".gitignore.",
        ),
    ] = False,
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include", metavar="PATTERN", help="In folders, read only files that match: '*.md'. May be repeated."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="PATTERN", help="In folders, skip what matches: 'drafts/'. May be repeated."),
    ] = None,
    no_gitignore: Annotated[
        bool, typer.Option("--no-gitignore", help="Also read what a .gitignore leaves out.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Follow links that lead out of the folders.")] = False,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit", metavar="SECONDS", min=0.1, help="Skip files that take more processor time to read."
        ),
    ] = 60.0,
    meta: Annotated[
        list[str] | None,
        typer.Option(
            "--meta",
            metavar="KEY=VALUE",
            help="Metadata of all these passages, for --where: a text, or JSON after := (year:=2026). May be repeated.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when files were skipped.")] = False,
    store: Store = None,
    embeddings: Embeddings = None,
    embedding_batch: Annotated[
        int | None,
        typer.Option(
            "--embedding-batch",
            metavar="N",
            help="Most texts in one request for embeddings; if omitted, as many as the server takes.",
            show_default=False,
        ),
    ] = None,
    engine: Engine = "local",
    max_cost: MaxIndexingCost = None,
    prices: Prices = None,
) -> None:
    """Index documents. Run it again to index only what changed.

    File types: txt, md, rst, html, pdf, docx, pptx, xlsx, odt, ods, odp, rtf, csv, tsv, epub, eml,
    msg, json, jsonl, jsonl.gz, ipynb and source code.
    """
    from quorum.cli.embeddings import limit_embeddings
    from quorum.cli.progress import show_index_progress
    from quorum.cli.settings import read_context
    from quorum.core.metadata import parse_metadata_options
    from quorum.documents.find_files import FileChoice
    from quorum.retrievers.check_settings import check_embeddings
    from quorum.retrievers.collection_names import name_collection_after
    from quorum.retrievers.index import index_documents

    context = read_context(None, store=store, embeddings=embeddings, embedding_batch=embedding_batch)
    check_embeddings(context)
    collection = collection or context.collection or name_collection_after(paths)
    metadata = parse_metadata_options(meta or ())
    choice = FileChoice(tuple(include or ()), tuple(exclude or ()), gitignore=not no_gitignore, follow=follow)
    try:
        with limit_embeddings(context.embeddings, max_cost, prices), show_index_progress() as watch:
            report = index_documents(
                paths,
                collection=collection,
                store=context.store,
                embeddings=context.embeddings,
                words=words,
                add_context=add_context,
                prune=prune,
                engine=engine,
                watch=watch,
                choice=choice,
                time_limit=time_limit,
                embedding_batch=context.embedding_batch,
                metadata=metadata,
            )
    except KeyboardInterrupt:
        typer.echo(f"quorum: {describe_interruption(collection, context.store)}", err=True)
        raise typer.Exit(130) from None
    print_report(report, collection)
    print_indexing_cost(report, prices)
    if report.skipped and (strict or not report.passages):
        raise typer.Exit(1)


def print_report(report: "IndexReport", collection: str) -> None:
    """Print the changes on stdout, and skipped files and notes on stderr."""
    from quorum.core.text import format_count

    print_reasons("skipped ", report.skipped)
    print_reasons("", report.notes)
    if report.ignored:
        files = format_count(report.ignored, "file or folder", "files and folders")
        typer.echo(f"quorum: {files} left out by .gitignore; --no-gitignore reads them", err=True)
    changes = {kind: getattr(report, kind) for kind in ("added", "replaced", "unchanged", "removed")}
    changes["skipped"] = len(report.skipped)
    change_text = ", ".join(f"{count:,} {kind}" for kind, count in changes.items() if count) or "nothing to do"
    copies = f"; {format_count(report.copies, 'duplicate passage')} left out" if report.copies else ""
    typer.echo(f"{collection}: {change_text}; {format_count(report.passages, 'passage')} in all{copies}.")


def print_indexing_cost(report: "IndexReport", prices: Path | None) -> None:
    """Print on stderr what the embeddings of a server took."""
    if report.embeddings:
        from quorum.cli.embeddings import print_embeddings
        from quorum.evaluation.metrics.prices import Prices as PriceTable

        print_embeddings(report.embeddings, PriceTable(prices))


def print_reasons(prefix: str, reasons: Sequence[tuple[str, str]]) -> None:
    """Print a line for each file. Many files with the same reason share a line, which names only the first ones.

    reasons: pairs (file, why it was skipped) or (file, note).
    """
    from quorum.core.files import escape_name

    paths_by_reason: dict[str, list[str]] = defaultdict(list)
    for path, reason in reasons:
        paths_by_reason[reason].append(path)
    for path, reason in reasons:
        paths_with_reason = paths_by_reason[reason]
        if len(paths_with_reason) <= MAX_NAMED_FILES:
            typer.echo(f"quorum: {prefix}{escape_name(path)}: {escape_name(reason)}", err=True)
        elif path == paths_with_reason[0]:
            first_names = ", ".join(escape_name(name) for name in paths_with_reason[:3])
            typer.echo(
                f"quorum: {prefix}{len(paths_with_reason):,} files ({first_names}, ...): {escape_name(reason)}",
                err=True,
            )


def describe_interruption(collection: str, store: str) -> str:
    """One sentence about what an interrupted run has stored."""
    from quorum.core.errors import QuorumError
    from quorum.core.text import format_count
    from quorum.retrievers.store import open_store

    try:
        stored_count = open_store(store).count_passages(collection)
    except (QuorumError, OSError):
        return "Stopped before anything was stored; the same command begins again."
    return (
        f"Stopped: {format_count(stored_count, 'passage')} kept in {collection}; the same command continues from there."
    )
