"""The vote over the answers of single passages (Liu et al. 2024, section 3.2.1, equation 2), as pure functions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum

from quorum.core.state import Vote
from quorum.core.text import UNKNOWN, normalize


@dataclass(frozen=True)
class Tally:
    """The outcome of a vote.

    answer: the winner as its highest-ranked passage wrote it, or "unknown"; share: the winner's part of the votes that
    were not unknown, in 0..1, null when all were; ranks: the passages that voted for the winner, highest first.
    """

    answer: str
    unknown: bool
    share: float | None
    ranks: tuple[int, ...]


def ballot(answer: str) -> str:
    """What counts as the same answer: equal after normalisation, or as written where nothing is left of it."""
    return normalize(answer) or answer.strip().lower()


def boxes(votes: Iterable[Vote]) -> dict[str, list[Vote]]:
    """The votes that are not unknown by answer, answers and votes in rank order."""
    sorted_votes: dict[str, list[Vote]] = {}
    for vote in sorted(votes, key=lambda vote: vote["rank"]):
        if not vote["unknown"]:
            sorted_votes.setdefault(ballot(vote["answer"]), []).append(vote)
    return sorted_votes


def weight(votes: Iterable[Vote]) -> float:
    return fsum(vote.get("weight", 1.0) for vote in votes)


def tally(votes: Iterable[Vote]) -> Tally:
    """Most votes wins; a tie goes to the answer whose first vote came from the highest-ranked passage."""
    counted = boxes(votes)
    if not counted:
        return Tally(UNKNOWN, True, None, ())
    winner = max(counted.values(), key=weight)  # the first of equals, and they are in rank order
    total = weight(vote for box in counted.values() for vote in box)
    share = weight(winner) / total if total else None
    return Tally(winner[0]["answer"], False, share, tuple(dict.fromkeys(vote["rank"] for vote in winner)))


def decided(votes: Iterable[Vote], remaining_votes: float) -> bool:
    """Whether no outcome of the remaining votes, all from lower-ranked passages, can change answer or unknown."""
    counts = [weight(box) for box in boxes(votes).values()]
    if not counts:
        return remaining_votes <= 0
    most = max(counts)
    first = counts.index(most)
    overtaken = any(count + remaining_votes >= most for count in counts[:first])  # they win a tie
    return (
        not overtaken
        and remaining_votes <= most
        and all(count + remaining_votes <= most for count in counts[first + 1 :])
    )


def next_stage(votes: Sequence[Vote], passages: int, samples: int) -> int:
    """How many of the remaining passages to ask next: the smallest number whose votes could decide, 0 if decided."""
    if decided(votes, passages * samples):
        return 0
    rank = max((vote["rank"] for vote in votes), default=-1) + 1
    answers = [box[0]["answer"] for box in boxes(votes).values()] or ["any"]

    def could_decide(asked: int) -> bool:
        left = (passages - asked) * samples
        return any(decided([*votes, *unanimous(answer, asked * samples, rank)], left) for answer in answers)

    return next(asked for asked in range(1, passages + 1) if could_decide(asked))


def unanimous(answer: str, count: int, rank: int) -> list[Vote]:
    return [Vote(rank=rank, passage="", answer=answer, unknown=False) for _ in range(count)]


def agreement(answers: Sequence[str], unknown: Sequence[bool]) -> tuple[int, float]:
    """Self-consistency over samples (Wang et al. 2022), unknown being a class of its own.

    Returns the index of the first sample of the largest class, the earliest of equals, and its share in 0..1.
    """
    classes: dict[str | None, list[int]] = {}
    for index, (answer, nothing) in enumerate(zip(answers, unknown, strict=True)):
        classes.setdefault(None if nothing else ballot(answer), []).append(index)
    largest = max(classes.values(), key=len)
    return largest[0], len(largest) / len(answers)
