"""Finds copies: passages that only repeat another passage.

Sketches (the smallest hashes of all runs of five words, as in MinHash; Broder 1997) find passages that share most of
their words. Sketches only propose pairs. A passage is a copy if the other passage contains all its words, numbers,
signs and symbols in the same order without a gap. The same must hold for its title and the headings above it. So one
number, one name or one "not" that differs keeps two passages apart; case, punctuation, hyphens and white space do not.
"""

import re
from pathlib import Path
from typing import NamedTuple
from unicodedata import category, normalize
from zlib import crc32

from quorum.core.state import Passage
from quorum.documents.pieces import headings_of

RUN = 5  # words of a shingle
SKETCH = 4  # hashes that stand for a passage
FEWEST_WORDS = 20  # of a passage that may be a copy: equal short passages may mean different things
LEAST_SHARE = 0.8  # of the kept passage's words that a copy has
TOKEN = re.compile(r"(?<![\w.,])[-\u2212+]?\d+(?:[.,:]\d+)*(?!\w)|\w+|[^\w\s]")
TELLING = frozenset("%&@§/")  # punctuation that means something
JOINT = "\x1f"


class Said(NamedTuple):
    """What a passage says, in a form in which copies are equal."""

    words: str
    length: int
    title: str
    headings: str


def words_of(text: str) -> list[str]:
    """The words, numbers and symbols of a text, in small letters.

    >>> words_of("The Vell (−3.5 °C) IS 87 m.")
    ['the', 'vell', '-3.5', '°', 'c', 'is', '87', 'm']
    """
    found = TOKEN.findall(normalize("NFKC", text.replace("\u00ad", "")).casefold().replace("\u2212", "-"))
    return [word for word in found if word[0].isalnum() or len(word) > 1 or word in TELLING or category(word)[0] != "P"]


def is_comparable(passage: Passage) -> bool:
    """Whether a passage may be a copy: only passages split from a document may, as they have no own ids."""
    places = passage.get("places") or []
    return bool(places) and "line" not in places[0]


def sketch_of(passage: Passage) -> tuple[int, ...]:
    """The smallest hashes of a passage's runs of words; empty for one that is too short to be a copy."""
    words = words_of(passage["text"])
    if len(words) < FEWEST_WORDS:
        return ()
    runs = {crc32(" ".join(words[place : place + RUN]).encode()) for place in range(len(words) - RUN + 1)}
    return tuple(sorted(runs)[:SKETCH])


def said_by(passage: Passage) -> Said:
    """The words of a passage, for comparison; a title that is only the file's name is ignored."""
    words = words_of(passage["text"])
    title = "" if has_file_title(passage) else " ".join(words_of(passage["title"]))
    headings = JOINT.join(" ".join(words_of(heading)) for heading in headings_of(passage))
    return Said(f"{JOINT}{JOINT.join(words)}{JOINT}", len(words), title, headings)


def has_file_title(passage: Passage) -> bool:
    names = {
        name for place in passage.get("places") or [] for name in (Path(place["file"]).stem, Path(place["file"]).name)
    }
    return passage["title"] in names


def says_all(kept: Said, other: Said) -> bool:
    """Whether `kept` says everything that `other` says.

    >>> def passage(text): return {"id": "", "title": "T", "text": text}
    >>> says_all(said_by(passage("The fee is 20 euros, paid in May.")), said_by(passage("the fee is 20 Euros")))
    False
    >>> says_all(said_by(passage("The fee is 20 euros.")), said_by(passage("THE FEE IS 20 EUROS")))
    True
    >>> says_all(said_by(passage("The fee is 20 euros.")), said_by(passage("The fee is 30 euros.")))
    False
    """
    same_place = other.title in ("", kept.title) and other.headings in ("", kept.headings)
    return same_place and other.length >= LEAST_SHARE * kept.length and other.words in kept.words
