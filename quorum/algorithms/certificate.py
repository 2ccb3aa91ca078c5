"""Certifies a vote: how many passages an attacker could replace without changing the winner.

Each passage is asked alone, so a replaced passage changes its own votes and no others. An attacker who replaces m of k
passages takes their votes from the winner and gives them all to one rival: an answer that has votes already, or a new
answer. Replacing a passage brings the rival closer by the gain of that passage:

    (its votes for the winner) - (its votes for the rival) + (its number of votes)

With one vote for each passage, the gain is 2 for a passage that voted for the winner, 1 for a passage that voted for a
third answer or said unknown, and 0 for a passage that votes for the rival already. The attacker does best with the m
greatest gains. So the winner survives m replacements exactly if its lead over every rival exceeds the sum of these
gains. A lead equal to the sum is lost: the votes tie, and a replaced passage may have the rank that wins the tie. So
the certified number of replacements does not depend on the ranks. Therefore it also holds if a poisoned corpus inserts
that many passages, each of which shifts the ranks of the others and pushes the last passage out of the list.
"""

from collections import Counter
from collections.abc import Sequence

from quorum.algorithms.vote_key import VoteKey, vote_key
from quorum.core.state import Vote


def certify_votes(votes: Sequence[Vote], key: VoteKey = vote_key) -> int | None:
    """The greatest number m such that replacing any m passages cannot change the winner of an unweighted vote.

    votes: the complete vote, the same number from each passage. Answers with the same key count as one answer.
    The result is 0 if every vote is unknown, because one replaced passage would decide, and None without
    votes.
    """
    counts_by_passage = [count_answers(votes, rank, key) for rank in sorted({vote["rank"] for vote in votes})]
    if not counts_by_passage:
        return None
    total_counts = sum(counts_by_passage, Counter())
    if not total_counts:
        return 0
    winner, winner_votes = total_counts.most_common(1)[0]
    votes_per_passage = len(votes) // len(counts_by_passage)
    rivals = [*(total_counts.keys() - {winner}), None]  # None: an answer that nobody gave
    return min(
        count_survived_replacements(
            counts_by_passage, winner, rival, winner_votes - total_counts[rival], votes_per_passage
        )
        for rival in rivals
    )


def count_answers(votes: Sequence[Vote], rank: int, key: VoteKey) -> Counter[str | None]:
    """How many votes the passage at this rank gives to each answer; unknown votes are left out."""
    return Counter(key(vote["answer"]) for vote in votes if vote["rank"] == rank and not vote["unknown"])


def count_survived_replacements(
    counts_by_passage: Sequence[Counter[str | None]],
    winner: str | None,
    rival: str | None,
    lead: int,
    votes_per_passage: int,
) -> int:
    """How many replaced passages the winner's lead over one rival survives."""
    gains = sorted((counts[winner] - counts[rival] + votes_per_passage for counts in counts_by_passage), reverse=True)
    replacements = 0
    while replacements < len(gains) and lead > gains[replacements]:
        lead -= gains[replacements]
        replacements += 1
    return replacements
