"""Describes in words the cascade that `quorum compose` chose, or the single method."""

from quorum.evaluation.compare.format_figures import format_dollars, format_percent, format_signed
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN
from quorum.evaluation.decisions.answer_table import Unit
from quorum.evaluation.decisions.compose import ComposeResult, Guarantee

MOST_QUESTIONS_NAMED = 5000  # a larger number of questions needed is not named: nobody will write so many


def describe_composition(composition: ComposeResult, guarantee: Guarantee) -> list[str]:
    """The result in sentences."""
    if composition.certificate is None:
        return describe_single_method(composition, guarantee)
    cheapest = composition.choice.recommended
    steps = [
        f"{stage.method} ({f'{stage.accept.describe()}; ' if stage.accept else ''}asked "
        f"{format_percent(composition.stage_shares[stage.method], 0)} of the questions)"
        if len(composition.cascade) > 1
        else stage.method
        for stage in composition.cascade
    ]
    change = format_signed(composition.score - composition.best_score)
    return [
        f"Ask {', else '.join(steps)}.",
        f"It takes {format_cost(composition.cost, guarantee.unit)} a question, "
        f"{format_percent(composition.saved_share, 0)} less than {composition.best} "
        f"({format_cost(composition.best_cost, guarantee.unit)}), and its score differs from that of "
        f"{composition.best} by {change} points.",
        f"On questions like these it loses at most {100 * guarantee.lose_at_most:g} points to the best single method, "
        f"with confidence {1 - guarantee.error:g} (p = {composition.certificate.p_value:.3f} over "
        f"{composition.certifying_count:,} questions that were not used to design it).",
        *(
            [f"The single method recommended is {cheapest}, without such a promise."]
            if cheapest not in (composition.best, ALWAYS_UNKNOWN, *(stage.method for stage in composition.cascade[:1]))
            else []
        ),
        *describe_unknown(composition, guarantee),
    ]


def describe_single_method(composition: ComposeResult, guarantee: Guarantee) -> list[str]:
    """The sentences if no certified cascade is cheaper than the method with the highest mean: they recommend a single
    method, as `quorum compare` does. If no cascade could be certified, they also say what would help.
    """
    if unknown_sentences := describe_unknown(composition, guarantee):
        return unknown_sentences
    loss = f"{100 * guarantee.lose_at_most:g} points"
    if not composition.certificates or composition.certificates[0].is_passed:
        opening = f"No certified cascade is cheaper than {composition.best}, the single method with the highest mean."
    else:
        advice = (
            "more questions would be needed than you will have; "
            f"--lose-at-most {max(0.1, 2 * guarantee.lose_at_most):g} asks for fewer"
            if composition.questions_needed and composition.questions_needed > MOST_QUESTIONS_NAMED
            else f"about {composition.questions_needed:,} questions would be enough"
            if composition.questions_needed
            else "more questions would hardly help, a larger --lose-at-most might"
        )
        opening = (
            f"With {composition.question_count:,} questions no cascade can be certified to lose {loss} at most; "
            f"{advice}."
        )
    choice = composition.choice
    figures = f"{format_percent(composition.score)}, {format_cost(composition.cost, guarantee.unit)} a question"
    if choice.is_certain:
        reason = "the best single method" if len(choice.means) > 1 else "the only method"
    else:
        reason = (
            f"recommended for now: {len(choice.may_be_best)} of {len(choice.means)} methods may be the best, and of "
            f"those within {100 * guarantee.margin:g} points of the highest mean it is the cheapest"
        )
    return [opening, f"Ask {choice.recommended} ({figures}), {reason}."]


def describe_unknown(composition: ComposeResult, guarantee: Guarantee) -> list[str]:
    """A list with one sentence if no method is worth asking, because its wrong answers cost more than its right ones
    bring; else empty.
    """
    if composition.choice.recommended != ALWAYS_UNKNOWN:
        return []
    worth = composition.choice.means[ALWAYS_UNKNOWN]
    return [
        f"Where a wrong answer costs {guarantee.wrong_cost:g} right ones, {ALWAYS_UNKNOWN} is recommended: it is worth "
        f"{format_percent(worth)}, and {composition.best}, the best single method, "
        f"{format_percent(composition.best_score)}."
    ]


def format_cost(cost: float, unit: Unit) -> str:
    """'612 tokens', '2.4 calls', '$0.0012'."""
    return (
        format_dollars(cost)
        if unit == "dollars"
        else f"{cost:,.0f} tokens"
        if unit == "tokens"
        else f"{cost:.1f} calls"
    )
