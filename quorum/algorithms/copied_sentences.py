"""Finds the sentences that a model copied from passages, even if it changed their layout."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from quorum.algorithms.filco_measures import Piece, split_pieces
from quorum.core.json_text import parse_json
from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import is_unknown

SHORTEST_COPY = 4  # words; a shorter part of a sentence is too common to count as a copy of it
# A reply that says that no sentence helps: "None", "N/A (no passage is relevant)".
NO_SENTENCES = re.compile(r"\W*(?:(?:none|nothing|no|n/?a|empty|null)\b[^\n]{0,120})?\W*", re.IGNORECASE)
LIST_MARKER = re.compile(
    r"\A[\s>]*(?:(?:[-•*–]|\d{1,3}[.)](?=\s)|\(\d{1,3}\)|\[\d{1,3}\]"
    r"|(?:passage|sentence|text) \[?\d{1,3}\]?\s*[:,.–-])\s*)+",
    re.IGNORECASE,
)
# A line that only names a passage or a sentence: "From passage [2]".
ONLY_A_MARKER = re.compile(r"\W*(?:(?:from |in )?(?:passages?|sentences?|text))?\W*\d{0,3}\W*", re.IGNORECASE)
ELLIPSIS = re.compile(r"\[?(?:\.\.\.+|…|\. \. \.)\]?")


@dataclass
class CopyMatch:
    """pieces: the copied sentences, in reading order; unmatched: the parts of the reply that no passage contains."""

    pieces: list[Piece] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)


def match_copies(reply: str, passages: Sequence[Passage]) -> CopyMatch:
    """Find the sentences of the passages that a reply copies.

    Case, white space, punctuation, quotes, list markers and ellipses may differ. A sentence of the reply that
    consists of four or more consecutive words of a passage's sentence counts as a copy of that sentence. Titles and
    lead-ins such as "From passage 2:" are ignored. A sentence that several passages contain is taken from the first of
    them.
    """
    normalized_pieces = [(normalize_words(piece.text), piece) for piece in split_pieces(passages)]
    titles = {normalize_words(passage["title"]) for passage in passages}
    copies: dict[Piece, None] = {}
    all_unmatched_parts = []
    for line in read_reply_lines(reply):
        matches, unmatched_parts = match_line(line, normalized_pieces, titles)
        copies |= dict.fromkeys(matches)
        if not line.endswith((":", "：")) and not ONLY_A_MARKER.fullmatch(line):
            all_unmatched_parts += unmatched_parts
    return CopyMatch(sorted(copies, key=lambda piece: (piece.rank, piece.start)), all_unmatched_parts)


def normalize_words(text: str) -> str:
    """The words in lower case with one space before, between and after them; empty for a text without words.

    >>> normalize_words("It's (in) Paris!")
    ' its in paris '
    """
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", ""))
    return f" {' '.join(words)} " if words else ""


def says_no_sentence_helps(reply: str) -> bool:
    """Whether a reply says that no sentence helps: "None", "No sentence is relevant", or that the answer is unknown."""
    return bool(NO_SENTENCES.fullmatch(remove_fences(reply))) or is_unknown(reply)


def remove_fences(reply: str) -> str:
    """The reply without the lines that open and close a Markdown code block."""
    lines = [line for line in reply.strip().splitlines() if not line.strip().startswith("```")]
    return "\n".join(lines)


def read_reply_lines(reply: str) -> Iterator[str]:
    """The lines of a reply that hold more than punctuation, without their list markers.

    If the reply contains a JSON list of texts, only the lines of these texts.
    """
    text = remove_fences(reply)
    begin, end = text.find("["), text.rfind("]")
    try:
        value = parse_json(text[begin : end + 1])
    except ValueError:
        value = None
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        text = "\n".join(value)
    for line in text.splitlines():
        content = LIST_MARKER.sub("", line).strip()
        if content.strip("-=*_#`>.… \t"):
            yield content


def match_line(
    line: str, normalized_pieces: Sequence[tuple[str, Piece]], titles: set[str]
) -> tuple[list[Piece], list[str]]:
    """The sentences that one line copies, and the parts of the line that no passage contains."""
    whole_matches = [piece for text, piece in normalized_pieces if text == normalize_words(line)]
    if whole_matches or normalize_words(line) in titles:
        return whole_matches[:1], []
    pieces: list[Piece] = []
    unmatched_parts = []
    for start, end in find_sentences(line):
        parts = [part for part in ELLIPSIS.split(line[start:end]) if normalize_words(part)]
        ellipsis_match = match_ellipsis([normalize_words(part) for part in parts], normalized_pieces)
        for part in [] if ellipsis_match else parts:
            matches = match_part(normalize_words(part), normalized_pieces)
            pieces += matches
            if not matches and normalize_words(part) not in titles:
                unmatched_parts.append(part.strip())
        pieces += ellipsis_match
    return pieces, unmatched_parts


def match_ellipsis(parts: Sequence[str], normalized_pieces: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """The sentence that a model copied with an ellipsis: the first that contains all parts in their order.

    The list is empty if no sentence contains them, if there is only one part, or if all parts together have fewer than
    four words.
    """
    if len(parts) < 2 or sum(part.count(" ") - 1 for part in parts) < SHORTEST_COPY:
        return []
    # Each part begins and ends with a space. If nothing was left out between two parts, they share a single space.
    pattern_in_order = re.compile(".*".join(map(re.escape, parts)).replace(r"\ .*\ ", r"\ (?:.*\ )?"))
    return [piece for text, piece in normalized_pieces if pattern_in_order.search(text)][:1]


def match_part(part: str, normalized_pieces: Sequence[tuple[str, Piece]]) -> list[Piece]:
    """The first sentence of the passages that equals a part of the reply, or else the first that contains it; else all
    sentences that the part contains ("Passage 2 says: SENTENCE").

    A part that a sentence contains, or a sentence that the part contains, must have at least four words.
    """
    match = next((piece for text, piece in normalized_pieces if text == part), None)
    if match is None and part.count(" ") > SHORTEST_COPY:  # a normalized text of n words has n + 1 spaces
        match = next((piece for text, piece in normalized_pieces if part in text), None)
    if match is not None:
        return [match]
    contained_pieces: dict[str, Piece] = {}
    for text, piece in normalized_pieces:
        if text.count(" ") > SHORTEST_COPY and text in part:
            contained_pieces.setdefault(text, piece)
    return list(contained_pieces.values())
