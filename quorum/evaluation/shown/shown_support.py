"""What the passages say about an answer, as people see it: the types `Support` and `ShownStatement`."""

from typing import Literal

from typing_extensions import TypedDict

from quorum.core.citation_marks import strip_marks
from quorum.core.state import Passage, Result
from quorum.core.text import normalize

SupportState = Literal["stated", "by_content", "none"]


class ShownStatement(TypedDict):
    """A statement of a passage.

    passage: the passage's id; start, end: where the statement stands in the passage's text (characters [start, end));
    sentence: its text; span: [start, end] of words of the statement in the passage's text, or null.
    """

    passage: str
    start: int
    end: int
    sentence: str
    span: list[int] | None


class Support(TypedDict):
    """What the passages say about an answer.

    state: "stated" if the answer stands in a passage, in this or another form (4 July 1776, July 4, 1776); "by_content"
    if a sentence says it in other words; "none" if no passage contains it, and for an unknown answer. passage, start,
    end, sentence: the sentence that supports the answer, as in `ShownStatement`; null if there is none, or if the
    answer stands only in a title. span: where the answer's words stand in this sentence, or null. score: how well the
    sentence supports the answer (0..1; 0.5 and more for "by_content"), null if this was not measured. certainty: the
    probability that the statement that answers the question best contains the answer, by the embedded reader's
    calibration; null with other models, and for yes and no. is_certain: whether the answer can be shown
    without a warning. closest: if the answer of the embedded reader is unknown or not certain and another statement
    answers the question best, this statement; its span marks the words that the reader reads there.
    """

    state: SupportState
    passage: str | None
    start: int | None
    end: int | None
    sentence: str | None
    span: list[int] | None
    score: float | None
    certainty: float | None
    is_certain: bool
    closest: ShownStatement | None


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
