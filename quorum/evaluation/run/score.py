"""Summarizes the answers of a run: the measures of every column (a method with its settings), and the comparisons
between columns.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quorum.evaluation.metrics.exact_match_gap import describe_exact_match_gap
from quorum.evaluation.metrics.registry import list_measures_with_intervals
from quorum.evaluation.run.baseline import compare_within_groups
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.differences import Comparison
from quorum.evaluation.run.judge import judge_answers
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.race_result import RaceResult
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.run.results import Results, Summary
from quorum.evaluation.run.run_plan import RunOutcome
from quorum.evaluation.run.source import ProgressCallback, ignore_progress
from quorum.evaluation.run.spending import Spending
from quorum.evaluation.run.tasks import list_deciding_measures
from quorum.evaluation.run.user_measures import UserMeasure, compute_user_measures


@dataclass(frozen=True)
class Scores:
    """The measures of an evaluation, question by question, with their summary and comparisons.

    scores_by_column: {column: the measures of each of its answers}; summary: {column: {measure: value}}; comparisons:
    for each group of columns, the comparison of its columns with its baseline. new_answers: how many answers this run
    added to those of earlier runs in the folder; spending: the model calls made for the new answers. They are fewer
    than the calls in the summary if columns share calls or if replies come from the journal.
    count_without_gold_passage: how many questions were skipped because they have no gold passage; screened_out_count:
    how many questions the screening column (`Options.screening_column`) answered correctly; the other columns were not
    asked these questions. judge_spending: the judge's calls, which are counted separately; None without a judge.
    race: the result of the race; None without a race. For a method that the race dropped, scores and summary cover
    only the questions that it was asked.
    """

    plan: Plan
    scores_by_column: Mapping[str, ColumnScores]
    summary: Summary
    comparisons: list[Comparison]
    new_answers: int
    spending: Spending
    count_without_gold_passage: int = 0
    screened_out_count: int = 0
    judge_spending: Spending | None = None
    race: RaceResult | None = None

    @property
    def folder(self) -> Path:
        """The folder of the results."""
        return self.plan.folder

    @property
    def measures(self) -> tuple[str, ...]:
        """The deciding measures, the most important first: those of the tasks, then the judge's verdict."""
        tasks = {task for scores in self.scores_by_column.values() for task in scores.tasks}
        has_short_answers = any(
            len(column_scores.get_known_values("str_em")) for column_scores in self.scores_by_column.values()
        )
        measures = list_deciding_measures(tasks or {"short"}, has_short_answers=has_short_answers)
        return (*measures, "judged") if self.is_judged else measures

    @property
    def is_judged(self) -> bool:
        """Whether a model judged the answers."""
        return any("judged" in column_scores.values for column_scores in self.scores_by_column.values())

    @property
    def wording_note(self) -> str | None:
        """A note about methods whose answers contain an accepted one but are worded otherwise; None without any."""
        without_shortening = {column.name for column in self.plan.columns if column.context.shorten == "off"}
        return describe_exact_match_gap(self.summary, is_judged=self.is_judged, without_shortening=without_shortening)


async def score(outcome: RunOutcome, progress: ProgressCallback = ignore_progress) -> Scores:
    """Ask the judge, if the plan has one, then compute the scores and write the files that `write_summaries` names. The
    caller must have locked the folder.
    """
    plan, results = outcome.plan, outcome.results
    if plan.judge is not None:
        await judge_answers(plan.folder, results, plan.judge, concurrency=plan.options.concurrency, progress=progress)
    summary, comparisons = await asyncio.to_thread(
        write_summaries,
        plan.folder,
        results,
        plan.groups,
        plan.options.baseline,
        plan.options.measures,
        outcome.race,
    )
    return Scores(
        plan=plan,
        scores_by_column=results.scores,
        summary=summary,
        comparisons=comparisons,
        new_answers=outcome.new_answers,
        spending=outcome.spending,
        count_without_gold_passage=outcome.count_without_gold_passage,
        screened_out_count=len(results.screened_out_ids),
        judge_spending=None if plan.judge is None else plan.judge.spending,
        race=outcome.race,
    )


def compute_anytime_intervals(scores: ColumnScores, race: RaceResult, asked_count: int) -> dict[str, float | None]:
    """The intervals of a dropped method's measures, as {"em_low": 0.2, "em_high": 0.4, ...}. They are valid even though
    the method's own answers decided when it was dropped. The ends are None if the method has no value of the measure,
    or one outside 0..1.

    asked_count: how many questions the method was asked before the race dropped it.
    """
    interval_ends: dict[str, float | None] = {}
    for name in list_measures_with_intervals():
        values = dict(zip(scores.ids, scores.values[name], strict=True)) if name in scores.values else {}
        # compute_anytime_interval takes values in -1..1
        scaled_values = {id_: 2 * value - 1 for id_, value in values.items() if not math.isnan(value)}
        low, high = None, None
        if scaled_values and all(-1 <= value <= 1 for value in scaled_values.values()):
            low, high = (round((1 + end) / 2, 6) for end in race.compute_anytime_interval(scaled_values, asked_count))
        interval_ends |= {f"{name}_low": low, f"{name}_high": high}
    return interval_ends


def write_summaries(
    folder: Path,
    results: Results,
    groups: Sequence[Sequence[str]],
    baseline: str | None,
    measures: Mapping[str, UserMeasure],
    race: RaceResult | None,
) -> tuple[Summary, list[Comparison]]:
    """Write summary.json; race.json, if there was a race; and comparison.json, if columns are compared. Returns the
    contents of summary.json and comparison.json. With many questions, computing the intervals takes a while.

    groups: the names of the columns that are compared with one another; baseline, measures: as in the options.
    """
    summary = results.summarize()
    for name, values in compute_user_measures(results.path, measures).items():
        for column, value in values.items():
            summary[column][name] = value
    if race is not None:
        for standing in race.dropped_standings:
            summary[standing.method] |= compute_anytime_intervals(
                results.scores[standing.method], race, standing.asked_count
            )
        write_json(folder / "race.json", race.to_json())
    comparisons = compare_within_groups(results.scores, groups, baseline, race)
    write_json(folder / "summary.json", summary)
    if comparisons:
        write_json(folder / "comparison.json", comparisons)
    return summary, comparisons
