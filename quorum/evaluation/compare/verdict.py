"""The verdict of a comparison, as every view shows it first: a headline, and below it what to use, what it costs and
what would settle it.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from quorum.algorithms.paired import MOST_QUESTIONS
from quorum.algorithms.recommend import Choice
from quorum.core.text import format_count
from quorum.evaluation.compare.describe_race import describe_promise
from quorum.evaluation.compare.format_figures import format_dollars, format_percent, join_and_shorten_names
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation, Verdict, get_cost_or_zero
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN
from quorum.evaluation.metrics.registry import RETRIEVAL_MEASURES
from quorum.evaluation.run.race_result import RaceResult

MOST_WORDS = 15  # of a headline
NO_WINNER = "No clear winner yet."
OTHER_BRACKETS = "<>"  # which Unicode counts as signs of mathematics


@dataclass(frozen=True)
class Setting:
    """What a verdict is about. figures: of all methods that answered a question; candidates: of those that the
    recommendation may choose; race: None without one.
    """

    recommendation: Recommendation
    figures: Sequence[MethodFigures]
    candidates: Sequence[MethodFigures]
    race: RaceResult | None

    @property
    def choice(self) -> Choice:
        """What the rule of recommendation said; there must be a best method."""
        if self.recommendation.choice is None:
            raise ValueError("without a best method there is no choice to describe")
        return self.recommendation.choice

    @property
    def limit(self) -> str:
        return " within the limit" if self.recommendation.budget else ""

    def get_figures(self, name: str) -> MethodFigures:
        return next(figure for figure in self.figures if figure.name == name)

    def get_cost(self, name: str) -> float:
        """Dollars or tokens of a question; answering "unknown" always costs nothing."""
        return 0.0 if name == ALWAYS_UNKNOWN else get_cost_or_zero(self.get_figures(name), self.recommendation.unit)


def make_verdict(
    recommendation: Recommendation,
    figures: Sequence[MethodFigures],
    candidates: Sequence[MethodFigures],
    race: RaceResult | None = None,
) -> Verdict:
    """The verdict on a recommendation. figures, candidates, race: see `Setting`."""
    setting = Setting(recommendation, [figure for figure in figures if figure.n], candidates, race)
    if recommendation.choice is None:
        return make_verdict_without_best(setting)
    return Verdict(
        choose_headline(list_headlines(setting)), describe_use(setting), describe_cost(setting), describe_rest(setting)
    )


def write_name(name: str) -> str:
    """A method's name without brackets, in two words at most.

    >>> write_name("concat[k=3,retriever=bm25]"), write_name("sure")
    ('concat k=3,retriever=bm25', 'sure')
    """
    text = "".join(
        " " if sign in OTHER_BRACKETS or unicodedata.category(sign) in ("Ps", "Pe") else sign for sign in name
    )
    return " ".join(text.split())


def write_points(difference: float) -> str | None:
    """A difference of two shares: '5 points', '0.4 points'; None if it rounds to 0.

    >>> write_points(0.05), write_points(0.126), write_points(0.01), write_points(0.0004)
    ('5 points', '13 points', '1 point', None)
    """
    points = 100 * difference
    rounded = round(points) if points >= 10 else round(points, 1)
    return None if not rounded else "1 point" if rounded == 1 else f"{rounded:g} points"


def write_number(number: int) -> str:
    """A number in a sentence: in words up to nine.

    >>> write_number(4), write_number(1200)
    ('four', '1,200')
    """
    words = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number - 2] if 2 <= number <= 9 else f"{number:,}"


def choose_headline(headlines: Sequence[str]) -> str:
    """The first that has no more than MOST_WORDS words; the last one has none of the methods' names."""
    return next((text for text in headlines if len(text.split()) <= MOST_WORDS), headlines[-1])


def list_headlines(setting: Setting) -> list[str]:
    """Headlines of the same content, the fullest first."""
    if not setting.choice.is_certain:
        return list_open_headlines(setting)
    if setting.recommendation.recommends_unknown:
        return ["Answering unknown always is best: wrong answers cost more than right ones bring."]
    best, means = setting.choice.recommended, setting.choice.means
    name, limit = write_name(best), setting.limit
    if len(means) == 1:
        if setting.race is not None and not setting.race.is_finished:
            return [f"The race stopped early, with one method left: {name}.", "The race stopped early."]
        if setting.race is not None and setting.race.dropped_standings:
            return [f"{name} won the race: all others were dropped.", "One method won the race."]
        outcome = f"is the only method{limit}" if limit else "is the only method, so nothing was compared"
        return [f"{name} {outcome}.", "There is only one method, so nothing was compared."]
    if by_wording := setting.recommendation.by_wording:
        others = write_name(by_wording[0]) if len(by_wording) == 1 else f"{len(by_wording):,} others"
        return [f"{name} is best by wording; {others} may be as good by content.", "One method is best, by wording."]
    second = max((other for other in means if other != best), key=lambda other: means[other])
    points = write_points(means[best] - means[second])
    ahead = (
        [] if points is None else [f"{name} is best{limit}. It scored {points} above the next, {write_name(second)}."]
    )
    return [*ahead, f"{name} is best{limit}.", f"One method is best{limit}."]


def list_open_headlines(setting: Setting) -> list[str]:
    """Headlines where several methods may be the best: the cheapest of these, and how much more the highest scored."""
    choice = setting.choice
    members, highest = choice.may_be_best, choice.highest
    cheapest = min(members, key=lambda name: (setting.get_cost(name), -choice.means[name], name != highest))
    others = [figure.name for figure in setting.figures if figure.name not in members]
    # A method that is not among the best, or not a candidate, may be cheaper still.
    is_cheapest_of_all = all(setting.get_cost(name) >= setting.get_cost(cheapest) for name in others)
    opening = NO_WINNER if is_cheapest_of_all else f"{NO_WINNER} Of {len(members):,} leaders,"
    name = write_name(cheapest)
    if is_cheapest_of_all and cheapest == ALWAYS_UNKNOWN:
        name = name.capitalize()
    last = f"No clear winner yet: {len(members):,} methods may be the best."
    tied_count = sum(choice.means[name] == choice.means[highest] for name in members)
    if tied_count > 1 and choice.means[cheapest] == choice.means[highest]:
        tied = f"{write_number(tied_count).capitalize()} methods scored the same"
        among = "them" if is_cheapest_of_all else "these leaders"
        return [f"{tied}; {name} is the cheapest of {among}.", f"{tied}: no clear winner yet."]
    if cheapest == highest:
        return [f"{opening} {name} scored highest and is cheapest.", last]
    points = write_points(choice.means[highest] - choice.means[cheapest])
    higher = "slightly higher" if points is None else f"{points} higher"
    return [f"{opening} {name} is cheapest; {write_name(highest)} scored {higher}.", last]


def describe_use(setting: Setting) -> str:
    """What to use, and how sure that is."""
    recommendation, choice = setting.recommendation, setting.choice
    if recommendation.recommends_unknown:
        now = "" if choice.is_certain else " for now"
        return (
            f"Use none of the methods{now}: where a wrong answer costs {recommendation.wrong_cost:g} right ones, "
            f"{ALWAYS_UNKNOWN} is worth more than {recommendation.best}, the best of them."
        )
    method = setting.get_figures(choice.recommended)
    score = (
        f"{recommendation.measure_name} {format_percent(method.quality)}, between {format_percent(method.low)} and "
        f"{format_percent(method.high)}, over {format_count(method.n, 'question')}"
    )
    if choice.is_certain:
        return f"Use {method.name}: {score}."
    leaders = f"of the {len(choice.may_be_best):,} methods that may be the best"
    margin = f"{100 * recommendation.margin:g} points"
    if method.name != choice.highest:
        reason = f"{leaders} it is the cheapest within {margin} of the highest score"
    elif any(setting.get_cost(name) < setting.get_cost(method.name) for name in choice.may_be_best):
        reason = f"{leaders} it scored highest, and no cheaper one is within {margin} of it"
    else:
        reason = f"{leaders} it scored highest and is the cheapest"
    return f"Use {method.name} for now, {score}: {reason}."


def describe_cost(setting: Setting) -> str:
    """What the recommended method costs, beside the one with the highest score or else the cheapest of the leaders."""
    name = setting.choice.recommended
    if name == ALWAYS_UNKNOWN:
        return "It costs nothing: no model is asked."
    method = setting.get_figures(name)
    if compares_searches(setting):
        return f"No model is asked; what is found has {method.tokens:,.0f} tokens{compare_costs(setting, method)}."
    dollars = f", costs {format_dollars(method.cost)}" if method.cost else ""
    median = "" if method.median_seconds is None else f"half of the answers come within {method.median_seconds:.2f} s, "
    most = f"95% within {method.seconds:.2f} s" if median else f"95% of the answers come within {method.seconds:.2f} s"
    text = f"A question takes {method.calls:.1f} calls and {method.tokens:,.0f} tokens{dollars}, and {median}{most}"
    comparison = compare_costs(setting, method)
    return f"{text}{comparison}."


def compares_searches(setting: Setting) -> bool:
    """Whether only what is found was compared."""
    return setting.recommendation.measure in RETRIEVAL_MEASURES


def compare_costs(setting: Setting, method: MethodFigures) -> str:
    """'; that is 20% of the tokens of sure, which scored highest', or the ratio to the cheapest of the leaders; to the
    second score if only one may be the best.
    """
    choice, cost = setting.choice, setting.get_cost(method.name)
    if len(choice.means) == 1 or not cost:
        return ""
    if choice.highest != method.name:
        other, role = choice.highest, "which scored highest"
    elif len(choice.may_be_best) == 1:
        other = max((name for name in choice.means if name != method.name), key=lambda name: choice.means[name])
        role = "the next"
    else:
        other, role = min(choice.may_be_best, key=setting.get_cost), "the cheapest of the leaders"
        if setting.get_cost(other) >= cost:
            return "; none of the leaders is cheaper"
    other_cost = setting.get_cost(other)
    unit = "cost" if setting.recommendation.unit == "cost" else "tokens"
    return f"; that is {write_ratio(cost, other_cost)} the {unit} of {other}, {role}" if other_cost else ""


def write_ratio(cost: float, other: float) -> str:
    """How a cost compares with another one, before 'the tokens of ...'.

    >>> write_ratio(2, 10), write_ratio(25, 10)
    ('20% of', '2.5 times')
    """
    return f"{cost / other:,.1f} times" if cost > other else f"{format_percent(cost / other, 0)} of"


def describe_rest(setting: Setting) -> str:
    """What would settle the question, or that nothing is left to settle."""
    recommendation, choice, race = setting.recommendation, setting.choice, setting.race
    if not choice.is_certain:
        return describe_questions_needed(choice)
    if len(choice.means) == 1:
        if race is not None and race.dropped_standings:
            return describe_promise(race, recommendation.best)
        return "Other methods, named with --methods, would show whether one of them is better."
    if recommendation.by_wording:
        return (
            "The lead is one of wording: if an answer need only contain an accepted one, "
            f"{join_and_shorten_names(recommendation.by_wording)} may be the best as well; "
            "a judge (--judge MODEL) would settle it."
        )
    return (
        "Nothing is left to settle for questions like these: with probability 0.95 the methods that may be the best "
        f"hold every one that is, and only {choice.recommended} is left."
    )


def describe_questions_needed(choice: Choice) -> str:
    """'About 90 more questions would settle it, if the differences stay as they are.'"""
    number = choice.questions_to_settle
    if number is None:
        tied_count = list(choice.questions_needed.values()).count(None) + 1
        return f"What would settle it cannot be said: {write_number(tied_count)} methods scored the same so far."
    if number > MOST_QUESTIONS:
        return f"More than {MOST_QUESTIONS:,} questions would be needed to settle it: so small are the differences."
    more = max(1, number - choice.question_count)
    return (
        f"About {more:,} more {'question' if more == 1 else 'questions'} would settle it, if the differences stay as "
        "they are."
    )


def make_verdict_without_best(setting: Setting) -> Verdict:
    """The verdict where nothing is recommended: a race ended early, or no method fits or answered."""
    race = setting.race
    if not setting.figures:
        return Verdict(
            "No method answered any question.",
            "Nothing can be recommended yet.",
            "A failed question costs nothing more than its calls.",
            "Run the same command again to ask these questions again.",
        )
    if race is not None and not race.is_finished and len(race.survivors) > 1:
        left = f"{len(race.survivors):,} methods are left"
        return Verdict(
            f"The race stopped early: {left}, none certified as best.",
            f"Use none of them on these figures alone: {left} in the race.",
            f"Asked were {race.settled_count:,} of {race.question_count:,} questions.",
            "Run the same command with a higher --max-cost to go on with the race.",
        )
    highest = max(setting.figures, key=lambda figure: figure.quality)
    return Verdict(
        choose_headline(
            [
                f"No method keeps within the limit. {write_name(highest.name)} scored highest without it.",
                "No method keeps within the limit.",
            ]
        ),
        "Nothing is recommended within this limit.",
        f"{highest.name}, which scored highest without it, takes {highest.calls:.1f} calls and {highest.tokens:,.0f} "
        f"tokens a question{f', {format_dollars(highest.cost)}' if highest.cost else ''}.",
        "A higher --budget would settle it, or cheaper methods; more questions would not.",
    )
