"""The page of a report: its sections as HTML. Every text that comes from outside is escaped here."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation
from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.report.chart_labels import NUMBER_CLASS
from quorum.evaluation.report.charts import (
    NARROW_FRAME,
    WIDE_FRAME,
    Frame,
    draw_quality_against_cost,
    draw_risk_coverage,
    get_colour_class,
)
from quorum.evaluation.report.method_table import format_share, render_table
from quorum.evaluation.report.sentences import CONFIDENCE_EXPLANATION, Words, describe_standing
from quorum.evaluation.run.race_result import RaceResult, sort_standings
from quorum.evaluation.run.results import Summary

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision

FRAMES = {"broad": WIDE_FRAME, "narrow": NARROW_FRAME}  # the width of the screen decides which of the two is visible
SHARES_LEGEND = (
    '<p class="key"><span><i class="right"></i>right</span><span><i class="wrong"></i>wrong</span>'
    '<span><i class="unknown"></i>unknown</span></p>'
)
ASSETS = Path(__file__).with_name("assets")


def render_body(decision: "Decision", words: Words) -> str:
    """All sections, without the scripts."""
    scores, figures, recommendation = decision.scores, decision.figures, decision.recommendation
    # Methods are compared only within their group (see `Column.group`); this is the baseline of the first group.
    baseline = next((comparison["baseline"] for comparison in scores.comparisons), None)
    parts = [
        render_opening(words),
        render_cost_section(figures, recommendation, baseline),
        render_table(figures, scores.summary, scores.measures, recommendation),
        "" if scores.race is None else render_race_section(scores.race),
        render_bar_section(figures, scores.summary),
        render_confidence_section(decision.calibrations, [figure.name for figure in figures]),
        render_spending_section(words.spending),
        read_asset("explore.html"),
        read_asset("reading.html"),
    ]
    return f"<main>{''.join(parts)}</main>"


def render_opening(words: Words) -> str:
    """The recommendation in words, before anything else."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in words.after_headline)
    facts = escape(" · ".join(words.facts))
    return (
        "<header><h1>Quorum: which method is worth its cost</h1>"
        f'<p class="about">{facts}</p></header>'
        f'<p class="verdict">{escape(words.headline)}</p><ul class="sentences">{items}</ul>'
    )


def render_cost_section(figures: Sequence[MethodFigures], recommendation: Recommendation, baseline: str | None) -> str:
    """Quality against cost, as a chart in two widths. baseline: its point is labelled among the first."""
    unit = "dollars" if recommendation.unit == "cost" else "tokens (in and out)"
    measure = recommendation.measure_name
    note = (
        f"{measure[0].upper()}{measure[1:]} with its 95% interval, against {unit} for a question. Filled points: no "
        "other method is both better and cheaper."
    )
    charts = "".join(
        f'<div class="{width}">{draw_cost_chart(figures, recommendation, baseline, frame)}</div>'
        for width, frame in FRAMES.items()
    )
    return (
        f'<section><h2>Quality against cost</h2><p class="note">{note}</p><div class="figure">{charts}</div></section>'
    )


def draw_cost_chart(
    figures: Sequence[MethodFigures], recommendation: Recommendation, baseline: str | None, frame: Frame
) -> str:
    """The chart. If some of its points have numbers in place of names, a numbered list of the methods follows."""
    names_to_label_first = [
        name for name in (recommendation.best, baseline, recommendation.cheapest) if name is not None
    ]
    chart = draw_quality_against_cost(
        figures,
        recommendation.pareto_front,
        recommendation.unit,
        recommendation.measure_name,
        names_to_label_first,
        frame,
    )
    if NUMBER_CLASS not in chart:
        return chart
    name_classes = [(figure.name, get_colour_class(number)) for number, figure in enumerate(figures) if figure.n]
    names = "".join(f'<li class="{colour}">{escape(name)}</li>' for name, colour in name_classes)
    return f'{chart}<ol class="names">{names}</ol>'


def render_race_section(race: RaceResult) -> str:
    """For each method of a race: how many questions it was asked, its result, and whether it was dropped."""
    head = "".join(f'<th scope="col">{title}</th>' for title in ("method", "asked", MEASURE_TITLES[race.measure], ""))
    rows = "".join(
        f"<tr><td>{escape(standing.method)}</td><td>{standing.asked_count:,} of {race.question_count:,}</td>"
        f"<td>{describe_standing(standing)}</td><td>{'dropped' if standing.dropped else 'kept to the end'}</td></tr>"
        for standing in sort_standings(race.standings.values())
    )
    note = "The questions that each method was asked; the intervals hold at every moment of the race."
    return (
        f'<section><h2>When methods were dropped</h2><p class="note">{note}</p><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def render_bar_section(figures: Sequence[MethodFigures], summary: Summary) -> str:
    """For each method: right, wrong and unknown answers, right answers lost in the vote, calls and tokens."""
    outvoted_shares = [(name, 100 * (row["right_answer_outvoted"] or 0.0)) for name, row in summary.items()]
    panels = {"Right, wrong, unknown": f"{SHARES_LEGEND}{draw_share_bars(figures)}"}
    if any(share for _, share in outvoted_shares):
        panels["Right answers outvoted, %"] = draw_single_bars(outvoted_shares, 1, 100.0)
    panels["Calls for a question"] = draw_single_bars([(figure.name, figure.calls) for figure in figures], 1)
    panels["Tokens for a question"] = draw_single_bars([(figure.name, figure.tokens) for figure in figures], 0)
    boxes = "".join(f"<div><h3>{title}</h3>{inside}</div>" for title, inside in panels.items())
    return f'<section><h2>Answers, calls and tokens</h2><div class="bars">{boxes}</div></section>'


def draw_share_bars(figures: Iterable[MethodFigures]) -> str:
    """For each method a bar of its right, wrong and unknown answers."""
    return "".join(
        draw_bar(
            figure.name,
            f'<i class="right" style="--v:{100 * figure.right:.2f}"></i>'
            f'<i class="wrong" style="--v:{100 * figure.wrong:.2f}"></i>'
            f'<i class="unknown" style="--v:{100 * figure.unknown:.2f}"></i>',
            f"{100 * figure.right:.0f} / {100 * figure.wrong:.0f} / {100 * figure.unknown:.0f}%",
        )
        for figure in figures
        if figure.n
    )


def draw_single_bars(values: Sequence[tuple[str, float]], digits: int, full_value: float | None = None) -> str:
    """A bar for each value; the full width is `full_value`, by default the largest value."""
    full = full_value or max((value for _, value in values), default=0.0) or 1.0
    return "".join(
        draw_bar(name, f'<i style="--v:{100 * value / full:.2f}"></i>', f"{value:,.{digits}f}")
        for name, value in values
    )


def draw_bar(name: str, inside: str, label: str) -> str:
    return f'<div class="bar"><span>{escape(name)}</span><span class="track">{inside}</span><span>{label}</span></div>'


def render_confidence_section(calibrations: Mapping[str, Calibration], names: Sequence[str]) -> str:
    """Risk against coverage, as a chart and a table, for the methods that state a confidence. names: of all methods."""
    if not calibrations:
        note = "None of these methods states a confidence; methods that vote or weigh candidates do."
        return f'<section><h2>Confidence</h2><p class="note">{note}</p></section>'
    legend = "".join(
        f'<span class="{get_colour_class(number)}" data-method="{number}"><i></i>{escape(name)}</span>'
        for name, number in ((name, names.index(name)) for name in calibrations)
    )
    charts = "".join(
        f'<div class="{width}">{draw_risk_coverage(calibrations, names, frame)}</div>'
        for width, frame in FRAMES.items()
    )
    titles = ("method", "answers with a confidence", "wrong", "AURC", "chance", "perfect order", "ECE")
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{calibration.n:,} of "
        f"{calibration.of:,}</td><td>{format_share(calibration.wrong_share)}</td>"
        f"<td>{calibration.area:.3f}</td><td>{calibration.chance:.3f}</td><td>{calibration.best:.3f}</td><td>{calibration.ece:.3f}</td></tr>"
        for name, calibration in calibrations.items()
    )
    return (
        '<section><h2>Do the methods know when they are right?</h2><p class="note">'
        "The share of wrong answers if a method answers only the questions of which it is most sure; "
        "from left to right it answers more questions. "
        "The lower the curve, the more the method's confidence is worth. A curve ends where "
        f"the method says unknown. {escape(CONFIDENCE_EXPLANATION)}</p>"
        f'<p class="key lines">{legend}</p><div class="figure">{charts}</div>'
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>'
    )


def render_spending_section(sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<section><h2>What this comparison took</h2><ul class="sentences">{items}</ul></section>'


def read_asset(name: str) -> str:
    """The text of a file in the folder assets/."""
    return (ASSETS / name).read_text(encoding="utf-8")
