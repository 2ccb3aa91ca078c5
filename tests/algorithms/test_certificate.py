"""The certificate of a vote: how many passages could be replaced without changing the winner.

One test goes through all possible votes of a few passages: the certified number is sound and cannot be larger. Further
tests show which results have a certificate.
"""

import json
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_fixtures import PASSAGES, QUESTION, script_passage_answers

from quorum.algorithms.certificate import certify_votes
from quorum.algorithms.vote_key import vote_key
from quorum.algorithms.votes import count_votes
from quorum.cli.main import main
from quorum.core.context import Context
from quorum.core.state import Vote
from quorum.graphs import answer

# Two forms of each answer, which count as the same answer in a vote.
ANSWER_FORMS = {
    "a": ("July 4, 1776", "4 July 1776"),
    "b": ("two miles", "2 mi"),
    "x": ("Paris", "in Paris."),
}
Answers = tuple[str, ...]  # a ballot: the answers of one passage, one per sample; "?" stands for unknown


def make_votes(passages: tuple[Answers, ...]) -> list[Vote]:
    return [
        Vote(
            rank=rank,
            passage=f"p{rank}",
            answer=ANSWER_FORMS.get(answer, (answer,) * 2)[rank % 2],
            unknown=answer == "?",
        )
        for rank, answers in enumerate(passages)
        for answer in answers
    ]


def find_winner(passages: tuple[Answers, ...]) -> str | None:
    """The vote key of the answer that wins; None if the outcome is unknown."""
    outcome = count_votes(make_votes(passages))
    return None if outcome.unknown else vote_key(outcome.answer)


def can_change(passages: tuple[Answers, ...], replaced_count: int, ballots: list[Answers]) -> bool:
    """Whether replacing `replaced_count` passages can change the winner.

    The new passages may have any of `ballots` and stand at any ranks.
    """
    winner_before = find_winner(passages)
    for kept_passages in combinations(passages, len(passages) - replaced_count):
        for new_ballots in product(ballots, repeat=replaced_count):
            for new_ranks in combinations(range(len(passages)), replaced_count):
                new_passages, remaining_passages, replacements = [], iter(kept_passages), iter(new_ballots)
                for rank in range(len(passages)):
                    new_passages.append(next(replacements) if rank in new_ranks else next(remaining_passages))
                if find_winner(tuple(new_passages)) != winner_before:
                    return True
    return False


@pytest.mark.parametrize(("count", "samples"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (1, 2), (2, 2), (3, 2)])
def test_the_certified_number_is_sound_and_cannot_be_larger(count: int, samples: int) -> None:
    """Replacing the certified number of passages never changes the winner, and replacing one more can.

    Checks all votes of up to four passages with one answer each, and of up to three passages with two answers each. Of
    the votes of five passages it checks one order of the answers only, to save time.
    """
    # With two samples, each new ballot has two equal answers, to save time.
    replacement_ballots = (
        list(product("?abx", repeat=samples)) if samples == 1 else [("a",) * 2, ("b",) * 2, ("x",) * 2, ("?",) * 2]
    )
    original_ballots = sorted(product("?ab", repeat=samples))
    for passages in product(original_ballots, repeat=count):
        if count == 5 and tuple(sorted(passages)) != passages:
            continue
        certified_number = certify_votes(make_votes(passages))
        assert certified_number is not None
        assert 0 <= certified_number < count
        assert certified_number == 0 or not can_change(passages, certified_number, replacement_ballots), passages
        assert can_change(passages, certified_number + 1, replacement_ballots), passages


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("aaaaa", 2),
        ("aaaab", 1),
        ("aaa??", 1),
        ("aa???", 0),  # replacing one passage for "a" by one for another answer gives a tie
        ("aaab", 0),
        ("aabbc", 0),
        ("?????", 0),
        ("a", 0),
        ("aaaaaaaaaa", 4),
    ],
)
def test_certified_numbers_computed_by_hand(answers: str, expected: int) -> None:
    assert certify_votes(make_votes(tuple((answer,) for answer in answers))) == expected


def test_without_votes_there_is_no_certificate() -> None:
    assert certify_votes([]) is None


def test_certificates_group_answers_as_the_vote_does() -> None:
    votes = make_votes((("The Paris",), ("paris.",), ("Paris, which is its capital",), ("Rome",), ("?",)))
    assert certify_votes(votes) == certify_votes(make_votes((("a",), ("a",), ("a",), ("b",), ("?",)))) == 0
    assert certify_votes(votes[:3]) == 1


@given(st.lists(st.sampled_from("?abc"), min_size=1, max_size=12))
def test_with_one_sample_the_certified_number_follows_from_the_winners_lead(answers: list[str]) -> None:
    """Replacing m passages takes min(m, w) of the winner's w votes and adds m votes to another answer. For m <= w that
    is the textbook rule: the winner stays if it leads by more than 2m votes.
    """
    certified_number = certify_votes(make_votes(tuple((answer,) for answer in answers)))
    counts = sorted((answers.count(answer) for answer in "abc"), reverse=True)
    assert certified_number == max(0, -(-(counts[0] - counts[1]) // 2) - 1)


async def test_post_fusion_certifies_its_answer() -> None:
    result = await answer(QUESTION, "post_fusion", Context(model=script_passage_answers(*["1931"] * 5)), given=PASSAGES)
    assert result["certified"] == 2


def test_ask_prints_the_certified_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "The Eiffel Tower was finished in 1889."
    lines = (json.dumps({"id": f"p{number}", "title": "Eiffel Tower", "text": text}) for number in range(3))
    (tmp_path / "passages.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with suppress(SystemExit):
        command = ("When was the Eiffel Tower finished?", "--passages", str(tmp_path / "passages.jsonl"))
        main(["ask", *command, "--method", "post_fusion", "--model", "embedded", "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (result["answer"], result["certified"]) == ("1889", 1)


@pytest.mark.parametrize(
    ("settings", "certified"),
    [
        ({"vote": "staged"}, None),
        ({"context_filter": "embedded"}, None),
        ({"reranker": "listwise"}, None),
        ({"reranker": "question"}, 2),
        ({"reranker": "reader"}, 2),
    ],
)
async def test_votes_are_certified_unless_a_passage_may_change_what_is_asked_about_another(
    settings: dict[str, str], certified: int | None
) -> None:
    model = script_passage_answers(*["1931"] * 5).on("rank_passages", "[1]")
    result = await answer(QUESTION, "post_fusion", Context(model=model, **settings), given=PASSAGES)  # type: ignore[arg-type]
    assert (result["answer"], result["certified"]) == ("1931", certified)


async def test_a_fallback_is_not_certified() -> None:
    """concat_pf votes only if the first prompt, with all passages, is answered "unknown". A replaced passage could
    change this.
    """
    model = script_passage_answers(*["1931"] * 5).on("answer", "unknown")
    result = await answer(QUESTION, "concat_pf", Context(model=model), given=PASSAGES)
    assert (result["answer"], result["certified"]) == ("1931", None)
