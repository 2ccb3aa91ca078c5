"""Extractive reading: windows over passages, spans, and readings of empty, odd or very long input."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.state import Passage
from quorum.core.text import squad_contains_answer
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
SAMPLE_CORPUS = Path(__file__).parents[3] / "data" / "sample" / "corpus"
WORDS = ["tower", "river", "unaffable", "1931", "naïve", "don't", "(iron)", "東京", "bridge.", "of", "🌕"]


def make_passage(text: str, title: str = "", id_: str = "p") -> Passage:
    return Passage(id=id_, title=title, text=text)


def read(question: str, *passages: Passage) -> JobResult:
    return read_jobs([Job(question, passages)])[0]


# Each passage is made from three drawn values: the words of its title, the number of words of its text, and the random
# seed that chooses the words of its text.
PASSAGES = st.lists(
    st.tuples(st.lists(st.sampled_from(WORDS), max_size=3), st.integers(0, 160), st.integers(0, 9)).map(
        lambda draw: make_passage(" ".join(random.Random(draw[2]).choices(WORDS, k=draw[1])), " ".join(draw[0]))
    ),
    max_size=6,
)


@given(PASSAGES, st.lists(st.sampled_from(WORDS), min_size=1, max_size=60), st.integers(100, 330), st.booleans())
def test_windows_hold_all_tokens_in_order(
    passages: list[Passage], question: list[str], size: int, packed: bool
) -> None:
    windows = make_windows(get_encoder(), " ".join(question), passages, size, packed=packed)
    for window in windows:
        assert len(window.ids) == len(window.types) == window.tokens_start + len(window.tokens) + 1 <= size
        assert [window.ids[0], window.ids[window.tokens_start - 1], window.ids[-1]] == [
            get_encoder().cls,
            *[get_encoder().sep] * 2,
        ]
        assert window.types == [0] * window.tokens_start + [1] * (len(window.tokens) + 1)
        passage_numbers = [token.passage for token in window.tokens if token]
        assert passage_numbers == sorted(passage_numbers)
        assert packed or len({*passage_numbers}) <= 1
    tokens_in_windows = {token for window in windows for token in window.tokens if token}
    for number, passage in enumerate(passages):
        ids, tokens = encode_passage(get_encoder(), number, passage)
        text_tokens = {token for token in tokens if token}
        assert text_tokens == {token for token in tokens_in_windows if token.passage == number}
        assert len(text_tokens) == len(get_encoder().tokenize(passage["text"]).ids)
        assert len(ids) - len(text_tokens) == len(
            get_encoder().tokenize(passage["title"] + ": " if passage["title"] else "").ids
        )
    if not all(passage["text"] for passage in passages):
        return  # below, a window's passages are read off its text tokens: a passage without text has none
    passage_sizes = [len(encode_passage(get_encoder(), number, passage)[0]) for number, passage in enumerate(passages)]
    room = size - windows[0].tokens_start - 1 if windows else 0  # how many tokens of passages fit into a window
    numbers_of_windows = [{token.passage for token in window.tokens if token} for window in windows]
    for numbers, next_numbers in pairwise(numbers_of_windows):
        added_numbers = next_numbers - numbers
        assert added_numbers or len(numbers) <= 1  # the next window adds a passage, or continues a long one
        if len(numbers) < 2 or not added_numbers:
            continue
        if passage_sizes[max(numbers)] + passage_sizes[min(added_numbers)] <= room:
            assert max(numbers) in next_numbers  # the last passage is read again beside the next one


def test_a_long_passage_is_cut_into_pieces_that_overlap() -> None:
    windows = make_windows(get_encoder(), "Where?", [make_passage("river " * 700)], 200)
    assert len(windows) > 3
    for window, next_window in pairwise(windows):
        # The pieces overlap by a quarter. Less than 10 of the 200 tokens are the question and the special tokens.
        assert len({*window.tokens} & {*next_window.tokens}) >= (200 - 10) // 4


def test_an_answer_deep_in_a_long_passage_is_found() -> None:
    filler = "The village kept sheep and grew barley on the hills around it. " * 40
    result = read(
        "Who painted the Harbour at Dawn?",
        make_passage(f"{filler}Clara Whitmore painted the Harbour at Dawn. {filler}"),
    )
    assert len(result.windows) > 2
    assert result.reading.spans[0].text == "Clara Whitmore"


def read_sample_passages(*names: str) -> list[Passage]:
    """The paragraphs of these documents of the sample, each as a passage."""
    return [
        make_passage(text, name.replace("-", " ").title(), f"{name}{number}")
        for name in names
        for number, text in enumerate((SAMPLE_CORPUS / f"{name}.md").read_text(encoding="utf-8").split("\n\n")[1:])
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
def test_the_reader_finds_answers_in_text_it_was_not_trained_on(question: str, names: list[str], answer: str) -> None:
    passages = read_sample_passages(*names)
    reading = read(question, *passages).reading
    assert squad_contains_answer(reading.spans[0].text, [answer])
    nonsense_reading = read("Florbish grindle wumpus toofle?", *passages).reading
    assert nonsense_reading.probability < 0.2 < reading.probability
    for span in reading.spans:
        assert passages[span.passage]["text"][span.start : span.end] == span.text
        assert get_encoder().count_tokens(span.text) <= LONGEST_ANSWER
    assert [span.score for span in reading.spans] == sorted((span.score for span in reading.spans), reverse=True)


def make_window(*passage_numbers: int | None) -> Window:
    """A window with one token for each number: a word of 1 character in that passage, or (None) a word of a title.

    The tokens stand after [CLS], one token of a question and [SEP], and before the last [SEP].
    """
    next_starts: dict[int, int] = {}
    tokens: list[Token | None] = []
    for number in passage_numbers:
        start = next_starts.get(number, 0) if number is not None else 0
        tokens.append(None if number is None else Token(number, start, start + 1, starts_word=True, ends_word=True))
        if number is not None:
            next_starts[number] = start + 2
    return Window([0] * (len(tokens) + 4), [0] * (len(tokens) + 4), 3, tokens)


def test_a_span_stays_in_the_text_of_one_passage() -> None:
    window = make_window(None, 0, 0, None, 1, 1)
    start_logits, end_logits = np.zeros((2, 10), np.float32)
    # The window's tokens begin at 3. The highest logits are on title tokens, which no span may contain.
    start_logits[3 + 0], start_logits[3 + 2] = 9, 8
    end_logits[3 + 3], end_logits[3 + 4] = 9, 8
    passages = [make_passage("a b"), make_passage("c d")]
    spans = find_spans(window, Logits(start_logits, end_logits, 0.0), passages, CALIBRATION, 20)
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
def test_passages_without_words_give_no_answer(passages: list[Passage]) -> None:
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
    passages = read_sample_passages("joseph-haydn", "tea")
    jobs = [
        Job(f"Who {word}?", passages[n : n + 1 + n % 3])
        for n, word in enumerate(["sang", "", "drank tea", "x", "y", "z"])
    ]
    readings_alone = [read_jobs([job])[0].reading for job in jobs]
    RECENT_READINGS.clear()  # otherwise `read_jobs` would not run the encoder again
    assert [result.reading for result in read_jobs(jobs)] == readings_alone
    RECENT_READINGS.clear()
    expected_readings = readings_alone[::-1] + readings_alone[:3]
    assert [result.reading for result in read_jobs(jobs[::-1] + jobs[:3])] == expected_readings


def test_token_scores_add_up_to_one_for_the_start_and_one_for_the_end() -> None:
    result = read("Where was Haydn born?", make_passage("Haydn was born in Rohrau, a village in Austria."))
    (window,), (logits,) = result.windows, result.logits
    scores = score_tokens(window, logits)
    assert np.isclose(scores.sum(), 2, atol=1e-5)
    best_token, best_span = window.tokens[int(scores.argmax())], result.reading.spans[0]
    assert best_token is not None
    assert best_span.start <= best_token.start < best_token.end <= best_span.end
