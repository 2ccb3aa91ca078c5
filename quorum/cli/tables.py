"""The tables of an evaluation: scores, differences between methods, passages and costs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from quorum.cli.number_table import NumberTable
from quorum.core.text import format_count
from quorum.evaluation.compare.format_figures import SHARE_TITLES
from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.metrics.registry import list_used_plugin_metrics
from quorum.evaluation.report.markdown import draw_bar
from quorum.evaluation.run.differences import Comparison, Difference
from quorum.evaluation.run.race_result import sort_standings
from quorum.evaluation.run.results import Summary

if TYPE_CHECKING:
    from quorum.evaluation.compare.recommendation import MethodFigures
    from quorum.evaluation.run.race import RunningRace
    from quorum.evaluation.run.race_result import RaceResult, Standing
    from quorum.evaluation.run.screening import Screening


class TableColumn(NamedTuple):
    """A column of a table. measure: the key of its values in the summary; scale: by what a value is multiplied before
    it is shown; digits: its decimals; has_interval: whether to show its 95% interval, too.
    """

    title: str
    measure: str
    scale: int = 100
    digits: int = 1
    has_interval: bool = False


ANSWER_COLUMNS = {name: TableColumn(title, name, has_interval=True) for name, title in MEASURE_TITLES.items()}
OTHER_ANSWER_COLUMNS = (
    TableColumn("contains", "contains"),
    TableColumn("%Unk", "unknown"),
    TableColumn("%NM", "right_answer_outvoted"),  # "no majority", the name in Liu et al. 2024; see docs/measures.md
    TableColumn("%among votes", "right_answer_among_votes"),
)
PASSAGE_COLUMNS = (
    TableColumn("recall", "recall", has_interval=True),
    TableColumn("hit", "hit", has_interval=True),
    TableColumn("MRR", "mrr", has_interval=True),
    TableColumn("prec", "precision", has_interval=True),
    # S-prec: the share of questions whose passages are exactly the gold ones
    TableColumn("S-prec", "s_precision", has_interval=True),
)
CONTEXT_COLUMN = TableColumn("context", "context_tokens", 1)
BEFORE_FILTER_COLUMNS = (
    TableColumn("recall before", "recall_before_filter", has_interval=True),
    TableColumn("prec before", "precision_before_filter", has_interval=True),
    TableColumn("S-prec before", "s_precision_before_filter", has_interval=True),
)
COST_COLUMNS = (
    TableColumn("calls", "calls", 1),
    TableColumn("tokens in", "input_tokens", 1),
    TableColumn("out", "output_tokens", 1),
    TableColumn("p50 s", "seconds_p50", 1, 2),
    TableColumn("p95 s", "seconds_p95", 1, 2),
)
SEPARATE_TABLE_COLUMNS = {  # measure -> its column in the separate table of an experiment (see `make_score_tables`)
    column.measure: column
    for column in (
        TableColumn("%oracle", "oracle"),
        TableColumn("oracle F1", "oracle_f1"),
        TableColumn("hit@1", "hit_at_1", has_interval=True),
        TableColumn("%answer in", "answer_in_passages", has_interval=True),
        TableColumn("%answer on top", "answer_on_top", has_interval=True),
        TableColumn("%supported", "supported", has_interval=True),
        TableColumn("unigram prec", "context_precision", has_interval=True),
        TableColumn("own overlap", "overlap_own_summary"),
        TableColumn("other overlap", "overlap_other_summaries"),
        *PASSAGE_COLUMNS,
        CONTEXT_COLUMN,
        *BEFORE_FILTER_COLUMNS,
    )
}
BAR_WIDTH = 20  # characters
FAILURE_COUNTS = ("errors", "malformed", "wordy_answers", "temperature_refused", "unscored", "judge_errors")


def make_score_tables(
    summary: Summary,
    comparisons: Sequence[Comparison],
    measures: Sequence[str],
    user_measures: Iterable[str] = (),
    separate_table_measures: Sequence[str] = (),
    wording_note: str | None = None,
) -> list[RenderableType]:
    """The tables of `quorum eval`: scores of the answers, differences between methods, measures of passages, costs.

    measures: the measures by which the methods are compared. user_measures: the measures that the user gave with
    `--measure`, and MAUVE if an experiment computes it. separate_table_measures: measures that an experiment shows in a
    separate table, in place of those of passages. wording_note: a note to print (see `Scores.wording_note`). A metric
    of an installed package has a column if some method has a value for it.
    """
    user_columns = [
        TableColumn(name, name, 1, 3) for name in dict.fromkeys((*list_used_plugin_metrics(summary), *user_measures))
    ]
    answers = [
        *(ANSWER_COLUMNS[name] for name in measures),
        *keep_columns_with_values(summary, OTHER_ANSWER_COLUMNS),
        *user_columns,
    ]
    passage_columns = keep_columns_with_values(
        summary, [SEPARATE_TABLE_COLUMNS[name] for name in separate_table_measures] or PASSAGE_COLUMNS
    )
    context_column = keep_columns_with_values(summary, [CONTEXT_COLUMN])
    return [
        make_measure_table(summary, answers, counts=True),
        *([Text(wording_note, style="yellow")] if wording_note else []),
        *(make_difference_table(comparison, measures) for comparison in comparisons),
        *([make_measure_table(summary, passage_columns)] if passage_columns else []),
        make_measure_table(summary, [*(() if separate_table_measures else context_column), *COST_COLUMNS]),
    ]


def keep_columns_with_values(summary: Summary, columns: Iterable[TableColumn]) -> list[TableColumn]:
    """Only the columns in which a method has a value."""
    return [column for column in columns if any(row.get(column.measure) is not None for row in summary.values())]


def make_measure_table(summary: Summary, columns: Sequence[TableColumn], *, counts: bool = False) -> NumberTable:
    """One row per method. With `counts`, also the number of questions, and of failures of each kind that occurred."""
    failures = [name for name in FAILURE_COUNTS if counts and any(row.get(name) for row in summary.values())]
    titles = [name.replace("_", " ") for name in failures]
    table = NumberTable("method", *(["n"] if counts else []), *(column.title for column in columns), *titles)
    for name, row in summary.items():
        n = [f"{row['n']:,}"] if counts else []
        cells = [format_cell(row, column) for column in columns]
        table.add_row(Text(name, style="bold"), *n, *cells, *(f"{row.get(count) or 0:,}" for count in failures))
    return table


def format_cell(row: Mapping[str, float | int | None], column: TableColumn) -> str:
    """'15.0', or '15.0 [11.2, 19.1]'; '-' if the row has no value in this column."""
    value = row.get(column.measure)
    if value is None:
        return "-"
    low, high = (row.get(f"{column.measure}_{end}") for end in ("low", "high"))
    if not column.has_interval or low is None or high is None:
        return f"{value * column.scale:,.{column.digits}f}"
    return format_interval(value, low, high)


def format_interval(value: float, low: float, high: float, sign: str = "") -> str:
    """A share in percent with the ends of its interval. sign: "+" to put a plus before positive numbers."""
    mean, *ends = (
        f"{round(100 * item, 1) + 0.0:{sign if round(100 * item, 1) else ''}.1f}" for item in (value, low, high)
    )
    return f"{mean} [{', '.join(ends)}]"


def make_difference_table(comparison: Comparison, measures: Sequence[str]) -> Group:
    """The difference of each method from the baseline, with 95% intervals and adjusted p-values."""
    shown_measures = [
        name for name in measures if any(name in differences for differences in comparison["methods"].values())
    ]
    titles = [title for name in shown_measures for title in (ANSWER_COLUMNS[name].title, "p")]
    table = NumberTable("method", *titles, *(["n needed"] if shown_measures else []))
    for name, difference in comparison["methods"].items():
        cells = [text for measure in shown_measures for text in format_difference(difference.get(measure))]
        needed_cell = (
            [
                format_questions_needed(difference[shown_measures[0]]["questions_needed"])
                if shown_measures[0] in difference
                else "-"
            ]
            if shown_measures
            else []
        )
        table.add_row(Text(name, style="bold"), *cells, *needed_cell)
    return Group(Text(describe_comparison(comparison), style="dim"), table)


def describe_comparison(comparison: Comparison) -> str:
    """The line above a comparison: its questions and the meaning of its columns."""
    left_out_count = comparison["left_out"]
    left_out_note = f" ({left_out_count:,} left out, because a method did not answer)" if left_out_count else ""
    questions = format_count(comparison["n"], "question")
    has_race = any(
        difference["test"] == "race"
        for differences in comparison["methods"].values()
        for difference in differences.values()
    )
    return (
        f"Difference from {comparison['baseline']} on {questions} that all answered{left_out_note}; the intervals "
        "hold together, p is corrected for all methods; n needed: questions that would show it"
        + (
            "; a missing p means that a race dropped one of the two methods or has not ended: that difference is over "
            "the questions that both methods were asked" * has_race
        )
    )


def format_difference(difference: Difference | None) -> tuple[str, str]:
    """'+5.0 [+1.2, +9.0]' and the adjusted p; '-' for what is missing."""
    if difference is None:
        return "-", "-"
    if difference["test"] == "race":  # a race dropped one of the two methods or has not ended: only the interval holds
        return format_interval(difference["difference"], difference["low"], difference["high"], "+"), "-"
    p = difference["p_holm"]
    return format_interval(
        difference["difference"], difference["low"], difference["high"], "+"
    ), "<.001" if p < 0.001 else f"{p:.3f}"


def format_questions_needed(needed: int | None) -> str:
    """The number of questions that would show a difference."""
    return "-" if needed is None else f"{needed:,}" if needed < 1_000_000 else ">1M"


def make_answer_share_table(figures: Iterable["MethodFigures"], wrong_cost: float) -> NumberTable:
    """The shares of right, wrong and wrongly unknown answers of every method.

    If wrong answers have a cost, also the mean worth: a right answer is worth 1, an unknown one 0, a wrong one minus
    `wrong_cost`.
    """
    worth_title = ["worth"] if wrong_cost else []
    titles = [f"{title}, %" for title in SHARE_TITLES]
    table = NumberTable("method", *titles, *worth_title, "")
    for method in (method for method in figures if method.n):
        shares = (method.right, method.wrong, method.unknown)
        cells = [f"{100 * share:.1f}" for share in shares]
        worth = [format_interval(method.quality, method.low, method.high)] if wrong_cost else []
        table.add_row(Text(method.name, style="bold"), *cells, *worth, draw_bar(shares, BAR_WIDTH))
    return table


def make_race_table(race: "RaceResult") -> Group:
    """Every method of a race: how many questions it was asked, and its mean.

    The interval of the mean holds at every moment of the race.
    """
    return make_standings_table(race, race.standings.values())


def make_screen_table(screening: "Screening") -> Group:
    """Every search that the screen before a race measured, the best of each k first."""
    from quorum.evaluation.run.screening import SCREEN_EXPLANATION, SCREEN_TITLES

    table = NumberTable(*SCREEN_TITLES)
    for methods, *cells, outcome in screening.list_rows():
        is_raced = outcome == "raced"
        table.add_row(
            Text(methods, style="bold" if is_raced else "dim"), *cells, Text(outcome, style="" if is_raced else "red")
        )
    return Group(Text(SCREEN_EXPLANATION, style="dim"), table)


def make_standings_table(race: "RaceResult | RunningRace", standings: Iterable["Standing"]) -> Group:
    """The methods of a race at one moment, as in `make_race_table`, and which of them were dropped."""
    questions = race.question_count
    table = NumberTable("method", "asked", ANSWER_COLUMNS[race.measure].title, "")
    for standing in sort_standings(standings):
        mean = "-" if standing.mean is None else format_interval(standing.mean, standing.low, standing.high)
        state = "dropped" if standing.dropped else ""
        style = "dim" if standing.dropped else "bold"
        table.add_row(
            Text(standing.method, style=style),
            f"{standing.asked_count:,} of {questions:,}",
            mean,
            Text(state, style="red"),
        )
    question_set = "questions like these" if race.mode == "future" else "these questions"
    progress = f"The race after {race.settled_count:,} of {questions:,} questions"
    return Group(Text(f"{progress}; the intervals are for {question_set} and hold at every moment", style="dim"), table)


def make_analysis_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Group:
    """A table that an experiment adds to its score tables. The first column is aligned left, all others right."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = NumberTable(columns[0] if columns else "", *columns[1:])
    for row in rows:
        table.add_row(*(Text(format_value(row.get(key)), style="bold" if key == columns[0] else "") for key in columns))
    return Group(Text(title, style="dim"), table)


def format_value(value: Any) -> str:
    """A share (a float) in percent; a tuple is a share with the ends of its interval; counts and texts as they are."""
    if isinstance(value, tuple):
        return f"{100 * value[0]:.1f}" if math.isnan(value[1]) else format_interval(*value)
    if isinstance(value, float):
        return f"{100 * value:.1f}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
