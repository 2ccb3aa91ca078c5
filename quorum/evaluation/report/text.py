"""Writes report.md, and the sentences that report.html also shows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from quorum.algorithms.best_set import ALPHA
from quorum.core.text import format_count
from quorum.evaluation.compare.format_figures import format_dollars, format_percent, join_and_shorten_names
from quorum.evaluation.metrics.measure_titles import MEASURE_NAMES
from quorum.evaluation.metrics.registry import list_used_plugin_metrics
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.eligibility import describe_left_out
from quorum.evaluation.run.race_result import sort_standings

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision
    from quorum.evaluation.run.race_result import RaceResult, Standing

CONFIDENCE_EXPLANATION = (
    "AURC is the share of wrong answers, averaged over all coverages (shares of questions answered), when the surest "
    "questions are answered first: lower is better. The figures under 'chance' are the AURC of a random order. "
    "ECE is the mean gap between the stated confidence and the share that is right: 0 is perfect."
)
BAR_WIDTH = 30  # characters


def list_facts(decision: "Decision") -> list[str]:
    """The facts of the comparison: '124 questions of questions.jsonl', 'over corpus', the models, the version.

    The models are those of all columns; a column is a method with its settings.
    """
    config = read_json_file(decision.scores.folder / "config.json")
    models = {str(column.context.model) for column in decision.columns}
    source = config["source"].get("corpus") or config["source"].get("collection") or "given passages"
    count = max(int(row["n"] or 0) for row in decision.scores.summary.values())
    model_names = ", ".join(sorted(models))
    return [
        f"{format_count(count, 'question')} of {config['data']['file']}",
        f"over {source}",
        model_names,
        f"Quorum {config['quorum']}",
    ]


def describe_not_compared(decision: "Decision") -> list[str]:
    """Which methods of `--methods all` are not compared, and why: 'Compared without react, self_ask: REASON.'"""
    return [f"Compared {sentence}" for sentence in describe_left_out(decision.left_out_reasons)]


def list_sentences_after_headline(decision: "Decision") -> list[str]:
    """The sentences below the headline, which is the recommendation's first sentence: the recommendation's other
    sentences, a note if questions have no accepted answer, and the methods that are not compared.
    """
    missing_note = decision.scores.plan.dataset.missing_answers_note
    notes = [missing_note] if missing_note else []
    return [*decision.recommendation.sentences[1:], *notes, *describe_not_compared(decision)]


def format_p_of_best(decision: "Decision", name: str) -> str:
    """'0.012 *': the p-value of "this method is one of the best", with a star if the method is not among the best;
    'dropped' if a race dropped the method; a dash for the method with the highest mean and without a comparison.
    """
    recommendation = decision.recommendation
    difference = (
        recommendation.comparison["methods"].get(name, {}).get(recommendation.measure)
        if recommendation.comparison
        else None
    )
    if difference is None:
        return "–"
    if difference["test"] == "race":
        return "dropped"
    p = difference["p_holm"]
    return f"{'< 0.001' if p < 0.001 else f'{p:.3f}'}{' *' if p < ALPHA else ''}"


def describe_spending(decision: "Decision") -> list[str]:
    """Sentences about the calls, tokens and money that the methods took, over all runs in the results folder."""
    spent = decision.spent
    if not spent["models"]:
        return ["Nothing was spent: every reply came from the journal."]
    sentences = []
    for name, counts in spent["models"].items():
        tokens = f"{counts['input_tokens']:,} tokens in ({counts['cached_tokens']:,} from the provider's cache)"
        sentences.append(f"{name}: {counts['calls']:,} calls really made, {tokens}, {counts['output_tokens']:,} out.")
    cost = spent["cost"]
    if cost is None:
        sentences.append("A model has no price, so the money spent is unknown; give its price with --prices FILE.")
    else:
        sentences.append(f"Money really spent: {format_dollars(cost)}.")
    return sentences


def describe_seconds(decision: "Decision") -> str:
    """Which methods' seconds cannot be compared, because their calls were shared or stored; empty if all can."""
    rows = decision.scores.summary
    with_shared_calls = [name for name, row in rows.items() if row.get("answers_not_timed")]
    if not with_shared_calls:
        return ""
    uncounted_methods = [name for name in with_shared_calls if rows[name]["seconds_p50"] is None]
    uncounted_sentence = (
        f" No answer of {join_and_shorten_names(uncounted_methods)} counts." if uncounted_methods else ""
    )
    return (
        f"Seconds are not comparable: {join_and_shorten_names(with_shared_calls)} shared calls with other methods or "
        f"had replies from the journal. Their seconds count only answers without such a call."
        f"{uncounted_sentence}"
    )


def describe_judging(decision: "Decision") -> list[str]:
    """Sentences about the judge's calls, tokens and cost, and the answers that it left unscored; empty without a
    judge.
    """
    sentences = []
    for name, counts in (decision.spent["judge"]["models"] if "judge" in decision.spent else {}).items():
        tokens = f"{counts['input_tokens']:,} tokens in, {counts['output_tokens']:,} out"
        sentences.append(
            f"Separately from the methods, {name} judged answers: {counts['calls']:,} calls really made, {tokens}."
        )
    cost = decision.spent["judge"]["cost"] if "judge" in decision.spent else None
    if sentences and cost:
        sentences.append(f"Money really spent on judging: {format_dollars(cost)}.")
    unscored_count = sum(int(row.get("unscored") or 0) for row in decision.scores.summary.values())
    if unscored_count:
        sentences.append(f"Replies of the judge that could not be read left {unscored_count:,} answers unscored.")
    return sentences


def describe_savings(decision: "Decision") -> str:
    """The savings from sharing: the calls and searches that methods would make alone, and those really made."""
    calls_alone = sum(
        float(scores.get_known_values("calls").sum()) for scores in decision.scores.scores_by_column.values()
    )
    calls_made = sum(counts["calls"] for counts in decision.spent["models"].values())
    spent = decision.spent
    if not calls_alone:
        return ""
    calls = f"Alone, the methods would have made {calls_alone:,.0f} calls; {calls_made:,} were made"
    savings_text = (
        f", {format_percent(max(0.0, 1 - calls_made / calls_alone), 0)} saved by shared and stored replies"
        if calls_made < calls_alone
        else ""
    )
    searches = (
        f"; of {spent['searches']:,} requested searches {spent['searches_made']:,} were made"
        if spent["searches"]
        else ""
    )
    return f"{calls}{savings_text}{searches}."


def render_markdown(decision: "Decision") -> str:
    """The content of report.md."""
    headline = decision.recommendation.sentences[0]
    lines = [
        "# Which method is worth its cost",
        "",
        escape_markdown(" · ".join(list_facts(decision))),
        "",
        f"**{escape_markdown(headline)}**",
        "",
    ]
    lines += [f"- {escape_markdown(sentence)}" for sentence in list_sentences_after_headline(decision)]
    lines += ["", "## All methods", "", *render_methods_table(decision), ""]
    lines += ["## Right, wrong, unknown", "", *render_share_bars(decision), ""]
    if decision.scores.race is not None:
        lines += ["## When methods were dropped", "", *render_race_table(decision.scores.race), ""]
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
    sentences = (
        *describe_spending(decision),
        describe_savings(decision),
        describe_seconds(decision),
        *describe_judging(decision),
    )
    lines += [f"- {escape_markdown(sentence)}" for sentence in sentences if sentence]
    return "\n".join(lines) + "\n"


def render_share_bars(decision: "Decision") -> Iterator[str]:
    """A Markdown table: for each method its shares of right, wrong and unknown answers, and a bar of these shares."""
    yield "| method | right, % | wrong, % | unknown, % | right ███ wrong ▒▒▒ unknown ░░░ |"
    yield "| --- | --: | --: | --: | --- |"
    for method_figures in decision.figures:
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


def describe_standing(standing: "Standing") -> str:
    """'61.1 [33.6, 85.3]': the mean of the deciding measure in percent, with its interval; '-' without answers."""
    return (
        "-"
        if standing.mean is None
        else f"{100 * standing.mean:.1f} [{100 * standing.low:.1f}, {100 * standing.high:.1f}]"
    )


def render_methods_table(decision: "Decision") -> Iterator[str]:
    """A Markdown table of all methods: quality, p-value, cost, calls, tokens, seconds and failures."""
    measure = decision.recommendation.measure_name
    is_judged, plugin_metrics = "judged" in decision.scores.measures, list_used_plugin_metrics(decision.scores.summary)
    titles = (
        f"{measure}, %",
        *(["judged, %"] if is_judged else []),
        *(escape_markdown(name) for name in plugin_metrics),
        *(["contains, %"] if "em" in decision.scores.measures else []),
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
    for method_figures in decision.figures:
        row = decision.scores.summary[method_figures.name]
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
            *([contains] if "em" in decision.scores.measures else []),
            escape_markdown(format_p_of_best(decision, method_figures.name)),
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
