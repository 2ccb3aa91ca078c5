"""Replies that arrive piece by piece: thoughts between tags are never shown, and everything else is."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quorum.core.thinking import remove_thinking
from quorum.core.visible_text import VisibleText, may_omit_opening_tag

PIECES = [
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "◁think▷",
    "◁/think▷",
    "<thinking >",
    "a ",
    "b",
    "<",
    "think",
    "\n",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def cut_text(text: str, cuts: list[int]) -> list[str]:
    """The text in pieces, cut at these positions."""
    positions = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    return [text[begin:end] for begin, end in pairwise(positions)]


@given(TEXTS, st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_the_pieces_show_the_same_text_as_the_whole_reply(text: str, cuts: list[int], may_omit_tag: bool) -> None:
    reply = VisibleText(may_omit_tag)
    for piece in cut_text(text, cuts):
        reply.add(piece)
    reply.add("", is_last=True)
    assert reply.shown.strip() == remove_thinking(text)


@given(st.text("ab <>/\n", max_size=30), st.text("ab <\n", max_size=30), st.lists(st.integers(0, 90), max_size=9))
def test_a_thought_is_never_shown_and_the_pieces_are_the_answer(thought: str, answer: str, cuts: list[int]) -> None:
    reply = VisibleText()
    pieces = cut_text(f"<think>{thought}SECRET</think>{answer}", cuts)
    visible_pieces = [reply.add(piece) for piece in pieces] + [reply.add("", is_last=True)]
    assert "".join(visible_pieces) == answer.lstrip()


def test_a_thought_without_an_opening_tag_is_held_back_for_models_that_omit_it() -> None:
    reply = VisibleText(may_omit_opening_tag("deepseek-r1:8b"))
    assert [reply.add(piece) for piece in ("Paris? ", "Yes.", "</think>", " Paris")] == ["", "", "", "Paris"]
    reply_without_tags = VisibleText(may_omit_opening_tag("deepseek-r1:8b"))
    assert [reply_without_tags.add("Pa"), reply_without_tags.add("ris", is_last=True)] == ["", "Paris"]
