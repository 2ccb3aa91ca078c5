"""Where an answer stands in the passages."""

import re
from collections.abc import Iterable, Sequence

from quorum.core.labels import is_verdict as judges
from quorum.core.state import Evidence, Passage
from quorum.core.text import contains_answer, is_unknown, normalize


def evidence_for(answer: str, passages: Sequence[Passage]) -> list[Evidence]:
    """The passages that hold the answer, in their order, each with the answer's first verbatim span in its text.

    A passage that holds it only after normalisation, or in its title, has no span. Verdicts and labels stand nowhere.
    """
    if is_unknown(answer) or is_verdict(answer):
        return []
    return [found for passage in passages if (found := support(answer, passage))]


def evidence_of_voters(answer: str, voters: Iterable[Passage]) -> list[Evidence]:
    """The passages that voted for the answer, with its span where they hold it."""
    return [evidence_in(None if is_verdict(answer) else span(answer, voter["text"]), voter) for voter in voters]


def is_verdict(answer: str) -> bool:
    return normalize(answer) == "" or judges(answer)


def support(answer: str, passage: Passage) -> Evidence | None:
    place = span(answer, passage["text"])
    holds = place or any(contains_answer(text, [answer]) for text in (passage["text"], passage["title"]))
    return evidence_in(place, passage) if holds else None


def evidence_in(place: tuple[int, int] | None, passage: Passage) -> Evidence:
    start, end = place or (None, None)
    return Evidence(passage=passage["id"], start=start, end=end)


def span(answer: str, text: str) -> tuple[int, int] | None:
    """(start, end) of the answer's first occurrence as whole words, letter case and white space aside."""
    words = answer.split()
    if not words:
        return None
    pattern = r"\s+".join(map(re.escape, words))
    found = re.search(edge(words[0][0], r"(?<!\w)") + pattern + edge(words[-1][-1], r"(?!\w)"), text, re.IGNORECASE)
    return (found.start(), found.end()) if found else None


def edge(character: str, boundary: str) -> str:
    """A word boundary beside a letter or digit, of the scripts that put spaces between words (those before Thai)."""
    return boundary if character.isalnum() and ord(character) < 0x0E00 else ""
