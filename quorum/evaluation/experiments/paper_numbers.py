"""Our results next to the paper's own: a table for each measure that the paper reports."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.text import normalize
from quorum.datasets.data_set_names import find_data_set_name
from quorum.evaluation.experiments.analyses import AnalysisTable, compute_precision_where_supported
from quorum.evaluation.experiments.experiment import Experiment, PaperNumbers
from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.score import Scores

TABLE_TITLES = {  # measure -> its name in the title of a table, mostly the papers' own name
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
    "overlap_own_summary": "Overlap of a candidate and its own summary",
    "overlap_other_summaries": "Overlap of a candidate and the other summary",
    "recall": "Recall",
    "precision": "Precision",
    "s_precision": "S-Precision",
    "input_tokens": "Tokens in",
    "output_tokens": "Tokens out",
    "calls": "Calls",
}
# The measures that are shown as a mean without an interval.
PLAIN_MEAN_MEASURES = ("context_tokens", "input_tokens", "output_tokens", "calls", "mauve")
# Measures that suit only some tasks. They are compared with the paper only if the evaluation of the questions has them.
TASK_MEASURES = {"em", "f1", "accuracy", "rouge_l", "str_em"}
MOST_PAPER_COLUMNS = 3  # how many columns with the paper's numbers a table has at most


def compare_with_paper(
    experiment: Experiment, scores: Scores, columns: Sequence[Column], wanted_words: str | None
) -> tuple[list[AnalysisTable], list[str]]:
    """The tables that show our results next to the paper's; a phrase if the paper's numbers are for other data.

    wanted_words: the words of --beside, with which the user chooses the paper's numbers.
    """
    options = scores.plan.options
    data = find_data_set_name(options.data)
    blocks = choose_paper_numbers(experiment, data, str(options.context.model), wanted_words)
    if options.methods:  # the user chose the methods: leave out systems that only the paper has
        chosen_values = [{n: v for n, v in block.values.items() if n in scores.scores_by_column} for block in blocks]
        blocks = [replace(block, values=values) for block, values in zip(blocks, chosen_values, strict=True) if values]
    other_data = [] if wanted_words else describe_other_data(data, blocks)
    measures = [name for name in experiment.measures if name not in TASK_MEASURES or name in scores.measures]
    names = [column.name for column in columns]
    tables = make_paper_tables(
        replace(experiment, measures=tuple(measures)),
        scores.scores_by_column,
        names,
        blocks,
        # for measures without a value for each question
        compute_precision_where_supported(experiment, scores.scores_by_column, names) or scores.summary,
        for_other_data=bool(other_data),
    )
    return tables, other_data


def choose_paper_numbers(
    experiment: Experiment, data: str | None, model: str, wanted_words: str | None = None
) -> list[PaperNumbers]:
    """The blocks of the paper's numbers to show. A block holds the numbers for one data set and one model.

    wanted_words: the words of --beside; the blocks are those whose data set and model contain all these words. Raises
    `SetupError` if there are none. Without `wanted_words`, the blocks are those of the data set `data`, or all blocks
    if the paper does not use this data set; of these, the blocks of `model`, or, if the paper did not run this model,
    those of the first model.
    """
    blocks = list(experiment.paper_numbers)
    if wanted_words:
        words = normalize(wanted_words.replace(",", " ")).split()
        chosen_blocks = [
            block for block in blocks if all(word in normalize(f"{block.data} {block.model}") for word in words)
        ]
        if not chosen_blocks:
            block_names = "; ".join(dict.fromkeys(f"{block.data} {block.model}".rstrip() for block in blocks))
            choices = (
                f"choose words from one of: {block_names}" if block_names else "it has none at all; leave --beside out"
            )
            raise SetupError(
                f"Experiment {experiment.name} has no numbers of the paper for --beside {wanted_words!r}; {choices}."
            )
        return chosen_blocks
    blocks_of_data = [block for block in blocks if is_block_of(block, data)]
    blocks = blocks_of_data or blocks
    blocks_of_model = [block for block in blocks if model and model.rpartition(":")[2] in block.model]
    blocks_of_first_model = [block for block in blocks if block.model == blocks[0].model] if blocks else []
    return blocks_of_model or blocks_of_first_model


def is_block_of(block: PaperNumbers, data: str | None) -> bool:
    """Whether the block's numbers are those for the data set. "NQ*" in an experiment's file is a sample of NQ."""
    return block.data.rstrip("*") == data


def describe_other_data(data: str | None, blocks: Sequence[PaperNumbers]) -> list[str]:
    """A phrase that says for which data sets the paper's shown numbers are, if they are not for `data`; else none.

    data: the data set that the names of the file and its folders contain; None if they contain none.
    """
    shown_data = dict.fromkeys(block.data for block in blocks)
    if not shown_data or any(is_block_of(block, data) for block in blocks):
        return []
    ours = f"the questions are {data}'s" if data else "no name of the data file or its folders is that of a data set"
    return [f"{ours}, and the paper's numbers are for {', '.join(shown_data)} (--beside chooses)"]


def make_paper_tables(
    experiment: Experiment,
    scores: Mapping[str, ColumnScores],
    column_names: Sequence[str],
    paper_numbers: Sequence[PaperNumbers],
    column_measures: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    for_other_data: bool = False,
) -> list[AnalysisTable]:
    """Tables of each measure. A row is one of our columns (methods with their settings), or a system that only the
    paper reports; each row shows our value, if there is one, then the paper's numbers.

    If there are many blocks of the paper's numbers, a measure has several tables. A measure without any value has none.

    column_measures: {column: {measure: value}} of measures that are computed from all answers of a column at once, such
    as MAUVE. for_other_data: whether the paper's numbers are those for other data sets than ours; the titles then say
    so.
    """
    analysis_tables = []
    for measure in experiment.measures:
        blocks = [
            block
            for block in paper_numbers
            if any(block.get_number(name, measure) is not None for name in block.values)
        ]
        our_values = {
            name: describe_our_value(scores[name], measure, (column_measures or {}).get(name)) for name in column_names
        }
        if not blocks and all(value is None for value in our_values.values()):
            continue
        for start in range(0, max(1, len(blocks)), MOST_PAPER_COLUMNS):
            rows = make_rows(our_values, measure, blocks[start : start + MOST_PAPER_COLUMNS])
            title = make_title(experiment, measure, has_paper_numbers=bool(blocks), for_other_data=for_other_data)
            analysis_tables.append(AnalysisTable(title=title, rows=rows))
    return analysis_tables


def make_title(experiment: Experiment, measure: str, *, has_paper_numbers: bool, for_other_data: bool) -> str:
    """The table's title: what it shows, and whether the paper states numbers for this data."""
    measure_title = TABLE_TITLES.get(measure, measure)
    paper_part = "the paper states no numbers for this data"
    if has_paper_numbers:
        paper_part = "and the paper's for other data" if for_other_data else "and the paper's"
    has_intervals = measure not in PLAIN_MEAN_MEASURES
    return f"{measure_title}: ours{' with 95% intervals' if has_intervals else ''}, {paper_part} ({experiment.source})"


def make_rows(our_values: Mapping[str, Any], measure: str, blocks: Sequence[PaperNumbers]) -> list[dict[str, Any]]:
    """The rows of a table: one for each of our columns, then one for each system that only the paper reports."""
    paper_systems = dict.fromkeys(name for block in blocks for name in block.values if name not in our_values)
    rows = []
    for name in (*our_values, *paper_systems):
        row: dict[str, Any] = {"method": name, "ours": our_values.get(name)}
        row |= {make_heading(block, blocks): format_number(block.get_number(name, measure)) for block in blocks}
        if name in our_values or any(block.get_number(name, measure) is not None for block in blocks):
            rows.append(row)
    return rows


def make_heading(block: PaperNumbers, blocks: Sequence[PaperNumbers]) -> str:
    """The heading of a block's column in a table of `blocks`: its data set, and its model if they have several."""
    has_several_models = len({block.model for block in blocks}) > 1
    return f"paper: {block.data} {block.model}".rstrip() if has_several_models else f"paper: {block.data}"


def format_number(value: float | None) -> str | None:
    """A number of the paper as text; below 100, with at least one digit after the point. None stays None.

    >>> format_number(38.0), format_number(39.81)
    ('38.0', '39.81')
    """
    return None if value is None else f"{value:g}" if value >= 100 else str(float(value))


def describe_our_value(scores: ColumnScores, measure: str, values_over_all_answers: Mapping[str, Any] | None) -> Any:
    """A column's value of the measure, or None without a value.

    It is the mean of the answers' values with its interval, as numbers, or, if the measure is in `PLAIN_MEAN_MEASURES`,
    the mean as text. If the measure is computed only from all answers at once, it is the value in
    `values_over_all_answers`: a number as text, a mean with its interval unchanged.

    values_over_all_answers: {measure: value} of the measures that are computed from all answers of the column at once.
    """
    if measure not in scores.values:
        value = (values_over_all_answers or {}).get(measure)
        return f"{value:.1f}" if isinstance(value, int | float) else value
    interval = scores.compute_interval(measure)
    if interval is None:
        return None
    if measure in PLAIN_MEAN_MEASURES or math.isnan(interval.low):
        return f"{interval.mean:,.0f}" if interval.mean >= 100 else f"{interval.mean:.1f}"
    return interval
