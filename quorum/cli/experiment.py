"""`quorum experiment`: the papers' experiments on a data set of your own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorum.cli.options import (
    Collection,
    Concurrency,
    Embeddings,
    K,
    LangSmith,
    Limit,
    Model,
    Retriever,
    Settings,
    SkipBad,
    Store,
)
from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.evaluation.experiments.analyses import Panel
    from quorum.evaluation.experiments.catalogue import Experiment
    from quorum.evaluation.run.evaluate import Report


def experiment(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Experiment; without it, the list.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Argument(metavar="[DATA]", help="Questions, as for eval.", show_default=False)
    ] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", metavar="A,B", help="Other methods than the experiment's.")
    ] = None,
    judge: Annotated[str | None, typer.Option("--judge", metavar="SPEC", help="preference: the judging model.")] = None,
    verifier: Annotated[
        str | None, typer.Option("--verifier", metavar="SPEC", help="verifier: the model that verifies.")
    ] = None,
    examples: Annotated[
        Path | None, typer.Option("--examples", metavar="FILE", help="few_shot: what demonstrations are drawn from.")
    ] = None,
    filters: Annotated[
        str | None, typer.Option("--filters", metavar="A,B", help="measures: context filters to compare.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; by default under results/.")
    ] = None,
    drop_known: Annotated[
        bool, typer.Option("--drop-known", help="Ask only what the model does not know without a context.")
    ] = False,
    gold_from: Annotated[
        Path | None, typer.Option("--gold-from", metavar="FILE", help="gold_*: passages, gold ones among them.")
    ] = None,
    limit: Limit = None,
    skip_bad: SkipBad = False,
    concurrency: Concurrency = 8,
    corpus: Annotated[
        str | None,
        typer.Option("--corpus", metavar="FILE|pool", help="Retrieve from this file, or from all questions' passages."),
    ] = None,
    collection: Collection = None,
    model: Model = None,
    k: K = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    langsmith: LangSmith = None,
    settings: Settings = None,
) -> None:
    """List the experiments, or run one; the same command again continues."""
    import asyncio

    from quorum.evaluation.experiments.catalogue import EXPERIMENTS, experiment_of

    if name is None:
        print_experiments(list(EXPERIMENTS.values()))
        return
    chosen = experiment_of(name)
    if data is None:
        raise SetupError(f"Experiment {name} needs data; write for example: quorum experiment {name} questions.jsonl.")
    from quorum.cli.evaluate import mention_retriever
    from quorum.cli.progress import progress_bar
    from quorum.cli.settings import made_context, stated
    from quorum.cli.upload import check_langsmith, uploaded
    from quorum.evaluation.experiments.run_experiment import Options, run_experiment

    context = made_context(
        settings, model=model, k=k, collection=collection, retriever=retriever, store=store, embeddings=embeddings
    )
    check_langsmith(langsmith)
    try:
        with progress_bar() as progress:
            report, panels = asyncio.run(
                run_experiment(
                    chosen,
                    data,
                    context,
                    Options(methods, judge, verifier, examples, listed(filters), drop_known, gold_from),
                    out=out,
                    limit=limit,
                    skip_bad=skip_bad,
                    concurrency=concurrency,
                    corpus=corpus,
                    collection=collection,
                    task=context.answer_type if stated("answer_type", settings) else None,
                    progress=progress,
                )
            )
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; the same command again goes on from here.", err=True)
        raise
    mention_retriever(retriever, searched=corpus is not None or collection is not None)
    with uploaded(langsmith, report.folder):
        print_experiment(chosen, report, panels)


def listed(text: str | None) -> tuple[str, ...]:
    """The names between commas."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def print_experiments(all_: "list[Experiment]") -> None:
    """The name of each, what it shows, where it is from."""
    from rich.text import Text

    from quorum.cli.show import plain_table, stdout

    table = plain_table("experiment", "what it shows", "from")
    for one in all_:
        table.add_row(Text(one.name, style="bold"), one.summary, one.source)
    stdout().print(table)


def print_experiment(chosen: "Experiment", report: "Report", panels: "list[Panel]") -> None:
    """The tables of an evaluation, and what the experiment worked out."""
    from rich.text import Text

    from quorum.cli.evaluate import print_spent, print_tables
    from quorum.cli.tables import panel_table, report_tables

    print_tables(
        [
            Text(f"{chosen.summary} ({chosen.source})", style="dim"),
            *report_tables(report.summary, report.comparisons, report.judged, further=chosen.further),
            *(panel_table(panel["title"], panel["rows"]) for panel in panels),
        ]
    )
    print_spent(report)
