"""How text is split into sentences and passages: single cases, and properties of any text."""

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.text import find_sentences
from quorum.documents.split import count_half_words, split_text


def list_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text)]


def remove_spaces(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. J. S. Bach met Mr. Smith. He left.", ["Dr. J. S. Bach met Mr. Smith.", "He left."]),
        ("It cost $3.5 million. See fig. 3 and No. 5 now.", ["It cost $3.5 million.", "See fig. 3 and No. 5 now."]),
        (
            "The U.S. Army won. He lives in the U.S. The end.",
            ["The U.S. Army won.", "He lives in the U.S.", "The end."],
        ),
        ("At 5 a.m. he rose. At 5 a.m. He slept.", ["At 5 a.m. he rose.", "At 5 a.m.", "He slept."]),
        ('"Why?" he asked. "Go!" Then he left.', ['"Why?" he asked.', '"Go!"', "Then he left."]),
        (
            "He waited... and left. He waited... Then he left.",
            ["He waited... and left.", "He waited...", "Then he left."],
        ),
        ("Born c. 1500 in Rome. Vitamin C. The end.", ["Born c. 1500 in Rome.", "Vitamin C.", "The end."]),
        ("Acme Inc. Japan grew. It sells vs. Beta.", ["Acme Inc. Japan grew.", "It sells vs. Beta."]),
        ("東京は首都です。人口は約1400万人！大きい？", ["東京は首都です。", "人口は約1400万人！", "大きい？"]),
        ("# Title\n\nA paragraph\nwraps. Ends", ["# Title", "A paragraph\nwraps.", "Ends"]),
        ("- one\n- two\n1. First\n2. Second", ["- one", "- two", "1. First", "2. Second"]),
        ("", []),
        (" \n\t ", []),
    ],
)
def test_sentences_are_found(text: str, expected: list[str]) -> None:
    assert list_sentences(text) == expected


ANY_TEXT = st.text(
    alphabet=string.ascii_letters + string.digits + " \n\t.!?…\"'#-*|()。！猫東京がé\u00a0\u0e01\u200b", max_size=400
)


@given(ANY_TEXT)
def test_sentences_hold_everything_in_order(text: str) -> None:
    spans = find_sentences(text)
    assert "".join(remove_spaces(text[start:end]) for start, end in spans) == remove_spaces(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    assert all(text[start:end] == text[start:end].strip() for start, end in spans)


@given(ANY_TEXT, st.integers(5, 40))
def test_split_loses_nothing_and_keeps_the_limit(text: str, words: int) -> None:
    passages = split_text(text, words)
    assert remove_spaces("".join(passages)) == remove_spaces(text)
    assert all(passage.strip() == passage != "" for passage in passages)
    assert all(count_half_words(passage) <= 2 * words for passage in passages)  # a word counts as two half words


@st.composite
def draw_text(draw: st.DrawFn) -> str:
    """A text whose sentences have 1 to 30 words."""
    lengths = draw(st.lists(st.integers(1, 30), min_size=1, max_size=60))
    return " ".join(" ".join(["Word"] + ["word"] * (length - 1)) + "." for length in lengths)


@given(draw_text())
def test_passages_end_with_sentences_and_are_even(text: str) -> None:
    passages = split_text(text, 90)
    assert [sentence for passage in passages for sentence in list_sentences(passage)] == list_sentences(text)
    counts = [len(passage.split()) for passage in passages]
    assert max(counts) <= 90
    # No sentence is longer than a third of the limit, so no passage need be shorter than a third of it.
    assert len(counts) == 1 or min(counts) >= 30
    assert all(a + b > 90 for a, b in itertools.pairwise(counts))  # no two passages would fit into one


def test_the_last_passage_is_not_short() -> None:
    text = " ".join(["Ten words make up this sentence about rivers and towns."] * 10 + ["Five words end the text."])
    assert sorted(len(passage.split()) for passage in split_text(text)) == [50, 55]  # not 100 and 5


def test_scripts_without_spaces_are_split_by_characters() -> None:
    """Two characters count as a word, so a passage of 100 words has at most 200 characters."""
    passages = split_text("東京は日本の首都です。" * 60, words=100)
    assert all(len(passage) <= 200 for passage in passages)
    assert all(passage.endswith("。") for passage in passages)
    assert len(passages) == 4
    assert [len(passage) for passage in split_text("猫" * 1000)] == [200] * 5


def test_overlong_sentences_and_words_are_cut() -> None:
    """The limit is 100 words by default. A long word counts as one word for each 40 characters."""
    assert max(len(passage.split()) for passage in split_text("word " * 950)) <= 100
    assert max(map(len, split_text("x" * 50_000))) <= 4000


def test_heading_stays_with_its_text() -> None:
    passages = split_text(
        "Some words before it all. " * 5 + "\n\n## Rivers\n\n" + "The Rhine is long indeed. " * 15, words=50
    )
    assert next(passage for passage in passages if "## Rivers" in passage).split("## Rivers")[1].strip()
    assert "\n## Rivers\n" in "\n" + "\n".join(passages)  # the heading keeps a line of its own


def test_white_space_is_tidied() -> None:
    assert split_text("A  line\nthat wraps.\n\n\n- one\n- two") == ["A line that wraps.\n- one\n- two"]
