"""`quorum eval`: a data set by several methods, and the table that says what each is worth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import Collection, Embeddings, K, Model, Retriever, Settings, Store

if TYPE_CHECKING:
    from evaluation.run import Report


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
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the first N questions.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", metavar="N", help="Questions at once.")] = 8,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; by default under results/.")
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="FILE|pool", help="Retrieve from this file, or from all questions' passages."),
    ] = None,
    collection: Collection = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    settings: Settings = None,
) -> None:
    """Run a data set by several methods and print the table; the same command again continues."""
    import asyncio

    from cli.progress import progress_bar
    from cli.settings import made_context
    from evaluation.methods import parse_methods
    from evaluation.run import evaluate

    context = made_context(
        settings, model=model, k=k, collection=collection, retriever=retriever, store=store, embeddings=embeddings
    )
    runs = parse_methods(methods, context)
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
                    progress=progress,
                )
            )
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; the same command again goes on from here.", err=True)
        raise
    if retriever not in (None, "given") and corpus is None and collection is None:
        typer.echo(
            f"quorum: --retriever {retriever} was not used, the questions bring their passages; "
            "to search them name --corpus pool.",
            err=True,
        )
    print_report(report)


def print_report(report: "Report") -> None:
    """The table on stdout; where the results lie, and what failed, on stderr. Failed questions make exit code 1."""
    from cli.show import counted, stdout, summary_table

    stdout().print(summary_table(report.summary))
    spent = report.spent
    tokens = f"{spent.input_tokens:,} tokens in, {spent.output_tokens:,} out"
    typer.echo(f"quorum: made {counted(spent.calls, 'call')} now ({tokens}); results in {report.folder}", err=True)
    errors = sum(int(row["errors"] or 0) for row in report.summary.values())
    if errors:
        typer.echo(f"quorum: {counted(errors, 'answer')} failed; the same command again asks only those.", err=True)
        raise typer.Exit(1)
