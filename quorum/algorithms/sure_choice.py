"""SuRe's choice among candidates (Kim et al. 2024, section 3.3, equations 4 to 6), as pure functions.

A candidate's score is its validity, 0 or 1, plus its points from comparisons. Each pair of candidates is compared
twice, once in each order, so K candidates have K(K-1) comparisons. One comparison gives 1 to the preferred candidate
and 0 to the other, or 0.5 to both for a tie; the mean of a pair's two comparisons counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from quorum.core.state import Preference, SummaryValidity


@dataclass(frozen=True)
class Choice:
    """The outcome of the choice.

    best: the number of the chosen candidate, from 0; scores: one per candidate, in 0..K; margin: the lead of the best
    score over the second, as a share of the largest possible lead, in 0..1. Scores and margin are None while
    comparisons are missing, and for a single candidate.
    """

    best: int
    scores: list[float] | None
    margin: float | None


def list_validity(verdicts: Sequence[SummaryValidity]) -> list[bool] | None:
    """Whether each candidate's summary is valid, in the candidates' order; None if there are no verdicts."""
    return [verdict["valid"] for verdict in sorted(verdicts, key=lambda verdict: verdict["rank"])] or None


def list_pairs(count: int) -> list[tuple[int, int]]:
    """All comparisons of `count` candidates: each pair in both orders."""
    return list(permutations(range(count), 2))


def bound_scores(
    count: int, validity: Sequence[bool] | None, preferences: Sequence[Preference]
) -> list[tuple[float, float]]:
    """(lowest, highest) score that each candidate can still reach. The two are equal once no comparison is missing."""
    lowest_scores = [float(is_valid) for is_valid in validity or [False] * count]
    for preference in preferences:
        for candidate in (preference["first"], preference["second"]):
            lowest_scores[candidate] += score_comparison(candidate, preference["preferred"]) / 2
    missing_pairs = list_missing_pairs(count, preferences)
    missing_counts = [sum(candidate in pair for pair in missing_pairs) for candidate in range(count)]
    return [(score, score + missing / 2) for score, missing in zip(lowest_scores, missing_counts, strict=True)]


def list_missing_pairs(count: int, preferences: Sequence[Preference]) -> list[tuple[int, int]]:
    """The comparisons that were not asked yet."""
    asked_pairs = {(preference["first"], preference["second"]) for preference in preferences}
    return [pair for pair in list_pairs(count) if pair not in asked_pairs]


def score_comparison(candidate: int, preferred_candidate: int | None) -> float:
    """The points that one comparison gives a candidate that took part in it: 0, 0.5 or 1.

    preferred_candidate: None for a tie.
    """
    return 0.5 if preferred_candidate is None else float(candidate == preferred_candidate)


def find_certain_winner(score_bounds: Sequence[tuple[float, float]]) -> int | None:
    """The candidate that wins whatever the missing comparisons say, or None. The earlier candidate wins a tie."""
    for best, (low, _) in enumerate(score_bounds):
        if all(
            is_certain_win(low, high, best < other) for other, (_, high) in enumerate(score_bounds) if other != best
        ):
            return best
    return None


def is_certain_win(low: float, high: float, is_earlier: bool) -> bool:
    """Whether a candidate with at least `low` points beats another candidate with at most `high` points.

    is_earlier: the first candidate comes before the other, and so wins a tie.
    """
    return low > high or (is_earlier and low == high)


def choose_next_pairs(
    count: int, validity: Sequence[bool] | None, preferences: Sequence[Preference]
) -> list[tuple[int, int]]:
    """The comparisons to ask next; empty once no outcome can change the choice.

    They are the missing comparisons of one candidate: of the candidates that have missing comparisons, the one
    that can still reach the highest score, and among equals the earliest.
    """
    score_bounds, missing_pairs = bound_scores(count, validity, preferences), list_missing_pairs(count, preferences)
    if not missing_pairs or find_certain_winner(score_bounds) is not None:
        return []
    candidate_to_compare = max(
        sorted({candidate for pair in missing_pairs for candidate in pair}),
        key=lambda candidate: score_bounds[candidate][1],
    )
    return [pair for pair in missing_pairs if candidate_to_compare in pair]


def choose_candidate(count: int, validity: Sequence[bool] | None, preferences: Sequence[Preference]) -> Choice:
    """Choose the candidate with the highest score, and among equals the earliest.

    While comparisons are missing, choose the candidate that wins whatever they say; if there is none, the candidate
    with the highest score so far. validity: None if the model was not asked whether the summaries are valid.
    """
    score_bounds = bound_scores(count, validity, preferences)
    scores = [low for low, _ in score_bounds]
    certain_winner = find_certain_winner(score_bounds)
    if count < 2 or list_missing_pairs(count, preferences):
        return Choice(scores.index(max(scores)) if certain_winner is None else certain_winner, None, None)
    best_score, second_score = sorted(scores, reverse=True)[:2]
    # The lead is largest if only the best candidate is valid, it beats all others, and the others tie with each other:
    # then each of the others scores (K-2)/2.
    largest_lead = (0 if validity is None else 1) + (count - 1) - (count - 2) / 2
    return Choice(scores.index(best_score), scores, (best_score - second_score) / largest_lead)
