"""Describes the recommendation in sentences, the most important first."""

from collections.abc import Mapping, Sequence

from quorum.evaluation.compare.baseline import Comparison, Difference
from quorum.evaluation.compare.format_figures import (
    describe_budget,
    describe_costs,
    describe_quality,
    format_p,
    format_percent,
    format_points,
    join_and_shorten_names,
)
from quorum.evaluation.compare.recommendation import ALPHA, MethodFigures, Recommendation, get_cost_or_zero


def describe_baseline(recommendation: Recommendation, comparisons: Sequence[Comparison]) -> list[str]:
    """A list with one sentence, the best method's difference from the baseline; empty if it was not computed."""
    for comparison in comparisons:
        difference = comparison["methods"].get(str(recommendation.best), {}).get(recommendation.measure)
        if difference is not None:
            interval = f"[{100 * difference['low']:+.1f}, {100 * difference['high']:+.1f}]"
            change = f"{format_points(difference['difference'])} {interval}"
            best, baseline = recommendation.best, comparison["baseline"]
            if difference["test"] == "race":
                return [f"{best} against {baseline}, on the questions that both answered: {change}."]
            p_words = format_p(difference["p_holm"])
            return [f"{best} against the baseline {baseline}: {change}, {p_words}."]
    return []


def describe_recommendation(
    recommendation: Recommendation,
    figures: Sequence[MethodFigures],
    within_budget: Sequence[MethodFigures],
    differences: Mapping[str, Difference],
    *,
    dropped_methods: Sequence[str],
) -> list[str]:
    """The recommendation as sentences.

    figures: the figures of all methods; within_budget: the figures of the methods that the recommendation may choose;
    differences: {name: difference from the best method}, only the differences that were tested on a fixed set of
    questions; dropped_methods: the names of the methods that a race dropped.
    """
    figures_by_name = {method.name: method for method in figures}
    best = figures_by_name[str(recommendation.best)]
    is_only_method = len(within_budget) == 1 and len(differences) == 0
    sentences = [
        describe_headline(
            recommendation, figures_by_name, is_only_method=is_only_method, race_dropped_methods=bool(dropped_methods)
        )
    ]
    sentences += describe_equals(recommendation, figures_by_name, differences)
    if recommendation.budget and len(within_budget) == 1 and not dropped_methods:
        sentences.append("No other method keeps within the limit.")
    sentences += describe_worse(differences)
    # Leave out the dropped methods: `within_budget` lacks them even if they keep within the budget, and their means
    # over fewer questions cannot be compared.
    comparable_methods = [method for method in figures if method.name not in dropped_methods]
    sentences += describe_beyond_budget(best, comparable_methods, within_budget)
    return sentences + describe_failures(figures)


def describe_headline(
    recommendation: Recommendation,
    figures_by_name: Mapping[str, MethodFigures],
    *,
    is_only_method: bool,
    race_dropped_methods: bool,
) -> str:
    """The recommended method, its score and its cost, in a sentence. The method is called best only if all other
    methods within the budget are significantly worse.
    """
    # `cheapest` is the recommended method: the cheapest of the best method and its `equal_methods`, not of all methods.
    method = figures_by_name[str(recommendation.cheapest)]
    limit = f" within {describe_budget(recommendation.budget)}" if recommendation.budget else ""
    if recommendation.equal_methods:
        claim = (
            f"Too few questions to choose; {method.name} is the cheapest of the methods that may be equally good{limit}"
        )
    elif is_only_method and race_dropped_methods:
        claim = f"{method.name} won the race{limit}"
    elif is_only_method:
        claim = f"{method.name} is the only method{limit}"
    else:
        claim = f"{method.name} is best{limit}"
    return (
        f"{claim}: {recommendation.measure_name} {describe_quality(method)} over {method.n:,} questions, "
        f"for {describe_costs(method)} a question."
    )


def describe_equals(
    recommendation: Recommendation, figures_by_name: Mapping[str, MethodFigures], differences: Mapping[str, Difference]
) -> list[str]:
    """The method with the highest mean, and the methods that do not differ significantly from it, each with the number
    of questions that would make its difference significant. If the method with the highest mean is not the
    cheapest of all these, a second sentence says what share of its cost the cheapest one takes.

    If all other methods are significantly worse, there is only a sentence that says so.
    """
    if not recommendation.equal_methods:
        return ["Every other method is significantly worse (p < 0.05, corrected)."] if differences else []
    best = figures_by_name[str(recommendation.best)]
    parts = []
    for name in sorted(recommendation.equal_methods, key=lambda name: -figures_by_name[name].quality):
        needed = differences[name]["questions_needed"]
        enough = f"; about {needed:,} questions would be enough" if needed else ""
        parts.append(f"{name} ({format_points(differences[name]['difference'])}{enough})")
    highest_mean = f"{best.name} has the highest mean: {describe_quality(best)}, for {describe_costs(best)} a question"
    if recommendation.cheapest == best.name:
        highest_mean = f"{best.name} also has the highest mean"
    sentences = [f"{highest_mean}; these questions do not distinguish it from {join_and_shorten_names(parts)}."]
    if recommendation.cheapest != best.name:
        cheapest = figures_by_name[str(recommendation.cheapest)]
        share = (
            get_cost_or_zero(cheapest, recommendation.unit) / get_cost_or_zero(best, recommendation.unit)
            if get_cost_or_zero(best, recommendation.unit)
            else 1.0
        )
        cost_name = "cost" if recommendation.unit == "cost" else "tokens"
        sentences.append(f"{cheapest.name} takes {format_percent(share, 0)} of the {cost_name} of {best.name}.")
    return sentences


def describe_worse(differences: Mapping[str, Difference]) -> list[str]:
    """A list with one sentence, the methods that are significantly worse than the best, the nearest to it first. It is
    empty if there is none, or if all are worse: then `describe_equals` says so.
    """
    worse = {name: difference for name, difference in differences.items() if difference["p_holm"] < ALPHA}
    if not worse or len(worse) == len(differences):
        return []
    nearest = sorted(worse.items(), key=lambda item: -item[1]["difference"])
    parts = [
        f"{name} ({format_points(difference['difference'])}, {format_p(difference['p_holm'])})"
        for name, difference in nearest
    ]
    return [f"Significantly worse: {join_and_shorten_names(parts)}."]


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
