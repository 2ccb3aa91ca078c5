"""The encoder gives the same results in both of its ways to compute.

With few rows (token sequences, one for each text), all cores compute together. With many rows, or while many questions
are expected, each core computes rows of its own.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from openai_server import OpenAIServer, Request

import quorum
from quorum.models.embedded.encoder import LONGEST_REMEMBERED_TEXT, Encoder, Logits, get_encoder
from quorum.models.embedded.encoder_sessions import (
    MANY_ROWS,
    ROWS_PER_RUN,
    ROWS_PER_RUN_ON_ONE_CORE,
    count_cores,
)
from quorum.models.embedded.workload import are_many_questions_expected, expect_many_questions

WORDS = ["tower", "stood", "by", "a", "river", "for", "90", "years", "until", "storms", "of", "1931", "broke", "it"]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """An encoder that works as on a machine with two cores, whatever this machine has or OMP_NUM_THREADS says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "2")
        encoder = Encoder()
    encoder.sessions.core_count = 2
    return encoder


@pytest.mark.parametrize(("limit", "count"), [("1", 1), ("1,2", 1), ("900", None), ("0", None), ("all", None)])
def test_a_user_limits_the_cores(monkeypatch: pytest.MonkeyPatch, limit: str, count: int | None) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    count = count or count_cores()  # a limit that says nothing changes nothing
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert count_cores() == count


def draw_texts(count: int) -> list[str]:
    rng = random.Random(7)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 40))) for _ in range(count)]


def draw_rows(encoder: Encoder, count: int) -> tuple[list[list[int]], list[list[int]]]:
    """Token ids and segment types of rows of several lengths."""
    rows = [[encoder.cls, *encoder.tokenize(text).ids, encoder.sep] for text in draw_texts(count)]
    return rows, [[0] * len(row) for row in rows]


def to_lists(logits: list[Logits]) -> list[tuple[list[float], list[float], float]]:
    return [(row.start.tolist(), row.end.tolist(), row.answerable) for row in logits]


def test_many_texts_get_the_same_vectors_as_a_few_at_a_time(encoder: Encoder) -> None:
    texts = draw_texts(MANY_ROWS + 9)
    assert not encoder.sessions.one_core_session.made
    few_at_a_time = np.concatenate([encoder.embed(texts[begin : begin + 5]) for begin in range(0, len(texts), 5)])
    assert not encoder.sessions.one_core_session.made  # few texts need no second copy of the weights
    together = encoder.embed(texts)
    assert encoder.sessions.one_core_session.made
    assert np.array_equal(together, few_at_a_time)


@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_readings_are_the_same_while_many_questions_are_expected(encoder: Encoder, count: int) -> None:
    rows, types = draw_rows(encoder, count)
    alone = encoder.read(rows, types)
    with expect_many_questions():
        among_others = encoder.read(rows, types)
    assert to_lists(alone) == to_lists(among_others)


def test_several_threads_share_an_encoder(encoder: Encoder) -> None:
    texts = draw_texts(40)
    expected = encoder.embed(texts)
    with expect_many_questions(), ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(encoder.embed, [texts] * 8))
    assert all(np.array_equal(expected, actual) for actual in vectors)


@pytest.mark.parametrize(
    ("row_count", "rows_per_run"), [(0, 1), (1, 1), (2, 1), (3, 2), (30, ROWS_PER_RUN_ON_ONE_CORE)]
)
def test_each_core_gets_its_share_of_the_rows(encoder: Encoder, row_count: int, rows_per_run: int) -> None:
    assert encoder.sessions.count_rows_per_run(row_count) == ROWS_PER_RUN
    with expect_many_questions():
        assert encoder.sessions.count_rows_per_run(row_count) == rows_per_run


def test_no_text_gives_no_vector(encoder: Encoder) -> None:
    with expect_many_questions():
        assert encoder.embed([]).shape == (0, 384)


def test_many_questions_are_expected_until_the_last_block_ends() -> None:
    with expect_many_questions():
        with expect_many_questions(), pytest.raises(ZeroDivisionError):
            raise ZeroDivisionError
        assert are_many_questions_expected()
    assert not are_many_questions_expected()


async def test_an_evaluation_expects_many_questions(openai_server: OpenAIServer, tmp_path: Path) -> None:
    expectations: list[bool] = []  # for each request, whether many questions were expected when it arrived

    def reply(_: Request) -> str:
        expectations.append(are_many_questions_expected())
        return "Ada Korn"

    openai_server.reply(reply)
    passages = [{"id": "1", "title": "Vell", "text": "Ada Korn built it in 1874."}]
    questions = [{"id": "1", "question": "Who built it?", "answers": ["Ada Korn"], "passages": passages}]
    await quorum.evaluate_async(questions, "concat", context=quorum.Context(model="openai:test"), out=tmp_path / "out")
    assert expectations == [True]
    assert not are_many_questions_expected()


def test_the_tokens_of_a_text_are_counted_the_same_each_time() -> None:
    text = "Passages\n\nthe river\n" + "the river broke it in 1931 and nobody knows why\n" * 2 + "\nAnswer:"
    count = len(get_encoder().tokenize(text).ids)
    assert [get_encoder().count_tokens(text) for _ in range(3)] == [count] * 3


def test_the_token_counts_of_very_long_texts_are_not_remembered(encoder: Encoder) -> None:
    text = "the river " * LONGEST_REMEMBERED_TEXT + "\nit stood"
    assert encoder.count_tokens(text) == 2 * LONGEST_REMEMBERED_TEXT + 2
    assert list(encoder.counts.items) == ["it stood"]  # the short line was counted by itself
