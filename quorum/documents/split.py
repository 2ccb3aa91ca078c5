"""Splits text into passages that end at sentence ends. Pure functions."""

import re
from math import ceil
from typing import NamedTuple

from quorum.core.text import find_sentences
from quorum.documents.document import UNSPACED_SCRIPTS as UNSPACED_SCRIPTS
from quorum.documents.document import join_unspaced

# A part that is never cut: a character of a script without spaces, or up to 40 characters of a word.
ATOM = re.compile(rf"(?P<character>[{UNSPACED_SCRIPTS}])|[^\s{UNSPACED_SCRIPTS}]{{1,40}}")
# A heading of Markdown.
HEADING = re.compile(r"(?m)^[ \t]*(#{1,6} .*)$")
# An empty line, or the end of the line before a list item, a quotation or a table row.
BLOCK_BREAK = re.compile(r"\n\s*\n|\n(?=[ \t]*(?:[-*+•|>] |\d{1,3}[.)] ))")


class Unit(NamedTuple):
    """A piece of text that is not split: a sentence or, if a sentence is too long for one passage, a part of it.

    size: its length in half words (see `count_half_words`). introduces: whether it introduces the unit after it, as the
    line above a list or above code does, and should stand in the same passage.
    """

    start: int
    end: int
    size: int
    is_heading: bool
    introduces: bool = False


def split_text(text: str, words: int = 100) -> list[str]:
    """Split a text into passages of at most `words` words. Only white space is lost.

    There are as few passages as possible. Their lengths are as even as sentence ends allow (least sum of squares). A
    heading stays with the text after it if both fit into one passage and no further passage is needed. Only a sentence
    longer than the limit is cut. In scripts without spaces, two characters count as a word.
    """
    limit = 2 * words
    return [normalize_spacing(text[start:end]) for start, end in pack_units(split_units(text, limit), limit)]


def count_half_words(text: str) -> int:
    """The length in half words: 1 for a character of a script without spaces, 2 for a word.

    A word of more than 40 characters counts 2 for every 40 characters, and 2 for the rest.
    """
    return sum(1 if atom["character"] else 2 for atom in ATOM.finditer(text))


def normalize_spacing(text: str) -> str:
    """The text with one space between words and one line end between paragraphs, headings and list items."""
    blocks = BLOCK_BREAK.split(HEADING.sub(r"\n\n\1\n\n", join_unspaced(text)))
    return "\n".join(" ".join(block.split()) for block in blocks if block.strip())


def split_units(text: str, limit: int) -> list[Unit]:
    """The units of a text in order. None is longer than the limit (in half words)."""
    units: list[Unit] = []
    for start, end in find_sentences(text):
        length = count_half_words(text[start:end])
        if length > limit:
            units += split_overlong(text, start, end, limit)
        else:
            units.append(Unit(start, end, length, HEADING.match(text, start, end) is not None))
    return units


def split_overlong(text: str, start: int, end: int, limit: int) -> list[Unit]:
    """Split the sentence text[start:end], which is longer than the limit, into parts of nearly equal length.

    The cuts are between words or, in scripts without spaces, between characters. A word of more than 40 characters may
    be cut, too.
    """
    atoms = list(ATOM.finditer(text, start, end))
    total = count_half_words(text[start:end])
    part_limit = min(ceil(total / ceil(total / limit)) + 1, limit)
    parts, first_atom, length = [], 0, 0
    for number, atom in enumerate(atoms):
        weight = 1 if atom["character"] else 2
        if length and length + weight > part_limit:
            parts.append(Unit(atoms[first_atom].start(), atom.start(), length, False))
            first_atom, length = number, 0
        length += weight
    return [*parts, Unit(atoms[first_atom].start(), end, length, False)]


def pack_units(units: list[Unit], limit: int) -> list[tuple[int, int]]:
    """Pack the units into passages of at most `limit` half words (see `pack_ranges`). Returns the (start, end) of each
    passage, in characters.
    """
    return [(units[begin].start, units[end - 1].end) for begin, end in pack_ranges(units, limit)]


def pack_ranges(units: list[Unit], limit: int) -> list[tuple[int, int]]:
    """The units of each passage, as indices: (first unit, unit after the last).

    There are as few passages as possible, and the sum of their squared lengths is as small as possible. A passage that
    ends with a heading, other than the last passage, adds limit * limit to this sum. One that ends with a unit which
    introduces the next counts as two, so that a further passage is made rather than that. By dynamic programming:
    costs[end] is the lowest (number of passages, sum) of the first `end` units; starts[end] is where the last of these
    passages begins.
    """
    costs: list[tuple[int, int]] = [(0, 0)]
    starts: list[int] = [0]
    for end in range(1, len(units) + 1):
        last, is_inside = units[end - 1], end < len(units)
        heading_penalty = limit * limit if (last.is_heading or last.introduces) and is_inside else 0
        passages = 2 if last.introduces and is_inside else 1
        best_cost, total, best_start = (1 << 62, 0), 0, end - 1
        for start in range(end - 1, -1, -1):
            total += units[start].size
            if total > limit and start < end - 1:
                break
            cost = (costs[start][0] + passages, costs[start][1] + total * total + heading_penalty)
            if cost <= best_cost:
                best_cost, best_start = cost, start
        costs.append(best_cost)
        starts.append(best_start)
    ranges, end = [], len(units)
    while end:
        ranges.append((starts[end], end))
        end = starts[end]
    return ranges[::-1]
