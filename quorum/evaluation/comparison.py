"""Finds out which method is worth its cost: estimate, measure, recommend, report (`quorum compare`)."""

import asyncio
from dataclasses import replace

from quorum.evaluation.compare.estimated_plan import EstimatedPlan, add_estimate
from quorum.evaluation.compare.race_budget import correct_rules
from quorum.evaluation.compare.spending_limit import FolderSpending
from quorum.evaluation.decisions.decide import Decision, decide
from quorum.evaluation.metrics.registry import use_metrics
from quorum.evaluation.report.write import write_report
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import plan
from quorum.evaluation.run.race import RaceWatcher
from quorum.evaluation.run.run_plan import lock_folder, run
from quorum.evaluation.run.score import score
from quorum.evaluation.run.source import ProgressCallback, ignore_progress

DEFAULT_METHODS = "concat,post_fusion,concat_pf,pf_concat,sure"


async def plan_comparison(options: Options, *, progress: ProgressCallback = ignore_progress) -> EstimatedPlan:
    """Options -> columns -> plan with its estimate. Indexes a corpus that is not indexed yet.

    Raises `SetupError` for a mistake in the options or the data, for a `max_cost` without known prices, and for an
    estimate above `max_cost` (but not for a race, because a race ends once it has cost more than `max_cost`).
    """
    with use_metrics(options.metrics):
        return await add_estimate(await plan(replace(options, writes_details=True)), progress)


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
    options, folder, columns = estimated_plan.options, estimated_plan.folder, estimated_plan.columns
    usage, planned_dollars = estimated_plan.rehearsal_usage, estimated_plan.estimate.spent_cost or 0.0
    with use_metrics(options.metrics):
        with (
            lock_folder(folder),
            FolderSpending(folder, estimated_plan.prices, options.max_cost, usage, planned_dollars) as spending,
        ):
            plan_to_run = replace(estimated_plan, judge=spending.limit_judge(estimated_plan.judge))
            outcome = await run(plan_to_run, spending.methods, progress, watch_race)
            new_answers, scores = outcome.new_answers, outcome.results.scores
            # If methods cost more than the budget, the race is run again, and these methods may no longer drop others.
            while rules := correct_rules(plan_to_run.race, options.budget, outcome.race, columns, scores, folder):
                plan_to_run = replace(plan_to_run, race=rules)
                outcome = await run(plan_to_run, spending.methods, progress, watch_race)
                new_answers, scores = new_answers + outcome.new_answers, outcome.results.scores
            summarized = await score(replace(outcome, new_answers=new_answers), progress)
        decision = await asyncio.to_thread(decide, summarized, spending.total(), estimated_plan.estimate)
        await asyncio.to_thread(write_report, decision, progress)
    return decision
