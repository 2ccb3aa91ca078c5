"""Finds out which method is worth its cost: estimate, measure, recommend, report (`quorum compare`)."""

import asyncio
from dataclasses import replace

from quorum.evaluation.compare.estimated_plan import EstimatedPlan, add_estimate
from quorum.evaluation.compare.race_budget import (
    prepare_race,
    restrict_dropping_by_measured_costs,
)
from quorum.evaluation.compare.spending_limit import (
    JudgeSpending,
    LimitedSpending,
    TotalSpent,
    read_spent,
    write_spent,
)
from quorum.evaluation.decisions.decide import Decision, decide
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.metrics.registry import use_metrics
from quorum.evaluation.report.write import write_report
from quorum.evaluation.run.judge import Judge
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import plan
from quorum.evaluation.run.race import RaceWatcher
from quorum.evaluation.run.run_plan import lock_folder, run
from quorum.evaluation.run.score import Scores, score
from quorum.evaluation.run.source import ProgressCallback, ignore_progress

DEFAULT_METHODS = "concat,post_fusion,concat_pf,pf_concat,sure"


async def plan_comparison(options: Options, *, progress: ProgressCallback = ignore_progress) -> EstimatedPlan:
    """Options -> columns -> plan with its estimate. Indexes a corpus that is not indexed yet.

    In the plan of a race under a budget, only methods that are expected to stay within the budget may drop others.

    Raises `SetupError` for a mistake in the options or the data, for a `max_cost` without known prices, and for an
    estimate above `max_cost` (but not for a race, because a race ends once it has cost more than `max_cost`).
    """
    with use_metrics(options.metrics):
        estimated_plan = await add_estimate(await plan(replace(options, writes_details=True)), progress)
    return prepare_race(estimated_plan)


async def compare(
    estimated_plan: EstimatedPlan,
    *,
    progress: ProgressCallback = ignore_progress,
    watch_race: RaceWatcher | None = None,
) -> Decision:
    """Plan -> outcome -> scores -> decision -> report. Questions that were answered before are not asked again.

    watch_race: called at the start of a race, and whenever the race has settled a question.

    Raises `SetupError` once the models have cost more than `max_cost`; the answers are kept. A race raises nothing
    then: it ends and names the methods that are left.
    """
    with use_metrics(estimated_plan.options.metrics):
        scores, spent = await measure_columns(estimated_plan, progress, watch_race)
        decision = await asyncio.to_thread(decide, scores, spent, estimated_plan.estimate)
        await asyncio.to_thread(write_report, decision, progress)
    return decision


async def measure_columns(
    estimated_plan: EstimatedPlan, progress: ProgressCallback, watch_race: RaceWatcher | None = None
) -> tuple[Scores, TotalSpent]:
    """Plan -> outcome -> scores, within the limit on cost.

    Returns the scores and what all runs in the folder have spent together. This spending is written to spent.json
    even if the run ends early.
    """
    earlier_spending = read_spent(estimated_plan.folder)
    spending = LimitedSpending(
        Prices(estimated_plan.options.prices),
        estimated_plan.options.max_cost,
        earlier_spending,
        estimated_plan.rehearsal_usage,
    )
    if estimated_plan.judge is not None:
        judge_spending = JudgeSpending(spending, earlier_spending and earlier_spending.get("judge"))
        estimated_plan = replace(estimated_plan, judge=replace(estimated_plan.judge, spending=judge_spending))
    try:
        with lock_folder(estimated_plan.folder):
            outcome = await run(estimated_plan, spending, progress, watch_race)
            asked_count = outcome.new_answers
            # If methods cost more than the budget, the race is run again, and these methods may no longer drop others.
            while (corrected_plan := restrict_dropping_by_measured_costs(estimated_plan, outcome)) is not None:
                estimated_plan = corrected_plan
                outcome = await run(estimated_plan, spending, progress, watch_race)
                asked_count += outcome.new_answers
            outcome = replace(outcome, new_answers=asked_count)
            scores = await score(outcome, progress)
    finally:
        spent = sum_spending(spending, estimated_plan.judge, earlier_spending)
        write_spent(estimated_plan.folder, spent)
    return scores, spent


def sum_spending(spending: LimitedSpending, judge: Judge | None, earlier_spending: TotalSpent | None) -> TotalSpent:
    """The total spending in the folder, of this run and earlier ones.

    The key "judge" holds what the judge has spent in all these runs; it is there even if this run has no judge, but an
    earlier run had one. The other keys do not include the judge's spending.
    """
    spent, judge_total = spending.total(), earlier_spending and earlier_spending.get("judge")
    if judge is not None and isinstance(judge.spending, LimitedSpending):
        judge_total = judge.spending.total()
    return {**spent, "judge": judge_total} if judge_total else spent
