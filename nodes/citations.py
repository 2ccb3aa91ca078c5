"""Finds what the marks of a long answer cite: for each, the passage's sentence that supports the cited one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from quorum.core.citation_marks import (
    blank_marks,
    find_cited_statement,
    find_marks,
    has_wrong_number,
    replace_numbers,
    strip_marks,
)
from quorum.core.context import Context
from quorum.core.state import Citation, Passage
from quorum.core.statements import find_statements
from quorum.parsing.answers import Parsed

T = TypeVar("T")

CITING_TYPES = ("long", "dialogue")
MOST_MARKS = 500  # of an answer; a model in a loop writes more


@dataclass(frozen=True)
class CitedStatement:
    """A statement of an answer whose mark, characters [start, end) of the answer, cites the passage with this number,
    from 1.
    """

    number: int
    statement: str
    start: int
    end: int


async def find_citations(question: str, text: str, passages: Sequence[Passage], context: Context) -> list[Citation]:
    """The citations of a long answer, in the order of their first marks; empty if the setting `citations` is off.

    text: the answer as people read it; passages: those that the prompt numbered. A mark with another number cites
    nothing. If a passage supports two cited sentences by different sentences of its own, it has two citations.
    """
    if not cites(context):
        return []
    cited = list_cited_statements(text, len(passages))
    sentences = await find_supporting_sentences(question, cited, passages)
    places: dict[tuple[int, tuple[int, int] | None], list[list[int]]] = {}
    for item in cited:
        places.setdefault((item.number, sentences[item.number, item.statement]), []).append([item.start, item.end])
    return [make_citation(number, at, passages[number - 1], sentence) for (number, sentence), at in places.items()]


def make_citation(number: int, at: list[list[int]], passage: Passage, sentence: tuple[int, int] | None) -> Citation:
    """The citation of a passage with this number. at: where its marks stand; sentence: (start, end) of the passage's
    sentence that supports the cited ones, None if there is none.
    """
    start, end = (None, None) if sentence is None else sentence
    citation = Citation(n=number, at=at, passage=passage["id"], start=start, end=end)
    if passage.get("metadata"):
        citation["metadata"] = passage["metadata"]
    return citation


def list_cited_statements(text: str, passage_count: int) -> list[CitedStatement]:
    """What the marks of a text cite, in their order; a mark of several passages is listed for each."""
    sentences = find_statements(blank_marks(text), may_wrap=False)
    marks = find_marks(text)[:MOST_MARKS]
    cited = []
    for mark in marks:
        span = find_cited_statement(text, mark, marks, sentences)
        statement = "" if span is None else strip_marks(text[span[0] : span[1]])
        numbers = [number for number in mark.numbers if 1 <= number <= passage_count]
        cited += [CitedStatement(number, statement, mark.start, mark.end) for number in numbers]
    return cited


async def find_supporting_sentences(
    question: str, cited: Sequence[CitedStatement], passages: Sequence[Passage]
) -> dict[tuple[int, str], tuple[int, int] | None]:
    """{(number of a passage, statement that cites it): (start, end) of the passage's sentence that supports it}."""
    from quorum.models.embedded.support import find_support_of_each

    sentences: dict[tuple[int, str], tuple[int, int] | None] = {}
    for number in dict.fromkeys(item.number for item in cited):
        statements = list(dict.fromkeys(item.statement for item in cited if item.number == number))
        findings = await find_support_of_each(question, statements, [passages[number - 1]])
        for statement, found in zip(statements, findings, strict=True):
            sentences[number, statement] = None if found.best is None else (found.best.start, found.best.end)
    return sentences


def check_citations(parsed_reply: Parsed[T], context: Context, passage_count: int) -> Parsed[T]:
    """The parsed reply, malformed if it is a long answer with a mark of a passage that was not shown.

    passage_count: how many passages the prompt showed.
    """
    is_wrong = cites(context) and has_wrong_number(parsed_reply.text or "", passage_count)
    return replace(parsed_reply, malformed=True) if is_wrong else parsed_reply


def cites(context: Context) -> bool:
    """Whether answers cite passages: long answers and turns of a conversation do, unless the user switches it off."""
    return context.citations == "auto" and context.answer_type in CITING_TYPES


def number_as_in_result(text: str, rank: int, context: Context) -> str:
    """The answer from one passage, whose prompt numbers it 1, with its number among all passages.

    rank: the passage's rank among them, from 0. Marks with other numbers cite nothing and are removed: with the other
    passages at hand, they would seem to cite those.
    """
    return replace_numbers(text, lambda number: rank + 1 if number == 1 else None) if cites(context) else text
