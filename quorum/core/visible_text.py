"""The visible part of a reply that is still being written: what stands outside `<think>`, also where a tag is split."""

import re
from dataclasses import dataclass

from quorum.core.thinking import THINKING_TAG

TAG_BEGINS = re.compile(r"(?:<|\[|◁)/?[A-Za-z]{0,8}\s{0,9}\Z")  # the end of a text may be the beginning of a tag
OPENS_SILENTLY = re.compile(r"r1\b|qwq|think|reason|deepseek|magistral", re.IGNORECASE)


def find_visible(text: str, *, is_whole: bool) -> str:
    """The text outside thoughts, without white space before it.

    is_whole: nothing follows; otherwise what may be the beginning of a tag is held back.

    >>> find_visible("<think>Paris?</think> Pa", is_whole=False), find_visible("Paris <thi", is_whole=False)
    ('Pa', 'Paris ')
    """
    pieces: list[str] = []
    begin, is_thinking = 0, False
    for tag in THINKING_TAG.finditer(text):
        is_closing = tag.lastgroup is not None
        if is_closing and not is_thinking:
            pieces.clear()  # what came so far was a thought
        elif not is_closing and not is_thinking:
            pieces.append(text[begin : tag.start()])
        begin, is_thinking = tag.end(), not is_closing
    rest = "" if is_thinking else text[begin:]
    held = None if is_whole else TAG_BEGINS.search(rest)
    return "".join([*pieces, rest[: held.start()] if held else rest]).lstrip()


def may_open_silently(model: str) -> bool:
    """Whether a model's chat template may open its thought, so that the server sends the closing tag alone.

    >>> may_open_silently("deepseek-r1:8b"), may_open_silently("gpt-4o-mini")
    (True, False)
    """
    return bool(OPENS_SILENTLY.search(model))


@dataclass
class VisibleText:
    """Takes the pieces of a reply as they come, and gives those of its visible part.

    may_think: the reply may begin inside a thought, whose opening tag the server keeps for itself: nothing is shown
    before the first tag.

    >>> reply = VisibleText()
    >>> [reply.add(piece) for piece in ("<th", "ink>Hm", "</think>", "Par", "is")]
    ['', '', '', 'Par', 'is']
    """

    may_think: bool = False
    text: str = ""
    shown: str = ""

    def add(self, piece: str, *, is_last: bool = False) -> str:
        """The visible text that this piece adds."""
        self.text += piece
        if self.may_think and not is_last and not THINKING_TAG.search(self.text):
            return ""
        visible = find_visible(self.text, is_whole=is_last)
        new = visible[len(self.shown) :] if visible.startswith(self.shown) else visible
        self.shown = visible
        return new
