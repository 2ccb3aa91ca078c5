"""Passages hold what belongs together: lists and their subjects, definitions and their terms, code and its line."""

import pytest

from quorum.documents.document import Block, Document
from quorum.documents.pieces import Piece, split_document
from quorum.documents.readers.markdown import read

FILLER = "The keeper notes the level of the water in the book. "


def split(text: str, words: int) -> list[str]:
    return [piece.text for piece in split_document(read(text.encode(), "a.md"), words)]


def count_words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize("sentences", range(5))
@pytest.mark.parametrize(
    "text",
    [
        "Never open:\n\n- the upper gate\n- the lower gate",
        "Open it by this command:\n\n```\nweirctl up\n```",
        "Open it\n\n```\nweirctl up\n```\n\nand wait for the bell.",
        "upper gate\n: The gate towards the hill.",
    ],
)
def test_a_passage_keeps_what_belongs_together(text: str, sentences: int) -> None:
    passages = split(f"{FILLER * sentences}\n\n{text}\n\n{FILLER * 3}", 30)
    assert max(map(count_words, passages)) <= 30
    whole = [passage for passage in passages if "weirctl" in passage or "gate" in passage]
    assert whole
    for passage in whole:  # a list that is split names its subject again
        assert any(word in passage for word in ("Never open", "Open it", "upper gate: The"))
    assert not any(passage.startswith(("and", "-")) for passage in passages)


def test_a_long_list_names_its_subject_in_each_passage() -> None:
    items = "".join(f"- gate number {number} of the canal\n" for number in range(12))
    passages = split(f"Never open:\n\n{items}", 30)
    assert len(passages) > 2
    assert all(passage.startswith("Never open:\n- gate number") for passage in passages)
    assert [passage.count("gate number") for passage in passages] == [4, 4, 4]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("Call {func}`~weir.open`.", ["Call weir.open."]),
        ("Call :func:`open <weir.open>` or :meth:`!Gate.shut`.", ["Call open or Gate.shut."]),
        ("Write `` {func}`x` `` so.", ["Write {func}`x` so."]),
        ("(label)=\n## Gates\n\n:::{note}\nMind the ice.\n:::", ["Gates", "Mind the ice."]),
        ("```{warning} Ice\n:class: big\nMind it.\n```", ["Ice", "Mind it."]),
        ("```{code-block} sh\n:linenos:\nweirctl\n```", ["weirctl"]),
        ("```\n{func}`x`\n: y\n```", ["{func}`x`\n: y"]),
        ("```{toctree}\ngates\n```\nText.", ["Text."]),
        ("up\n: Opens.\n\ndown\n: Closes.\n: Waits.", ["up: Opens.", "down: Closes.: Waits."]),
        ("At 10:30 `a`: {x}.", ["At 10:30 a: {x}."]),
    ],
)
def test_the_marks_of_myst_and_sphinx_become_text(text: str, blocks: list[str]) -> None:
    assert [block.text for block in read(text.encode(), "a.md").blocks] == blocks


LONG = FILLER.strip()


@pytest.mark.parametrize(
    ("text", "passages"),
    [
        (f"## A\n\nShut.\n\n## B\n\n{LONG}", [(f"A\nShut.\nB\n{LONG}", ())]),  # one with the section after it
        (f"## A\n\n{LONG}\n\n## B\n\nShut.", [(f"A\n{LONG}\nB\nShut.", ())]),  # the last one, with that before it
        ("## A\n\nShut.\n\n## B\n\nOpen.", [("A\nShut.\nB\nOpen.", ())]),
        # The heading X stands above A only, and not in its text: A is one with its neighbour below X.
        (
            f"## X\n\n{LONG}\n\n### A\n\nShut.\n\n## Y\n\n{LONG}",
            [(f"X\n{LONG}\nA\nShut.", ("X",)), (f"Y\n{LONG}", ("Y",))],
        ),
        # The passages after the first say no heading of a section, so nothing joins them.
        (
            f"## A\n\n{FILLER * 3}\n\n## B\n\nShut.",
            [(f"A\n{LONG}", ("A",)), (f"{LONG} {LONG}", ("A",)), ("B\nShut.", ("B",))],
        ),
        # A table stays apart.
        (
            f"## A\n\n| Gate | m |\n|---|---|\n| Vell | 3 |\n\n## B\n\n{LONG}",
            [("A\nGate: Vell; m: 3", ("A",)), (f"B\n{LONG}", ("B",))],
        ),
    ],
)
def test_a_section_of_a_few_words_is_one_with_a_neighbour(
    text: str, passages: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert [(piece.text, piece.headings) for piece in split_document(read(text.encode(), "a.md"), 25)] == passages


def test_a_passage_of_two_slides_names_both_and_only_slides_that_follow_each_other_join() -> None:
    texts = {1: "Shut.", 2: LONG, 3: LONG, 5: "Open."}
    blocks = [
        block
        for page, text in texts.items()
        for block in (Block(f"S{page}", "heading", 2, page), Block(text, page=page))
    ]
    pieces = list(split_document(Document("T", blocks)))
    text = f"S1\nShut.\nS2\n{LONG}"
    end = len("S1\n\nShut.\n\nS2\n\n") + len(LONG)
    assert pieces[0] == Piece(text, 0, end, 1, (), 2)
    assert [(piece.page, piece.last_page, piece.headings) for piece in pieces[1:]] == [(3, 3, ("S3",)), (5, 5, ("S5",))]


def test_a_passage_that_begins_with_the_title_of_an_earlier_slide_begins_there() -> None:
    slides = [Block("Deck", "heading", level=1, page=1)]
    for page, title in enumerate("ABC", start=2):
        slides += [Block(title, "heading", level=2, page=page), Block("Few words.", page=page)]
    [piece] = split_document(Document("T", slides), 60)
    assert (piece.text[:4], piece.page, piece.last_page) == ("Deck", 1, 4)
    [piece] = split_document(Document("T", [Block("A", "heading", level=1, page=1), Block("Few words.", page=2)]), 60)
    assert (piece.page, piece.last_page) == (2, 2)  # a heading at the end of a page
