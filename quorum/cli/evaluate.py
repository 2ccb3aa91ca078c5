"""`quorum eval`: asks several methods the questions of a data set, and prints tables of their scores and costs."""

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.cli.options import (
    Baseline,
    Collection,
    Concurrency,
    Data,
    Embeddings,
    Engine,
    Judge,
    K,
    LangSmith,
    Limit,
    Methods,
    Metric,
    Model,
    Out,
    Retriever,
    Settings,
    SkipBad,
    Store,
    Where,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from quorum.evaluation.run.score import Scores

FAILURE_COUNTS = ("errors", "judge_errors")  # keys of summary.json: failed answers, and failures of the judge
Corpus: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--corpus",
        metavar="PATH|pool",
        help="Retrieve from this folder or file; 'pool': from the passages of all questions.",
    ),
]
Measure: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME=MODULE:FUNCTION",
        help="A measure of your own: a function that computes a number from all answers and their gold answers.",
    ),
]


def evaluate(
    data: Data,
    methods: Methods,
    model: Model = None,
    k: K = None,
    limit: Limit = None,
    concurrency: Concurrency = 8,
    out: Out = None,
    corpus: Corpus = None,
    collection: Collection = None,
    retriever: Retriever = None,
    store: Store = None,
    embeddings: Embeddings = None,
    baseline: Baseline = None,
    measure: Measure = None,
    metric: Metric = None,
    judge: Judge = None,
    skip_bad: SkipBad = False,
    langsmith: LangSmith = None,
    engine: Engine = "local",
    where: Where = None,
    settings: Settings = None,
) -> None:
    """Ask several methods the questions of a data set and print tables. Repeat a stopped command to continue it."""
    from quorum.cli.interruptible import run_interruptible
    from quorum.cli.progress import explain_resuming, show_progress_bar
    from quorum.cli.settings import find_stated_collection, find_stated_task, read_context
    from quorum.cli.upload import check_langsmith, upload_after_printing

    context = read_context(
        settings,
        where=where or None,
        model=model,
        k=k,
        collection=collection,
        retriever=retriever,
        store=store,
        embeddings=embeddings,
    )
    # Imported below the check of the settings, because it takes long.
    from quorum.evaluation.run.evaluate import evaluate
    from quorum.evaluation.run.given_metrics import read_metrics
    from quorum.evaluation.run.options import Options
    from quorum.evaluation.run.user_measures import read_measures

    options = Options(
        data=data,
        limit=limit,
        skip_bad=skip_bad,
        task=find_stated_task(context, settings),
        methods=methods,
        context=context,
        corpus=corpus,
        collection=find_stated_collection(context, collection, settings),
        concurrency=concurrency,
        engine=engine,
        out=out,
        baseline=baseline,
        measures=read_measures(measure or ()),
        metrics=read_metrics(metric or ()),
        judge=judge,
    )
    check_langsmith(langsmith)
    with explain_resuming(), show_progress_bar() as progress:
        scores = run_interruptible(evaluate(options, progress=progress))
    warn_about_unused_retriever(retriever, scores)
    with upload_after_printing(langsmith, scores.folder):
        print_scores(scores)


def warn_about_unused_retriever(retriever: str | None, scores: "Scores") -> None:
    """Warn on stderr if the user named a retriever but the run searched nothing.

    "given" is not a retriever: it says that each question's own passages are read.
    """
    if retriever not in (None, "given") and not scores.plan.source.retrieves:
        typer.echo(
            f"quorum: --retriever {retriever} was not used, because the questions have their own passages; "
            "to search these, give --corpus pool.",
            err=True,
        )


def print_scores(scores: "Scores") -> None:
    """Print the tables on stdout, and the spending on stderr (see `print_spending_and_check_failures`)."""
    from quorum.cli.tables import make_score_tables

    user_measures = (*scores.plan.options.metrics, *scores.plan.options.measures)
    print_tables(
        make_score_tables(
            scores.summary,
            scores.comparisons,
            scores.measures,
            user_measures,
            wording_note=scores.wording_note,
        )
    )
    print_spending_and_check_failures(scores)


def print_tables(tables: "Iterable[RenderableType]") -> None:
    """Print tables on stdout, with a blank line between them, and what their columns mean."""
    from quorum.cli.column_meanings import describe_columns
    from quorum.cli.show import make_stdout_console

    console, tables = make_stdout_console(), list(tables)
    for table in tables:
        console.print(table)
        console.print()
    console.print(describe_columns(tables), style="dim")


def describe_common_failure(scores: "Scores") -> str:
    """The most frequent error message of the failed answers: " (3 of them: MESSAGE)", or " (MESSAGE)" if all of them
    have it; "" if no answer failed.
    """
    from collections import Counter

    messages = Counter(
        message
        for column_scores in scores.scores_by_column.values()
        for message in column_scores.error_messages.values()
    )
    if not messages:
        return ""
    [(message, count)] = messages.most_common(1)
    share = "" if count == messages.total() else f"{count:,} of them: "
    return f" ({share}{' '.join(message.split()).rstrip('.')})"


def print_spending_and_check_failures(scores: "Scores") -> None:
    """Print on stderr the folder of the results, the spending and the failures. Exits with code 1 if an answer or the
    judge failed.
    """
    from quorum.cli.embeddings import print_embeddings
    from quorum.core.text import format_count

    source, spending = scores.plan.source, scores.spending
    if source.collection is not None and scores.plan.options.collection is None:
        typer.echo(
            f"quorum: searched the collection {source.collection}, because the questions bring no passages and no "
            "other is named",
            err=True,
        )
    tokens = f"{spending.input_tokens:,} tokens in, {spending.output_tokens:,} out"
    estimate_calls = sum(used["calls"] for used in scores.plan.rehearsal_usage.values())
    estimate_text = f", besides {estimate_calls:,} for the estimate" if estimate_calls else ""
    calls = f"{format_count(spending.calls, 'call')} now ({tokens}){estimate_text}"
    typer.echo(f"quorum: made {calls}; results in {scores.folder}", err=True)
    print_embeddings(spending.embeddings.usage, scores.plan.prices)
    if (judge_spending := scores.judge_spending) is not None:
        tokens = f"{judge_spending.input_tokens:,} tokens in, {judge_spending.output_tokens:,} out"
        typer.echo(
            f"quorum: the judge made {format_count(judge_spending.calls, 'further call')} now ({tokens})", err=True
        )
    error_count, unjudged_count = (
        sum(int(row.get(name) or 0) for row in scores.summary.values()) for name in FAILURE_COUNTS
    )
    if error_count:
        cause = describe_common_failure(scores)
        typer.echo(
            f"quorum: {format_count(error_count, 'answer')} failed{cause}; "
            "run the same command again to ask only the questions that failed.",
            err=True,
        )
    if unjudged_count:
        failure = f"the judge failed on {format_count(unjudged_count, 'answer')}"
        typer.echo(f"quorum: {failure}; run the same command again to ask the judge only where it failed.", err=True)
    if error_count or unjudged_count:
        raise typer.Exit(1)
