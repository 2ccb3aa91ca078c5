"""Finds what the marks of a long answer cite: for each, the passage's sentence that supports the cited one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
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
from quorum.core.state import Citation, Passage, State
from quorum.core.statements import find_statements
from quorum.parsing.answers import Parsed
from quorum.retrievers.bm25 import STOP_WORDS, tokenize_text

T = TypeVar("T")

CITING_TYPES = ("long", "dialogue")
MOST_MARKS = 500  # of an answer; a model in a loop writes more
LEAST_SHARE = 0.5  # of the words of a cited sentence that a sentence of the passage must have to support it


def add_citations(text: str, passages: Sequence[Passage], context: Context) -> State:
    """The update of `citations` for a long answer; nothing for any other answer, whose citations stay null."""
    return {"citations": find_citations(text, passages, context)} if context.answer_type in CITING_TYPES else {}


def find_citations(text: str, passages: Sequence[Passage], context: Context) -> list[Citation]:
    """The citations of a long answer, in the order of their first marks; empty if the setting `citations` is off.

    text: the answer as people read it; passages: those that the prompt numbered. A mark with another number cites
    nothing. If a passage supports two cited sentences by different sentences of its own, it has two citations.
    """
    if not cites(context):
        return []
    sentences = find_statements(blank_marks(text), may_wrap=False)
    places: dict[tuple[int, tuple[int, int] | None], list[list[int]]] = {}
    marks = find_marks(text)[:MOST_MARKS]
    for mark in marks:
        span = find_cited_statement(text, mark, marks, sentences)
        statement = "" if span is None else strip_marks(text[span[0] : span[1]])
        for number in mark.numbers:
            if 1 <= number <= len(passages):
                support = find_supporting_sentence(statement, passages[number - 1])
                places.setdefault((number, support), []).append([mark.start, mark.end])
    return [
        Citation(
            n=number,
            at=at,
            passage=passages[number - 1]["id"],
            start=None if support is None else support[0],
            end=None if support is None else support[1],
        )
        for (number, support), at in places.items()
    ]


def check_citations(parsed_reply: Parsed[T], context: Context, passage_count: int) -> Parsed[T]:
    """The parsed reply, malformed if it is a long answer with a mark of a passage that was not shown.

    passage_count: how many passages the prompt showed.
    """
    is_wrong = cites(context) and has_wrong_number(parsed_reply.text or "", passage_count)
    return replace(parsed_reply, malformed=True) if is_wrong else parsed_reply


def cites(context: Context) -> bool:
    """Whether answers cite passages: long answers and turns of a conversation do, unless the user switches it off."""
    return context.citations == "auto" and context.answer_type in CITING_TYPES


def find_supporting_sentence(statement: str, passage: Passage) -> tuple[int, int] | None:
    """(start, end) in the passage's text of the sentence that supports a statement; None if none does."""
    words = {word for word in tokenize_text(statement) if word not in STOP_WORDS}
    numbers = {word for word in words if any(character.isdigit() for character in word)}
    best, best_share = None, LEAST_SHARE
    for start, end, sentence_words in read_sentences(passage["text"], may_wrap=not passage.get("places")):
        share = len(words & sentence_words) / len(words) if words and numbers <= sentence_words else 0.0
        if share > best_share or (best is None and share == best_share):
            best, best_share = (start, end), share
    return best


@lru_cache(64)
def read_sentences(text: str, *, may_wrap: bool) -> list[tuple[int, int, set[str]]]:
    """(start, end, the set of its words) of each sentence of a passage."""
    return [
        (start, end, set(tokenize_text(text[start:end]))) for start, end in find_statements(text, may_wrap=may_wrap)
    ]


def number_as_in_result(text: str, rank: int, context: Context) -> str:
    """The answer from one passage, whose prompt numbers it 1, with its number among all passages.

    rank: the passage's rank among them, from 0. Marks with other numbers cite nothing and are removed: with the other
    passages at hand, they would seem to cite those.
    """
    return replace_numbers(text, lambda number: rank + 1 if number == 1 else None) if cites(context) else text
