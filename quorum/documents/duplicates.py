"""Finds copies: passages that only repeat another passage.

A sketch of a passage holds the smallest hashes of all its runs of five words, as in MinHash (Broder 1997), and a hash
of all its words. Sketches find passages that share most of their words; they only propose pairs. A passage is a copy if
the other passage contains all its words, numbers, signs and symbols in the same order without a gap, and is not much
longer. Its title and the headings above it must be those of the other passage, or missing. So one number, one name or
one "not" that differs keeps two passages apart; case, punctuation, hyphens and white space do not.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from unicodedata import category, normalize
from zlib import crc32

from quorum.core.state import Passage
from quorum.documents.pieces import get_headings

SHINGLE_WORDS = 5  # words of a shingle
SKETCH_HASHES = 4  # hashes of runs in a passage's sketch
FEWEST_WORDS = 20  # shorter passages are never copies, because equal short texts may mean different things
MIN_SHARE = 0.8  # a copy has at least this share of the words of the passage that contains it
TOKEN = re.compile(r"(?<![\w.,])[-\u2212+]?\d+(?:[.,:]\d+)*(?!\w)|\w+|[^\w\s]")
MEANINGFUL_PUNCTUATION = frozenset("%&@§/")  # is compared; other punctuation is ignored
WORD_SEPARATOR = "\x1f"


class PassageWords(NamedTuple):
    """The words of a passage, its title and its headings, normalised for comparison with other passages."""

    words: str
    length: int
    title: str
    headings: str


def split_words(text: str) -> list[str]:
    """The words, numbers and symbols of a text, in small letters.

    >>> split_words("The Vell (−3.5 °C) IS 87 m.")
    ['the', 'vell', '-3.5', '°', 'c', 'is', '87', 'm']
    """
    tokens = TOKEN.findall(normalize("NFKC", text.replace("\u00ad", "")).casefold().replace("\u2212", "-"))
    return [
        word
        for word in tokens
        if word[0].isalnum() or len(word) > 1 or word in MEANINGFUL_PUNCTUATION or category(word)[0] != "P"
    ]


def is_possible_copy(passage: Passage) -> bool:
    """Whether a passage may be a copy: it comes from a document, not from a line of JSON, which has its own id."""
    places = passage.get("places") or []
    return bool(places) and "line" not in places[0]


def make_sketch(passage: Passage) -> tuple[int, ...]:
    """The sketch of a passage: the smallest hashes of its runs of words, then a hash of all its words.

    The sketch is empty if the passage is too short to be a copy.
    """
    return sketch_text(passage["text"])


@lru_cache(maxsize=8)  # a passage is sketched when a copy is looked for, and again when it is stored
def sketch_text(text: str) -> tuple[int, ...]:
    """The sketch of a passage with this text."""
    words = split_words(text)
    if len(words) < FEWEST_WORDS:
        return ()
    runs = {
        crc32(" ".join(words[place : place + SHINGLE_WORDS]).encode())
        for place in range(len(words) - SHINGLE_WORDS + 1)
    }
    return (*sorted(runs)[:SKETCH_HASHES], crc32(WORD_SEPARATOR.join(words).encode()))


def read_words(passage: Passage) -> PassageWords:
    """The words of a passage for comparison. A title that is only the file's name is ignored."""
    words = split_words(passage["text"])
    title = "" if has_file_title(passage) else normalize_title(passage["title"])
    headings = normalize_headings(tuple(get_headings(passage)))
    return PassageWords(f"{WORD_SEPARATOR}{WORD_SEPARATOR.join(words)}{WORD_SEPARATOR}", len(words), title, headings)


@lru_cache(maxsize=1024)
def normalize_title(title: str) -> str:
    return " ".join(split_words(title))


@lru_cache(maxsize=1024)
def normalize_headings(headings: tuple[str, ...]) -> str:
    return WORD_SEPARATOR.join(normalize_title(heading) for heading in headings)


def has_file_title(passage: Passage) -> bool:
    names = {
        name for place in passage.get("places") or [] for name in (Path(place["file"]).stem, Path(place["file"]).name)
    }
    return passage["title"] in names


def is_copy(shorter: PassageWords, longer: PassageWords) -> bool:
    """Whether `shorter` is a copy of `longer` or of a part of it.

    Its words stand in `longer` in the same order without a gap, and are at least MIN_SHARE of the words of `longer`.
    Its title and headings are the same or empty.

    >>> def words(text): return read_words({"id": "", "title": "T", "text": text})
    >>> is_copy(words("THE FEE IS 20 EUROS"), words("The fee is 20 euros."))
    True
    >>> is_copy(words("The fee is 30 euros."), words("The fee is 20 euros."))
    False
    >>> is_copy(words("the fee is 20 Euros"), words("The fee is 20 euros, paid in May."))  # 5 of 8 words
    False
    """
    same_section = shorter.title in ("", longer.title) and shorter.headings in ("", longer.headings)
    return same_section and shorter.length >= MIN_SHARE * longer.length and shorter.words in longer.words
