"""Analyses of the results of an experiment's columns (methods with their settings), question by question.

The parameters that several functions share: `scores`: {name of a column: its scores}; `column_groups`: the names of the
columns of each group, within which columns are compared (see `Experiment`); `measures`: the measures to show.
"""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from quorum.datasets.records import Record
from quorum.evaluation.compare.figures import compute_mean_costs
from quorum.evaluation.experiments.experiment import Experiment
from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.metrics.statistics import Floats, Interval, compute_interval_of_known
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.score import Scores


class AnalysisTable(TypedDict):
    """A table of an analysis: shares in 0..1, means with their intervals as (mean, low, high)."""

    title: str
    rows: list[dict[str, Any]]


def list_shared_questions(scores: Mapping[str, ColumnScores], names: Iterable[str]) -> list[str]:
    """The ids of the questions that all of these columns answered."""
    return sorted(set.intersection(*(set(scores[name].ids) for name in names)))


def make_best_of_runs_table(
    scores: Mapping[str, ColumnScores], column_groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[AnalysisTable]:
    """Each question's best value over a method's attempts: EM is 1 if any attempt is right, F1 is the highest of all
    attempts (BlendFilter, figure 4). The columns of a group are the attempts of one method.
    """
    rows = []
    for names in column_groups:
        ids = list_shared_questions(scores, names)
        row: dict[str, Any] = {"method": find_shared_name(names), "n": len(ids)}
        for measure in measures:
            attempts = np.stack([scores[name].get_values(measure, ids) for name in names])
            row[MEASURE_TITLES[measure]] = compute_interval_of_known(
                attempts.max(axis=0), scores[names[0]].get_units(ids)
            )
        rows.append(row)
    return [AnalysisTable(title=f"The best of {len(column_groups[0])} attempts at each question", rows=rows)]


def make_support_split_table(
    scores: Mapping[str, ColumnScores], column_groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[AnalysisTable]:
    """Split the results by whether the top passage supported the answer (FILCO, figure 5).

    The top passage is the first of those that the first column of the group read; this column does not filter passages.
    Each row also states the tokens of its context (the passages that were read) as a share of the first column's
    (figure 6).
    """
    rows = []
    for names in column_groups:
        ids = list_shared_questions(scores, names)
        is_supported_on_top, unfiltered_lengths = (
            scores[names[0]].get_values("answer_on_top", ids),
            scores[names[0]].get_values("context_tokens", ids),
        )
        for name in names:
            row: dict[str, Any] = {"method": name}
            if unfiltered_lengths.sum():
                row["context"] = float(scores[name].get_values("context_tokens", ids).sum() / unfiltered_lengths.sum())
            for part, is_in_part in (("pos", is_supported_on_top == 1), ("neg", is_supported_on_top == 0)):
                row[f"n {part}"] = int(is_in_part.sum())
                row |= {
                    f"{MEASURE_TITLES[measure]} {part}": compute_mean(scores[name].get_values(measure, ids)[is_in_part])
                    for measure in measures
                }
            rows.append(row)
    title = (
        "Context as a share of the first method's context; results where the first method's top passage supports the "
        "answer (pos) or not (neg)"
    )
    return [AnalysisTable(title=title, rows=rows)]


def make_spread_table(
    scores: Mapping[str, ColumnScores], column_groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[AnalysisTable]:
    """Mean and standard deviation over the draws of demonstrations (SuRe's few-shot results).

    Columns whose names differ only in the number of the draw, such as "base[shots=1;draw=0]" and
    "base[shots=1;draw=1]", share the row "base[shots=1]".
    """
    columns_of_label: dict[str, list[str]] = {}
    for name in (name for group in column_groups for name in group):
        label, separator, _ = name.rpartition(";draw=")
        columns_of_label.setdefault(f"{label}]" if separator else name, []).append(name)
    rows = []
    for label, names_of_draws in columns_of_label.items():
        row: dict[str, Any] = {"method": label, "draws": len(names_of_draws)}
        for measure in measures:
            means = [
                mean
                for name in names_of_draws
                if (mean := compute_mean(scores[name].get_known_values(measure))) is not None
            ]
            row[MEASURE_TITLES[measure]] = statistics.fmean(means) if means else None
            row[f"sd {MEASURE_TITLES[measure]}"] = statistics.stdev(means) if len(means) > 1 else None
        rows.append(row)
    return [AnalysisTable(title="Mean and standard deviation over the draws", rows=rows)]


def make_known_questions_table(asked_count: int, known_count: int, model: Any) -> AnalysisTable:
    """How many questions the model answers correctly without passages (Post-fusion, section 4).

    The methods are not asked these questions. asked_count: how many questions the model was asked without passages.
    """
    title = "Questions that the model answers correctly (EM) without passages are dropped"
    if model == "embedded" and not known_count:
        title = "No question is dropped: the embedded reader knows nothing but what it reads"
    rows: list[dict[str, Any]] = [
        {"questions": "all", "n": asked_count},
        {"questions": "known without passages, dropped", "n": known_count},
        {"questions": "asked of the methods", "n": asked_count - known_count},
    ]
    return AnalysisTable(title=title, rows=rows)


def make_gold_passages_table(
    results: Path, columns: Sequence[Column], count_without_gold_passage: int
) -> AnalysisTable:
    """How often a gold passage was found, and how often it was inserted because it was not found. Columns with the same
    k and the same counts share a row.

    results: results.jsonl. columns: those without a gold_position are left out.
    count_without_gold_passage: how many questions were left out because the data name no gold passage for them.
    """
    k_of_column = {column.name: column.context.k for column in columns if column.gold_position is not None}
    gold_found: dict[str, list[bool]] = {name: [] for name in k_of_column}
    with results.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["method"] in gold_found and row["error"] is None:
                gold_found[row["method"]].append(row["gold_rank"] is not None)
    counts = dict.fromkeys(
        (k_of_column[name], len(was_found), sum(was_found)) for name, was_found in gold_found.items()
    )
    rows: list[dict[str, Any]] = [
        {"passages": f"k={k}", "n": n, "gold found": found_count, "gold put in": n - found_count}
        for k, n, found_count in counts
    ]
    questions = "question that has" if count_without_gold_passage == 1 else "questions that have"
    return AnalysisTable(title=f"Gold passages (left out: {count_without_gold_passage} {questions} none)", rows=rows)


def make_passage_count_table(records: Iterable[Record], k_values: Sequence[int]) -> AnalysisTable:
    """For each k, how many questions bring at least k passages. A question with fewer than k is asked with all of its
    passages, so a larger k does not change its results.
    """
    passage_counts = [len(record["passages"]) for record in records]
    rows: list[dict[str, Any]] = [
        {
            "passages": f"k={k}",
            "questions with at least k passages": sum(item >= k for item in passage_counts),
            "n": len(passage_counts),
        }
        for k in k_values
    ]
    most = max(passage_counts, default=0)
    return AnalysisTable(
        title=f"The questions have at most {most} passages; once k reaches {most}, no larger k is run",
        rows=rows,
    )


def make_cost_table(scores: Scores, columns: Sequence[Column]) -> AnalysisTable:
    """The measures of each column, the tokens of all its calls, and their cost in dollars by the prices of the models
    that replied (SuRe, table 10).
    """
    costs = compute_mean_costs(scores.folder, scores.plan.columns, scores.scores_by_column)
    rows: list[dict[str, Any]] = []
    for name in (column.name for column in columns):
        column_scores, cost = scores.scores_by_column[name], costs[name]
        tokens = (
            column_scores.get_known_values("input_tokens").sum() + column_scores.get_known_values("output_tokens").sum()
        )
        rows.append(
            {
                "method": name,
                **{MEASURE_TITLES[measure]: column_scores.compute_interval(measure) for measure in scores.measures},
                "tokens": int(tokens),
                "dollars": None if cost is None else f"{cost * len(column_scores.ids):.4f}",
            }
        )
    return AnalysisTable(
        title='What the answers cost; "-" means that a model has no price (give one with --prices FILE)', rows=rows
    )


PRECISION_MEASURE = "precision_where_supported"


def make_support_tables(
    scores: Mapping[str, ColumnScores], column_groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[AnalysisTable]:
    """How often a passage supports the answer, and the unigram precision where one does (FILCO, table 2)."""
    names = [name for group in column_groups for name in group]
    rows = [{"method": name, **measure_coverage(scores[name])} for name in names]
    return [
        AnalysisTable(
            title="Questions whose passages support the answer, and the unigram precision of the passages of these "
            "questions",
            rows=rows,
        )
    ]


def measure_coverage(scores: ColumnScores) -> dict[str, Interval | None]:
    """recall: the share of the questions for which a passage that was read supports the answer. precision (pos): over
    the questions with such a passage, the mean unigram precision of all the passages that were read.
    """
    is_supported = np.array(scores.values["supported"])
    precision = np.array(scores.values["context_precision"])
    return {
        "recall": scores.compute_interval("supported"),
        "precision (pos)": compute_interval_of_known(
            np.where(is_supported == 1, precision, np.nan), scores.get_units(scores.ids)
        ),
    }


def compute_precision_where_supported(
    experiment: Experiment, scores: Mapping[str, ColumnScores], names: Iterable[str]
) -> dict[str, dict[str, Interval | None]]:
    """{column: {"precision_where_supported": mean with its interval}}; empty if the experiment lacks this measure."""
    if PRECISION_MEASURE not in experiment.measures:
        return {}
    return {name: {PRECISION_MEASURE: measure_coverage(scores[name])["precision (pos)"]} for name in names}


def find_shared_name(names: Sequence[str]) -> str:
    """The name of the method that these columns run, with the settings that all of them share in brackets: "cot[k=3]"
    for "cot[k=3;top_p=0]" and "cot[k=3;top_p=1]".
    """
    method, *_ = names[0].partition("[")
    settings = [name.partition("[")[2].removesuffix("]").split(";") for name in names]
    shared_settings = [setting for setting in settings[0] if setting and all(setting in other for other in settings)]
    return f"{method}[{';'.join(shared_settings)}]" if shared_settings else method


def compute_mean(values: Floats) -> float | None:
    known_values = values[~np.isnan(values)]
    return float(known_values.mean()) if len(known_values) else None
