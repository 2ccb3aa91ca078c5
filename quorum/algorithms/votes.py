"""The vote over the answers of single passages (Liu et al. 2024, section 3.2.1, equation 2), as pure functions.

`key` is the function whose value is the same for answers that count as one (`quorum.algorithms.vote_key.VOTE_KEYS`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from quorum.algorithms.vote_key import VoteKey, vote_key
from quorum.core.state import Vote
from quorum.core.text import UNKNOWN


@dataclass(frozen=True)
class Tally:
    """The outcome of a vote.

    answer: the winner in the wording of its highest-ranked passage, or "unknown"; answer_text: the reply that gave this
    wording, as the model wrote it, None if the answer is unknown; unknown: whether all votes are
    unknown; share: the winner's share of the weights of the votes that are not unknown, in 0..1, None if these weights
    sum to 0; ranks: the ranks of the passages that voted for the winner, best first.
    """

    answer: str
    answer_text: str | None
    unknown: bool
    share: float | None
    ranks: tuple[int, ...]


def group_votes(votes: Iterable[Vote], key: VoteKey = vote_key) -> dict[str, list[Vote]]:
    """The votes that are not unknown, by the key of their answer.

    The votes of a group are in rank order, and the groups are in the order of their best ranks.
    """
    groups: dict[str, list[Vote]] = {}
    for vote in sorted(votes, key=lambda vote: vote["rank"]):
        if not vote["unknown"]:
            groups.setdefault(key(vote["answer"]), []).append(vote)
    return groups


def sum_weights(votes: Iterable[Vote]) -> float:
    """The sum of the votes' weights; a vote without a weight counts as 1."""
    return fsum(vote.get("weight", 1.0) for vote in votes)


def count_votes(votes: Iterable[Vote], key: VoteKey = vote_key) -> Tally:
    """Count the votes. The answer with the largest weight wins; in a tie, the answer of the highest-ranked passage."""
    groups = group_votes(votes, key)
    if not groups:
        return Tally(UNKNOWN, None, True, None, ())
    winner = max(groups.values(), key=sum_weights)  # in a tie the first group, which has the best rank
    total = sum_weights(vote for group in groups.values() for vote in group)
    share = sum_weights(winner) / total if total else None
    first = winner[0]
    text = first.get("answer_text") or first["answer"]
    return Tally(first["answer"], text, False, share, tuple(dict.fromkeys(vote["rank"] for vote in winner)))


def is_decided(votes: Iterable[Vote], remaining_votes: float, key: VoteKey = vote_key) -> bool:
    """Whether the votes that are still to come cannot change the winner any more.

    remaining_votes: how many votes are still to come. Their passages must rank after those that have voted.
    """
    counts = [sum_weights(group) for group in group_votes(votes, key).values()]
    if not counts:
        return remaining_votes <= 0
    most = max(counts)
    winner_place = counts.index(most)
    # In a tie, the answer whose first vote has the better rank wins.
    can_be_overtaken = any(count + remaining_votes >= most for count in counts[:winner_place])
    return (
        not can_be_overtaken
        and remaining_votes <= most
        and all(count + remaining_votes <= most for count in counts[winner_place + 1 :])
    )


def size_next_stage(votes: Sequence[Vote], remaining_passages: int, samples: int, key: VoteKey = vote_key) -> int:
    """How many of the remaining passages to ask next: the smallest number that could decide the vote; 0 if decided.

    samples: how many votes each passage gives.
    """
    if is_decided(votes, remaining_passages * samples, key):
        return 0
    next_rank = max((vote["rank"] for vote in votes), default=-1) + 1
    # If all votes so far are unknown, any answer could win: "any" stands for the one that does.
    answers = [group[0]["answer"] for group in group_votes(votes, key).values()] or ["any"]

    def could_decide(count: int) -> bool:
        remaining_votes = (remaining_passages - count) * samples
        return any(
            is_decided([*votes, *make_equal_votes(answer, count * samples, next_rank)], remaining_votes, key)
            for answer in answers
        )

    return next(count for count in range(1, remaining_passages + 1) if could_decide(count))


def make_equal_votes(answer: str, count: int, rank: int) -> list[Vote]:
    """`count` votes for the same answer, all with this rank."""
    return [Vote(rank=rank, passage="", answer=answer, unknown=False) for _ in range(count)]


def find_most_frequent(answers: Sequence[str], unknown: Sequence[bool], key: VoteKey = vote_key) -> tuple[int, float]:
    """The answer that most samples agree on (self-consistency, Wang et al. 2022). Unknown counts as an answer.

    Returns the index of the first sample with that answer and its share of the samples, in 0..1. Of equally frequent
    answers the earliest wins.
    """
    classes: dict[str | None, list[int]] = {}
    for index, (answer, is_unknown) in enumerate(zip(answers, unknown, strict=True)):
        classes.setdefault(None if is_unknown else key(answer), []).append(index)
    largest = max(classes.values(), key=len)
    return largest[0], len(largest) / len(answers)
