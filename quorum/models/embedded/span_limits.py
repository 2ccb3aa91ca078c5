"""Where a span must end: at the end of a sentence, a line, a cell of a table, a list number and a title."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from quorum.core.sentences import SENTENCE_STARTERS
from quorum.core.statements import find_statements

CELL = re.compile(r"; (?=[^;:]+:)")  # before the next cell in a row of a table: "Setting: timeout; Default: 12 s"
CELL_NAME = re.compile(r"(?:\A|; )[^;:]+: ")
BAR = re.compile(r"[ \t]*\|[ \t]*|\t+")
LIST_MARK = re.compile(r"[ \t]*(?:\(?\d{1,3}[.)]|\(?[a-z]\)|[-*+•]|#{1,6})[ \t]+")
WORD = re.compile(r"[^\W_]+")
ARTICLES = frozenset({"a", "an", "the"})
WORDS_AFTER_HEADING = 6  # a heading's last word among so many words after it: "Ben Savage Bennett Joseph Savage is"


@dataclass(frozen=True)
class Heading:
    """A passage's title that stands in its text as a heading: characters [start, end).

    repeated: (start, end) of the title if it follows at once again, apart from an article and quotation marks; else
    None.
    """

    start: int
    end: int
    repeated: tuple[int, int] | None


@lru_cache(maxsize=512)
def find_breaks(title: str, text: str) -> tuple[int, ...]:
    """The places in a passage's text that no span crosses, ascending.

    >>> text = "Belmopan Belmopan is a city. 2. Open at 4 bar. 3. Close it."
    >>> breaks = (0, *find_breaks("Belmopan", text), len(text))
    >>> [text[start:end].strip() for start, end in zip(breaks, breaks[1:]) if text[start:end].strip()]
    ['Belmopan', 'Belmopan is a city.', '2.', 'Open at 4 bar.', '3.', 'Close it.']
    """
    breaks = {place for heading in find_headings(title, text) for place in (heading.start, heading.end)}
    for start, end in find_statements(text):
        statement = text[start:end]
        breaks |= {start, end} | {start + place for bar in BAR.finditer(statement) for place in bar.span()}
        if mark := LIST_MARK.match(statement):
            breaks.add(start + mark.end())
        if CELL.search(statement):
            breaks |= {start + cell.start() for cell in CELL.finditer(statement)}
            breaks |= {start + name.end() for name in CELL_NAME.finditer(statement)}
    return tuple(sorted(breaks))


@lru_cache(maxsize=512)
def find_headings(title: str, text: str) -> Sequence[Heading]:
    """The places where a passage's title stands in its text as a heading, before a sentence that it is no part of.

    In DPR's corpus the first passage of every article begins with the title, and its last passage goes on with the
    first one. The title is a heading at the beginning of the text if the sentence after it begins with the title's
    first word again or with a word that often begins a sentence, or if it soon repeats the title's last word; anywhere
    else only if the title follows at once again.

    >>> find_headings("Belmopan", "Belmopan Belmopan is a city.")
    (Heading(start=0, end=8, repeated=(9, 17)),)
    >>> find_headings("Belmopan", "Belmopan The city"), find_headings("Belmopan", "Belmopan is a city.")
    ((Heading(start=0, end=8, repeated=None),), ())
    """
    if not WORD.search(title):
        return ()
    headings = []
    name = re.escape(title)
    for match in re.finditer(rf"(?<!\w){name}(?=\s)(?:[\s\"'“”]+(?:(?:the|an?)\s)?[\"'“]*({name})(?!\w))?", text, re.I):
        if match[1] is not None:
            headings.append(Heading(match.start(), match.start() + len(title), match.span(1)))
        elif match.start() == 0 and begins_with_heading(title, text[len(title) :]):
            headings.append(Heading(0, len(title), None))
    return tuple(headings)


def begins_with_heading(title: str, rest: str) -> bool:
    """Whether the title before the rest of the text is a heading there (see `find_headings`)."""
    words = WORD.findall(rest[:120])[: WORDS_AFTER_HEADING + 1]
    title_words = [word.lower() for word in WORD.findall(title)]
    if not words or (words[0][0].isupper() and words[0].lower() in SENTENCE_STARTERS):
        return True
    names = [word.lower() for word in words if word.lower() not in ARTICLES]
    first_words = [word for word in title_words if word not in ARTICLES] or title_words
    return names[:1] == first_words[:1] or title_words[-1] in names[:WORDS_AFTER_HEADING]
