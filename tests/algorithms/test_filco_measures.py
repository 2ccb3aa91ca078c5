"""FILCO's measures: each by the paper's definition, on sentences and on whole passages."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.filco_measures import (
    THRESHOLDS,
    Piece,
    choose_best_pieces,
    choose_silver_pieces,
    compute_character_f1,
    compute_unigram_precision,
    format_scoring_prompt,
    score_cxmi,
    score_lexical,
    score_strinc,
    shorten_passages,
    split_pieces,
)
from quorum.core.errors import SetupError
from quorum.core.labels import are_verdicts, infer_answer_type, is_unknown_for_type, is_verdict
from quorum.core.state import Passage

PASSAGES = [
    Passage(id="a", title="Mast", text="The mast must stand. It was painted in 1950.", score=2.0),
    Passage(id="b", title="Tower", text="The tower was finished in 1931. It was painted in 1950, too."),
    Passage(id="c", title="Void", text=" \n"),
]


def list_texts(chosen_pieces: Sequence[Piece]) -> list[str]:
    return [piece.text for piece in chosen_pieces]


class Scorer:
    """Gives each answer a log-probability by its prompt.

    word_log_probabilities: word -> the log-probability if the prompt contains this word; the first word found counts.
    default: the log-probability if the prompt contains none of the words.
    """

    def __init__(self, default: float, **word_log_probabilities: float) -> None:
        self.default, self.word_log_probabilities = default, word_log_probabilities
        self.requests: list[list[tuple[str, str]]] = []

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.requests.append(list(pairs))
        return [
            next((value for word, value in self.word_log_probabilities.items() if word in prompt), self.default)
            for prompt, _ in pairs
        ]


def test_pieces_are_sentences_or_whole_passages() -> None:
    pieces = split_pieces(PASSAGES)
    assert list_texts(pieces) == [
        *("The mast must stand.", "It was painted in 1950."),
        *("The tower was finished in 1931.", "It was painted in 1950, too."),
    ]
    assert [(piece.rank, piece.title) for piece in pieces] == [(0, "Mast"), (0, "Mast"), (1, "Tower"), (1, "Tower")]
    assert all(PASSAGES[p.rank]["text"][p.start : p.end] == p.text for p in pieces)
    assert list_texts(split_pieces(PASSAGES, "passage")) == [PASSAGES[0]["text"], PASSAGES[1]["text"]]


def test_strinc_keeps_token_boundaries() -> None:
    pieces = split_pieces(PASSAGES)
    assert score_strinc(pieces, ["US"]) == [0, 0, 0, 0]  # not in "must"
    assert score_strinc(pieces, ["the 1950"]) == [0, 1, 0, 1]  # articles do not count
    assert score_strinc(pieces, ["1931", "Mast"]) == [1, 0, 1, 0]
    assert score_strinc(pieces, []) == score_strinc(pieces, ["the"]) == [0, 0, 0, 0]


async def test_strinc_chooses_the_first_match_in_rank_order() -> None:
    assert list_texts(await choose_silver_pieces("When?", ["1950"], PASSAGES, "strinc")) == ["It was painted in 1950."]
    assert list_texts(await choose_silver_pieces("When?", ["1950"], PASSAGES, "strinc", top="per_passage")) == [
        *("It was painted in 1950.", "It was painted in 1950, too."),
    ]
    assert list_texts(await choose_silver_pieces("When?", ["1931"], PASSAGES, "strinc", unit="passage")) == [
        PASSAGES[1]["text"]
    ]
    assert await choose_silver_pieces("When?", ["2000"], PASSAGES, "strinc") == []
    assert await choose_silver_pieces("When?", ["1931"], [], "strinc") == []


def test_lexical_is_token_f1() -> None:
    pieces = split_pieces(PASSAGES)
    # "tower was finished in 1931" has 5 tokens, "tower finished 1931" has 3; they share 3
    assert score_lexical(pieces, ["The tower, finished 1931"])[2] == pytest.approx(2 * 3 / 8)
    assert score_lexical(pieces, ["nothing", "It was painted in 1950"])[1] == 1.0


async def test_lexical_must_exceed_one_half() -> None:
    passages = [Passage(id="x", title="", text="Red green.")]
    assert THRESHOLDS["lexical"] == 0.5
    assert await choose_silver_pieces("?", ["red blue"], passages, "lexical") == []  # exactly 0.5
    assert list_texts(await choose_silver_pieces("?", ["red green blue"], passages, "lexical")) == ["Red green."]


def test_the_authors_code_counts_characters() -> None:
    """ "red blue" has 8 characters, "blur deed" has 9; they share 8: the letters r e d b l u e and the space."""
    assert compute_character_f1("red blue", "blur deed") == pytest.approx(2 * 8 / 17)
    assert score_lexical([Piece(0, 0, 8, "", "red blue")], ["blur deed"], "characters")[0] > 0.9
    assert score_lexical([Piece(0, 0, 8, "", "red blue")], ["blur deed"]) == [0]
    assert compute_character_f1("", "x") == 0


@pytest.mark.parametrize("verdict", ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO", "yes", "No."])
async def test_lexical_compares_with_the_claim_for_verdicts(verdict: str) -> None:
    """If the answer is a verdict, the question is a claim, and the sentences are compared with this claim. If it is any
    other text, such as "1931", the sentences are compared with the answer.
    """
    claim = "The tower was finished in 1950."
    assert list_texts(await choose_silver_pieces(claim, [verdict], PASSAGES, "lexical")) == [
        "The tower was finished in 1931."
    ]
    assert await choose_silver_pieces(claim, ["1931"], PASSAGES, "lexical") == []


async def test_cxmi_is_the_gain_in_log_probability() -> None:
    scorer = Scorer(-3.0, finished=-1.0, mast=-5.0)
    pieces = split_pieces(PASSAGES)
    assert await score_cxmi(pieces, "When?", "1931", scorer) == [-2.0, 0.0, 2.0, 0.0]
    assert len(scorer.requests) == 1  # one batch
    assert scorer.requests[0][0] == ("Question: When?\nAnswer:", "1931")
    assert scorer.requests[0][3] == ("Tower\nThe tower was finished in 1931.\n\nQuestion: When?\nAnswer:", "1931")
    assert format_scoring_prompt("Q?", Piece(0, 0, 2, "", "T.")) == "T.\n\nQuestion: Q?\nAnswer:"


async def test_cxmi_must_exceed_zero() -> None:
    scorer = Scorer(-3.0, finished=-1.0, mast=-5.0)
    assert list_texts(await choose_silver_pieces("When?", ["1931", "x"], PASSAGES, "cxmi", scorer=scorer)) == [
        "The tower was finished in 1931."
    ]
    assert {answer for _, answer in scorer.requests[0]} == {"1931"}  # only the first answer is scored
    assert await choose_silver_pieces("When?", ["1931"], PASSAGES, "cxmi", scorer=Scorer(-3.0)) == []
    unused_scorer = Scorer(-3.0)
    assert await choose_silver_pieces("When?", ["1931"], PASSAGES[2:], "cxmi", scorer=unused_scorer) == []
    assert await choose_silver_pieces("When?", [], PASSAGES, "cxmi", scorer=unused_scorer) == []
    assert unused_scorer.requests == []  # without pieces or answers the model is not asked
    passage_scorer = Scorer(-9.0, Tower=-1.0, Mast=-2.0)
    chosen_pieces = await choose_silver_pieces(
        "?", ["a"], PASSAGES, "cxmi", unit="passage", top="per_passage", scorer=passage_scorer
    )
    assert [piece.rank for piece in chosen_pieces] == [0, 1]
    with pytest.raises(SetupError, match="log-probabilities, and none was given; pass one"):
        await choose_silver_pieces("When?", ["1931"], PASSAGES, "cxmi")


RANKS_AND_SCORES = st.lists(st.tuples(st.integers(0, 3), st.floats(-2, 2)), max_size=12)


@given(RANKS_AND_SCORES, st.floats(-1, 1))
def test_the_first_of_the_best_pieces_above_the_threshold_is_chosen(
    ranks_and_scores: list[tuple[int, float]], threshold: float
) -> None:
    """ranks_and_scores: for each piece the rank of its passage, and the piece's score."""
    ranks_and_scores = sorted(ranks_and_scores, key=lambda item: item[0])
    pieces = [Piece(rank, index, index + 1, "", str(index)) for index, (rank, _) in enumerate(ranks_and_scores)]
    scores = [score for _, score in ranks_and_scores]
    best_pieces = choose_best_pieces(pieces, scores, threshold)
    scores_above_threshold = [score for score in scores if score > threshold]
    assert len(best_pieces) == bool(scores_above_threshold)
    if best_pieces:
        assert scores.index(max(scores_above_threshold)) == best_pieces[0].start
    best_of_each_passage = choose_best_pieces(pieces, scores, threshold, "per_passage")
    ranks_above_threshold = {rank for rank, score in ranks_and_scores if score > threshold}
    assert [piece.rank for piece in best_of_each_passage] == sorted(ranks_above_threshold)
    assert set(best_pieces) <= set(best_of_each_passage)


def test_shortened_passages_keep_order_ids_and_titles() -> None:
    pieces = split_pieces(PASSAGES)
    assert shorten_passages(PASSAGES, [pieces[3], pieces[1], pieces[0], pieces[1]]) == [
        {"id": "a", "title": "Mast", "text": "The mast must stand. It was painted in 1950.", "score": 2.0},
        {"id": "b", "title": "Tower", "text": "It was painted in 1950, too."},
    ]
    assert shorten_passages(PASSAGES, []) == []
    assert PASSAGES[1]["text"].startswith("The tower")


@given(st.sets(st.integers(0, 3)))
def test_a_shortened_passage_contains_only_the_chosen_pieces(numbers: set[int]) -> None:
    pieces = split_pieces(PASSAGES)
    shortened_passages = shorten_passages(PASSAGES, [pieces[number] for number in numbers])
    assert " ".join(passage["text"] for passage in shortened_passages) == " ".join(
        pieces[n].text for n in sorted(numbers)
    )


def test_unigram_precision_is_the_share_of_words_that_occur_in_an_answer() -> None:
    assert compute_unigram_precision("The tower: finished in 1931.", ["1931"]) == 0.25
    assert compute_unigram_precision("1931, 1931!", ["1931", "in 1931 and 1931"]) == 1.0
    assert (
        compute_unigram_precision("", ["1931"])
        == compute_unigram_precision("the", ["1931"])
        == compute_unigram_precision("a b", [])
        == 0.0
    )


def test_verdicts_and_answer_types_are_recognised_in_answers() -> None:
    assert is_verdict("Supports")
    assert is_verdict("no")
    assert not is_verdict("Norway")
    assert not is_verdict("")
    assert not are_verdicts([])
    assert not are_verdicts(["yes", "Yes (band)"])
    assert [infer_answer_type(answers) for answers in (["REFUTES"], ["Yes"], ["yes", "1931"], [])] == [
        *("label", "yes_no", "short", "short"),
    ]
    assert is_unknown_for_type("NOT ENOUGH INFO", "short")
    assert not is_unknown_for_type("NOT ENOUGH INFO", "label")
    assert is_unknown_for_type("unknown", "label")
