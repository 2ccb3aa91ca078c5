"""Scores the rows: a table of columns and measures, and the comparisons between columns."""

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quorum.evaluation.compare.baseline import Comparison, compare_groups
from quorum.evaluation.metrics.corpus_measures import compute_corpus_measures
from quorum.evaluation.metrics.judge import judge_answers
from quorum.evaluation.metrics.registry import list_compared_measures
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.race_result import RaceResult
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.run.results import Summary
from quorum.evaluation.run.run_plan import Rows
from quorum.evaluation.run.source import Progress, ignore_progress
from quorum.evaluation.run.spending import Spending
from quorum.evaluation.run.tasks import list_measures


@dataclass(frozen=True)
class Scores:
    """One table: column by question, and its summary.

    by_column: every question of every column; summary: {column: {measure: value}}; comparisons: each group of columns
    against its baseline. asked: answers got by this call; spent: the model calls made for them, which is less than the
    summary counts where columns share calls and where the journal had replies. left_out: questions without a gold
    passage, which nothing was asked; known: questions that only the column `unless` was asked, as it got them right.
    judge_spent: the calls of the judge, apart; None without one. race: how the race ended, None without one; the
    methods that it dropped have the questions that they were asked.
    """

    plan: Plan
    by_column: Mapping[str, ColumnScores]
    summary: Summary
    comparisons: list[Comparison]
    asked: int
    spent: Spending
    left_out: int = 0
    known: int = 0
    judge_spent: Spending | None = None
    race: RaceResult | None = None

    @property
    def folder(self) -> Path:
        """Where the results lie."""
        return self.plan.folder

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that decide, the first before the others: what the tasks call for, then a judge's word."""
        tasks = {task for scores in self.by_column.values() for task in scores.tasks}
        measures = list_measures(tasks or {"short"})
        if tasks == {"long"} and not any(
            len(column_scores.known("str_em")) for column_scores in self.by_column.values()
        ):
            measures = ("f1", "rouge_l")  # long answers without short ones in them, such as ELI5's
        return (
            (*measures, "judged")
            if any("judged" in column_scores.values for column_scores in self.by_column.values())
            else measures
        )


async def score(rows: Rows, progress: Progress = ignore_progress) -> Scores:
    """Ask the judge, if the plan has one; write summary.json and comparison.json. The caller holds the folder."""
    plan, results = rows.plan, rows.results
    if plan.judge is not None:
        await judge_answers(plan.folder, results, plan.judge, concurrency=plan.options.concurrency, progress=progress)
    summary, comparisons = await asyncio.to_thread(write_summaries, rows)
    return Scores(
        plan=plan,
        by_column=results.scores,
        summary=summary,
        comparisons=comparisons,
        asked=rows.asked,
        spent=rows.spent,
        left_out=rows.left_out,
        known=len(results.known),
        judge_spent=None if plan.judge is None else plan.judge.spent,
        race=rows.race,
    )


def compute_anytime_intervals(scores: ColumnScores, race: RaceResult, asked_count: int) -> dict[str, float | None]:
    """The ends of the intervals of a method that was dropped: they hold although the answers decided when it stopped.
    None for a measure beyond 0 and 1.
    """
    ends: dict[str, float | None] = {}
    for name in list_compared_measures():
        values = dict(zip(scores.ids, scores.values[name], strict=True)) if name in scores.values else {}
        known = {id_: 2 * value - 1 for id_, value in values.items() if not math.isnan(value)}
        low, high = None, None
        if known and all(-1 <= value <= 1 for value in known.values()):
            low, high = (round((1 + end) / 2, 6) for end in race.anytime_interval(known, asked_count))
        ends |= {f"{name}_low": low, f"{name}_high": high}
    return ends


def write_summaries(rows: Rows) -> tuple[Summary, list[Comparison]]:
    """Write summary.json and comparison.json. The intervals take a while where there are many questions."""
    plan, results = rows.plan, rows.results
    summary = results.summary()
    for name, values in compute_corpus_measures(results.path, plan.options.measures).items():
        for column, value in values.items():
            summary[column][name] = value
    if rows.race is not None:
        for standing in rows.race.dropped:
            summary[standing.method] |= compute_anytime_intervals(
                results.scores[standing.method], rows.race, standing.asked
            )
        write_json(plan.folder / "race.json", rows.race.to_json())
    comparisons = compare_groups(results.scores, plan.groups, plan.options.baseline, rows.race)
    write_json(plan.folder / "summary.json", summary)
    if comparisons:
        write_json(plan.folder / "comparison.json", comparisons)
    return summary, comparisons
