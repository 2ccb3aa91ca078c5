"""Finds the visible part of a reply that is still being written: the text outside `<think>`.

The reply arrives in pieces, and a piece may end in the middle of a tag.
"""

import re
from dataclasses import dataclass, field

from quorum.core.thinking import THINKING_TAG

POSSIBLE_TAG = re.compile(r"(?:<|\[|◁)/?[A-Za-z]{0,8}\s{0,9}\Z")  # the end of a text that may be the beginning of a tag
THINKING_MODEL_NAME = re.compile(r"r1\b|qwq|think|reason|deepseek|magistral", re.IGNORECASE)
# Beginnings of replies that may be a thought without an opening tag.
THOUGHT_BEGINNINGS = (
    *("okay,", "ok,", "ok so", "okay so", "alright,", "hmm", "wait,", "let me ", "let's ", "first, i ", "i need to "),
    *("we need to ", "we are asked ", "the user asks ", "the user is ", "the user wants ", "so the user ", "so, the "),
)
LONGEST_BEGINNING = max(map(len, THOUGHT_BEGINNINGS))
# Models that have sent a closing tag without an opening tag to this process.
MODELS_WITHOUT_OPENING_TAG: set[str] = set()


def find_visible(text: str, *, is_whole: bool) -> str:
    """The text outside thoughts, without leading white space.

    is_whole: the text is complete. If it is not, and its end may be the beginning of a tag, this end is left out.

    >>> find_visible("<think>Paris?</think> Pa", is_whole=False), find_visible("Paris <thi", is_whole=False)
    ('Pa', 'Paris ')
    """
    visible_parts: list[str] = []
    begin, is_thinking = 0, False
    for tag in THINKING_TAG.finditer(text):
        is_closing = tag.lastgroup is not None  # only a closing tag has a named group
        if is_closing and not is_thinking:
            visible_parts.clear()  # the text so far was a thought
        elif not is_closing and not is_thinking:
            visible_parts.append(text[begin : tag.start()])
        begin, is_thinking = tag.end(), not is_closing
    rest = "" if is_thinking else text[begin:]
    possible_tag = None if is_whole else POSSIBLE_TAG.search(rest)
    return "".join([*visible_parts, rest[: possible_tag.start()] if possible_tag else rest]).lstrip()


def may_omit_opening_tag(model: str) -> bool:
    """Whether a model's chat template may open the thought, so that the server sends only the closing tag.

    The model's name suggests this, or an earlier reply had only a closing tag.

    >>> may_omit_opening_tag("deepseek-r1:8b"), may_omit_opening_tag("gpt-4o-mini")
    (True, False)
    """
    return model in MODELS_WITHOUT_OPENING_TAG or bool(THINKING_MODEL_NAME.search(model))


def remember_omitted_opening_tag(model: str) -> None:
    """Record that this model omits the opening tag: from now on `may_omit_opening_tag` is true for it."""
    if model:
        MODELS_WITHOUT_OPENING_TAG.add(model)


def may_begin_thought(text: str) -> bool:
    """Whether a reply begins like a thought, or is still too short to decide.

    >>> may_begin_thought("Okay, the tower"), may_begin_thought("Ok"), may_begin_thought("Oklahoma")
    (True, True, False)
    """
    begin = text.lstrip()[:LONGEST_BEGINNING].lower()
    return any(begin.startswith(item) or item.startswith(begin) for item in THOUGHT_BEGINNINGS)


@dataclass
class VisibleText:
    """Takes the pieces of a reply as they arrive, and returns the visible text of each.

    may_omit_opening_tag: the reply may begin inside a thought whose opening tag the server does not send, so nothing is
    shown before the first tag. Other replies are held back only while they begin like a thought. ends_shown_thought:
    the piece just added ended a thought that had been shown as if it were the answer; the visible text begins again
    after the thought. omits_opening_tag: the reply had a closing tag without an opening tag.

    >>> reply = VisibleText()
    >>> [reply.add(piece) for piece in ("<th", "ink>Hm", "</think>", "Par", "is")]
    ['', '', '', 'Par', 'is']
    """

    may_omit_opening_tag: bool = False
    ends_shown_thought: bool = False
    omits_opening_tag: bool = False
    is_thinking: bool = False
    has_tag: bool = False
    possible_tag: str = ""  # the end of the text so far, which may be the beginning of a tag
    possible_thought: list[str] = field(default_factory=list)  # the pieces held back because they may be a thought
    shown_pieces: list[str] = field(default_factory=list)  # the visible texts that `add` has returned so far

    @property
    def shown(self) -> str:
        """The visible text so far."""
        return "".join(self.shown_pieces)

    def add(self, piece: str, *, is_last: bool = False) -> str:
        """The visible text that this piece adds."""
        text, self.possible_tag, begin, parts = self.possible_tag + piece, "", 0, list[str]()
        self.ends_shown_thought = False
        for tag in THINKING_TAG.finditer(text):
            is_closing = tag.lastgroup is not None  # only a closing tag has a named group
            if not self.is_thinking:
                parts = [] if is_closing else [*self.possible_thought, *parts, text[begin : tag.start()]]
                self.possible_thought = []
                if is_closing:
                    self.forget_thought()
            begin, self.is_thinking, self.has_tag = tag.end(), not is_closing, True
        return self.show(parts, text[begin:], is_last)

    def forget_thought(self) -> None:
        """Discard the text so far, which was a thought without an opening tag."""
        self.ends_shown_thought = self.ends_shown_thought or bool(self.shown_pieces)
        self.omits_opening_tag = True
        self.shown_pieces = []

    def show(self, parts: list[str], rest: str, is_last: bool) -> str:
        """The visible text of the piece just added.

        parts: the visible parts of the piece before its last tag. rest: what follows this tag (the whole piece if it
        has no tag); the end of `rest` may be the beginning of another tag.
        """
        tag = None if is_last else POSSIBLE_TAG.search(rest)
        if tag is not None:
            rest, self.possible_tag = rest[: tag.start()], tag.group()
        if not self.is_thinking:
            parts = [*parts, rest]
        if not self.has_tag and not is_last and not self.shown_pieces:
            self.possible_thought += parts
            if self.may_omit_opening_tag or may_begin_thought(self.get_beginning()):
                return ""
            parts = []
        visible_text = "".join([*self.possible_thought, *parts])
        self.possible_thought = []
        visible_text = visible_text if self.shown_pieces else visible_text.lstrip()
        if visible_text:
            self.shown_pieces.append(visible_text)
        return visible_text

    def get_beginning(self) -> str:
        """The beginning of the text that is held back, long enough to recognise a thought."""
        beginning = ""
        for item in self.possible_thought:
            beginning = (beginning + item).lstrip()
            if len(beginning) >= LONGEST_BEGINNING:
                break
        return beginning
