"""How many of the passages that voted could have been replaced without changing the winner.

Each passage is asked alone, so replacing one changes its own votes and no others. Whoever replaces m of the k passages
can take their votes from the winner and give them all to one rival, an answer that is there or a new one. For a rival
the worst choice is the m passages with the greatest gain

    (votes for the winner) - (votes for the rival) + (samples)

each: with one sample 2 for a passage that voted for the winner, 1 for one that voted for a third answer or was unknown
(an abstention), 0 for one that votes for the rival already. The winner stands against m exactly when its lead over
every rival exceeds the sum of the m greatest gains. At a lead equal to it the votes tie, and a replaced passage may
stand at any rank and win the tie; so passages that a poisoned corpus puts into the list, each of which pushes out its
last one, are covered by the same number.
"""

from collections import Counter
from collections.abc import Sequence

from quorum.algorithms.votes import ballot
from quorum.core.state import Vote


def certified(votes: Sequence[Vote]) -> int | None:
    """The greatest m of passages, whichever they are, whose replacement cannot change the winner of an unweighted vote.

    votes: all of the vote, the same number from each passage. The winner is an answer up to normalisation, its wording
    may be another passage's. 0 where every vote is unknown (a single one decides); None without votes.
    """
    by_passage = [by_answer(votes, rank) for rank in sorted({vote["rank"] for vote in votes})]
    if not by_passage:
        return None
    total = sum(by_passage, Counter())
    if not total:
        return 0
    winner, most = total.most_common(1)[0]
    samples = len(votes) // len(by_passage)
    rivals = [*(total.keys() - {winner}), None]  # None: an answer that nobody gave
    return min(stands(by_passage, winner, rival, most - total[rival], samples) for rival in rivals)


def by_answer(votes: Sequence[Vote], rank: int) -> Counter[str | None]:
    """One passage's votes that are not unknown, counted."""
    return Counter(ballot(vote["answer"]) for vote in votes if vote["rank"] == rank and not vote["unknown"])


def stands(
    by_passage: Sequence[Counter[str | None]], winner: str | None, rival: str | None, lead: int, samples: int
) -> int:
    """How many passages can be replaced in favour of the rival before the lead is gone."""
    gains = sorted((found[winner] - found[rival] + samples for found in by_passage), reverse=True)
    replaced = 0
    while replaced < len(gains) and lead > gains[replaced]:
        lead -= gains[replaced]
        replaced += 1
    return replaced
