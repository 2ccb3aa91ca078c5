"""Finds copies: passages that only repeat another passage.

A run is five consecutive words of a passage. The sketch of a passage holds the four smallest hashes of its runs, as in
MinHash (Broder 1997), and one hash of all its words. Passages that share most of their words usually have hashes in
common, so only passages with enough common hashes are compared.

A passage is a copy of another one if the other passage contains all words, numbers, signs and symbols of the copy in
the same order without a gap, and is not much longer. The title and the headings of the copy must be those of the other
passage, or missing. So one number, one name or one "not" that differs keeps two passages apart; case, punctuation and
white space do not. A hyphen between words counts as a space.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from unicodedata import category, normalize
from zlib import crc32

from quorum.core.state import Passage
from quorum.documents.pieces import get_headings, hash_passage

RUN_WORDS = 5  # words of a run
SKETCH_HASHES = 4  # hashes of runs in a sketch
FEWEST_WORDS = 20  # shorter passages are never copies, because equal short texts may mean different things
MIN_SHARE = 0.8  # a copy has at least this share of the words of the passage that contains it
TOKEN = re.compile(r"(?<![\w.,])[-\u2212+]?\d+(?:[.,:]\d+)*(?!\w)|\w+|[^\w\s]")
MEANINGFUL_PUNCTUATION = frozenset("%&@§/")  # these signs are compared; other punctuation is ignored
WORD_SEPARATOR = "\x1f"


class PassageWords(NamedTuple):
    """The words of a passage, its title and its headings, normalised for comparison with other passages.

    words: as one text, in which WORD_SEPARATOR stands before, between and after the words; length: how many words.
    """

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
    """Whether a passage can be a copy.

    Only a passage of a document can. A passage from a JSON line, or of a LangChain document that has an id, is always
    stored, under its own id.
    """
    places = passage.get("places") or []
    if not places or "line" in places[0]:
        return False
    return not places[0].get("given") or passage["id"] == hash_passage(passage)


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
    run_hashes = {
        crc32(" ".join(words[start : start + RUN_WORDS]).encode()) for start in range(len(words) - RUN_WORDS + 1)
    }
    return (*sorted(run_hashes)[:SKETCH_HASHES], crc32(WORD_SEPARATOR.join(words).encode()))


def read_words(passage: Passage) -> PassageWords:
    """The words, title and headings of a passage for comparison. A title that is only the file's name is ignored."""
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
    """Whether the title is only the name of a file of the passage, with or without its suffix."""
    names = {
        name for place in passage.get("places") or [] for name in (Path(place["file"]).stem, Path(place["file"]).name)
    }
    return passage["title"] in names


def is_copy(shorter: PassageWords, longer: PassageWords) -> bool:
    """Whether `shorter` is a copy of `longer` or of a part of it.

    All words of `shorter` stand in `longer` in the same order without a gap, and are at least MIN_SHARE of the words of
    `longer`. The title and headings of `shorter` are those of `longer`, or empty.

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
