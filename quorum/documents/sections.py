"""The sections of a document, the text below one heading each; those of a few words are joined to a neighbour."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from quorum.documents.document import Block
from quorum.documents.split import Unit

ITEM = re.compile(r"- |\d{1,3}[.)] ")  # how the text of a list item begins
TINY = 2 * 10  # half words; a shorter section joins a neighbour


class LocatedUnit(NamedTuple):
    """A piece of text that is not split further (see `Unit`), the block that contains it, and the headings above it."""

    unit: Unit
    block: Block
    headings: tuple[str, ...]


def is_in_heading_block(unit: LocatedUnit) -> bool:
    """Whether a unit is a heading of the document or a part of one. `Unit.is_heading` is true also for a line of prose
    that begins with "#", and false for the parts of an overlong heading.
    """
    return unit.block.kind == "heading"


def find_sections(units: Iterable[LocatedUnit]) -> Iterator[list[LocatedUnit]]:
    """The sections of a document. Headings without text between them stand in one section, with the text after them."""
    section: list[LocatedUnit] = []
    for unit in units:
        if (
            unit.unit.is_heading
            and is_in_heading_block(unit)
            and any(not is_in_heading_block(before) for before in section)
        ):
            yield section
            section = []
        section.append(unit)
    if section:
        yield section


def join_tiny_sections(sections: Iterable[list[LocatedUnit]], max_half_words: int) -> Iterator[list[LocatedUnit]]:
    """The sections, of which each of fewer than ten words (see `is_tiny`) is one with the section after it.

    If these two may not be one (see `may_join`), it is one with the section before it, provided that both fit into one
    passage: a further passage of a long section would not say that section's heading.
    """
    before: list[LocatedUnit] = []
    current: list[LocatedUnit] = []
    for section in sections:
        if current and is_tiny(current) and may_join(current, section):
            current = current + section
            continue
        if is_tail(before, current, max_half_words):
            before, current = before + current, section
            continue
        if before:
            yield before
        before, current = current, section
    if is_tail(before, current, max_half_words):
        before, current = before + current, []
    yield from filter(None, (before, current))


def is_tiny(section: Sequence[LocatedUnit]) -> bool:
    """Whether a section has fewer than ten words, its headings included."""
    size = 0
    for unit in section:
        size += unit.unit.size
        if size >= TINY:
            return False
    return True


def is_tail(before: Sequence[LocatedUnit], section: Sequence[LocatedUnit], max_half_words: int) -> bool:
    """Whether a tiny section should be one with the section before it."""
    if not before or not section or not is_tiny(section) or not may_join(before, section):
        return False
    return sum(unit.unit.size for unit in (*before, *section)) <= max_half_words


def may_join(section: Sequence[LocatedUnit], following: Sequence[LocatedUnit]) -> bool:
    """Whether the place of two sections that become one stays true: they stand on one page, or on two that follow each
    other, and every heading above either is above both or stands in their text. Sheets and tables stay apart.
    """
    if any(unit.block.kind == "row" for unit in (*section, *following)):
        return False
    last_page, page = section[-1].block.page, following[0].block.page
    if last_page != page and (last_page is None or page is None or page != last_page + 1):
        return False
    shared = find_shared_headings(list_paths([*section, *following]))
    return all(
        above == shared[: len(above)] for above in (find_outer_headings(section), find_outer_headings(following))
    )


def find_outer_headings(section: Sequence[LocatedUnit]) -> tuple[str, ...]:
    """The headings above a section that do not stand in its text."""
    first = section[0]
    written = 1 if is_in_heading_block(first) else len(first.block.definition_names)
    return first.headings[: len(first.headings) - written]


def list_paths(units: Sequence[LocatedUnit]) -> list[tuple[str, ...]]:
    """The headings above each unit that is no heading itself; if all are, those of the first."""
    return [unit.headings for unit in units if not is_in_heading_block(unit)] or [units[0].headings]


def find_shared_headings(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings that all paths have in common at their beginning."""
    shared_headings = paths[0]
    for path in paths[1:]:
        length = next(
            (place for place, (a, b) in enumerate(zip(shared_headings, path, strict=False)) if a != b), len(path)
        )
        shared_headings = shared_headings[:length]
    return shared_headings
