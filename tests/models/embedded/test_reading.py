"""Extractive reading: windows over passages, spans, what is read from odd input."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.core.state import Passage
from quorum.core.text import contains_answer
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import RECENT_READINGS, Job, JobResult, read_jobs
from quorum.models.embedded.encoder import Logits, get_encoder
from quorum.models.embedded.reading import (
    LONGEST_ANSWER,
    Calibration,
    Token,
    Window,
    encode_passage,
    find_spans,
    make_windows,
    score_tokens,
)

CALIBRATION = Calibration.from_manifest(read_manifest())
SAMPLE = Path(__file__).parents[3] / "data" / "sample" / "corpus"
WORDS = ["tower", "river", "unaffable", "1931", "naïve", "don't", "(iron)", "東京", "bridge.", "of", "🌕"]


def make_passage(text: str, title: str = "", name: str = "p") -> Passage:
    return Passage(id=name, title=title, text=text)


def read(question: str, *passages: Passage) -> JobResult:
    return read_jobs([Job(question, passages)])[0]


PASSAGES = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=3), st.integers(0, 160), st.integers(0, 9)).map(
        lambda drawn: make_passage(" ".join(random.Random(drawn[2]).choices(WORDS, k=drawn[1])), " ".join(drawn[0]))
    ),
    max_size=6,
)


@given(PASSAGES, st.lists(st.sampled_from(WORDS), min_size=1, max_size=60), st.integers(100, 330), st.booleans())
@settings(max_examples=60, deadline=None)
def test_windows_hold_all_tokens_in_order(
    passages: list[Passage], question: list[str], size: int, packed: bool
) -> None:
    windows = make_windows(get_encoder(), " ".join(question), passages, size, packed=packed)
    for window in windows:
        assert len(window.ids) == len(window.types) == window.first + len(window.tokens) + 1 <= size
        assert [window.ids[0], window.ids[window.first - 1], window.ids[-1]] == [
            get_encoder().cls,
            *[get_encoder().sep] * 2,
        ]
        assert window.types == [0] * window.first + [1] * (len(window.tokens) + 1)
        owners = [token.passage for token in window.tokens if token]
        assert owners == sorted(owners)
        assert packed or len({*owners}) <= 1
    tokens_in_windows = {token for window in windows for token in window.tokens if token}
    for number, shown_passage in enumerate(passages):
        ids, tokens = encode_passage(get_encoder(), number, shown_passage)
        text_tokens = {token for token in tokens if token}
        assert text_tokens == {token for token in tokens_in_windows if token.passage == number}
        assert len(text_tokens) == len(get_encoder().tokens(shown_passage["text"]).ids)
        assert len(ids) - len(text_tokens) == len(
            get_encoder().tokens(shown_passage["title"] + ": " if shown_passage["title"] else "").ids
        )
    if not all(passage["text"] for passage in passages):
        return  # below, a window's passages are read off its text tokens: a passage without text has none
    sizes = [len(encode_passage(get_encoder(), number, item)[0]) for number, item in enumerate(passages)]
    room = size - windows[0].first - 1 if windows else 0
    for current, following in pairwise([{t.passage for t in window.tokens if t} for window in windows]):
        assert following - current or len(current) <= 1  # a window adds a passage, or continues a long one
        if len(current) < 2 or not following - current:
            continue
        if sizes[max(current)] + sizes[min(following - current)] <= room:
            assert max(current) in following  # the last passage is read again beside the next one


def test_a_long_passage_is_cut_into_pieces_that_overlap() -> None:
    windows = make_windows(get_encoder(), "Where?", [make_passage("river " * 700)], 200)
    assert len(windows) > 3
    for current, following in pairwise(windows):
        assert len({*current.tokens} & {*following.tokens}) >= (200 - 10) // 4


def test_an_answer_deep_in_a_long_passage_is_found() -> None:
    filler = "The village kept sheep and grew barley on the hills around it. " * 40
    result = read(
        "Who painted the Harbour at Dawn?",
        make_passage(f"{filler}Clara Whitmore painted the Harbour at Dawn. {filler}"),
    )
    assert len(result.windows) > 2
    assert result.reading.spans[0].text == "Clara Whitmore"


def make_corpus(*names: str) -> list[Passage]:
    return [
        make_passage(text, name.replace("-", " ").title(), f"{name}{number}")
        for name in names
        for number, text in enumerate((SAMPLE / f"{name}.md").read_text(encoding="utf-8").split("\n\n")[1:])
    ]


@pytest.mark.parametrize(
    ("question", "names", "answer"),
    [
        ("Where was Joseph Haydn born?", ["joseph-haydn"], "Rohrau"),
        ("When was the Eiffel Tower finished?", ["eiffel-tower"], "31 March 1889"),
        ("Who created the Python language?", ["python-language", "java-language"], "Guido van Rossum"),
        ("Who led the first expedition to reach the South Pole?", ["roald-amundsen"], "Amundsen"),
    ],
)
def test_the_reader_finds_answers_in_text_it_has_not_seen(question: str, names: list[str], answer: str) -> None:
    passages = make_corpus(*names)
    reading = read(question, *passages).reading
    assert contains_answer(reading.spans[0].text, [answer])
    nonsense = read("Florbish grindle wumpus toofle?", *passages).reading
    assert nonsense.probability < 0.2 < reading.probability
    for span in reading.spans:
        assert passages[span.passage]["text"][span.start : span.end] == span.text
        assert get_encoder().count(span.text) <= LONGEST_ANSWER
    assert [span.score for span in reading.spans] == sorted((span.score for span in reading.spans), reverse=True)


def make_window(*owners: int | None) -> Window:
    """A window with one token for each owner: a word of 1 character in that passage, or (None) a word of a title."""
    next_starts: dict[int, int] = {}
    tokens: list[Token | None] = []
    for owner in owners:
        start = next_starts.get(owner, 0) if owner is not None else 0
        tokens.append(None if owner is None else Token(owner, start, start + 1, starts_word=True, ends_word=True))
        if owner is not None:
            next_starts[owner] = start + 2
    return Window([0] * (len(tokens) + 4), [0] * (len(tokens) + 4), 3, tokens)


def test_a_span_stays_in_the_text_of_one_passage() -> None:
    window = make_window(None, 0, 0, None, 1, 1)
    start, end = np.zeros((2, 10), np.float32)
    start[3 + 0], start[3 + 2], end[3 + 3], end[3 + 4] = (
        9,
        8,
        9,
        8,
    )  # the highest scores are on title tokens, which no span may contain
    passages = [make_passage("a b"), make_passage("c d")]
    spans = find_spans(window, Logits(start, end, 0.0), passages, CALIBRATION, 20)
    assert {span.text for span in spans} == {"a", "b", "a b", "c", "d", "c d"}
    assert max(spans, key=lambda span: span.score).text in ("b", "c")


def test_a_span_consists_of_whole_words() -> None:
    text = "unaffableness returned"
    tokens = [token for token in encode_passage(get_encoder(), 0, make_passage(text))[1] if token]
    assert len(tokens) > 3
    logits = Logits(*np.random.default_rng(0).normal(size=(2, len(tokens) + 4)).astype(np.float32), 0.0)
    window = Window([0] * (len(tokens) + 4), [0] * (len(tokens) + 4), 3, [*tokens])
    spans = find_spans(window, logits, [make_passage(text)], CALIBRATION, 50)
    assert {span.text for span in spans} == {"unaffableness", "returned", text}


@pytest.mark.parametrize(
    "passages",
    [
        [],
        [make_passage("")],
        [make_passage("", "Only a title")],
        [make_passage(" \n "), make_passage("")],
        [make_passage("... !!! —")],
        [make_passage("\u0000\ufffd\u200b")],
    ],
    ids=repr,
)
def test_nothing_to_read_is_no_answer(passages: list[Passage]) -> None:
    result = read("Who was it?", *passages)
    assert result.reading.spans == []
    assert result.reading.probability < 1e-9
    for window, logits in zip(result.windows, result.logits, strict=True):
        assert len(score_tokens(window, logits)) == len(window.tokens)


@pytest.mark.parametrize("question", ["", "  \n", "\u200b"])
def test_an_empty_question_has_no_answer(question: str) -> None:
    assert read(question, make_passage("Joseph Haydn was born in Rohrau.")).reading.spans == []


def test_a_very_long_question_leaves_room_for_passages() -> None:
    result = read("Where " * 500 + "was Haydn born?", make_passage("Haydn was born in Rohrau. " * 30))
    assert all(len(window.ids) <= CALIBRATION.window for window in result.windows)
    assert result.reading.spans


def test_a_reading_does_not_depend_on_its_batch() -> None:
    passages = make_corpus("joseph-haydn", "tea")
    jobs = [
        Job(f"Who {word}?", passages[n : n + 1 + n % 3])
        for n, word in enumerate(["sang", "", "drank tea", "x", "y", "z"])
    ]
    alone = [read_jobs([job])[0].reading for job in jobs]
    RECENT_READINGS.clear()  # read anew
    assert [result.reading for result in read_jobs(jobs)] == alone
    RECENT_READINGS.clear()
    assert [result.reading for result in read_jobs(jobs[::-1] + jobs[:3])] == alone[::-1] + alone[:3]


def test_token_scores_add_up_to_one_for_the_start_and_one_for_the_end() -> None:
    result = read("Where was Haydn born?", make_passage("Haydn was born in Rohrau, a village in Austria."))
    (window,), (logits,) = result.windows, result.logits
    scores = score_tokens(window, logits)
    assert np.isclose(scores.sum(), 2, atol=1e-5)
    best, answer = window.tokens[int(scores.argmax())], result.reading.spans[0]
    assert best is not None
    assert answer.start <= best.start < best.end <= answer.end
