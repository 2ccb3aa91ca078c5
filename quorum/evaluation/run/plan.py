"""Plans a run: checks options, columns (methods with their settings) and questions before anything is paid for."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quorum.algorithms.race import RACE_ERROR_PROBABILITY
from quorum.core.context import Context, get_filter_model
from quorum.core.errors import SetupError
from quorum.core.text import AnswerMeasure
from quorum.evaluation.compare.baseline import check_baseline
from quorum.evaluation.compare.estimate import Estimate, estimate
from quorum.evaluation.compare.prices import Prices, check_limit
from quorum.evaluation.compare.spending_limit import LimitedSpending
from quorum.evaluation.metrics.given_metrics import describe_metrics
from quorum.evaluation.metrics.judge import Judge, check_judge, make_judge
from quorum.evaluation.run.columns import Column, check_names, list_columns, list_names_by_group
from quorum.evaluation.run.config import compute_short_hash, make_config
from quorum.evaluation.run.dataset import DataSet, read_data
from quorum.evaluation.run.eligibility import drop_ineligible
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.race_result import SEED
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.source import (
    ProgressCallback,
    Source,
    fill_collections,
    find_passage_source,
    ignore_progress,
    name_collections,
)
from quorum.evaluation.run.warm_up import warm_up
from quorum.models.chat import chat_model_async
from quorum.models.context_filters import get_context_filter


@dataclass(frozen=True)
class Plan:
    """Everything that the run needs.

    columns: each with its collection and prices; left_out_reasons: by column name, why a column that `--methods all`
    would bring is not asked; config: the content of config.json; folder: where results go.

    estimate: what the run will take, None if not requested; rehearsal_usage: by model, the calls and tokens that the
    estimate has used for columns whose only model is the embedded one. These calls are real, and the run finds their
    replies in the journal. Calls in which the embedded model stands in for a chat model are not counted. is_indexed:
    whether the collections of the columns are filled. names_that_may_drop_others: the names of the columns that can
    drop other columns from a race; None: all can.
    """

    options: Options
    dataset: DataSet
    source: Source
    columns: Sequence[Column]
    config: Mapping[str, Any]
    folder: Path
    left_out_reasons: Mapping[str, str] = field(default_factory=dict)
    judge: Judge | None = None
    estimate: Estimate | None = None
    rehearsal_usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    is_indexed: bool = False
    names_that_may_drop_others: frozenset[str] | None = None

    @property
    def groups(self) -> list[list[str]]:
        """The names of the columns that are compared with one another."""
        return list_names_by_group(self.columns)


async def plan(options: Options, columns: Sequence[Column] | None = None) -> Plan:
    """Make the plan of a run, and check everything that can be wrong in the options. columns: used instead of those
    that `options` names.

    Raises `SetupError` if the data, a column, a model, the judge, the passages' source or the baseline cannot be used.
    """
    all_columns = list_columns(options) if columns is None else list(columns)
    check_names(all_columns)
    check_baseline(list_names_by_group(all_columns), options.baseline)
    dataset = await asyncio.to_thread(read_data, options.data, options.limit, skip_bad=options.skip_bad)
    if options.race is not None:
        # A race asks the questions in a random order. The race "future" keeps questions about the same document or
        # conversation together (`read_document_group`).
        dataset = replace(dataset, seed=SEED, by_group=options.race == "future")
    judge = None if options.judge is None else make_judge(options.judge, options.context)
    if judge is not None:
        await check_judge(judge)
    source = await asyncio.to_thread(find_passage_source, dataset, options)
    for column in all_columns:
        await check_models(column.context)
    eligible_columns, left_out_reasons = await drop_ineligible(all_columns, dataset, options.task)
    if options.baseline in left_out_reasons:
        reason = left_out_reasons[options.baseline]
        raise SetupError(f"The baseline {options.baseline!r} does not serve these questions: {reason}")
    prices = Prices(options.prices)
    complete_columns = await asyncio.to_thread(
        name_collections, source, [replace(column, prices=prices) for column in eligible_columns]
    )
    config = await asyncio.to_thread(
        make_config,
        dataset,
        complete_columns,
        source.describe(),
        describe_options(options),
        find_answer_measure(complete_columns),
    )
    folder = options.out or Path("results") / f"{options.data.name.split('.')[0]}-{compute_short_hash(config)}"
    return Plan(options, dataset, source, complete_columns, config, folder, left_out_reasons, judge)


def describe_options(options: Options) -> dict[str, Any]:
    """The options that config.json records, besides the data, the source of passages and the columns."""
    task = {"task": options.task} if options.task else {}
    race_settings: dict[str, Any] = {"mode": options.race, "error": RACE_ERROR_PROBABILITY, "seed": SEED}
    if options.wrong_cost:
        race_settings["wrong_cost"] = options.wrong_cost
    race = {"race": race_settings} if options.race else {}
    own_metrics = {"own_metrics": describe_metrics(options.metrics)} if options.metrics else {}
    return {
        **task,
        **race,
        **({"details": True} if options.writes_details else {}),
        **own_metrics,
        **options.extra_config,
    }


def find_answer_measure(columns: Sequence[Column]) -> AnswerMeasure:
    """How the answers of all columns are compared with accepted ones. Raises `SetupError` if columns differ in it."""
    measures = {column.name: column.context.answer_measure for column in columns}
    if len(set(measures.values())) > 1:
        raise SetupError(
            f"The methods have different settings answer_measure ({list_examples(measures)}), and results of two "
            "measures are not compared; give all methods the same one."
        )
    return next(iter(measures.values()))


def list_examples(measures: Mapping[str, AnswerMeasure]) -> str:
    """A column for each measure: 'concat exact_match, sure squad_exact_match'."""
    column_of_measure = {measure: name for name, measure in measures.items()}
    return ", ".join(f"{name} {measure}" for measure, name in column_of_measure.items())


async def check_models(context: Context) -> None:
    """Raises `SetupError` if the context's model, verifier or filter cannot be used."""
    await chat_model_async(context.model, context)
    if context.verifier is not None:
        await chat_model_async(context.verifier, context)
    if context.context_filter is not None:
        filter_model = get_filter_model(context)
        if filter_model is None:
            await asyncio.to_thread(get_context_filter, context.context_filter)
        else:
            await chat_model_async(filter_model, context)


async def add_estimate(plan: Plan, progress: ProgressCallback = ignore_progress) -> Plan:
    """The plan with its estimate. Indexes a corpus that is not indexed yet.

    Raises `SetupError` if the options have a `max_cost` and a price is missing, or if the estimate exceeds `max_cost`.
    With a race, the estimate may exceed `max_cost`, because a race ends when it has spent that much.
    """
    options, prices = plan.options, Prices(plan.options.prices)
    columns = plan.columns
    if plan.source.retrieves:
        await fill_collections(plan.source, plan.dataset, columns, progress)
        columns = share_retrieval(columns)
    await warm_up(columns, retrieves=plan.source.retrieves)
    spending = LimitedSpending(prices)
    cost_estimate = await estimate(
        plan.dataset,
        columns,
        uses_given_passages=not plan.source.retrieves,
        task=options.task,
        concurrency=options.concurrency,
        spending=spending,
        progress=progress,
    )
    is_judge_priced = plan.judge is None or prices.find_price(options.judge) is not None
    cost = cost_estimate.cost if is_judge_priced else None
    if options.race is not None and cost is not None:  # a race ends at the limit
        return replace(plan, estimate=cost_estimate, rehearsal_usage=spending.usage_by_model, is_indexed=True)
    check_limit(cost, options.max_cost, instead="ask fewer questions with --limit, compare fewer methods")
    return replace(plan, estimate=cost_estimate, rehearsal_usage=spending.usage_by_model, is_indexed=True)
