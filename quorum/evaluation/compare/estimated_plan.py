"""Adds the estimate to a plan: what the run will take, before anything is paid for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from quorum.evaluation.compare.embedding_estimates import estimate_indexing, estimate_searching, sum_cost
from quorum.evaluation.compare.estimate import Estimate, estimate
from quorum.evaluation.compare.race_budget import limit_race
from quorum.evaluation.compare.spending_limit import (
    LimitedSpending,
    record_embeddings,
)
from quorum.evaluation.metrics.prices import add_costs, check_limit
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.screen import screen
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.source import ProgressCallback, fill_collections, ignore_progress
from quorum.evaluation.run.warm_up import warm_up
from quorum.models.embedding_counts import EmbeddingCounts
from quorum.models.embedding_requests import pay_for_embeddings


@dataclass(frozen=True, kw_only=True)
class EstimatedPlan(Plan):
    """A plan whose collections are filled, with the estimate of what its run will take."""

    estimate: Estimate


@asynccontextmanager
async def record_payments(folder: Path, spending: LimitedSpending) -> AsyncIterator[None]:
    """Let `spending` pay for the block's embeddings, and add them to the folder's spent.json, also if the block fails:
    what is paid is paid, whether the run begins or not.
    """
    try:
        with pay_for_embeddings(spending):
            yield
    finally:
        await asyncio.to_thread(record_embeddings, folder, spending)


async def add_estimate(plan: Plan, progress: ProgressCallback = ignore_progress) -> EstimatedPlan:
    """The plan with its estimate. Indexes a corpus that is not indexed yet. In a race under a budget, only methods that
    are expected to stay within it may drop others (see `limit_race`).

    Raises `SetupError` if the options have a `max_cost` and a price is missing, or if the estimate exceeds `max_cost`;
    before the corpus is indexed, if that alone does.
    With a race, the estimate may exceed `max_cost`, because a race ends when it has spent that much.

    What the embeddings of the index and of the rehearsed searches have cost is added to the folder's spent.json.
    """
    options, columns = plan.options, plan.columns
    spending, rehearsed = LimitedSpending(plan.prices, options.max_cost), EmbeddingCounts()
    async with record_payments(plan.folder, spending):
        indexing = await asyncio.to_thread(estimate_indexing, plan.source, plan.dataset, columns, plan.prices)
        indexing_cost = sum_cost(indexing)
        check_limit(indexing_cost, options.max_cost, basis=" to index the corpus", instead="index fewer documents")
        if plan.source.retrieves:
            await fill_collections(plan.source, plan.dataset, columns, progress)
            if options.screen is not None:
                screening = await screen(
                    columns,
                    options.screen,
                    plan.dataset,
                    has_indexes=plan.source.indexes is not None,
                    baseline=options.baseline,
                    concurrency=options.concurrency,
                    progress=progress,
                )
                columns = [column for column in columns if column.name not in screening.dropped_methods]
                plan = replace(plan, columns=columns, screening=screening)
            columns = share_retrieval(columns)
        await warm_up(columns, retrieves=plan.source.retrieves)
        with pay_for_embeddings(rehearsed):
            found = await estimate(
                plan.dataset,
                columns,
                uses_given_passages=not plan.source.retrieves,
                task=options.task,
                concurrency=options.concurrency,
                spending=spending,
                progress=progress,
            )
    searching = estimate_searching(rehearsed.usage, found.questions / found.rehearsed_questions, plan.prices)
    is_judge_priced = plan.judge is None or plan.prices.find_price(options.judge) is not None
    cost = add_costs([found.cost if is_judge_priced else None, indexing_cost, sum_cost(searching)])
    if plan.race is None or cost is None:  # a race ends at the limit
        check_limit(cost, options.max_cost, instead="ask fewer questions with --limit, compare fewer methods")
    updates = {
        "is_indexed": True,
        "rehearsal_usage": spending.usage_by_model,
        "race": plan.race and limit_race(plan.race, options.budget, options.max_cost, found.methods),
    }
    known = {part.name: getattr(plan, part.name) for part in fields(plan)}
    embeddings = spending.embeddings.usage
    complete_estimate = replace(
        found,
        indexing=tuple(indexing),
        searching=tuple(searching),
        spent=embeddings,
        spent_cost=plan.prices.compute_embedding_cost(embeddings),
    )
    return EstimatedPlan(**{**known, **updates}, estimate=complete_estimate)
