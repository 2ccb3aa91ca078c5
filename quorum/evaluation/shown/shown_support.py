"""What the passages say about an answer, as people see it: the types `Support` and `ShownStatement`."""

from typing import Literal

from typing_extensions import TypedDict

from quorum.algorithms.vote_key import contains_key
from quorum.core.citation_marks import strip_marks
from quorum.core.state import Passage, Result
from quorum.core.text import normalize
from quorum.nodes.evidence import find_span

SupportState = Literal["stated", "by_content", "none"]


class ShownStatement(TypedDict):
    """A statement of a passage."""

    passage: str
    """The passage's id."""
    start: int
    """Where the statement begins in the passage's text, in characters."""
    end: int
    """Where it ends in the passage's text: the character after its last one."""
    sentence: str
    """Its text."""
    span: list[int] | None
    """[start, end] of words of the statement in the passage's text, or null."""


class Support(TypedDict):
    """What the passages say about an answer."""

    state: SupportState
    """"stated" if the answer stands in a passage, in this or another form (4 July 1776, July 4, 1776); "by_content" if
    a sentence says it in other words; "none" if no passage contains it, and for an unknown answer.
    """
    passage: str | None
    """The id of the passage whose sentence supports the answer; null if there is none."""
    start: int | None
    """Where the sentence begins in the passage's text, in characters; null if there is none, or if the answer stands
    only in a title.
    """
    end: int | None
    """Where the sentence ends; null as `start`."""
    sentence: str | None
    """The sentence that supports the answer; null as `start`."""
    span: list[int] | None
    """[start, end] of the answer's words in this sentence, in the passage's text, or null."""
    score: float | None
    """How well the sentence supports the answer (0..1; 0.5 and more for "by_content"), null if this was not
    measured.
    """
    certainty: float | None
    """The probability that the statement that answers the question best contains the answer, by the embedded reader's
    calibration; null with other models, and for yes and no.
    """
    is_certain: bool
    """Whether the answer can be shown without a warning."""
    closest: ShownStatement | None
    """If the answer of the embedded reader is unknown or not certain and another statement answers the question best,
    this statement; its span marks the words that the reader reads there. Else null.
    """


def make_support(state: SupportState, *, passage: str | None = None, is_certain: bool = False) -> Support:
    """A support without a sentence."""
    return Support(
        state=state,
        passage=passage,
        start=None,
        end=None,
        sentence=None,
        span=None,
        score=None,
        certainty=None,
        is_certain=is_certain,
        closest=None,
    )


def make_shown_statement(passage: Passage, bounds: tuple[int, int], span: tuple[int, int] | None) -> ShownStatement:
    """A statement to show. The part of `span` outside the statement is cut off."""
    start, end = bounds
    cut_span = None if span is None else (max(start, span[0]), min(end, span[1]))
    return ShownStatement(
        passage=passage["id"],
        start=start,
        end=end,
        sentence=passage["text"][start:end],
        span=[*cut_span] if cut_span is not None and cut_span[0] < cut_span[1] else None,
    )


def quotes(result: Result, sentence: str) -> bool:
    """Whether a result's answer holds a sentence word for word, marks of cited passages aside."""
    words, said = (normalize(strip_marks(text)) for text in (sentence, str(result.get("answer_text") or "")))
    return bool(words) and words in said


def holds_answer(answer: str, text: str) -> bool:
    """Whether the answer stands in the text, in this or another form."""
    return find_span(answer, text) is not None or contains_key(text, answer)
