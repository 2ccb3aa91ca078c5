"""Which method is worth its cost on these questions: estimated, measured, recommended, reported (`quorum compare`)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.core.context import Context, parse_setting
from quorum.core.errors import SetupError
from quorum.evaluation.compare.baseline import check_baseline
from quorum.evaluation.compare.decision import Decision
from quorum.evaluation.compare.estimate import Estimate, estimate
from quorum.evaluation.compare.figures import calibrated, figures_of, mean_costs, shared_questions
from quorum.evaluation.compare.prices import Prices, check_limit
from quorum.evaluation.compare.recommend import as_json, baseline_words, read_budget, recommend
from quorum.evaluation.compare.spending_limit import JudgesPurse, Purse, Spent, earlier, keep_spent
from quorum.evaluation.metrics.judge import Judge, check_judge, judge_of
from quorum.evaluation.report.write import write_report
from quorum.evaluation.run.columns import MethodRun, method_run, parse_methods
from quorum.evaluation.run.config import configuration, short_hash
from quorum.evaluation.run.dataset import DataSet, read_data
from quorum.evaluation.run.eligibility import able
from quorum.evaluation.run.evaluate import Report, evaluate, usable
from quorum.evaluation.run.results import write_json
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.source import Progress, Source, in_collection, passage_source, silent

if TYPE_CHECKING:
    from quorum.graphs import Graph

METHODS = "concat,post_fusion,concat_pf,pf_concat,sure"
GIVEN = "given"


@dataclass(frozen=True)
class Options:
    """What is compared and how far it may go. models, retrievers, k: values to cross with the methods; budget: most for
    a question, by unit; max_cost: dollars that a run may spend; graphs: compiled graphs of your own, compared as well;
    judge: the chat model that says which answers are right; skip_bad: pass over broken questions.
    """

    methods: str = METHODS
    models: Sequence[str] = ()
    retrievers: Sequence[str] = ()
    k: Sequence[str] = ()
    baseline: str | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    max_cost: float | None = None
    prices: Path | None = None
    graphs: "Sequence[Graph]" = ()
    judge: str | None = None
    skip_bad: bool = False


@dataclass(frozen=True)
class Plan:
    """What is going to be asked: the runs, what that will take, the folder for it, what the rehearsal already did of
    it, by model, why methods of 'all' are left out, by name, and who judges the answers.
    """

    runs: list[MethodRun]
    estimate: Estimate
    folder: Path
    rehearsed: dict[str, dict[str, int]]
    left_out: dict[str, str]
    judge: Judge | None = None


def variants(options: Options, context: Context) -> list[MethodRun]:
    """The methods crossed with models, retrievers and k; what has more than one value is part of a run's name. A
    method's own settings in brackets come first.
    """
    axes = {"model": options.models, "retriever": options.retrievers, "k": options.k}
    single = {name: parse_setting(name, values[0]) for name, values in axes.items() if len(values) == 1}
    several = {name: values for name, values in axes.items() if len(values) > 1}
    made: dict[str, MethodRun] = {}
    common = replace(context, **single)
    named = parse_methods(options.methods, common) if options.methods or not options.graphs else []
    for base in [*named, *(method_run(graph, {}, common) for graph in options.graphs)]:
        free = {name: values for name, values in several.items() if name not in base.settings}
        for chosen in product(*free.values()):
            settings = {**base.settings, **dict(zip(free, chosen, strict=True))}
            run = method_run(base.method_or_graph, settings, common)
            made.setdefault(run.name, replace(run, chosen=base.chosen))
    return list(made.values())


async def plan(
    corpus: str,
    data: Path,
    context: Context,
    options: Options,
    *,
    out: Path | None = None,
    limit: int | None = None,
    concurrency: int = 8,
    task: str | None = None,
    progress: Progress = silent,
) -> Plan:
    """The runs and their estimate; the corpus is indexed for it where it is not there yet. Raises `SetupError` where
    the estimate is beyond `max_cost`.

    corpus: a folder or file; "given": every question's own passages; "pool": the passages of all questions.
    """
    runs = variants(options, context)
    check_baseline([[run.name for run in runs]], options.baseline)
    dataset = await asyncio.to_thread(read_data, data, limit, skip_bad=options.skip_bad)
    judge = None if options.judge is None else judge_of(options.judge, context)
    if judge is not None:
        await check_judge(judge)
    source = await asyncio.to_thread(source_of, corpus, dataset, options)
    prices = Prices(options.prices)
    for run in runs:
        await usable(run.context)
    runs, left_out = await able(runs, dataset, task)
    check_baseline([[run.name for run in runs]], options.baseline)
    searching = share_retrieval(await in_collection(source, dataset, runs, progress)) if source.retrieves else runs
    purse = Purse(prices)
    made = await estimate(
        dataset,
        searching,
        prices,
        given=not source.retrieves,
        concurrency=concurrency,
        spent=purse,
        progress=progress,
    )
    priced = judge is None or prices.of(options.judge) is not None
    check_limit(
        made.cost if priced else None, options.max_cost, instead="ask fewer questions with --limit, fewer methods"
    )
    about = {**({"task": task} if task else {}), "details": True}
    config = await asyncio.to_thread(configuration, dataset, runs, source.described(), about)
    folder = out or Path("results") / f"{data.name.split('.')[0]}-{short_hash(config)}"
    return Plan(runs, made, folder, purse.models, left_out, judge)


def source_of(corpus: str, dataset: DataSet, options: Options) -> Source:
    """Where the passages come from. Given ones need no retriever, and all questions must have some."""
    if corpus != GIVEN:
        return passage_source(dataset, corpus, None)
    if dataset.given < dataset.count:
        pooled = ", or 'pool' for the passages of all questions" if dataset.given else ""
        raise SetupError(
            f"{dataset.count - dataset.given} of {dataset.count} questions in {dataset.path} have no passages of "
            f"their own; name a corpus in place of 'given'{pooled}."
        )
    if options.retrievers:
        raise SetupError(
            f"--retrievers {','.join(options.retrievers)} would search nothing, the questions bring their passages; "
            "leave it out, or name 'pool' in place of 'given'."
        )
    return passage_source(dataset, None, None)


async def compare(
    corpus: str,
    data: Path,
    planned: Plan,
    options: Options,
    *,
    limit: int | None = None,
    concurrency: int = 8,
    task: str | None = None,
    progress: Progress = silent,
) -> Decision:
    """Ask all questions by all runs, or what is left of them, and write the report beside the results."""
    prices = Prices(options.prices)
    before = earlier(planned.folder)
    purse = Purse(prices, options.max_cost, before, planned.rehearsed)
    judges = JudgesPurse(purse, before and before.get("judge"))
    judge = None if planned.judge is None else replace(planned.judge, spent=judges)
    try:
        report = await evaluate(
            data,
            planned.runs,
            out=planned.folder,
            limit=limit,
            concurrency=concurrency,
            corpus=None if corpus == GIVEN else corpus,
            task=task,
            baseline=options.baseline,
            details=True,
            spent=purse,
            skip_bad=options.skip_bad,
            judge=judge,
            progress=progress,
        )
    finally:
        spent = total_spent(purse, judge, before)
        keep_spent(planned.folder, spent)
    decision = await asyncio.to_thread(decide, report, planned, options, prices, spent)
    await asyncio.to_thread(write_report, decision, progress)
    return decision


def total_spent(purse: Purse, judge: Judge | None, before: Spent | None) -> Spent:
    """All that was spent in the folder, a judge's part apart; without one now, what an earlier one spent."""
    spent, part = purse.total(), before and before.get("judge")
    if judge is not None and isinstance(judge.spent, Purse):
        part = judge.spent.total()
    return {**spent, "judge": part} if part else spent


def decide(report: Report, planned: Plan, options: Options, prices: Prices, spent: Spent) -> Decision:
    """The figures of every run, and what follows from them."""
    measure = report.judged[0]
    costs = mean_costs(report, planned.runs, prices)
    common = shared_questions(report.scores)
    figures = [figures_of(name, scores, measure, costs[name], common) for name, scores in report.scores.items()]
    recommendation = recommend(figures, report.scores, measure, options.budget)
    recommendation.sentences[1:1] = baseline_words(recommendation, report.comparisons)
    write_json(report.folder / "recommendation.json", as_json(recommendation))
    found = {name: calibrated(report, name, measure) for name in report.scores}
    calibrations = {name: one for name, one in found.items() if one is not None}
    if calibrations:
        write_json(report.folder / "uncertainty.json", {name: asdict(one) for name, one in calibrations.items()})
    made = (report, planned.runs, planned.estimate, figures, recommendation, spent, calibrations)
    return Decision(*made, left_out=planned.left_out)


def options_of(
    *,
    methods: str | None,
    models: str | None,
    retrievers: str | None,
    k: str | None,
    baseline: str | None,
    budget: str | None,
    max_cost: float | None,
    prices: Path | None,
    judge: str | None = None,
    skip_bad: bool = False,
) -> Options:
    """From the texts of a command line: lists with commas between."""
    if max_cost is not None and not max_cost >= 0:
        raise SetupError(f"--max-cost {max_cost} does not fit; give dollars, from 0 on.")
    return Options(
        methods=methods or METHODS,
        models=listed(models),
        retrievers=listed(retrievers),
        k=listed(k),
        baseline=baseline,
        budget=read_budget(budget),
        max_cost=max_cost,
        prices=prices,
        judge=judge,
        skip_bad=skip_bad,
    )


def listed(text: str | None) -> list[str]:
    """The items of a list with commas between, each once."""
    return list(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))
