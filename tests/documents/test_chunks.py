"""Passages hold what belongs together: lists and their subjects, definitions and their terms, code and its line."""

import pytest

from quorum.documents.pieces import split_document
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
