"""The sentences of a report, which report.md and report.html both show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.algorithms.best_set import ALPHA
from quorum.core.text import format_count
from quorum.evaluation.compare.format_figures import (
    format_dollars,
    format_percent,
    format_signed,
    join_and_shorten_names,
    join_names,
)
from quorum.evaluation.compare.recommendation import Recommendation
from quorum.evaluation.compare.spending_limit import TotalSpent
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.config_file import describe_data, read_json_file
from quorum.evaluation.run.eligibility import describe_left_out
from quorum.evaluation.run.results import Summary
from quorum.evaluation.run.retrieval_only import SEARCH

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision
    from quorum.evaluation.run.race_result import Standing

SOURCE_KEYS = ("corpus", "collection", "retriever")  # of config.json; the one that is there says what was searched
CONFIDENCE_EXPLANATION = (
    "AURC is the share of wrong answers, averaged over all coverages (shares of questions answered), when the surest "
    "questions are answered first: lower is better. The figures under 'chance' are the AURC of a random order. "
    "ECE is the mean gap between the stated confidence and the share that is right: 0 is perfect."
)
P_TITLES = ("method", "from the highest, points", "p of being the best", "questions that would rule it out")
P_EXPLANATION = (
    "How well the questions agree with 'this method is one of the best', corrected for all methods. A star marks p "
    "below 0.05: the method is not among the best. With probability 0.95 the methods without a star include every "
    "method that is the best."
)


@dataclass(frozen=True)
class Words:
    """What a report says in sentences.

    headline, summary: the recommendation in a headline and three sentences; facts: what was compared; details: the
    recommendation in more detail, a note if questions have no accepted answer, and the methods that are not compared;
    spending: what the comparison took; p_rows: the cells below P_TITLES for each method; command: the command that
    repeats the comparison.
    """

    headline: str
    summary: list[str]
    facts: list[str]
    details: list[str]
    spending: list[str]
    p_rows: list[list[str]]
    command: str


def describe_decision(decision: "Decision") -> Words:
    """The sentences about a decision."""
    scores, spent = decision.scores, decision.spent
    verdict = decision.recommendation.verdict
    missing_note = scores.plan.dataset.missing_answers_note
    not_compared = [f"Compared {sentence}" for sentence in describe_left_out(decision.left_out_reasons)]
    retrieval_only = scores.plan.options.retrieval_only
    spending = (
        ["No model was asked.", *describe_embedding_spending(spent)]
        if retrieval_only
        else [
            *describe_spending(spent),
            describe_savings(spent, scores.scores_by_column),
            describe_seconds(scores.summary),
            *describe_judging(spent.get("judge"), scores.summary),
        ]
    )
    return Words(
        verdict.headline,
        verdict.sentences,
        list_facts(scores.folder, decision.columns, scores.summary),
        [*decision.recommendation.sentences, *([missing_note] if missing_note else []), *not_compared],
        [sentence for sentence in spending if sentence],
        list_p_rows(decision.recommendation),
        scores.plan.options.describe_command(),
    )


def list_facts(folder: Path, columns: Sequence[Column], summary: Summary) -> list[str]:
    """The facts of the comparison: '124 questions of handbook/questions.jsonl', 'over corpus', the models, the version.

    The models are those of all columns; a column is a method with its settings. folder: that of the results.
    """
    config = read_json_file(folder / "config.json")
    models = {"no model" if column.method == SEARCH else str(column.context.model) for column in columns}
    count = max(int(row["n"] or 0) for row in summary.values())
    return [
        f"{format_count(count, 'question')} of {describe_data(config)}",
        f"over {describe_source(config['source'])}",
        ", ".join(sorted(models)),
        f"Quorum {config['quorum']}",
    ]


def describe_source(source: Mapping[str, Any]) -> str:
    """What was searched, as config.json records it: one name, or several if columns name collections of their own.

    >>> describe_source({"collection": "handbook", "collections": {"concat[collection=new]": {"name": "new"}}})
    'handbook and new'
    """
    common = [str(source[key]) for key in SOURCE_KEYS if source.get(key)]
    named = [collection["name"] for collection in source.get("collections", {}).values()]
    return join_names(list(dict.fromkeys([*common, *named])) or ["given passages"])


def list_p_rows(recommendation: Recommendation) -> list[list[str]]:
    """The cells below P_TITLES for each method that was compared, the highest mean first; empty if there is no best
    method, or only one.
    """
    choice = recommendation.choice
    if choice is None or len(choice.means) < 2:
        return []
    highest = choice.means[choice.highest]
    needed = {name: f"{count:,}" if count else "–" for name, count in choice.questions_needed.items()}
    return [
        [
            name,
            format_signed(choice.means[name] - highest),
            "–" if name == choice.highest else format_p(choice.p_values[name]),
            needed.get(name, "–"),
        ]
        for name in sorted(choice.means, key=lambda name: (-choice.means[name], name))
    ]


def format_p(p: float) -> str:
    """'0.012 *': a p-value, with a star if it is below 0.05."""
    return f"{'< 0.001' if p < 0.001 else f'{p:.3f}'}{' *' if p < ALPHA else ''}"


def describe_spending(spent: TotalSpent) -> list[str]:
    """Sentences about the calls, tokens and money that the methods took, over all runs in the results folder."""
    if not spent["models"] and not spent.get("embeddings"):
        return ["Nothing was spent: every reply came from the journal."]
    sentences = []
    for name, counts in spent["models"].items():
        tokens = f"{counts['input_tokens']:,} tokens in ({counts['cached_tokens']:,} from the provider's cache)"
        sentences.append(f"{name}: {counts['calls']:,} calls really made, {tokens}, {counts['output_tokens']:,} out.")
    return [*sentences, *describe_embedding_requests(spent), describe_money(spent["cost"])]


def describe_embedding_spending(spent: TotalSpent) -> list[str]:
    """Sentences about the requests for embeddings and the money of a comparison that asks no model."""
    requests = describe_embedding_requests(spent)
    return [*requests, describe_money(spent["cost"])] if requests else []


def describe_embedding_requests(spent: TotalSpent) -> list[str]:
    """A sentence for each model of embeddings that a server computed."""
    return [
        f"{name}: {format_count(counts['requests'], 'request')} for embeddings really made, "
        f"{format_count(counts['tokens'], 'token')}."
        for name, counts in spent.get("embeddings", {}).items()
    ]


def describe_money(cost: float | None) -> str:
    if cost is None:
        return "A model has no price, so the money spent is unknown; give its price with --prices FILE."
    return f"Money really spent: {format_dollars(cost)}."


def describe_savings(spent: TotalSpent, scores_by_column: Mapping[str, ColumnScores]) -> str:
    """The savings from sharing: the calls and searches that methods would make alone, and those really made."""
    calls_alone = sum(float(scores.get_known_values("calls").sum()) for scores in scores_by_column.values())
    calls_made = sum(counts["calls"] for counts in spent["models"].values())
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


def describe_seconds(summary: Summary) -> str:
    """Which methods' seconds cannot be compared, because their calls were shared or stored; empty if all can."""
    with_shared_calls = [name for name, row in summary.items() if row.get("answers_not_timed")]
    if not with_shared_calls:
        return ""
    uncounted_methods = [name for name in with_shared_calls if summary[name]["seconds_p50"] is None]
    uncounted_sentence = (
        f" No answer of {join_and_shorten_names(uncounted_methods)} counts." if uncounted_methods else ""
    )
    return (
        f"Seconds are not comparable: {join_and_shorten_names(with_shared_calls)} shared calls with other methods or "
        f"had replies from the journal. Their seconds count only answers without such a call."
        f"{uncounted_sentence}"
    )


def describe_judging(judge_spent: TotalSpent | None, summary: Summary) -> list[str]:
    """Sentences about the judge's calls, tokens and cost, and the answers that it left unscored; empty without a
    judge.
    """
    sentences = []
    for name, counts in (judge_spent["models"] if judge_spent else {}).items():
        tokens = f"{counts['input_tokens']:,} tokens in, {counts['output_tokens']:,} out"
        sentences.append(
            f"Separately from the methods, {name} judged answers: {counts['calls']:,} calls really made, {tokens}."
        )
    cost = judge_spent["cost"] if judge_spent else None
    if sentences and cost:
        sentences.append(f"Money really spent on judging: {format_dollars(cost)}.")
    unscored_count = sum(int(row.get("unscored") or 0) for row in summary.values())
    if unscored_count:
        sentences.append(f"Replies of the judge that could not be read left {unscored_count:,} answers unscored.")
    return sentences


def describe_standing(standing: "Standing") -> str:
    """'61.1 [33.6, 85.3]': the mean of the deciding measure in percent, with its interval; '-' without answers."""
    return (
        "-"
        if standing.mean is None
        else f"{100 * standing.mean:.1f} [{100 * standing.low:.1f}, {100 * standing.high:.1f}]"
    )
