"""Marks the headings among the lines of a PDF: those of its bookmarks, and those that their letters show."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from quorum.documents.document import join_lines
from quorum.documents.pdf_lines import LONGEST_SEEN_LINE, SEEN_LONG_LINES, Line
from quorum.documents.table_names import is_number

HEADING_RATIO = 1.15  # a heading is at least this many times as large as the text, or bold
BOLD_RATIO = 0.95  # bold letters that are smaller than this are no heading
LONGEST_HEADING, LONGEST_TITLE = 15, 25  # words of a heading, and of one that stands in up to three lines
LONGEST_BOLD_HEADING = 12
LONGEST_SENTENCE_AS_HEADING = 4  # words of a heading that ends as a sentence does
MAX_BOLD_SHARE = 0.4  # if a larger share of a file's letters is bold, bold says nothing
MOST_LINES = 3  # of a heading
WIDEST_GAP = 2  # times the height of the letters: lines that are farther apart are two headings
SENTENCE_MARK = re.compile(r"[.;,][\"'”’)]*\Z|[.!?] [A-Z]")
PAGE_NUMBER = re.compile(r"(?:page|p\.|seite|s\.)?\s*\d+(?:\s*(?:/|of|von)\s*\d+)?", re.IGNORECASE)
NO_HEADING = re.compile(r"@|://|(?:\. ?){4,}|…{2,}")  # an address, or a line of a table of contents
NUMBER_BEFORE = re.compile(r"\A(?:\d+(?:\.\d+)*\.?|[IVXLC]+\.|[A-Z]\.)\s+")

Bookmarks = Mapping[str, int]  # the text of a bookmark as `normalize` gives it -> its level, from 1


def mark_headings(pages: Sequence[Sequence[Line]], bookmarks: Bookmarks) -> None:
    """Set the level of every line that is a heading."""
    sizes: Counter[float] = Counter()
    bold_letters = letters = 0
    for line in (line for lines in pages for line in lines if not line.is_row):
        sizes[line.size] += len(line.text)
        letters += len(line.text)
        weight = SEEN_LONG_LINES if len(line.text) > LONGEST_SEEN_LINE else 1
        bold_letters += len(line.text) * line.is_bold * weight
    text_size = sizes.most_common(1)[0][0] if sizes else 0
    larger = sorted((size for size in sizes if text_size and size > HEADING_RATIO * text_size), reverse=True)
    levels = {size: min(level, 6) for level, size in enumerate(larger, start=1)}
    bold_level = min(len(larger) + 1, 6) if text_size and bold_letters < MAX_BOLD_SHARE * letters else 0
    for lines in pages:
        mark_by_letters(lines, levels, bold_level, text_size)
    first = next((line for lines in pages for line in lines), None)
    has_title_above = bool(levels) and first is not None and first.level == 1 and normalize(first.text) not in bookmarks
    for lines in pages if bookmarks else []:
        mark_by_bookmarks(lines, bookmarks, level_above=int(has_title_above))


def mark_by_letters(lines: Sequence[Line], levels: Mapping[float, int], bold_level: int, text_size: float) -> None:
    """Mark lines with large letters, and short bold ones that have a row of their own above text that is not bold."""
    places = Counter(round(line.bottom) for line in lines)

    runs = list_runs(lines, levels)
    for number, run in enumerate(runs):
        level, is_bold = look(run[0], levels)
        text = join_lines(" ".join(line.text for line in run))
        words = len(text.split())
        is_title = len(run) <= MOST_LINES and words <= LONGEST_TITLE and not SENTENCE_MARK.search(text)
        is_title = is_title and not NO_HEADING.search(text)
        if level and (can_be_heading(text) if words <= LONGEST_HEADING else is_title):
            set_level(run, level)
        elif level and all(map(is_title_like, run)):  # several headings, one below the other
            set_level([line for line in run if can_be_heading(line.text)], level)
        elif not level and is_bold and bold_level and number + 1 < len(runs) and not runs[number + 1][0].is_row:
            is_alone = all(places[round(line.bottom)] == 1 and line.size >= BOLD_RATIO * text_size for line in run)
            is_short = words <= LONGEST_BOLD_HEADING and len(run) <= MOST_LINES and not text.endswith(":")
            starts_well = text[:1].isupper() or text[:1].isdigit()
            if is_alone and is_short and starts_well and can_be_heading(text):
                set_level(run, bold_level)


def look(line: Line, levels: Mapping[float, int]) -> tuple[int, bool]:
    """(the level of a heading with letters of this size, whether they are bold)."""
    return (0, False) if line.is_row else (levels.get(line.size, 0), line.is_bold)


def list_runs(lines: Sequence[Line], levels: Mapping[float, int]) -> list[list[Line]]:
    """The lines in runs of lines that look alike and are close together."""
    runs: list[list[Line]] = []
    for line in lines:
        before = runs[-1][-1] if runs else None
        is_near = before is not None and 0 <= before.bottom - line.bottom <= WIDEST_GAP * max(line.size, 1)
        if before is not None and is_near and look(before, levels) == look(line, levels):
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def set_level(run: Sequence[Line], level: int) -> None:
    for line in run:
        line.level = level


def is_title_like(line: Line) -> bool:
    is_short = len(line.text.split()) <= LONGEST_HEADING
    return is_short and not SENTENCE_MARK.search(line.text) and not line.text[:1].islower()


def can_be_heading(text: str) -> bool:
    """Whether a text may be a heading: no page number, e-mail address, figure or sentence.

    >>> [can_be_heading(text) for text in ("3 Prices", "87%", "1,200 m", "a@b.example", "- 7 -")]
    [True, False, False, False, False]
    """
    if not any(map(str.isalpha, text)) or NO_HEADING.search(text) or PAGE_NUMBER.fullmatch(text):
        return False
    if is_number(text) and not NUMBER_BEFORE.match(text):
        return False
    if is_number(text) and len(text.split()) < 3 and sum(map(str.isalpha, text)) < 3:
        return False
    return len(text.split()) <= LONGEST_SENTENCE_AS_HEADING or not SENTENCE_MARK.search(text)


def mark_by_bookmarks(lines: Sequence[Line], bookmarks: Bookmarks, *, level_above: int) -> None:
    """Mark up to three lines, close together, that are the text of a bookmark, with or without its number.

    level_above: 1 if the file has a title above its bookmarks, else 0.
    """
    begin = 0
    while begin < len(lines):
        for count in range(1, MOST_LINES + 1):
            run = lines[begin : begin + count]
            level = bookmarks.get(normalize(" ".join(line.text for line in run)), 0)
            is_near = all(0 <= a.bottom - b.bottom <= WIDEST_GAP * max(a.size, b.size, 1) for a, b in pairwise(run))
            if level and len(run) == count and is_near and not any(line.is_row for line in run):
                set_level(run, min(level + level_above, 6))
                begin += count - 1
                break
        begin += 1


def normalize(text: str) -> str:
    """A heading's text for comparison: without its number, in small letters and without white space.

    >>> normalize("2.1  Opening hours")
    'openinghours'
    """
    return "".join(NUMBER_BEFORE.sub("", join_lines(text)).lower().split())
