"""Renders report.md."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.evaluation.compare.format_figures import format_dollars
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation
from quorum.evaluation.metrics.measure_titles import MEASURE_NAMES
from quorum.evaluation.metrics.registry import list_used_plugin_metrics
from quorum.evaluation.report.sentences import CONFIDENCE_EXPLANATION, Words, describe_standing, format_p_of_best
from quorum.evaluation.run.race_result import sort_standings
from quorum.evaluation.run.results import Summary

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision
    from quorum.evaluation.run.race_result import RaceResult

BAR_WIDTH = 30  # characters


def render_markdown(decision: "Decision", words: Words) -> str:
    """The content of report.md."""
    scores, figures = decision.scores, decision.figures
    lines = [
        "# Which method is worth its cost",
        "",
        escape_markdown(" · ".join(words.facts)),
        "",
        f"**{escape_markdown(words.headline)}**",
        "",
    ]
    lines += [f"- {escape_markdown(sentence)}" for sentence in words.after_headline]
    table = render_methods_table(figures, scores.summary, scores.measures, decision.recommendation)
    lines += ["", "## All methods", "", *table, ""]
    lines += ["## Right, wrong, unknown", "", *render_share_bars(figures), ""]
    if scores.race is not None:
        lines += ["## When methods were dropped", "", *render_race_table(scores.race), ""]
    if decision.calibrations:
        lines += [
            "## Confidence",
            "",
            CONFIDENCE_EXPLANATION,
            "",
            "| method | answers with a confidence | AURC | chance | ECE |",
            "| --- | --: | --: | --: | --: |",
        ]
        lines += [
            f"| {escape_markdown(name)} | {calibration.n:,} of {calibration.of:,} | {calibration.area:.3f} | "
            f"{calibration.chance:.3f} | {calibration.ece:.3f} |"
            for name, calibration in decision.calibrations.items()
        ]
        lines.append("")
    lines += ["## What this comparison took", ""]
    lines += [f"- {escape_markdown(sentence)}" for sentence in words.spending]
    return "\n".join(lines) + "\n"


def render_share_bars(figures: Sequence[MethodFigures]) -> Iterator[str]:
    """A Markdown table: for each method its shares of right, wrong and unknown answers, and a bar of these shares."""
    yield "| method | right, % | wrong, % | unknown, % | right ███ wrong ▒▒▒ unknown ░░░ |"
    yield "| --- | --: | --: | --: | --- |"
    for method_figures in figures:
        if method_figures.n:
            shares = (method_figures.right, method_figures.wrong, method_figures.unknown)
            cells = " | ".join(f"{100 * share:.1f}" for share in shares)
            yield f"| {escape_markdown(method_figures.name)} | {cells} | {draw_bar(shares)} |"


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
    yield f"| method | questions asked | {MEASURE_NAMES[race.measure]}, % | |"
    yield "| --- | --: | --: | --- |"
    for standing in sort_standings(race.standings.values()):
        asked_text = f"{standing.asked_count:,} of {race.question_count:,}"
        outcome = "dropped" if standing.dropped else "kept to the end"
        yield f"| {escape_markdown(standing.method)} | {asked_text} | {describe_standing(standing)} | {outcome} |"


def render_methods_table(
    figures: Sequence[MethodFigures], summary: Summary, measures: Sequence[str], recommendation: Recommendation
) -> Iterator[str]:
    """A Markdown table of all methods: quality, p-value, cost, calls, tokens, seconds and failures."""
    is_judged, plugin_metrics = "judged" in measures, list_used_plugin_metrics(summary)
    titles = (
        f"{recommendation.measure_name}, %",
        *(["judged, %"] if is_judged else []),
        *(escape_markdown(name) for name in plugin_metrics),
        *(["contains, %"] if "em" in measures else []),
        "p of being the best",
        "unknown, %",
        "right answer outvoted, %",
        "cost",
        "calls",
        "tokens",
        "median s",
        "p95 s",
        "failed",
    )
    yield f"| method | {' | '.join(titles)} |"
    yield "| --- |" + " --: |" * len(titles)
    for method_figures in figures:
        row = summary[method_figures.name]
        quality = (
            f"{100 * method_figures.quality:.1f} [{100 * method_figures.low:.1f}, {100 * method_figures.high:.1f}]"
            if method_figures.n
            else "-"
        )
        cost = "-" if method_figures.cost is None else format_dollars(method_figures.cost)
        contains, outvoted = (
            f"{100 * value:.1f}" if (value := row.get(name)) is not None else "-"
            for name in ("contains", "right_answer_outvoted")
        )
        times = (f"{value:.2f}" if (value := row[name]) is not None else "-" for name in ("seconds_p50", "seconds_p95"))
        cells = [
            escape_markdown(method_figures.name),
            quality,
            *([format_judged(row)] if is_judged else []),
            *("-" if (value := row.get(name)) is None else f"{value:.3f}" for name in plugin_metrics),
            *([contains] if "em" in measures else []),
            escape_markdown(format_p_of_best(recommendation, method_figures.name)),
            f"{100 * method_figures.unknown:.1f}" if method_figures.n else "-",
            outvoted,
            cost,
            f"{method_figures.calls:.1f}",
            f"{method_figures.tokens:,.0f}",
            *times,
            f"{method_figures.errors:,}",
        ]
        yield f"| {' | '.join(cells)} |"


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
