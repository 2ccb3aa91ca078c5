"""Our results next to the paper's own: a table for each measure that the paper reports."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorum.core.errors import SetupError
from quorum.core.text import normalize
from quorum.evaluation.experiments.analyses import AnalysisTable
from quorum.evaluation.experiments.experiment import Experiment, PaperNumbers
from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.metrics.registry import list_metrics
from quorum.evaluation.metrics.statistics import compute_bootstrap_interval
from quorum.evaluation.run.column_scores import ColumnScores

TABLE_TITLES = {
    **MEASURE_TITLES,
    "accuracy": "Accuracy",
    "judged": "Accuracy by the judge",
    "unknown": "%Unk",
    "right_answer_outvoted": "%NM",
    "oracle": "Oracle EM",
    "oracle_f1": "Oracle F1",
    "context_precision": "Unigram precision of the context",
    "context_tokens": "Tokens of the context",
    "answer_in_passages": "Recall",
    "supported": "Questions with a supporting passage",
    "precision_where_supported": "Unigram precision where a passage supports the answer",
    "mauve": "MAUVE",
    "recall": "Recall",
    "precision": "Precision",
    "s_precision": "S-Precision",
    "input_tokens": "Tokens in",
    "output_tokens": "Tokens out",
    "calls": "Calls",
}
PLAIN_MEAN_MEASURES = ("context_tokens", "input_tokens", "output_tokens", "calls", "mauve")  # shown as a plain mean
FILE_NAME_WORDS = {  # data set -> words that identify it in a file name
    "NQ": ("nq", "naturalquestions", "natural questions"),
    "WebQ": ("webq", "webquestions", "web questions"),
    "2Wiki": ("2wiki", "2wikimultihopqa", "2wikimultihop"),
    "HotpotQA": ("hotpot", "hotpotqa"),
    "TriviaQA": ("trivia", "triviaqa", "tqa"),
    "SQuAD": ("squad",),
    "StrategyQA": ("strategyqa", "strategy"),
    "FEVER": ("fever",),
    "ELI5": ("eli5",),
    "WoW": ("wow", "wizard"),
    "ASQA": ("asqa",),
}
MOST_PAPER_COLUMNS = 3  # columns of the paper's numbers in one table


def find_data_set_name(file_name: str) -> str | None:
    """The paper's data set that a file's name contains, or None.

    >>> find_data_set_name("natural_questions-dev.jsonl")
    'NQ'
    """
    words = f" {' '.join(re.split('[-_. ]+', file_name.lower()))} "
    return next((data for data, names in FILE_NAME_WORDS.items() if any(f" {name} " in words for name in names)), None)


def choose_paper_numbers(
    experiment: Experiment, data: str | None, model: str, wanted_words: str | None = None
) -> list[PaperNumbers]:
    """The blocks of the paper's numbers to show.

    With `wanted_words`: the blocks whose data set and model contain all of its words; raises `SetupError` if there are
    none. Otherwise: the blocks of this data set, or all blocks if the paper does not use it; of these, the blocks of
    this model, or of the paper's first model if the paper did not run this one.
    """
    blocks = list(experiment.paper_numbers)
    if wanted_words:
        words = normalize(wanted_words.replace(",", " ")).split()
        chosen_blocks = [
            block for block in blocks if all(word in normalize(f"{block.data} {block.model}") for word in words)
        ]
        if not chosen_blocks:
            block_names = "; ".join(dict.fromkeys(f"{block.data} {block.model}".rstrip() for block in blocks))
            has = f"it has: {block_names}" if block_names else "it has none"
            raise SetupError(f"{experiment.name} has no numbers of the paper for {wanted_words!r}; {has}.")
        return chosen_blocks
    blocks_of_data = [block for block in blocks if block.data.rstrip("*") == data]
    blocks = blocks_of_data or blocks
    blocks_of_model = [block for block in blocks if model and model.rpartition(":")[2] in block.model]
    blocks_of_first_model = [block for block in blocks if block.model == blocks[0].model] if blocks else []
    return blocks_of_model or blocks_of_first_model


def make_paper_tables(
    experiment: Experiment,
    scores: Mapping[str, ColumnScores],
    names: Sequence[str],
    paper_numbers: Sequence[PaperNumbers],
    column_measures: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[AnalysisTable]:
    """One table for each measure: our columns (methods with their settings), then the paper's numbers.

    column_measures: {column: {measure: value}} of measures over all answers of a column at once, such as MAUVE.
    """
    analysis_tables = []
    for measure in experiment.measures:
        blocks = [
            block
            for block in paper_numbers
            if any(block.get_number(name, measure) is not None for name in block.values)
        ]
        our_values = {
            name: describe_our_value(scores[name], measure, (column_measures or {}).get(name)) for name in names
        }
        if not blocks and all(value is None for value in our_values.values()):
            continue
        for start in range(0, max(1, len(blocks)), MOST_PAPER_COLUMNS):
            rows = make_rows(our_values, measure, blocks[start : start + MOST_PAPER_COLUMNS])
            analysis_tables.append(
                AnalysisTable(title=make_title(experiment, measure, has_paper_numbers=bool(blocks)), rows=rows)
            )
    return analysis_tables


def make_title(experiment: Experiment, measure: str, *, has_paper_numbers: bool) -> str:
    """What the table shows, and whether the paper states numbers."""
    measure_title = TABLE_TITLES.get(measure, measure)
    other = "and the paper's" if has_paper_numbers else "the paper states no numbers for this data"
    return f"{measure_title}: ours with 95% intervals, {other} ({experiment.source})"


def make_rows(our_values: Mapping[str, Any], measure: str, blocks: Sequence[PaperNumbers]) -> list[dict[str, Any]]:
    """A row for each of our columns, then one for each system that only the paper reports."""
    others = dict.fromkeys(name for block in blocks for name in block.values if name not in our_values)
    rows = []
    for name in (*our_values, *others):
        row: dict[str, Any] = {"method": name, "ours": our_values.get(name)}
        row |= {describe_block(block, blocks): format_number(block.get_number(name, measure)) for block in blocks}
        if name in our_values or any(block.get_number(name, measure) is not None for block in blocks):
            rows.append(row)
    return rows


def describe_block(block: PaperNumbers, blocks: Sequence[PaperNumbers]) -> str:
    """The head of a paper's column: its data set, and its model if the columns have several."""
    several = len({block.model for block in blocks}) > 1
    return f"paper: {block.data} {block.model}".rstrip() if several else f"paper: {block.data}"


def format_number(value: float | None) -> str | None:
    """A number of the paper with all its digits; below 100, at least one after the point.

    >>> format_number(38.0), format_number(39.81)
    ('38.0', '39.81')
    """
    return None if value is None else f"{value:g}" if value >= 100 else str(float(value))


def describe_our_value(scores: ColumnScores, measure: str, values_over_all_answers: Mapping[str, Any] | None) -> Any:
    """Our mean with its interval; a plain mean if the measure is not a share; None without a value.

    values_over_all_answers: {measure: value} of the measures that are computed from all answers of the column at once.
    """
    if measure not in scores.values:
        value = (values_over_all_answers or {}).get(measure)
        return f"{value:.1f}" if isinstance(value, int | float) else value
    values = np.array(scores.values[measure])
    metric = list_metrics().get(measure)
    # for some measures an answer without a value counts as 0, so that the mean is over all questions
    known_values = (
        np.nan_to_num(values)
        if metric is not None and metric.counts_missing_as_zero and not np.isnan(values).all()
        else values
    )
    known_values = known_values[~np.isnan(known_values)]
    if not len(known_values):
        return None
    mean = float(known_values.mean())
    return (
        (f"{mean:,.0f}" if mean >= 100 else f"{mean:.1f}")
        if measure in PLAIN_MEAN_MEASURES
        else compute_bootstrap_interval(known_values)
    )
