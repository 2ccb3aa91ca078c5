"""`quorum compare`: which method is worth its cost on your questions, with a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.cli.options import (
    AsJson,
    Baseline,
    Concurrency,
    DryRun,
    Embeddings,
    Engine,
    Judge,
    LangSmith,
    Limit,
    Margin,
    MaxCost,
    Metric,
    Out,
    Prices,
    Race,
    Settings,
    SkipBad,
    Store,
    Where,
    WrongCost,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from quorum.evaluation.compare.embedding_estimates import IndexingEstimate, SearchingEstimate
    from quorum.evaluation.compare.estimate import Estimate
    from quorum.evaluation.decisions.decide import Decision
    from quorum.evaluation.run.options import Options

Corpus: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS",
        help="Folder of documents, or JSON lines of passages; 'given': each question's own passages; 'pool': the "
        "passages of all questions.",
        show_default=False,
    ),
]
Questions: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="QUESTIONS", help="Questions with answers (JSON lines), or langsmith:NAME.", show_default=False
    ),
]
Methods: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--methods", metavar="A,B|all", help="Methods; by default concat, post_fusion, concat_pf, pf_concat and sure."
    ),
]
Models: TypeAlias = Annotated[
    str | None, typer.Option("--models", "--model", "-m", metavar="A,B", help="Chat models to compare.")
]
Retrievers: TypeAlias = Annotated[
    str | None, typer.Option("--retrievers", metavar="A,B", help="Retrievers to compare: hybrid, chroma, bm25.")
]
PassageCounts: TypeAlias = Annotated[
    str | None, typer.Option("--k", "-k", metavar="N,M", help="Numbers of passages per query to compare.")
]
Index: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--index",
        metavar="KEY=VALUE",
        help="Index the corpus with these settings, such as words=60; if repeated, each is a collection to compare.",
    ),
]
RetrievalOnly: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--retrieval-only",
        help="Compare what is found, without a model: retrievers, k, indexes, 'search[collection=NAME]'.",
    ),
]
Screen: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--screen",
        metavar="N",
        help="Before a race: search without a model, and race only the methods with the N best searches of each k.",
    ),
]
Budget: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="UNIT=X", help="Limit per question: calls=3, tokens=2000, cost=0.01 or seconds=2."
    ),
]


def compare(
    corpus: Corpus,
    data: Questions,
    methods: Methods = None,
    models: Models = None,
    retrievers: Retrievers = None,
    k: PassageCounts = None,
    baseline: Baseline = None,
    budget: Budget = None,
    max_cost: MaxCost = None,
    prices: Prices = None,
    dry_run: DryRun = False,
    limit: Limit = None,
    concurrency: Concurrency = 8,
    out: Out = None,
    store: Store = None,
    embeddings: Embeddings = None,
    metric: Metric = None,
    judge: Judge = None,
    skip_bad: SkipBad = False,
    index: Index = None,
    retrieval_only: RetrievalOnly = False,
    screen: Screen = None,
    race: Race = None,
    wrong_cost: WrongCost = 0.0,
    margin: Margin = 0.02,
    engine: Engine = "local",
    as_json: AsJson = False,
    langsmith: LangSmith = None,
    where: Where = None,
    settings: Settings = None,
) -> None:
    """Estimate, run and compare methods on your questions; recommend one, and write a report."""
    from quorum.cli.settings import find_stated_task, list_stated_settings, read_context
    from quorum.cli.upload import check_langsmith, upload_after_printing

    context = read_context(settings, where=where or None, store=store, embeddings=embeddings)
    check_stated_settings(corpus, list_stated_settings(settings))
    # Imported below the check of the settings, because it takes long.
    from quorum.evaluation.compare.recommend import read_budget
    from quorum.evaluation.comparison import DEFAULT_METHODS
    from quorum.evaluation.run.given_metrics import read_metrics
    from quorum.evaluation.run.options import Options, split_list
    from quorum.evaluation.run.retrieval_only import SEARCH

    options = Options(
        data=data,
        limit=limit,
        skip_bad=skip_bad,
        task=find_stated_task(context, settings),
        methods=methods or (SEARCH if retrieval_only else DEFAULT_METHODS),
        indexes=tuple(index or ()),
        retrieval_only=retrieval_only,
        models=split_list(models),
        retrievers=split_list(retrievers),
        k=split_list(k),
        context=context,
        corpus=corpus,
        concurrency=concurrency,
        out=out,
        baseline=baseline,
        judge=judge,
        metrics=read_metrics(metric or ()),
        budget=read_budget(budget),
        max_cost=max_cost,
        prices=prices,
        screen=screen,
        race=race,
        wrong_cost=wrong_cost,
        margin=margin,
        engine=engine,
    )
    check_langsmith(None if dry_run else langsmith)
    decision = run_comparison(options, dry_run=dry_run, as_json=as_json)
    if decision is not None:
        with upload_after_printing(langsmith, decision.scores.folder):
            print_decision(decision, as_json=as_json)


def check_stated_settings(corpus: str, stated_settings: "Collection[str]") -> None:
    """Raise `SetupError` if --set says to search what is not searched: methods search the corpus, unless they name a
    collection themselves, and nothing is searched where passages are given.
    """
    from quorum.core.errors import SetupError

    if "collection" in stated_settings:
        raise SetupError(
            f"--set collection would change nothing, because the methods read the corpus ({corpus}); let a method name "
            "the collection that it searches: --methods 'concat[collection=NAME]'."
        )
    if corpus == "given" and "retriever" in stated_settings:
        raise SetupError(
            "--set retriever would change nothing, because each question's own passages are read ('given'); leave it "
            "out, or name 'pool' in place of 'given'."
        )


def run_comparison(options: "Options", *, dry_run: bool, as_json: bool = False) -> "Decision | None":
    """Plan the comparison and print its estimate; then run it, except in a dry run."""
    from quorum.cli.interruptible import run_interruptible
    from quorum.cli.progress import explain_resuming, show_progress_bar
    from quorum.cli.race_progress import show_race
    from quorum.evaluation.comparison import compare, plan_comparison

    async def plan_and_run() -> "Decision | None":
        with show_progress_bar() as progress:
            planned_comparison = await plan_comparison(options, progress=progress)
        print_left_out_methods(planned_comparison.left_out_reasons)
        # Each of `planned_comparison.columns` is a method with all its settings.
        print_estimate(planned_comparison.estimate, to_stderr=as_json or not dry_run)
        if options.judge is not None:
            method_count = len(planned_comparison.columns)
            typer.echo(f"quorum: {describe_judge(planned_comparison.estimate, method_count)}", err=True)
        if dry_run:
            return None
        with show_race(as_json=as_json) as (progress, watch_race):
            return await compare(planned_comparison, progress=progress, watch_race=watch_race)

    with explain_resuming():
        return run_interruptible(plan_and_run())


def print_left_out_methods(left_out_reasons: "Mapping[str, str]") -> None:
    """Print on stderr which methods `--methods all` left out, because they do not fit these questions, and why."""
    from quorum.evaluation.run.eligibility import describe_left_out

    for sentence in describe_left_out(left_out_reasons):
        typer.echo(f"quorum: {sentence}", err=True)


def print_estimate(estimate: "Estimate", *, to_stderr: bool) -> None:
    """Print the estimate before the first paid call: on stdout in a dry run without --json, else on stderr."""
    from rich.text import Text

    from quorum.cli.number_table import NumberTable
    from quorum.cli.show import make_stderr_console, make_stdout_console
    from quorum.evaluation.compare.format_figures import describe_embeddings, format_dollars

    table = NumberTable("estimated for a question", "calls", "range of calls", "tokens", "cost")
    for name, method_estimate in estimate.methods.items():
        call_range = (
            f"{method_estimate.fewest_calls:g} to {method_estimate.most_calls:g}"
            if method_estimate.fewest_calls != method_estimate.most_calls
            else f"{method_estimate.fewest_calls:g}"
        )
        cost = "no price" if method_estimate.cost is None else format_dollars(method_estimate.cost)
        tokens = method_estimate.input_tokens + method_estimate.output_tokens
        table.add_row(Text(name, style="bold"), f"{method_estimate.calls:.1f}", call_range, f"{tokens:,.0f}", cost)
    console = make_stderr_console() if to_stderr else make_stdout_console()
    console.print(table)
    console.print(describe_total(estimate))
    lines = [*map(describe_indexing, estimate.indexing), *map(describe_searching, estimate.searching)]
    if estimate.spent:
        lines.append(f"For this estimate, {describe_embeddings(estimate.spent, estimate.spent_cost)}.")
    for line in (*lines, *estimate.notes):
        console.print(line)


def describe_total(estimate: "Estimate") -> str:
    """The totals of the estimate in a sentence, such as 'In all 124 questions: about 1,612 calls, ...'."""
    from quorum.core.text import format_count
    from quorum.evaluation.compare.format_figures import describe_bill

    tokens = estimate.input_tokens + estimate.output_tokens
    bill = describe_bill(estimate.cost, estimate.seconds)
    return (
        f"In all {format_count(estimate.questions, 'question')}: about {format_count(round(estimate.calls), 'call')}, "
        f"{tokens:,.0f} tokens, {bill} "
        f"(shared calls counted once; estimated from "
        f"{format_count(estimate.rehearsed_questions, 'question')} with the embedded reader)."
    )


def describe_indexing(indexing: "IndexingEstimate") -> str:
    """What indexing a collection takes, in a sentence: 'Indexing docs-words-60-1a2b3c4d: 120 passages, ...'."""
    from quorum.evaluation.compare.format_figures import format_dollars

    cost = "no price known" if indexing.cost is None else format_dollars(indexing.cost)
    return (
        f"Besides, indexing {indexing.collection}: {indexing.passages:,} passages, at most {indexing.tokens:,} tokens "
        f"of embeddings ({indexing.embeddings}), {cost}."
    )


def describe_searching(searching: "SearchingEstimate") -> str:
    """What searching takes with paid embeddings, in a sentence: 'Besides, searching: about 1,200 tokens ...'."""
    from quorum.evaluation.compare.format_figures import format_dollars

    cost = "no price known" if searching.cost is None else format_dollars(searching.cost)
    return f"Besides, searching: about {searching.tokens:,.0f} tokens of embeddings ({searching.embeddings}), {cost}."


def describe_judge(estimate: "Estimate", method_count: int) -> str:
    """Say that the estimate leaves out the judge, whose number of calls depends on the answers."""
    most_calls = estimate.questions * method_count
    answers = "answers that are neither unknown nor an exact match"
    return f"the judge's calls are not included: at most {most_calls:,} calls, for {answers}."


def print_decision(decision: "Decision", *, as_json: bool = False) -> None:
    """Print the recommendation, the tables and the path of the report. Exits with code 1 if answers failed, or if the
    judge failed on answers.
    """
    from quorum.cli.evaluate import print_spending_and_check_failures, print_tables
    from quorum.cli.show import make_stdout_console
    from quorum.cli.tables import make_answer_share_table, make_race_table, make_score_tables, make_screen_table

    scores = decision.scores
    if as_json:
        typer.echo(format_result_line(decision))
    else:
        console = make_stdout_console()
        verdict = decision.recommendation.verdict
        console.print(verdict.headline, style="bold")
        for sentence in (*verdict.sentences, "", *decision.recommendation.sentences, ""):
            console.print(sentence)
        screening = scores.plan.screening
        race_tables = [] if screening is None else [make_screen_table(screening)]
        race_tables += [] if scores.race is None else [make_race_table(scores.race)]
        # decision.figures: each method in numbers, such as its quality, cost and share of right answers
        answer_share_tables = (
            []
            if scores.plan.options.retrieval_only
            else [make_answer_share_table(decision.figures, decision.recommendation.wrong_cost)]
        )
        print_tables(
            [
                *race_tables,
                *answer_share_tables,
                *make_score_tables(scores.summary, scores.comparisons, scores.measures, scores.plan.options.metrics),
            ]
        )
    typer.echo(f"quorum: the report is {scores.folder / 'report.html'}", err=True)
    print_spending_and_check_failures(scores)


def format_result_line(decision: "Decision") -> str:
    """The last line of --json: recommendation.json's content, the measures of every method, and the report's path."""
    import json

    from quorum.evaluation.run.config_file import read_json_file

    scores = decision.scores
    line = {
        "event": "result",
        **read_json_file(scores.folder / "recommendation.json"),
        "summary": scores.summary,
        "report": str(scores.folder / "report.html"),
    }
    return json.dumps(line, ensure_ascii=False)
