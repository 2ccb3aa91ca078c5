"""The marks by which an answer cites passages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.citation_marks import (
    blank_marks,
    find_cited_statement,
    find_marks,
    has_wrong_number,
    replace_numbers,
    strip_marks,
    strip_marks_so_far,
)
from quorum.core.statements import find_statements

# A text, the numbers of its marks, and the text without the marks.
MARKED_TEXTS: list[tuple[str, list[tuple[int, ...]], str]] = [
    ("It fell [1].", [(1,)], "It fell."),
    ("It fell. [1] It rose.", [(1,)], "It fell. It rose."),
    ("It fell.[1]", [(1,)], "It fell."),
    ("It fell [1][2].", [(1,), (2,)], "It fell."),
    ("It fell [1] [2], then rose.", [(1,), (2,)], "It fell, then rose."),
    ("It fell [1, 3] twice.", [(1, 3)], "It fell twice."),
    ("It fell [1; 3 and 4].", [(1, 3, 4)], "It fell."),
    ("It fell [1-3].", [(1, 2, 3)], "It fell."),
    ("It fell [2–4, 6].", [(2, 3, 4, 6)], "It fell."),
    ("It fell [^2].", [(2,)], "It fell."),
    ("It fell [Passage 2].", [(2,)], "It fell."),
    ("It fell (passage 2).", [(2,)], "It fell."),
    ("It fell (see passages 1 and 3).", [(1, 3)], "It fell."),
    ("塔は1931年に完成した【1】。", [(1,)], "塔は1931年に完成した。"),
    ("It fell 【3†source】.", [(3,)], "It fell."),
    ("It fell ［２］.", [(2,)], "It fell."),
    ("| tower | 1931 [1] |", [(1,)], "| tower | 1931 |"),
    ("- a tower [1]\n- a mast [2]", [(1,), (2,)], "- a tower\n- a mast"),
    ("[1] A tower.\n[2] A mast.", [(1,), (2,)], "A tower.\nA mast."),
    ("It fell [9].", [(9,)], "It fell."),
    ("It fell [0].", [(0,)], "It fell."),
]
UNMARKED_TEXTS = [
    "Take `list[1]` and ``a[2]``.",
    "```python\nyears[1] = [2]\n```",
    "~~~\nyears[1]\n~~~",
    "```\nyears[1]",  # the block is still being written
    "See [1](https://example.org/1).",
    "![1](tower.png)",
    r"It is written \[1].",
    "A value in [0, 1].",
    "Built in [1931].",
    "Version [2.5] of it.",
    "- [ ] a task",
    "A mast (1).",
]


@pytest.mark.parametrize(("text", "numbers", "bare_text"), MARKED_TEXTS)
def test_marks_are_found_and_removed(text: str, numbers: list[tuple[int, ...]], bare_text: str) -> None:
    assert [mark.numbers for mark in find_marks(text)] == numbers
    assert strip_marks(text) == bare_text


@pytest.mark.parametrize("text", UNMARKED_TEXTS)
def test_code_links_and_intervals_are_no_marks(text: str) -> None:
    assert find_marks(text) == []
    assert strip_marks(text) == text


def test_a_mark_after_code_is_found() -> None:
    text = "```\na[1]\n```\nIt fell [2]; `b[3]` did not [4]."
    assert [mark.numbers for mark in find_marks(text)] == [(2,), (4,)]


@given(st.text(alphabet="ab `~[]()1２,-–\n^ passage【】†.", max_size=80))
def test_a_text_without_its_marks_has_none(text: str) -> None:
    bare_text = text
    for _ in range(40):  # removing a mark may join its neighbours into another one
        bare_text = strip_marks(bare_text)
    assert find_marks(bare_text) == []
    assert len(blank_marks(text)) == len(text)


@pytest.mark.parametrize(("text", "numbers", "bare_text"), MARKED_TEXTS)
def test_marks_are_removed_from_every_beginning_of_a_text(
    text: str, numbers: list[tuple[int, ...]], bare_text: str
) -> None:
    assert all(bare_text.startswith(strip_marks_so_far(text[:end])) for end in range(len(text) + 1))


@pytest.mark.parametrize(
    ("text", "is_wrong"), [("It fell [1][3].", False), ("It fell [4].", True), ("It fell [1-4].", True), ("[0]", True)]
)
def test_a_number_beyond_the_passages_is_wrong(text: str, is_wrong: bool) -> None:
    assert has_wrong_number(text, 3) is is_wrong


def test_numbers_are_replaced_and_numbers_without_a_new_one_removed() -> None:
    assert replace_numbers("It [1] fell [1, 2]. [3]", {1: 4, 2: 5}.get) == "It [4] fell [4][5]."


@pytest.mark.parametrize(
    ("text", "cited_texts"),
    [
        ("It fell. It rose again [1].", ["It rose again ."]),
        ("It fell. [1] It rose.", ["It fell."]),
        ("[1] It fell.\n[2] It rose.", ["It fell.", "It rose."]),
        ("The tower fell then [1], the mast rose in 1950 [2].", ["The tower fell then", ", the mast rose in 1950"]),
        ("The tower fell in 1931 [1] [2].", ["The tower fell in 1931"] * 2),
        ("According to [1], the tower fell.", ["According to , the tower fell."]),
        ("| tower | 1931 [1] |\n| mast | 1950 [2] |", ["| tower | 1931", "| mast | 1950"]),
        ("The tower fell in 1931 [1], and nobody ever learned why.", ["The tower fell in 1931"]),
        ("[1]", [None]),
    ],
)  # fmt: skip
def test_a_mark_cites_its_sentence_or_its_part_of_the_sentence(text: str, cited_texts: list[str | None]) -> None:
    marks, blanked_text = find_marks(text), blank_marks(text)
    sentences = find_statements(blanked_text, may_wrap=False)
    spans = [find_cited_statement(text, mark, marks, sentences) for mark in marks]
    assert [span and " ".join(blanked_text[span[0] : span[1]].split()) for span in spans] == cited_texts
