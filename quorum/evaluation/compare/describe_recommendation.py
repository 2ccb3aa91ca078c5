"""Describes the recommendation in sentences, the most important first."""

from collections.abc import Mapping, Sequence

from quorum.algorithms.paired import MOST_QUESTIONS
from quorum.algorithms.recommend import Choice
from quorum.core.text import format_count
from quorum.evaluation.compare.format_figures import (
    describe_budget,
    describe_costs,
    describe_quality,
    format_p,
    format_percent,
    format_points,
    format_signed,
    join_and_shorten_names,
)
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation, get_cost_or_zero
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN
from quorum.evaluation.run.differences import Comparison


def describe_baseline(recommendation: Recommendation, comparisons: Sequence[Comparison]) -> list[str]:
    """A list with one sentence, how far the recommended method is from the baseline; empty if this was not computed."""
    name = recommendation.cheapest or recommendation.best
    for comparison in comparisons:
        difference = comparison["methods"].get(str(name), {}).get(recommendation.measure)
        if difference is not None:
            interval = f"[{format_signed(difference['low'])}, {format_signed(difference['high'])}]"
            change = f"{format_points(difference['difference'])} {interval}"
            baseline = comparison["baseline"]
            if difference["test"] == "race":
                return [f"{name} against {baseline}, on the questions that both answered: {change}."]
            p_words = format_p(difference["p_holm"])
            return [f"{name} against the baseline {baseline}: {change}, {p_words}."]
    return []


def describe_recommendation(
    recommendation: Recommendation,
    figures: Sequence[MethodFigures],
    within_budget: Sequence[MethodFigures],
    *,
    dropped_methods: Sequence[str],
) -> list[str]:
    """The recommendation as sentences.

    figures: the figures of all methods; within_budget: the figures of the methods that the recommendation may choose;
    dropped_methods: the names of the methods that a race dropped.
    """
    figures_by_name = {method.name: method for method in figures}
    best = figures_by_name[str(recommendation.best)]
    sentences = [
        describe_headline(recommendation, figures_by_name, within_budget, race_dropped_methods=bool(dropped_methods))
    ]
    sentences += describe_equals(recommendation, figures_by_name)
    if recommendation.budget and len(within_budget) == 1 and not dropped_methods:
        sentences.append("No other method keeps within the limit.")
    sentences += describe_not_among_best(recommendation)
    # Leave out the dropped methods: `within_budget` lacks them even if they keep within the budget, and their means
    # over fewer questions cannot be compared.
    comparable_methods = [method for method in figures if method.name not in dropped_methods]
    sentences += describe_beyond_budget(best, comparable_methods, within_budget)
    return sentences + describe_failures(figures)


def describe_headline(
    recommendation: Recommendation,
    figures_by_name: Mapping[str, MethodFigures],
    within_budget: Sequence[MethodFigures],
    *,
    race_dropped_methods: bool,
) -> str:
    """The recommended method, its score and its cost. The method is called best only if no other method within the
    budget may be the best. If some methods are behind by their wording only, the headline says so.
    """
    choice = get_choice(recommendation)
    limit = f" within {describe_budget(recommendation.budget)}" if recommendation.budget else ""
    if recommendation.recommends_unknown:
        claim = describe_unknown(recommendation, limit)
        return f"{claim}{describe_wording(recommendation)}"
    method = figures_by_name[str(recommendation.cheapest)]
    figures_text = (
        f"{recommendation.measure_name} {describe_quality(method)} over {format_count(method.n, 'question')}, "
        f"for {describe_costs(method)} a question."
    )
    if not choice.is_certain:
        reason = f"the cheapest of those within {100 * recommendation.margin:g} points of the highest mean"
        claim = f"{describe_open_question(choice)} Recommended for now is {method.name}, {reason}{limit}"
    elif len(within_budget) == 1 and len(choice.means) == 1:
        claim = f"{method.name} {'won the race' if race_dropped_methods else 'is the only method'}{limit}"
    else:
        claim = f"{method.name} is best{limit}"
    return f"{claim}: {figures_text}{describe_wording(recommendation)}"


def get_choice(recommendation: Recommendation) -> Choice:
    """What the rule of recommendation said; the recommendation must have a best method."""
    if recommendation.choice is None:
        raise ValueError("a recommendation without a best method has no choice to describe")
    return recommendation.choice


def describe_open_question(choice: Choice) -> str:
    """'No clear winner yet: 3 of 5 methods may be the best, and about 1,200 questions would settle it.'"""
    counts = f"{len(choice.may_be_best)} of {len(choice.means)} methods may be the best"
    number, tied_count = choice.questions_to_settle, list(choice.questions_needed.values()).count(None)
    known_numbers = [needed for needed in choice.questions_needed.values() if needed is not None]
    if number is None:
        outlook = f"{tied_count + 1} of these have the same mean so far, so that no number of questions can be named"
        if known_numbers and max(known_numbers) <= MOST_QUESTIONS:
            outlook += f" that would settle it (about {max(known_numbers):,} would rule out the others)"
    elif number > MOST_QUESTIONS:
        outlook = f"more than {MOST_QUESTIONS:,} questions would be needed to settle it"
    else:
        outlook = f"about {number:,} questions would settle it"
    return f"No clear winner yet: {counts}, and {outlook}."


def describe_unknown(recommendation: Recommendation, limit: str) -> str:
    """The headline if no method is worth asking, because its wrong answers cost more than its right ones bring."""
    choice = get_choice(recommendation)
    opening = "" if choice.is_certain else f"{describe_open_question(choice)} "
    verb = "is best" if choice.is_certain else "costs nothing and is recommended for now"
    return (
        f"{opening}Where a wrong answer costs {recommendation.wrong_cost:g} right ones, {ALWAYS_UNKNOWN} "
        f"{verb}{limit}: it is worth {format_percent(choice.means[ALWAYS_UNKNOWN])}, and {recommendation.best}, the "
        f"best method, {format_percent(choice.means[str(recommendation.best)])}, over {choice.question_count:,} "
        "questions."
    )


def describe_wording(recommendation: Recommendation) -> str:
    """What the headline adds if methods are not among the best for exact match, but may be for `contains`."""
    if not recommendation.by_wording:
        return ""
    return (
        " This is about the wording of the answers, not their quality: if an answer need only contain an accepted one, "
        f"{join_and_shorten_names(recommendation.by_wording)} may be the best as well."
    )


def describe_equals(recommendation: Recommendation, figures_by_name: Mapping[str, MethodFigures]) -> list[str]:
    """The method with the highest mean, and the other methods that may be the best, each with the number of questions
    that would show that it is not. If the method with the highest mean is not recommended, a second sentence says what
    share of its cost the recommended one takes. Empty if only one method may be the best.
    """
    choice = get_choice(recommendation)
    others = [name for name in choice.may_be_best if name != choice.highest]
    if not others:
        return []
    parts = []
    for name in sorted(others, key=lambda name: (-choice.means[name], name)):
        needed = choice.questions_needed[name]
        enough = f"; about {needed:,} questions would be enough" if needed else ""
        parts.append(f"{name} ({format_points(choice.means[name] - choice.means[choice.highest])}{enough})")
    if choice.highest == ALWAYS_UNKNOWN:
        highest_mean = f"{ALWAYS_UNKNOWN} has the highest mean"
    elif recommendation.cheapest == choice.highest:
        highest_mean = f"{choice.highest} also has the highest mean"
    else:
        highest = figures_by_name[choice.highest]
        highest_mean = (
            f"{choice.highest} has the highest mean: {describe_quality(highest)}, for {describe_costs(highest)} a "
            "question"
        )
    sentences = [f"{highest_mean}; these questions do not rule out {join_and_shorten_names(parts)}."]
    return sentences + describe_saving(recommendation, figures_by_name)


def describe_saving(recommendation: Recommendation, figures_by_name: Mapping[str, MethodFigures]) -> list[str]:
    """A list with one sentence, the recommended method's share of the cost of the one with the highest mean; empty if
    they are the same method.
    """
    if recommendation.cheapest in (None, recommendation.best):
        return []
    cheapest, best = figures_by_name[str(recommendation.cheapest)], figures_by_name[str(recommendation.best)]
    best_cost = get_cost_or_zero(best, recommendation.unit)
    share = get_cost_or_zero(cheapest, recommendation.unit) / best_cost if best_cost else 1.0
    cost_name = "cost" if recommendation.unit == "cost" else "tokens"
    return [f"{cheapest.name} takes {format_percent(share, 0)} of the {cost_name} of {best.name}."]


def describe_not_among_best(recommendation: Recommendation) -> list[str]:
    """A list with one sentence, the methods that are not among the best, the nearest to the highest mean first; empty
    if there is none.
    """
    choice = get_choice(recommendation)
    if not choice.not_among_best:
        return []
    highest = choice.means[choice.highest]
    parts = [f"{name} ({format_points(choice.means[name] - highest)})" for name in choice.not_among_best]
    return [f"Not among the best (p < .05, corrected): {join_and_shorten_names(parts)}."]


def describe_beyond_budget(
    best: MethodFigures, figures: Sequence[MethodFigures], within_budget: Sequence[MethodFigures]
) -> list[str]:
    """A list with one sentence, the best of the methods that exceed the budget and have a higher mean than `best`;
    empty if there is none.
    """
    names = {method.name for method in within_budget}
    better_methods = [
        method for method in figures if method.n and method.name not in names and method.quality > best.quality
    ]
    if not better_methods:
        return []
    best_of_all = max(better_methods, key=lambda method: method.quality)
    return [
        f"Without the limit {best_of_all.name} would be ahead: {format_percent(best_of_all.quality)}, "
        f"for {describe_costs(best_of_all)} a question."
    ]


def describe_none_within_budget(
    answering_methods: Sequence[MethodFigures], figures: Sequence[MethodFigures], recommendation: Recommendation
) -> list[str]:
    """The recommendation as sentences, if no method is within the budget or none answered a question."""
    if not answering_methods:
        return ["No method answered any question.", *describe_failures(figures)]
    sentences = [f"No method keeps within {describe_budget(recommendation.budget)}."]
    if "cost" in recommendation.budget and any(method.cost is None for method in answering_methods):
        sentences.append(
            "A method whose model has no price is never within a limit on cost; "
            "give the model's price with --prices FILE."
        )
    best = max(answering_methods, key=lambda method: method.quality)
    sentences.append(
        f"Without the limit {best.name} has the highest mean: {recommendation.measure_name} "
        f"{format_percent(best.quality)}, "
        f"for {describe_costs(best)} a question."
    )
    return [*sentences, *describe_failures(figures)]


def describe_failures(figures: Sequence[MethodFigures]) -> list[str]:
    """A list with one sentence, how many answers of each method failed; empty if none failed."""
    with_failures = sorted((method for method in figures if method.errors), key=lambda method: -method.errors)
    if not with_failures:
        return []
    failure_counts = join_and_shorten_names([f"{method.errors:,} of {method.name}" for method in with_failures])
    return [
        f"Answers that failed count neither as right nor as wrong: {failure_counts}; run the same command again to "
        "ask these questions again."
    ]
