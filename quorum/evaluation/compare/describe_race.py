"""Describes in words what a race did and what it promises."""

from collections.abc import Mapping

from quorum.algorithms.race import RaceMode
from quorum.evaluation.compare.format_figures import format_percent, join_and_shorten_names
from quorum.evaluation.run.race_result import RaceResult

NO_CLAIM_ABOUT_NEW_QUESTIONS = "this says nothing about new questions"
QUESTIONS_OF_MODE: Mapping[RaceMode, str] = {"questions": "on these questions", "future": "on new questions like these"}


def describe_race(race: RaceResult, best: str | None) -> list[str]:
    """Sentences that say when the race dropped which method, what this saved, and what the race guarantees.

    Empty if the race is not finished and has dropped no method. best: the method with the highest quality, or None if
    it is not known.
    """
    if not race.dropped_standings:
        return ["The race dropped no method."] if race.is_finished else []
    dropped_methods = [
        f"{standing.method} after {standing.asked_count:,} of {race.question_count:,} questions"
        for standing in race.dropped_standings
    ]
    savings_text = f", which saved {format_percent(race.saved_share, 0)} of the answers" if race.is_finished else ""
    dropped_of_all = f"{len(race.dropped_standings)} of {len(race.standings)} methods"
    return [
        f"The race dropped {dropped_of_all}{savings_text}: {join_and_shorten_names(dropped_methods)}.",
        describe_promise(race, best),
    ]


def describe_promise(race: RaceResult, best: str | None) -> str:
    """What the race guarantees about the methods that it dropped. best: as in `describe_race`."""
    if race.mode == "exact":
        return f"None of these could still have become the best on these questions; {NO_CLAIM_ABOUT_NEW_QUESTIONS}."
    questions = QUESTIONS_OF_MODE[race.mode]
    promise = f"The chance that the race dropped the method that is best {questions} is at most {race.error:.0%}"
    if race.mode == "future" and best is not None and len(race.survivors) > 1:
        return f"{promise}; this does not say which of the survivors is the best."
    return f"{promise}; {NO_CLAIM_ABOUT_NEW_QUESTIONS}." if race.mode == "questions" else f"{promise}."


def describe_open_race(race: RaceResult, limit: float | None) -> str:
    """The headline of a race that ended before its survivors were asked all questions. limit: --max-cost, if given."""
    stop_reason = "before its end" if limit is None else f"at the limit of ${limit:g}"
    opening = f"The race stopped {stop_reason}, after {race.settled_count:,} of {race.question_count:,} questions"
    names = join_and_shorten_names(race.survivors)
    if len(race.survivors) == 1:
        return f"{opening}, with one method left: {names}."
    return f"{opening}. Still in the race, none of them certified as the best: {names}."
