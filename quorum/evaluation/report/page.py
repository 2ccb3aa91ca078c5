"""The page of a report: its sections as HTML. Every text that comes from outside is escaped here."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.report.charts import NARROW_FRAME, WIDE_FRAME, draw_risk_coverage, get_colour_class
from quorum.evaluation.report.figure import NARROW, WIDE, draw_figure
from quorum.evaluation.report.figure_rows import FigureContent, collect_figure, sort_figures
from quorum.evaluation.report.method_table import format_share, render_table
from quorum.evaluation.report.sentences import (
    CONFIDENCE_EXPLANATION,
    P_EXPLANATION,
    P_TITLES,
    Words,
    describe_standing,
)
from quorum.evaluation.run.race_result import RaceResult, sort_standings
from quorum.evaluation.run.screening import SCREEN_EXPLANATION, SCREEN_TITLES, Screening

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision

FRAMES = {"broad": WIDE_FRAME, "narrow": NARROW_FRAME}  # the width of the screen decides which of the two is visible
ASSETS = Path(__file__).with_name("assets")


def render_body(decision: "Decision", words: Words) -> str:
    """All sections, without the scripts."""
    scores = decision.scores
    figures = sort_figures(decision.figures, scores.race)
    parts = [
        render_opening(words),
        render_figure(collect_figure(decision.figures, decision.recommendation, scores.race)),
        render_table(figures, scores.summary, scores.measures, decision.recommendation),
        render_certainty(scores.plan.screening, scores.race, decision.calibrations, words),
        read_asset("explore.html"),
    ]
    return f"<main>{''.join(parts)}</main>"


def render_opening(words: Words) -> str:
    """The recommendation in words, before anything else."""
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in words.summary)
    facts = escape(" · ".join(words.facts))
    return (
        f'<header><h1 class="verdict">{escape(words.headline)}</h1><div class="summary">{sentences}</div>'
        f'<p class="about">{facts}</p></header>'
    )


def render_figure(content: FigureContent) -> str:
    """The figure, drawn for a broad screen and for a narrow one."""
    return (
        f'<div class="figure"><div class="broad">{draw_figure(content, WIDE)}</div>'
        f'<div class="narrow">{draw_figure(content, NARROW)}</div></div>'
    )


def render_certainty(
    screening: Screening | None, race: RaceResult | None, calibrations: Mapping[str, Calibration], words: Words
) -> str:
    """What stands behind the headline: all sentences, p-values, screen, race, calibration, and what was spent."""
    parts = [
        render_sentences("In more words", words.details),
        render_p_values(words.p_rows),
        "" if screening is None else render_screen_section(screening),
        "" if race is None else render_race_section(race),
        render_confidence_section(calibrations),
        render_sentences("What this comparison took", words.spending),
        read_asset("reading.html"),
    ]
    return f'<details class="certainty"><summary>How sure is this?</summary>{"".join(parts)}</details>'


def render_p_values(rows: Sequence[Sequence[str]]) -> str:
    """For each method its distance from the highest mean, its p-value, and the questions that would decide."""
    if not rows:
        return ""
    table = render_plain_table(P_TITLES, rows)
    return (
        f'<section><h2>Which methods may be the best</h2><p class="note">{escape(P_EXPLANATION)}</p>{table}</section>'
    )


def render_screen_section(screening: Screening) -> str:
    """Every search that the screen measured, and whether its methods were raced."""
    table = render_plain_table(SCREEN_TITLES, screening.list_rows())
    return f'<section><h2>What the screen dropped</h2><p class="note">{escape(SCREEN_EXPLANATION)}</p>{table}</section>'


def render_race_section(race: RaceResult) -> str:
    """For each method of a race: how many questions it was asked, its result, and whether it was dropped."""
    rows = [
        [
            standing.method,
            f"{standing.asked_count:,} of {race.question_count:,}",
            describe_standing(standing),
            "dropped" if standing.dropped else "kept to the end",
        ]
        for standing in sort_standings(race.standings.values())
    ]
    note = "The questions that each method was asked; the intervals hold at every moment of the race."
    table = render_plain_table(("method", "asked", MEASURE_TITLES[race.measure], "outcome"), rows)
    return f'<section><h2>When methods were dropped</h2><p class="note">{note}</p>{table}</section>'


def render_confidence_section(calibrations: Mapping[str, Calibration]) -> str:
    """Risk against coverage, as a chart and a table, for the methods that state a confidence."""
    if not calibrations:
        note = "None of these methods states a confidence; methods that vote or weigh candidates do."
        return f'<section><h2>Confidence</h2><p class="note">{note}</p></section>'
    legend = "".join(
        f'<span class="{get_colour_class(number)}" data-method="{number}"><i></i>{escape(name)}</span>'
        for number, name in enumerate(calibrations)
    )
    charts = "".join(
        f'<div class="{width}">{draw_risk_coverage(calibrations, frame)}</div>' for width, frame in FRAMES.items()
    )
    rows = [
        [
            name,
            f"{calibration.n:,} of {calibration.of:,}",
            format_share(calibration.wrong_share),
            *(f"{value:.3f}" for value in (calibration.area, calibration.chance, calibration.ece, calibration.best)),
        ]
        for name, calibration in calibrations.items()
    ]
    titles = ("method", "answers with a confidence", "wrong", "AURC", "chance", "ECE", "perfect order")
    return (
        '<section><h2>Do the methods know when they are right?</h2><p class="note">'
        "The share of wrong answers if a method answers only the questions of which it is most sure; "
        "from left to right it answers more questions. "
        "The lower the curve, the more the method's confidence is worth. A curve ends where "
        f"the method says unknown. {escape(CONFIDENCE_EXPLANATION)}</p>"
        f'<p class="key lines">{legend}</p><div class="figure">{charts}</div>'
        f"{render_plain_table(titles, rows)}</section>"
    )


def render_sentences(title: str, sentences: Iterable[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<section><h2>{title}</h2><ul class="sentences">{items}</ul></section>' if items else ""


def render_plain_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="Table">{table}</div>'


def read_asset(name: str) -> str:
    """The text of a file in the folder assets/."""
    return (ASSETS / name).read_text(encoding="utf-8")
