"""Renders report.md, which fits into a pull request: the headline, the picture, one table, and the rest folded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.evaluation.compare.format_figures import SHARE_EXPLANATION, SHARE_TITLES, format_dollars
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation
from quorum.evaluation.metrics.measure_titles import MEASURE_NAMES, MEASURE_TITLES
from quorum.evaluation.metrics.registry import RETRIEVAL_MEASURES, list_used_plugin_metrics
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.report.figure_rows import find_tag, sort_figures
from quorum.evaluation.report.method_table import FOUND_MEASURES
from quorum.evaluation.report.sentences import (
    CONFIDENCE_EXPLANATION,
    P_EXPLANATION,
    P_TITLES,
    Words,
    describe_standing,
)
from quorum.evaluation.run.race_result import sort_standings
from quorum.evaluation.run.results import Summary
from quorum.evaluation.run.screening import SCREEN_EXPLANATION, SCREEN_TITLES

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision
    from quorum.evaluation.run.race_result import RaceResult
    from quorum.evaluation.run.screening import Screening

BAR_WIDTH = 30  # characters


def render_markdown(decision: "Decision", words: Words) -> str:
    """The content of report.md. The picture is figure.svg beside it."""
    scores = decision.scores
    figures = sort_figures(decision.figures, scores.race)
    lines = [f"## {escape_markdown(words.headline)}", ""]
    for sentence in words.summary:
        lines += [escape_markdown(sentence), ""]
    lines += [f"![{escape_markdown(words.headline)}](figure.svg)", ""]
    lines += [*render_methods_table(figures, scores.summary, scores.measures, decision.recommendation), ""]
    lines += [escape_markdown(" · ".join(words.facts)), ""]
    lines += [
        "<details><summary>How sure is this?</summary>",
        "",
        *render_certainty(words, scores.plan.screening, scores.race, decision.calibrations),
        "</details>",
        "",
    ]
    lines += ["To repeat it:", "", *fence(words.command)]
    return "\n".join(lines) + "\n"


def render_certainty(
    words: Words,
    screening: "Screening | None",
    race: "RaceResult | None",
    calibrations: Mapping[str, Calibration],
) -> Iterator[str]:
    """What stands behind the headline: all sentences, p-values, screen, race, calibration, and what was spent."""
    yield from (f"- {escape_markdown(sentence)}" for sentence in words.details)
    yield ""
    if words.p_rows:
        yield from (escape_markdown(P_EXPLANATION), "", *render_plain_table(P_TITLES, words.p_rows), "")
    if screening is not None:
        yield from (SCREEN_EXPLANATION, "", *render_plain_table(SCREEN_TITLES, screening.list_rows()), "")
    if race is not None:
        yield from ("When methods were dropped:", "", *render_race_table(race), "")
    if calibrations:
        rows = [
            [
                name,
                f"{calibration.n:,} of {calibration.of:,}",
                *(f"{value:.3f}" for value in (calibration.area, calibration.chance, calibration.ece)),
            ]
            for name, calibration in calibrations.items()
        ]
        titles = ("method", "answers with a confidence", "AURC", "chance", "ECE")
        yield from (CONFIDENCE_EXPLANATION, "", *render_plain_table(titles, rows), "")
    yield "What this comparison took:"
    yield ""
    yield from (f"- {escape_markdown(sentence)}" for sentence in words.spending)
    yield ""


def fence(text: str) -> list[str]:
    """The lines of a block of code, with a fence that the text does not hold."""
    mark = "```"
    while mark in text:
        mark += "`"
    return [f"{mark}sh", " ".join(text.split()), mark]


def draw_bar(shares: Sequence[float], width: int = BAR_WIDTH) -> str:
    """A bar of the shares of right, wrong and unknown answers, which sum to 1. width: its length in characters.

    >>> draw_bar([0.5, 0.3, 0.2], 10)
    '█████▒▒▒░░'
    """
    right_end, wrong_end = round(width * shares[0]), round(width * (shares[0] + shares[1]))
    return "█" * right_end + "▒" * (wrong_end - right_end) + "░" * (width - wrong_end)


def render_race_table(race: "RaceResult") -> Iterator[str]:
    """A Markdown table of the methods of a race: how many questions each was asked, its mean of the deciding measure
    with an interval that holds at every moment of the race, and whether it was dropped.
    """
    rows = [
        [
            standing.method,
            f"{standing.asked_count:,} of {race.question_count:,}",
            describe_standing(standing),
            "dropped" if standing.dropped else "kept to the end",
        ]
        for standing in sort_standings(race.standings.values())
    ]
    return render_plain_table(("method", "questions asked", f"{MEASURE_NAMES[race.measure]}, %", "outcome"), rows)


def render_methods_table(
    figures: Sequence[MethodFigures], summary: Summary, measures: Sequence[str], recommendation: Recommendation
) -> Iterator[str]:
    """A Markdown table of all methods: quality, shares of answers, cost, calls, tokens, seconds and failures."""
    is_judged, plugin_metrics = "judged" in measures, list_used_plugin_metrics(summary)
    answers = measures[0] not in RETRIEVAL_MEASURES
    rows = []
    for method_figures in figures:
        row = summary[method_figures.name]
        tag = find_tag(method_figures.name, recommendation)
        shares = (method_figures.right, method_figures.wrong, method_figures.unknown)
        cells = {
            "method": f"{method_figures.name}, {tag}" if tag else method_figures.name,
            f"{recommendation.measure_name}, %": format_quality(method_figures),
            **({"judged, %": format_judged(row)} if is_judged else {}),
            **{
                f"{name}, %": f"{100 * share:.1f}" if method_figures.n and answers else "-"
                for name, share in zip(SHARE_TITLES, shares, strict=True)
            },
            "calls": f"{method_figures.calls:.1f}",
            "tokens": f"{method_figures.tokens:,.0f}",
            "cost": "-" if method_figures.cost is None else format_dollars(method_figures.cost),
            "median s": format_seconds(row["seconds_p50"]),
            "p95 s": format_seconds(row["seconds_p95"]),
            **{name: "-" if (value := row.get(name)) is None else f"{value:.3f}" for name in plugin_metrics},
            **({"contains, %": format_share(row.get("contains"))} if "em" in measures else {}),
            **{f"{MEASURE_TITLES[name]}, %": format_found(row, name) for name in FOUND_MEASURES if name != measures[0]},
            "right answer outvoted, %": format_share(row.get("right_answer_outvoted")),
            "failed": f"{method_figures.errors:,}",
        }
        rows.append(cells)
    zeros = ("right answer outvoted, %", "failed")  # left out also if they are 0
    titles = [
        name
        for name in rows[0]
        if any(row[name] not in ("-", *(("0", "0.0") if name in zeros else ())) for row in rows)
    ]
    yield from render_plain_table(titles, [[row[title] for title in titles] for row in rows])
    if answers:
        yield from ("", escape_markdown(SHARE_EXPLANATION))


def format_found(row: Mapping[str, float | int | None], name: str) -> str:
    """A measure of passages in percent with its interval, '92.0 [85.0, 97.0]'; '-' without gold passages."""
    ends = (row.get(name), row.get(f"{name}_low"), row.get(f"{name}_high"))
    mean, low, high = ("-" if value is None else f"{100 * value:.1f}" for value in ends)
    return mean if "-" in (low, high) else f"{mean} [{low}, {high}]"


def render_plain_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table; the first column is aligned left, all others right."""
    yield f"| {' | '.join(map(escape_markdown, titles))} |"
    yield "| --- |" + " --: |" * (len(titles) - 1)
    yield from (f"| {' | '.join(map(escape_markdown, row))} |" for row in rows)


def format_quality(method: MethodFigures) -> str:
    return f"{100 * method.quality:.1f} [{100 * method.low:.1f}, {100 * method.high:.1f}]" if method.n else "-"


def format_share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def format_seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def format_judged(row: Mapping[str, float | int | None]) -> str:
    """'71.0 [62.0, 80.0]': the share that the judge found right, in percent, with its interval.

    Only answers for which the judge's reply was readable count; '-' if there are none.
    """
    mean_and_ends = [row.get(name) for name in ("judged", "judged_low", "judged_high")]
    mean, low, high = (None if share is None else f"{100 * share:.1f}" for share in mean_and_ends)
    return "-" if mean is None else f"{mean} [{low}, {high}]"


def escape_markdown(text: str) -> str:
    """The text on one line, with Markdown and HTML escaped."""
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, f"\\{sign}" if sign not in "<>" else f"&{'lt' if sign == '<' else 'gt'};")
    return " ".join(text.split())
