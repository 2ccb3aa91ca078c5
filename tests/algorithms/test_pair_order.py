"""The order by scores of pairs, and what replaced passages can do to the first k of it."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.certificate import certify_votes
from quorum.algorithms.pair_order import order_by_scores
from quorum.algorithms.vote_key import vote_key
from quorum.algorithms.votes import count_votes
from quorum.core.state import Vote

SCORES = (0.0, 1.0)
NEW_SCORES = (-1.0, 0.0, 0.5, 1.0, 2.0)  # below all, equal, between, above all
Found = list[tuple[int, float]]  # the passages in the retriever's order: (number, score)


@given(st.lists(st.one_of(st.none(), st.sampled_from([float("nan"), float("inf"), -1.0, 0.0, 2.0]))))
def test_the_order_is_a_permutation_and_equal_scores_keep_their_order(scores: list[float | None]) -> None:
    order = order_by_scores(scores)
    assert sorted(order) == list(range(len(scores)))
    known = [index for index in order if scores[index] in (-1.0, 0.0, 2.0)]
    assert order[: len(known)] == known  # those without a finite score come last
    assert [(-(scores[index] or 0), index) for index in known] == sorted((-(scores[i] or 0), i) for i in known)
    assert order[len(known) :] == sorted(order[len(known) :])


def keep_best(found: Found, k: int) -> list[int]:
    return [found[index][0] for index in order_by_scores([score for _, score in found])][:k]


def list_replacements(found: Found, new_number: int) -> list[Found]:
    """Every list in which another passage takes the place of one, with any score and at any rank."""
    return [
        [*rest[:rank], (new_number, score), *rest[rank:]]
        for replaced in range(len(found))
        for rest in [found[:replaced] + found[replaced + 1 :]]
        for rank in range(len(found))
        for score in NEW_SCORES
    ]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_each_replaced_passage_changes_at_most_one_of_the_first_k(k: int) -> None:
    for scores in product(SCORES, repeat=4):
        found = list(enumerate(scores))
        before = set(keep_best(found, k))
        once = list_replacements(found, 10)
        assert all(len(before & set(keep_best(changed, k))) >= k - 1 for changed in once)
        if k == 3 and scores < (0.0, 1.0, 1.0, 1.0):
            twice = [changed for first in once[::7] for changed in list_replacements(first, 11)]
            assert all(len(before & set(keep_best(changed, k))) >= k - 2 for changed in twice)


def make_votes(answers: list[str]) -> list[Vote]:
    return [Vote(rank=n, passage=str(n), answer=text, unknown=text == "?") for n, text in enumerate(answers)]


def test_a_certified_winner_survives_every_replacement_among_the_passages_that_were_found() -> None:
    tried = 0
    for answers in product("ab?", repeat=4):
        for scores in product(SCORES, repeat=4):
            found = list(enumerate(scores))
            votes = make_votes([answers[number] for number in keep_best(found, 3)])
            if not certify_votes(votes):
                continue
            winner = vote_key(count_votes(votes, vote_key).answer)
            for changed in list_replacements(found, 4):
                kept = keep_best(changed, 3)
                for new_answer in "abc?":
                    new_votes = make_votes([(*answers, new_answer)[number] for number in kept])
                    assert vote_key(count_votes(new_votes, vote_key).answer) == winner
                    tried += 1
    assert tried > 10_000
