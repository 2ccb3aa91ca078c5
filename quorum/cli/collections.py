"""`quorum collections`: lists and manages the collections of a store."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import AsJson, Embeddings, Store

if TYPE_CHECKING:
    from quorum.retrievers.manage_collections import CollectionSummary

Name = Annotated[str, typer.Argument(metavar="NAME", help="A collection.", show_default=False)]
MAX_LISTED_FILES = 50

app = typer.Typer(
    name="collections",
    help="List, show, rename, remove, export and import collections.",
    no_args_is_help=False,
    invoke_without_command=True,
    rich_markup_mode=None,
)


def get_store(store: str | None) -> str:
    """The store's folder or URL, from --store, the environment or the default."""
    from quorum.cli.settings import read_context

    return str(read_context(None, store=store).store)


def get_store_with_collection(name: str, store: str | None) -> str:
    """The folder or URL of the store that holds the collection. Raises `SetupError` if there is no such collection."""
    from quorum.retrievers.collection_names import SAMPLE
    from quorum.retrievers.manage_collections import check_collection_exists
    from quorum.retrievers.sample import find_sample_store

    store_address = get_store(store)
    if name == SAMPLE:
        store_address = find_sample_store(store_address)
    check_collection_exists(name, store_address)
    return store_address


def get_store_with_collection_or_sample(name: str, store: str | None) -> str:
    """Like `get_store_with_collection`. If it is the sample, and is missing, it is made first."""
    from quorum.cli.ask import create_sample_if_missing
    from quorum.cli.settings import read_context
    from quorum.retrievers.collection_names import SAMPLE

    if name == SAMPLE:
        create_sample_if_missing(read_context(None, collection=name, store=store))
    return get_store_with_collection(name, store)


@app.callback()
def list_by_default(context: typer.Context, store: Store = None) -> None:
    """List, show, rename, remove, export and import collections. Without a command: list them."""
    if context.invoked_subcommand is None:
        list_collections(store)
    elif store is not None:  # this --store, before the command, becomes the default of the command's own --store
        context.default_map = {context.invoked_subcommand: {"store": store}}


@app.command("list")
def list_collections(store: Store = None, json: AsJson = False) -> None:
    """List the collections: passages, files, embeddings, size, last change."""
    from quorum.retrievers.manage_collections import list_collection_summaries

    summaries = list_collection_summaries(get_store(store))
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(dumps([asdict(summary) for summary in summaries], ensure_ascii=False, indent=2))
        return
    if not summaries:
        typer.echo(
            "There are no collections yet, so that the built-in sample is asked; make one with: "
            "quorum index PATH --collection NAME"
        )
        return
    from quorum.cli.show import make_plain_table, make_stdout_console

    table = make_plain_table("collection", "passages", "files", "embeddings", "size", "changed", "remarks")
    for summary in summaries:
        table.add_row(*make_summary_row(summary))
    make_stdout_console().print(table)


def make_summary_row(summary: "CollectionSummary") -> list[str]:
    """The row of a collection in the table of `list_collections`."""
    remarks = [
        *(["unfinished"] if summary.unfinished else []),
        *([f"context {summary.context}"] if summary.context else []),
        *([f"made by {describe_maker(summary)}"] if summary.made_for else []),
    ]
    return [
        summary.name,
        f"{summary.passages:,}",
        "" if summary.files is None else f"{summary.files:,}",
        "embedded" if summary.embedding.startswith("embedded:") else summary.embedding,
        "" if summary.bytes is None else format_size(summary.bytes),
        (summary.changed or "")[:16].replace("T", " "),
        ", ".join(remarks),
    ]


def describe_maker(summary: "CollectionSummary") -> str:
    """What made a collection that is not the user's own, such as "an evaluation from docs" if the corpus is a folder
    `docs`.
    """
    from quorum.core.files import escape_name
    from quorum.retrievers.metadata import OTHER_PROGRAM

    if summary.made_for == "sample":
        return "Quorum for its sample"
    if summary.made_for == OTHER_PROGRAM:
        return OTHER_PROGRAM
    return f"an {summary.made_for}" + (f" from {escape_name(summary.made_from)}" if summary.made_from else "")


def format_size(byte_count: int) -> str:
    """A file size, such as '12 kB' or '3.4 MB'."""
    return f"{byte_count / 1000:,.0f} kB" if byte_count < 1_000_000 else f"{byte_count / 1_000_000:,.1f} MB"


@app.command()
def show(name: Name, store: Store = None, json: AsJson = False) -> None:
    """Show one collection with its files."""
    from quorum.core.files import escape_name
    from quorum.core.text import format_count
    from quorum.retrievers.manage_collections import summarize_collection
    from quorum.retrievers.manage_documents import list_documents
    from quorum.retrievers.store import open_store

    store_address = get_store_with_collection_or_sample(name, store)
    summary = summarize_collection(open_store(store_address), name)
    documents = list_documents(name, store_address)
    if json:
        from dataclasses import asdict
        from json import dumps

        typer.echo(
            dumps(
                asdict(summary) | {"documents": {document.name: document.passages for document in documents}},
                ensure_ascii=False,
                indent=2,
            )
        )
        return
    remarks = make_summary_row(summary)[-1]
    typer.echo(f"{summary.name}: {format_count(summary.passages, 'passage')} of {format_count(len(documents), 'file')}")
    typer.echo(
        f"embeddings {summary.embedding or 'unknown'}; changed {summary.changed or 'unknown'}"
        + (f"; {remarks}" if remarks else "")
    )
    counts = Counter(document.place for document in documents)
    for document in documents[:MAX_LISTED_FILES]:
        same = f" ({escape_name(document.name)})" if counts[document.place] > 1 else ""
        typer.echo(f"  {document.place}{same}: {format_count(document.passages, 'passage')}")
    if len(documents) > MAX_LISTED_FILES:
        typer.echo(f"  and {len(documents) - MAX_LISTED_FILES:,} more (--json lists all, by their whole paths)")


@app.command("rm")
def remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Collections.", show_default=False)],
    store: Store = None,
    foreign: Annotated[bool, typer.Option("--foreign", help="Also a collection that another program made.")] = False,
    journal: Annotated[
        bool, typer.Option("--journal", help="Also all replies of models in the journal, which may quote it.")
    ] = False,
) -> None:
    """Remove collections, with all that the store holds of their texts."""
    from quorum.retrievers.collections import delete_collections

    names_by_store: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        names_by_store.setdefault(get_store_with_collection(name, store), []).append(name)
    for store_address, removed in names_by_store.items():
        report_removal(
            f"{', '.join(removed)} {'are' if removed[1:] else 'is'} removed",
            delete_collections(removed, store_address, foreign),
        )
    report_journal(store, journal)


def report_removal(what: str, leftovers: str) -> None:
    """Say what was removed, and what the store may still hold of it."""
    typer.echo(f"{what}{'' if leftovers else ', with all texts, vectors and indexes'}.")
    if leftovers:
        typer.echo(f"quorum: {leftovers}", err=True)


def report_journal(store: str | None, is_emptied: bool) -> None:
    """Say where replies of models stay, or remove them."""
    import sqlite3

    from quorum.cli.settings import read_context
    from quorum.core.errors import SetupError
    from quorum.core.text import format_count
    from quorum.models.journal import find_journal_path
    from quorum.models.journal_database import remove_all_records

    path = find_journal_path(read_context(None, store=store))
    if path is None or not Path(path).exists():
        return
    if not is_emptied:
        typer.echo(f"quorum: replies of models, which may quote it, stay in {path}; --journal removes them.", err=True)
        return
    try:
        count = remove_all_records(path)
    except (sqlite3.Error, OSError) as error:
        raise SetupError(f"The journal {path} cannot be emptied ({error}); remove the file.") from None
    typer.echo(f"{format_count(count, 'reply', 'replies')} removed from {path}.")


@app.command()
def clear(store: Store = None) -> None:
    """Remove the collections that evaluations and comparisons made for their own use."""
    from quorum.core.text import format_count
    from quorum.retrievers.manage_collections import delete_evaluation_collections

    removed_names, leftovers = delete_evaluation_collections(get_store(store))
    if removed_names:
        report_removal(
            f"{format_count(len(removed_names), 'collection')} removed: {', '.join(removed_names)}", leftovers
        )
    else:
        typer.echo("0 collections removed.")


@app.command()
def rename(
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The new name.", show_default=False)],
    store: Store = None,
) -> None:
    """Give a collection another name."""
    from quorum.retrievers.manage_collections import rename_collection

    rename_collection(name, new, get_store_with_collection(name, store))
    typer.echo(f"{name} is now {new}.")


@app.command()
def export(
    name: Name,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="File to write; by default stdout.")] = None,
    store: Store = None,
) -> None:
    """Write the passages of a collection as JSON lines, with their places in the documents."""
    from quorum.core.text import format_count
    from quorum.retrievers.manage_collections import export_lines, write_export

    store_address = get_store_with_collection_or_sample(name, store)
    if out is None:
        for line in export_lines(name, store_address):
            typer.echo(line)
        return
    count = write_export(name, store_address, out)
    typer.echo(f"quorum: {format_count(count, 'passage')} of {name} written to {out}", err=True)


@app.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File that `quorum collections export` wrote.", show_default=False)
    ],
    collection: Annotated[str, typer.Option("--collection", "-c", metavar="NAME", help="Collection to fill.")],
    store: Store = None,
    embeddings: Embeddings = None,
) -> None:
    """Read exported passages into a collection, and compute their embeddings again."""
    from quorum.cli.index import print_report
    from quorum.cli.settings import read_context
    from quorum.retrievers.manage_collections import import_lines

    context = read_context(None, store=store, embeddings=embeddings)
    print_report(import_lines(file, collection, context.store, context.embeddings), collection)
