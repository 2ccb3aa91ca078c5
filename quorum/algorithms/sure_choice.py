"""SuRe's choice among candidates (Kim et al. 2024, section 3.3, equations 4 to 6), as pure functions.

A candidate's score is its validity, 0 or 1, and for every other candidate the mean of two comparisons, one in each
order: a preference gives 1 to the one and 0 to the other, a tie 0.5 to both. K candidates have K(K-1) comparisons.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from quorum.core.state import Preference, Verdict


@dataclass(frozen=True)
class Choice:
    """best: the chosen candidate, from 0; scores: one per candidate, in 0..K, null while comparisons are missing;
    margin: by how much the best score leads the second, as a share of the largest lead that is possible, in 0..1.
    Both are null for a single candidate.
    """

    best: int
    scores: list[float] | None
    margin: float | None


def validity_of(verdicts: Sequence[Verdict]) -> list[bool] | None:
    """The validity of each candidate's summary, null where it was not asked."""
    return [verdict["valid"] for verdict in sorted(verdicts, key=lambda verdict: verdict["rank"])] or None


def every_pair(count: int) -> list[tuple[int, int]]:
    """All comparisons of `count` candidates: each unordered pair in both orders."""
    return list(permutations(range(count), 2))


def bounds(count: int, validity: Sequence[bool] | None, preferences: Sequence[Preference]) -> list[tuple[float, float]]:
    """The lowest and highest score that each candidate can still reach; equal once all comparisons are known."""
    low = [float(valid) for valid in validity or [False] * count]
    for preference in preferences:
        for candidate in (preference["first"], preference["second"]):
            low[candidate] += points(candidate, preference["preferred"]) / 2
    missing = missing_pairs(count, preferences)
    left = [sum(candidate in pair for pair in missing) for candidate in range(count)]
    return [(score, score + number / 2) for score, number in zip(low, left, strict=True)]


def missing_pairs(count: int, preferences: Sequence[Preference]) -> list[tuple[int, int]]:
    """The comparisons that were not asked."""
    known = {(preference["first"], preference["second"]) for preference in preferences}
    return [pair for pair in every_pair(count) if pair not in known]


def points(candidate: int, preferred: int | None) -> float:
    """What one comparison gives a candidate that took part in it."""
    return 0.5 if preferred is None else float(candidate == preferred)


def settled(reach: Sequence[tuple[float, float]]) -> int | None:
    """The candidate that wins whatever the missing comparisons say, a tie going to the earlier; null if none does."""
    for best, (low, _) in enumerate(reach):
        if all(beats(low, high, best < other) for other, (_, high) in enumerate(reach) if other != best):
            return best
    return None


def beats(low: float, high: float, earlier: bool) -> bool:
    return low > high or (earlier and low == high)


def next_pairs(count: int, validity: Sequence[bool] | None, preferences: Sequence[Preference]) -> list[tuple[int, int]]:
    """The comparisons to ask next, none once no outcome can change the choice: all that are missing of the candidate
    which can still score most, the earliest of equals.
    """
    reach, missing = bounds(count, validity, preferences), missing_pairs(count, preferences)
    if not missing or settled(reach) is not None:
        return []
    leader = max(sorted({candidate for pair in missing for candidate in pair}), key=lambda one: reach[one][1])
    return [pair for pair in missing if leader in pair]


def choose(count: int, validity: Sequence[bool] | None, preferences: Sequence[Preference]) -> Choice:
    """The candidate with the highest score, the earliest of equals. `validity` is null where it was not asked."""
    reach = bounds(count, validity, preferences)
    scores = [low for low, _ in reach]
    leader = settled(reach)
    if count < 2 or missing_pairs(count, preferences):
        return Choice(scores.index(max(scores)) if leader is None else leader, None, None)
    first, second = sorted(scores, reverse=True)[:2]
    # The second best of K scores least, (K-2)/2, when the best beats all others and these tie among themselves.
    widest = (0 if validity is None else 1) + (count - 1) - (count - 2) / 2
    return Choice(scores.index(first), scores, (first - second) / widest)
