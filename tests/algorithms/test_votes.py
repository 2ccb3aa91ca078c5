"""How votes are counted; a staged vote has the winner of the full vote."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.votes import count_votes, find_most_frequent, is_decided, size_next_stage
from quorum.core.state import Vote


def make_votes(*answers: str, samples: int = 1) -> list[Vote]:
    """Votes in rank order, `samples` from each passage; "?" is unknown."""
    return [
        Vote(rank=i // samples, passage=f"p{i // samples}", answer=answer, unknown=answer == "?")
        for i, answer in enumerate(answers)
    ]


@pytest.mark.parametrize(
    ("answers", "winner", "share", "ranks"),
    [
        (["Paris", "paris", "Rome"], "Paris", 2 / 3, (0, 1)),
        (["the Paris", "Paris."], "the Paris", 1.0, (0, 1)),
        (["Rome", "Paris", "Paris", "Rome"], "Rome", 0.5, (0, 3)),
        (["?", "Rome", "?", "?"], "Rome", 1.0, (1,)),
        (["?", "Rome", "Paris", "Paris"], "Paris", 2 / 3, (2, 3)),
        (["A", "B", "a", "the"], "A", 0.5, (0, 2)),  # "A" and "a" share a key; "the" alone has its own key
    ],
)
def test_the_answer_with_most_votes_wins_and_a_tie_goes_to_the_best_rank(
    answers: list[str], winner: str, share: float, ranks: tuple[int, ...]
) -> None:
    outcome = count_votes(make_votes(*answers))
    assert (outcome.answer, outcome.unknown, outcome.ranks) == (winner, False, ranks)
    assert outcome.share == pytest.approx(share)


def test_all_unknown_is_unknown() -> None:
    for votes in ([], make_votes("?", "?")):
        outcome = count_votes(votes)
        assert (outcome.answer, outcome.unknown, outcome.share, outcome.ranks) == ("unknown", True, None, ())


def test_votes_count_in_rank_order_in_any_order_of_arrival() -> None:
    votes = make_votes("rome", "Paris", "Rome", "paris")
    assert count_votes(reversed(votes)) == count_votes(votes)
    assert count_votes(reversed(votes)).answer == "rome"


def test_weights_are_summed() -> None:
    votes = [
        Vote(rank=0, passage="a", answer="Rome", unknown=False, weight=0.2),
        Vote(rank=1, passage="b", answer="Paris", unknown=False, weight=0.5),
        Vote(rank=2, passage="c", answer="rome", unknown=False, weight=0.2),
        Vote(rank=3, passage="d", answer="?", unknown=True, weight=9.0),
    ]
    outcome = count_votes(votes)
    assert outcome.answer == "Paris"
    assert outcome.share == pytest.approx(0.5 / 0.9)


def run_stages(answers: tuple[str, ...], samples: int) -> tuple[list[Vote], list[int]]:
    """Run a staged vote whose votes are known beforehand, `samples` from each passage.

    Returns the votes of the passages that were asked, and how many passages each stage asked.
    """
    all_votes = make_votes(*answers, samples=samples)
    passage_count, asked_count, stages = len(answers) // samples, 0, []
    while stage := size_next_stage(all_votes[: asked_count * samples], passage_count - asked_count, samples):
        stages.append(stage)
        asked_count += stage
    return all_votes[: asked_count * samples], stages


@pytest.mark.parametrize(
    ("passage_count", "samples"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (1, 3), (2, 2), (3, 2)]
)
def test_a_staged_vote_has_the_winner_of_the_full_vote_for_every_outcome(passage_count: int, samples: int) -> None:
    for answers in product("?abc", repeat=passage_count * samples):
        votes, stages = run_stages(answers, samples)
        staged_outcome, full_outcome = count_votes(votes), count_votes(make_votes(*answers, samples=samples))
        assert (staged_outcome.answer, staged_outcome.unknown) == (full_outcome.answer, full_outcome.unknown), (
            answers,
            stages,
        )


@given(st.lists(st.sampled_from("?abcd"), min_size=1, max_size=24), st.integers(1, 3))
def test_a_staged_vote_has_the_winner_of_the_full_vote_for_sampled_outcomes(answers: list[str], samples: int) -> None:
    complete_answers = tuple(answers[: len(answers) // samples * samples])  # `samples` from each passage
    votes, _ = run_stages(complete_answers, samples)
    full_outcome = count_votes(make_votes(*complete_answers, samples=samples))
    assert (count_votes(votes).answer, count_votes(votes).unknown) == (full_outcome.answer, full_outcome.unknown)


@given(st.lists(st.sampled_from("?ab"), max_size=5), st.integers(0, 3))
def test_a_vote_is_decided_exactly_when_no_later_answer_can_change_it(answers: list[str], remaining: int) -> None:
    outcomes = {
        (outcome.answer, outcome.unknown)
        for later_answers in product("?abc", repeat=remaining)
        for outcome in [count_votes(make_votes(*answers, *later_answers))]
    }
    assert is_decided(make_votes(*answers), remaining) == (len(outcomes) == 1)


@pytest.mark.parametrize(
    ("passage_count", "samples", "size"), [(1, 1, 1), (2, 1, 1), (3, 1, 2), (4, 1, 2), (5, 1, 3), (5, 4, 3)]
)
def test_the_first_stage_is_the_smallest_that_could_decide(passage_count: int, samples: int, size: int) -> None:
    assert size_next_stage([], passage_count, samples) == size


def test_a_decided_vote_asks_no_more_passages() -> None:
    assert size_next_stage(make_votes("a", "a", "a"), 2, 1) == 0
    assert size_next_stage(make_votes("?", "?"), 0, 1) == 0
    stages = {
        "".join(answers): run_stages(answers, 1)[1] for answers in [tuple("aaabc"), tuple("aabbc"), tuple("?????")]
    }
    assert stages == {"aaabc": [3], "aabbc": [3, 1, 1], "?????": [3, 1, 1]}


def test_agreement_counts_unknown_as_an_answer() -> None:
    assert find_most_frequent(["Rome", "paris", "Paris"], [False] * 3) == (1, pytest.approx(2 / 3))
    assert find_most_frequent(["Rome", "?", "I don't know"], [False, True, True]) == (1, pytest.approx(2 / 3))
    assert find_most_frequent(["Rome", "?"], [False, True]) == (0, 0.5)
    assert find_most_frequent(["?"], [True]) == (0, 1.0)
