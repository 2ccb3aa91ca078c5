"""`quorum compare`: which method is worth its cost on your questions, with a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quorum.cli.options import (
    Concurrency,
    DryRun,
    Embeddings,
    Judge,
    LangSmith,
    Limit,
    MaxCost,
    Prices,
    Settings,
    SkipBad,
    Store,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quorum.evaluation.compare.decision import Decision
    from quorum.evaluation.compare.estimate import Estimate


def compare(
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="Folder of documents, or JSON lines of passages; 'given': each question's own passages; 'pool': the "
            "passages of all questions.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path, typer.Argument(metavar="QUESTIONS", help="Questions with answers (JSON lines).", show_default=False)
    ],
    methods: Annotated[
        str | None,
        typer.Option("--methods", metavar="A,B|all", help="Methods; concat, post_fusion, concat_pf, pf_concat, sure."),
    ] = None,
    models: Annotated[str | None, typer.Option("--models", metavar="A,B", help="Chat models, each tried.")] = None,
    retrievers: Annotated[
        str | None, typer.Option("--retrievers", metavar="A,B", help="Retrievers, each tried: hybrid, chroma, bm25.")
    ] = None,
    k: Annotated[str | None, typer.Option("--k", metavar="N,M", help="Passages per query, each number tried.")] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="NAME", help="Method to compare with; by default the first.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="UNIT=X", help="For a question at most: calls=3, tokens=2000, cost=0.01 or seconds=2."
        ),
    ] = None,
    max_cost: MaxCost = None,
    prices: Prices = None,
    dry_run: DryRun = False,
    limit: Limit = None,
    concurrency: Concurrency = 8,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; by default under results/.")
    ] = None,
    store: Store = None,
    embeddings: Embeddings = None,
    judge: Judge = None,
    skip_bad: SkipBad = False,
    langsmith: LangSmith = None,
    settings: Settings = None,
) -> None:
    """Estimate, run and compare methods on your questions; recommend one, and write a report."""
    import asyncio

    from quorum.cli.progress import progress_bar
    from quorum.cli.settings import made_context, stated
    from quorum.cli.upload import check_langsmith, uploaded
    from quorum.evaluation.compare.compare import compare, options_of, plan

    options = options_of(
        methods=methods,
        models=models,
        retrievers=retrievers,
        k=k,
        baseline=baseline,
        budget=budget,
        max_cost=max_cost,
        prices=prices,
        judge=judge,
        skip_bad=skip_bad,
    )
    context = made_context(settings, store=store, embeddings=embeddings)
    check_langsmith(None if dry_run else langsmith)
    task = context.answer_type if stated("answer_type", settings) else None

    async def work() -> "Decision | None":
        with progress_bar() as progress:
            how: dict[str, Any] = {"limit": limit, "concurrency": concurrency, "task": task, "progress": progress}
            planned = await plan(corpus, data, context, options, out=out, **how)
        print_left_out(planned.left_out)
        print_estimate(planned.estimate, to_stderr=not dry_run)
        if judge is not None:
            typer.echo(f"quorum: {judge_words(planned.estimate, len(planned.runs))}", err=True)
        if dry_run:
            return None
        with progress_bar() as progress:
            return await compare(corpus, data, planned, options, **how | {"progress": progress})

    try:
        decision = asyncio.run(work())
    except KeyboardInterrupt:
        typer.echo("quorum: stopped; the same command again goes on from here.", err=True)
        raise
    if decision is not None:
        with uploaded(langsmith, decision.report.folder):
            print_decision(decision)


def print_left_out(left_out: "Mapping[str, str]") -> None:
    """On stderr: the methods of 'all' that do not serve these questions, and why."""
    from quorum.evaluation.run.eligibility import left_out_words

    for words in left_out_words(left_out):
        typer.echo(f"quorum: {words}", err=True)


def print_estimate(made: "Estimate", *, to_stderr: bool) -> None:
    """What it will take, before anything is paid for: the answer of a dry run, else a message."""
    from rich.text import Text

    from quorum.cli.show import plain_table, stderr, stdout
    from quorum.evaluation.compare.recommend import dollars

    table = plain_table("estimated for a question", "calls", "between", "tokens", "cost", right=True)
    for name, one in made.methods.items():
        between = f"{one.least:g} and {one.most:g}" if one.least != one.most else f"{one.least:g}"
        cost = "no price" if one.cost is None else dollars(one.cost)
        tokens = one.input_tokens + one.output_tokens
        table.add_row(Text(name, style="bold"), f"{one.calls:.1f}", between, f"{tokens:,.0f}", cost)
    console = stderr() if to_stderr else stdout()
    console.print(table)
    console.print(in_all_words(made))


def in_all_words(made: "Estimate") -> str:
    """'In all 124 questions: about 1,612 calls, ...'."""
    from quorum.evaluation.compare.recommend import dollars

    cost = "no price known" if made.cost is None else dollars(made.cost)
    minutes = f"{made.seconds / 60:,.0f} minutes" if made.seconds >= 90 else f"{made.seconds:,.0f} seconds"
    tokens = made.input_tokens + made.output_tokens
    return (
        f"In all {made.questions:,} questions: about {made.calls:,.0f} calls, {tokens:,.0f} tokens, {cost}, {minutes} "
        f"(what methods share counted once; from {made.rehearsed} questions rehearsed with the embedded reader)."
    )


def judge_words(made: "Estimate", methods: int) -> str:
    """What the estimate does not know: which answers the judge will have to be asked about."""
    most = made.questions * methods
    return f"the judge comes on top: at most {most:,} calls, about answers that are neither unknown nor an exact match."


def print_decision(decision: "Decision") -> None:
    """The recommendation, the tables and where the report lies; failed questions make exit code 1."""
    from quorum.cli.evaluate import print_spent, print_tables
    from quorum.cli.show import stdout
    from quorum.cli.tables import report_tables

    console = stdout()
    for sentence in decision.recommendation.sentences:
        console.print(sentence)
    console.print()
    report = decision.report
    print_tables(report_tables(report.summary, report.comparisons, report.judged))
    typer.echo(f"quorum: the report is {report.folder / 'report.html'}", err=True)
    print_spent(report)
