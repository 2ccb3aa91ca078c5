"""Finds the passages that contain an answer, and its characters in them."""

import re
from collections.abc import Iterable, Sequence

from quorum.core.labels import is_verdict
from quorum.core.state import Evidence, Passage
from quorum.core.text import contains_answer, is_unknown, normalize


def find_evidence(answer: str, passages: Sequence[Passage]) -> list[Evidence]:
    """The passages that contain the answer, in their order, each with the span of its first verbatim occurrence.

    The span is null if the passage contains the answer only after normalisation or in its title. Verdicts and labels
    have no evidence.
    """
    if is_unknown(answer) or has_no_evidence(answer):
        return []
    return [found for passage in passages if (found := find_support(answer, passage))]


def find_voter_evidence(answer: str, voters: Iterable[Passage]) -> list[Evidence]:
    """The passages that voted for the answer, each with the answer's span if its text contains it."""
    return [
        make_evidence(None if has_no_evidence(answer) else find_span(answer, voter["text"]), voter) for voter in voters
    ]


def has_no_evidence(answer: str) -> bool:
    """Whether no passage can contain the answer: a verdict, or nothing that remains after normalisation."""
    return normalize(answer) == "" or is_verdict(answer)


def find_support(answer: str, passage: Passage) -> Evidence | None:
    """The evidence that one passage gives, or None if it does not contain the answer."""
    place = find_span(answer, passage["text"])
    holds = place or any(contains_answer(text, [answer]) for text in (passage["text"], passage["title"]))
    return make_evidence(place, passage) if holds else None


def make_evidence(place: tuple[int, int] | None, passage: Passage) -> Evidence:
    """Evidence with a span, or without one for None."""
    start, end = place or (None, None)
    return Evidence(passage=passage["id"], start=start, end=end)


def find_span(answer: str, text: str) -> tuple[int, int] | None:
    """(start, end) of the answer's first occurrence as whole words. Case and white space may differ."""
    words = answer.split()
    if not words:
        return None
    pattern = r"\s+".join(map(re.escape, words))
    found = re.search(
        make_word_boundary(words[0][0], r"(?<!\w)") + pattern + make_word_boundary(words[-1][-1], r"(?!\w)"),
        text,
        re.IGNORECASE,
    )
    return (found.start(), found.end()) if found else None


def make_word_boundary(character: str, boundary: str) -> str:
    """The boundary, if the character is a letter or digit of a script with spaces between words (those before Thai)."""
    return boundary if character.isalnum() and ord(character) < 0x0E00 else ""
