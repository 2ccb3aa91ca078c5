"""What a model copied, found again in the passages that it copied from."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from quorum.algorithms.filco_measures import Piece, pieces
from quorum.core.json_text import loads
from quorum.core.sentences import sentences
from quorum.core.state import Passage
from quorum.core.text import is_unknown

SHORTEST = 4  # words that stand for a sentence they are part of, or that are found inside a longer line
NOTHING = re.compile(r"\W*(?:(?:none|nothing|no|n/?a|empty|null)\b[^\n]{0,120})?\W*", re.IGNORECASE)
MARKER = re.compile(
    r"\A[\s>]*(?:(?:[-•*–]|\d{1,3}[.)](?=\s)|\(\d{1,3}\)|\[\d{1,3}\]"
    r"|(?:passage|sentence|text) \[?\d{1,3}\]?\s*[:,.–-])\s*)+",
    re.IGNORECASE,
)
ONLY_A_MARKER = re.compile(r"\W*(?:(?:from |in )?(?:passages?|sentences?|text))?\W*\d{0,3}\W*", re.IGNORECASE)
GAP = re.compile(r"\[?(?:\.\.\.+|…|\. \. \.)\]?")


@dataclass
class Matched:
    """pieces: the sentences that were copied, in reading order; strange: what stands in no passage."""

    pieces: list[Piece] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)


def match(reply: str, passages: Sequence[Passage]) -> Matched:
    """The passages' sentences that a reply copies, forgiving case, white space, punctuation, quotes, list markers and
    ellipses. A part of a sentence stands for it when it has four words. Titles and lead-ins say nothing.

    A sentence that stands in several passages is taken from the first.
    """
    places = [(words(piece.text), piece) for piece in pieces(passages)]
    titles = {words(passage["title"]) for passage in passages}
    found: dict[Piece, None] = {}
    strange = []
    for line in copied_lines(reply):
        taken, left = from_line(line, places, titles)
        found |= dict.fromkeys(taken)
        if not line.endswith((":", "：")) and not ONLY_A_MARKER.fullmatch(line):
            strange += left
    return Matched(sorted(found, key=lambda piece: (piece.rank, piece.start)), strange)


def words(text: str) -> str:
    """The words in lower case, one space between and around; nothing for a text without any."""
    spoken = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", ""))
    return f" {' '.join(spoken)} " if spoken else ""


def says_nothing(reply: str) -> bool:
    """Whether a reply in which no sentence was found says that none helps: "None", "No sentence is relevant." """
    return bool(NOTHING.fullmatch(without_fence(reply))) or is_unknown(reply)


def without_fence(reply: str) -> str:
    lines = [line for line in reply.strip().splitlines() if not line.strip().startswith("```")]
    return "\n".join(lines)


def copied_lines(reply: str) -> Iterator[str]:
    """The lines of a reply, of a list in JSON too, without list markers."""
    text = without_fence(reply)
    begin, end = text.find("["), text.rfind("]")
    try:
        value = loads(text[begin : end + 1])
    except ValueError:
        value = None
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        text = "\n".join(value)
    for line in text.splitlines():
        bare = MARKER.sub("", line).strip()
        if bare.strip("-=*_#`>.… \t"):
            yield bare


def from_line(line: str, places: Sequence[tuple[str, Piece]], titles: set[str]) -> tuple[list[Piece], list[str]]:
    """The sentences that one line copies, and those of its parts that are in no passage."""
    whole = [piece for text, piece in places if text == words(line)]
    if whole or words(line) in titles:
        return whole[:1], []
    taken: list[Piece] = []
    strange = []
    for start, end in sentences(line):
        parts = [part for part in GAP.split(line[start:end]) if words(part)]
        together = with_gaps([words(part) for part in parts], places)
        for part in [] if together else parts:
            found = of_part(words(part), places)
            taken += found
            if not found and words(part) not in titles:
                strange.append(part.strip())
        taken += together
    return taken, strange


def with_gaps(parts: Sequence[str], places: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """The sentence that holds all parts in their order, four words in all: it was copied with an ellipsis."""
    if len(parts) < 2 or sum(part.count(" ") - 1 for part in parts) < SHORTEST:
        return []
    ordered = re.compile(".*".join(map(re.escape, parts)).replace(r"\ .*\ ", r"\ (?:.*\ )?"))
    return [piece for text, piece in places if ordered.search(text)][:1]


def of_part(part: str, places: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """The sentence that the part is, or is part of; else the sentences inside it, as after "Passage 2 says"."""
    same = next((piece for text, piece in places if text == part), None)
    if same is None and part.count(" ") > SHORTEST:
        same = next((piece for text, piece in places if part in text), None)
    if same is not None:
        return [same]
    inside: dict[str, Piece] = {}
    for text, piece in places:
        if text.count(" ") > SHORTEST and text in part:
            inside.setdefault(text, piece)
    return list(inside.values())
