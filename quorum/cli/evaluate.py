"""`quorum eval`: a data set by several methods, and the tables that say what each is worth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import (
    Collection,
    Concurrency,
    Embeddings,
    Engine,
    Judge,
    K,
    LangSmith,
    Limit,
    Model,
    Retriever,
    Settings,
    SkipBad,
    Store,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from quorum.evaluation.run.evaluate import Report


FAILED = ("errors", "judge_errors")


def evaluate(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Questions (JSON lines, also gzip).", show_default=False)
    ],
    methods: Annotated[
        str,
        typer.Option(
            "--methods", metavar="A,B|all", help="Methods, with own settings in brackets: 'concat,concat[k=10;seed=1]'."
        ),
    ],
    model: Model = None,
    k: K = None,
    limit: Limit = None,
    concurrency: Concurrency = 8,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; by default under results/.")
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus", metavar="PATH|pool", help="Retrieve from this folder or file, or from all questions' passages."
        ),
    ] = None,
    collection: Collection = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="Method to compare with; by default the first.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", metavar="NAME=MODULE:FUNCTION", help="A measure of your own, of (answers, golds)."),
    ] = None,
    judge: Judge = None,
    skip_bad: SkipBad = False,
    langsmith: LangSmith = None,
    engine: Engine = "local",
    settings: Settings = None,
) -> None:
    """Run a data set by several methods and print the tables; the same command again continues."""
    import asyncio

    from quorum.cli.progress import progress_bar
    from quorum.cli.settings import made_context, stated
    from quorum.cli.upload import check_langsmith, uploaded
    from quorum.evaluation.metrics.corpus_measures import read_measures
    from quorum.evaluation.metrics.judge import judge_of
    from quorum.evaluation.run.columns import parse_methods
    from quorum.evaluation.run.evaluate import evaluate

    context = made_context(
        settings, model=model, k=k, collection=collection, retriever=retriever, store=store, embeddings=embeddings
    )
    runs = parse_methods(methods, context)
    measures = read_measures(measure or ())
    judging = None if judge is None else judge_of(judge, context)
    check_langsmith(langsmith)
    try:
        with progress_bar() as progress:
            report = asyncio.run(
                evaluate(
                    data,
                    runs,
                    out=out,
                    limit=limit,
                    concurrency=concurrency,
                    corpus=corpus,
                    collection=collection,
                    task=context.answer_type if stated("answer_type", settings) else None,
                    baseline=baseline,
                    measures=measures,
                    judge=judging,
                    skip_bad=skip_bad,
                    engine=engine,
                    progress=progress,
                )
            )
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; the same command again goes on from here.", err=True)
        raise
    mention_retriever(retriever, searched=corpus is not None or collection is not None)
    with uploaded(langsmith, report.folder):
        print_report(report, own=measures)


def mention_retriever(retriever: str | None, *, searched: bool) -> None:
    """Say that a retriever was named which nothing needed."""
    if retriever not in (None, "given") and not searched:
        typer.echo(
            f"quorum: --retriever {retriever} was not used, the questions bring their passages; "
            "to search them name --corpus pool.",
            err=True,
        )


def print_report(report: "Report", own: "Iterable[str]" = ()) -> None:
    """The tables on stdout, with a blank line between; then what was spent."""
    from quorum.cli.tables import report_tables

    print_tables(report_tables(report.summary, report.comparisons, report.judged, own))
    print_spent(report)


def print_tables(tables: "Iterable[RenderableType]") -> None:
    from quorum.cli.show import stdout

    console = stdout()
    for index, table in enumerate(tables):
        if index:
            console.print()
        console.print(table)


def print_spent(report: "Report") -> None:
    """On stderr: where the results lie, what was spent, what failed. Failed questions make exit code 1."""
    from quorum.core.text import format_count

    spent = report.spent
    tokens = f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out"
    typer.echo(f"quorum: made {format_count(spent.calls, 'call')} now ({tokens}); results in {report.folder}", err=True)
    if (judging := report.judging) is not None:
        tokens = f"{judging.input_tokens:,} tokens in, {judging.output_tokens:,} out"
        typer.echo(f"quorum: the judge's calls, apart: {judging.calls:,} now ({tokens})", err=True)
    errors, unjudged = (sum(int(row.get(name) or 0) for row in report.summary.values()) for name in FAILED)
    if errors:
        typer.echo(
            f"quorum: {format_count(errors, 'answer')} failed; the same command again asks only those.", err=True
        )
    if unjudged:
        what = f"the judge failed on {format_count(unjudged, 'answer')}"
        typer.echo(f"quorum: {what}; the same command again asks it only about those.", err=True)
    if errors or unjudged:
        raise typer.Exit(1)
