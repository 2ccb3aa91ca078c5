"""The embedded model's judgements: which sentences help, and whether the passages say yes or no."""

import asyncio
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.text import find_sentences
from quorum.models.embedded import FOLDER, get_weights_hash
from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedded.heads import SentenceHead, SentenceTokens, Verdict, get_sentence_head
from quorum.models.embedded.judging import (
    find_sentence_tokens,
    get_filter_threshold,
    judge_yes_no,
    score_sentences,
    score_sentences_blocking,
)
from quorum.models.embedded.reading import make_windows

QUESTION = "Who painted the ceiling of the Almond Theatre?"
PASSAGES = [
    Passage(
        id="a",
        title="Almond Theatre",
        text="The Almond Theatre seats 600. Its ceiling was painted by Ida Brandt in 1911. Tickets cost little.",
    ),
    Passage(id="b", title="Harbour", text="The harbour freezes in winter. Ships wait outside until March."),
]


async def test_the_helpful_sentence_gets_the_highest_probability() -> None:
    scored_passages = await score_sentences(QUESTION, PASSAGES)
    assert [[(start, end) for start, end, _ in scored_sentences] for scored_sentences in scored_passages] == [
        find_sentences(p["text"]) for p in PASSAGES
    ]
    chances = [chance for scored_sentences in scored_passages for _, _, chance in scored_sentences]
    assert all(0 <= chance <= 1 for chance in chances)
    assert int(np.argmax(chances)) == 1
    assert chances[1] >= await get_filter_threshold() > max(chances[3:])


async def test_the_judgement_of_a_passage_does_not_depend_on_its_batch() -> None:
    quay = Passage(id="c", title="Quay", text="The quay floods in autumn. Crates wait there until the water falls.")
    passages = [*PASSAGES, quay]  # the encoder reads the last two in one batch
    stored_states = get_encoder().recent_hidden_states  # cleared, so that the encoder reads the passages each time
    stored_states.clear()
    scored_alone = [await score_sentences(QUESTION, [passage]) for passage in passages]
    stored_states.clear()
    assert await score_sentences(QUESTION, passages) == [
        scored_sentences for scored_passages in scored_alone for scored_sentences in scored_passages
    ]
    stored_states.clear()
    scored_at_once = await asyncio.gather(*(score_sentences(QUESTION, [passage]) for passage in passages))
    assert list(scored_at_once) == scored_alone


def test_a_long_passage_is_judged_in_windows_and_to_its_end() -> None:
    filler = " ".join(f"The quay number {n} was repaired in the same year." for n in range(60))
    long_passage = Passage(id="c", title="", text=f"{filler} {PASSAGES[0]['text']}")
    (scored_sentences,) = score_sentences_blocking(QUESTION, [long_passage], get_encoder(), get_sentence_head())
    start, end, _ = max(scored_sentences, key=lambda scored_sentence: scored_sentence[2])
    assert "Ida Brandt" in long_passage["text"][start:end]
    assert all(chance > 0 for _, _, chance in scored_sentences)


def test_tokens_belong_to_the_sentence_they_stand_in() -> None:
    (window,) = make_windows(get_encoder(), QUESTION, PASSAGES[:1], 256)
    token_masks = find_sentence_tokens(window, find_sentences(PASSAGES[0]["text"])).tokens
    assert token_masks.shape == (3, len(window.ids))
    # `tokens_start` is the index of the first passage token; the question's tokens before it belong to no sentence.
    assert not token_masks[:, : window.tokens_start].any()
    assert set(token_masks.sum(0).tolist()) == {0.0, 1.0}
    text = PASSAGES[0]["text"]
    second_sentence = [
        t for t, inside in zip(window.tokens, token_masks[1, window.tokens_start :], strict=False) if t and inside
    ]
    assert text[second_sentence[0].start : second_sentence[-1].end] == "Its ceiling was painted by Ida Brandt in 1911."


async def test_empty_input_gives_no_sentences_or_probability_0() -> None:
    assert await score_sentences(QUESTION, []) == []
    empty = Passage(id="e", title="t", text="")
    assert await score_sentences(QUESTION, [empty]) == [[]]
    assert await score_sentences("", PASSAGES[1:]) == [[(0, 30, 0.0), (31, 62, 0.0)]]
    assert SentenceHead().compute_probabilities([], []) == []


def test_a_sentence_without_a_token_in_the_window_gets_probability_0() -> None:
    states = np.ones((16, 384), np.float32)  # for each of 16 tokens, a state of 384 numbers
    token_masks = np.zeros((2, 16), np.float32)
    token_masks[0, 3:9] = 1  # the first sentence has six tokens, the second has none
    (chances,) = get_sentence_head().compute_probabilities([states], [SentenceTokens(token_masks)])
    assert chances[0] > 0
    assert chances[1] == 0


async def test_a_verdict_adds_up_to_one_and_is_reproducible() -> None:
    passages = [Passage(id="m", title="Mice", text="Mice are mammals. Mammals are warm-blooded.")]
    verdict = await judge_yes_no("Are mice warm-blooded?", passages)
    assert verdict.yes + verdict.no + verdict.unknown == pytest.approx(1)
    assert verdict == await judge_yes_no("Are mice warm-blooded?", passages)


async def test_without_passages_or_without_a_question_the_verdict_is_unknown() -> None:
    assert await judge_yes_no("Are mice warm-blooded?", []) == Verdict(0.0, 0.0, 1.0)
    assert await judge_yes_no("", PASSAGES) == Verdict(0.0, 0.0, 1.0)


async def test_unrelated_passages_leave_the_verdict_unknown() -> None:
    verdict = await judge_yes_no("Did Cleopatra own a bicycle?", [PASSAGES[1]])
    assert verdict.unknown > max(verdict.yes, verdict.no)


def test_the_heads_belong_to_the_reader() -> None:
    for name in ("sentences.json", "verdict.json"):
        assert json.loads((FOLDER / name).read_text(encoding="utf-8"))["reader"] == get_weights_hash()


def test_a_sentence_head_trained_for_another_reader_is_refused(tmp_path: Path) -> None:
    for name in ("sentences.onnx", "sentences.json"):
        shutil.copy(FOLDER / name, tmp_path)
    with pytest.raises(SetupError, match=r"was trained for the reader .* train it again"):
        SentenceHead(tmp_path, "another")


def test_the_sentence_head_has_at_most_6_megabytes() -> None:
    assert (FOLDER / "sentences.onnx").stat().st_size <= 6_000_000
