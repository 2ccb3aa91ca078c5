"""Analyses of the results of an experiment's runs, question by question."""

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
from quorum.evaluation.metrics.statistics import Floats, Interval, bootstrap
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.score import Scores

TITLE_OF_MEASURE = {
    "em": "EM",
    "f1": "F1",
    "accuracy": "accuracy",
    "rouge_l": "ROUGE-L",
    "str_em": "STR-EM",
    "judged": "judged",
}


class Panel(TypedDict):
    """A table of an analysis: shares in 0..1, means with their intervals as (mean, low, high)."""

    title: str
    rows: list[dict[str, Any]]


def shared_questions(scores: Mapping[str, ColumnScores], names: Iterable[str]) -> list[str]:
    """The questions that all of these runs answered."""
    return sorted(set.intersection(*(set(scores[name].ids) for name in names)))


def best_of_runs(
    scores: Mapping[str, ColumnScores], groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[Panel]:
    """The best of a method's attempts at each question: EM 1 if any attempt is right, the highest F1 (BlendFilter)."""
    rows = []
    for names in groups:
        ids = shared_questions(scores, names)
        row: dict[str, Any] = {"method": find_shared_name(names), "n": len(ids)}
        for measure in measures:
            attempts = np.stack([scores[name].of(measure, ids) for name in names])
            row[TITLE_OF_MEASURE[measure]] = interval_of(attempts.max(axis=0))
        rows.append(row)
    return [Panel(title=f"The best of {len(groups[0])} attempts at each question", rows=rows)]


def split_by_top(
    scores: Mapping[str, ColumnScores], groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[Panel]:
    """Results split by whether the top passage of the group's first run contained the answer (FILCO, figure 5), and the
    length of the context compared with that run's (figure 6).
    """
    rows = []
    for names in groups:
        ids = shared_questions(scores, names)
        on_top, whole = scores[names[0]].of("answer_on_top", ids), scores[names[0]].of("context_tokens", ids)
        for name in names:
            row: dict[str, Any] = {"method": name}
            if whole.sum():
                row["context"] = float(scores[name].of("context_tokens", ids).sum() / whole.sum())
            for kind, chosen in (("pos", on_top == 1), ("neg", on_top == 0)):
                row[f"n {kind}"] = int(chosen.sum())
                row |= {
                    f"{TITLE_OF_MEASURE[measure]} {kind}": mean_of(scores[name].of(measure, ids)[chosen])
                    for measure in measures
                }
            rows.append(row)
    title = "Context as a share of the whole; results where the top passage held the answer (pos) and did not (neg)"
    return [Panel(title=title, rows=rows)]


def spread_of_draws(
    scores: Mapping[str, ColumnScores], groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[Panel]:
    """Mean and standard deviation over the draws of demonstrations (SuRe's few-shot results)."""
    sets: dict[str, list[str]] = {}
    for name in (name for group in groups for name in group):
        label, drawn, _ = name.rpartition(";draw=")
        sets.setdefault(f"{label}]" if drawn else name, []).append(name)
    rows = []
    for label, draws in sets.items():
        row: dict[str, Any] = {"method": label, "draws": len(draws)}
        for measure in measures:
            means = [one for name in draws if (one := mean_of(scores[name].known(measure))) is not None]
            row[TITLE_OF_MEASURE[measure]] = statistics.fmean(means) if means else None
            row[f"sd {TITLE_OF_MEASURE[measure]}"] = statistics.stdev(means) if len(means) > 1 else None
        rows.append(row)
    return [Panel(title="Mean and standard deviation over the draws", rows=rows)]


def known_panel(asked_count: int, known: int, model: Any) -> Panel:
    """How many questions the model answers correctly without a context; the methods are not asked these (Post-fusion,
    section 4). asked_count: the questions that the model alone answered.
    """
    title = "Questions that the model answers correctly without a context (EM) are dropped"
    if model == "embedded" and not known:
        title = "No question is dropped: the embedded reader knows nothing but what it reads"
    rows: list[dict[str, Any]] = [
        {"questions": "all", "n": asked_count},
        {"questions": "known without a context, dropped", "n": known},
        {"questions": "asked of the methods", "n": asked_count - known},
    ]
    return Panel(title=title, rows=rows)


def gold_panel(results: Path, runs: Sequence[Column], left_out: int) -> Panel:
    """How often a gold passage was found, and how often it was inserted; runs with the same passages share a row."""
    placing = {run.name: run.context.k for run in runs if run.gold is not None}
    ranks: dict[str, list[bool]] = {name: [] for name in placing}
    with results.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["method"] in ranks and row["error"] is None:
                ranks[row["method"]].append(row["gold_rank"] is not None)
    counts = dict.fromkeys((placing[name], len(found), sum(found)) for name, found in ranks.items())
    rows: list[dict[str, Any]] = [
        {"passages": f"k={k}", "n": n, "with gold as found": found, "gold put in": n - found} for k, n, found in counts
    ]
    questions = f"{left_out} question{'' if left_out == 1 else 's'}"
    return Panel(title=f"Gold passages; {questions} without one left out", rows=rows)


def given_panel(records: Iterable[Record], sizes: Sequence[int]) -> Panel:
    """How many questions bring each number of passages: a k above that number changes nothing."""
    brought = [len(record["passages"]) for record in records]
    rows: list[dict[str, Any]] = [
        {"passages": f"k={k}", "questions that bring so many": sum(item >= k for item in brought), "n": len(brought)}
        for k in sizes
    ]
    most = max(brought, default=0)
    return Panel(title=f"The questions bring {most} passages at most; a k beyond all of them is not run", rows=rows)


def cost_panel(scores: Scores, columns: Sequence[Column]) -> Panel:
    """EM, tokens and dollars of each column, by the prices of the models that replied (SuRe, table 10)."""
    costs = compute_mean_costs(scores.plan, scores.by_column)
    rows: list[dict[str, Any]] = []
    for name in (column.name for column in columns):
        own, cost = scores.by_column[name], costs[name]
        tokens = own.known("input_tokens").sum() + own.known("output_tokens").sum()
        rows.append(
            {
                "method": name,
                **{TITLE_OF_MEASURE[measure]: interval_of(own.known(measure)) for measure in scores.measures},
                "tokens": int(tokens),
                "dollars": None if cost is None else f"{cost * len(own.ids):.4f}",
            }
        )
    return Panel(title="What the answers cost; - where a model has no price (--prices FILE)", rows=rows)


SUPPORTED_MEASURE, PRECISION_MEASURE = "supported", "precision_where_supported"


def coverage_panels(
    scores: Mapping[str, ColumnScores], groups: Sequence[Sequence[str]], measures: Sequence[str]
) -> list[Panel]:
    """How often the passages support the answer, and the unigram precision of those that do (FILCO, table 2)."""
    names = [name for group in groups for name in group]
    rows = [{"method": name, **coverage_of(scores[name])} for name in names]
    return [Panel(title="Questions whose passages support the answer, and the precision of those passages", rows=rows)]


def coverage_of(scores: ColumnScores) -> dict[str, Interval | None]:
    """Recall over all questions, precision over those with supporting passages."""
    is_supported = np.array(scores.values["supported"])
    precision = np.array(scores.values["context_precision"])
    return {"recall": interval_of(is_supported), "precision (pos)": interval_of(precision[is_supported == 1])}


def measure_columns(
    experiment: Experiment, scores: Mapping[str, ColumnScores], names: Iterable[str]
) -> dict[str, dict[str, Interval | None]]:
    """The measures of an experiment that are not metrics of a single answer."""
    if PRECISION_MEASURE not in experiment.measures:
        return {}
    return {name: {PRECISION_MEASURE: coverage_of(scores[name])["precision (pos)"]} for name in names}


def find_shared_name(names: Sequence[str]) -> str:
    """The method of several runs, with the settings that all of them share."""
    method, *_ = names[0].partition("[")
    settings = [name.partition("[")[2].removesuffix("]").split(";") for name in names]
    shared = [setting for setting in settings[0] if setting and all(setting in others for others in settings)]
    return f"{method}[{';'.join(shared)}]" if shared else method


def mean_of(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def interval_of(values: Floats) -> Interval | None:
    known = values[~np.isnan(values)]
    return bootstrap(known) if len(known) else None
