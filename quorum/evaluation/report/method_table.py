"""Renders the table of all methods in report.html."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from quorum.evaluation.compare.format_figures import SHARE_EXPLANATION, SHARE_TITLES, format_dollars
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation
from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.metrics.registry import RETRIEVAL_MEASURES, list_used_plugin_metrics
from quorum.evaluation.report.figure_rows import find_tag
from quorum.evaluation.run.results import Summary

NO_VALUES = ("0", "–", "0.0%")
FOUND_MEASURES = ("recall", "hit", "mrr")  # shown beside those of answers, if the data name gold passages
COLUMNS_OFTEN_EMPTY = (
    "right answer outvoted",
    "failed",
    "malformed",
    "wordy answers",
    "temperature refused",
    "unscored",
    *(*SHARE_TITLES, *(MEASURE_TITLES[name] for name in FOUND_MEASURES)),
)


def render_table(
    figures: Sequence[MethodFigures], summary: Summary, measures: Sequence[str], recommendation: Recommendation
) -> str:
    """The table as HTML, with one row for each method of `figures`. A column of COLUMNS_OFTEN_EMPTY is left out if
    it says nothing of any method.
    """
    explanation = f'<p class="note">{escape(SHARE_EXPLANATION)}</p>' if measures[0] not in RETRIEVAL_MEASURES else ""
    rows = [make_table_row(method_figures, summary, measures, recommendation) for method_figures in figures]
    shown_titles = [
        title
        for title in rows[0]
        if title not in COLUMNS_OFTEN_EMPTY or any(row[title] not in NO_VALUES for row in rows)
    ]
    head = "".join(f'<th scope="col">{title}</th>' for title in shown_titles)
    # One method gets the label, the recommended one. It is called best only if no other method may be the best.
    lines = "".join(
        render_table_line([row[title] for title in shown_titles], label=find_tag(method_figures.name, recommendation))
        for method_figures, row in zip(figures, rows, strict=True)
    )
    return (
        '<section><h2>All methods</h2><div class="scroll" tabindex="0" role="group" aria-label="All methods">'
        f'<table class="methods"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
        f"{explanation}</section>"
    )


def render_table_line(cells: Sequence[str], *, label: str) -> str:
    """A row of the table as HTML; `label`, if it is not empty, is shown after the method's name."""
    row_class, label_attribute = (' class="chosen"', f' data-mark="{label}"') if label else ("", "")
    return (
        f"<tr{row_class}><td{label_attribute}>{cells[0]}</td>{''.join(f'<td>{cell}</td>' for cell in cells[1:])}</tr>"
    )


def make_table_row(
    method_figures: MethodFigures, summary: Summary, measures: Sequence[str], recommendation: Recommendation
) -> dict[str, str]:
    """The cells of a method by the titles of their columns."""
    row = summary[method_figures.name]
    deciding, *others = measures
    answers = method_figures.n and deciding not in RETRIEVAL_MEASURES
    # The first six columns are those that a printed page has room for.
    return {
        "method": escape(method_figures.name),
        **(
            {"worth": describe_worth(method_figures)}
            if recommendation.wrong_cost
            else {MEASURE_TITLES[deciding]: format_interval(row, deciding)}
        ),
        SHARE_TITLES[2]: format_share(method_figures.unknown) if answers else "–",
        "calls": f"{method_figures.calls:.1f}",
        "tokens": f"{method_figures.tokens:,.0f}",
        "cost": "–" if method_figures.cost is None else format_dollars(method_figures.cost),
        SHARE_TITLES[0]: format_share(method_figures.right) if answers else "–",
        SHARE_TITLES[1]: format_share(method_figures.wrong) if answers else "–",
        **({MEASURE_TITLES[deciding]: format_interval(row, deciding)} if recommendation.wrong_cost else {}),
        **{MEASURE_TITLES[name]: format_interval(row, name) for name in dict.fromkeys((*others, *FOUND_MEASURES))},
        **{escape(name): format_number(row.get(name), 3) for name in list_used_plugin_metrics(summary)},
        **({"contains": format_share(row.get("contains"))} if "em" in measures else {}),
        "right answer outvoted": format_share(row.get("right_answer_outvoted")),
        "median&nbsp;s": format_number(row["seconds_p50"], 2),
        "p95&nbsp;s": format_number(row["seconds_p95"], 2),
        "questions": f"{row['n']:,}",
        "failed": f"{row['errors']:,}",
        "malformed": f"{row['malformed']:,}",
        "wordy answers": f"{row.get('wordy_answers') or 0:,}",
        "temperature refused": f"{row.get('temperature_refused') or 0:,}",
        "unscored": f"{row.get('unscored') or 0:,}",
    }


def format_interval(summary: Mapping[str, Any], name: str) -> str:
    """The mean of the measure `name` in percent, with its interval, as HTML; a dash without a mean."""
    if summary.get(name) is None:
        return "–"
    low, high = summary.get(f"{name}_low"), summary.get(f"{name}_high")
    if low is None or high is None:
        return f"{100 * summary[name]:.1f}"
    return f'{100 * summary[name]:.1f} <span class="interval-ends">{100 * low:.1f}–{100 * high:.1f}</span>'


def describe_worth(method_figures: MethodFigures) -> str:
    """The mean worth with its interval as HTML, in hundredths of a right answer."""
    ends = f"{100 * method_figures.low:.1f} to {100 * method_figures.high:.1f}"
    return f'{100 * method_figures.quality:.1f} <span class="interval-ends">{ends}</span>' if method_figures.n else "–"


def format_share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def format_number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
