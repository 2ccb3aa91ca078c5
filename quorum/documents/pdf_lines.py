"""The lines of a PDF's pages: their text, where they stand, and what their letters look like."""

import ctypes
import re
from dataclasses import dataclass
from typing import Any

from quorum.documents.document import UNSPACED

# Where a line ends. Pdfium joins a word that is broken over two lines, with U+FFFE or U+0002 in place of the hyphen.
LINE_END = re.compile(r"[^\r\n\ufffe\u0002]*(?:\r\n|[\r\n]|[\ufffe\u0002](?:\r\n|[\r\n])?|\Z)")
HYPHENS = "-\u00ad\u2010"
BREAK_IN_WORD = re.compile(rf"(?<=\w)[{HYPHENS}]\n(?=\w)")
BREAK_IN_UNSPACED = re.compile(rf"(?<={UNSPACED})\n(?={UNSPACED})")
BOLD_WEIGHT = 600
# To ask for a letter's font takes as long as to read a line: of lines longer than a heading, one in five is looked at.
LONGEST_SEEN_LINE, SEEN_LONG_LINES = 80, 5
BOLD_NAME = re.compile(rb"bold|black|heavy|semibold|demi", re.IGNORECASE)
LONGEST_FONT_NAME = 128  # bytes


@dataclass
class Line:
    """A line of a page.

    size: the height of its letters in points; 0 if it is unknown, and for a row of a table. top, bottom: points from
    the bottom of the page; left: points from the left edge. is_row: whether the line is a row of a table. is_bold:
    whether its first and last letters are, as far as it was looked at. level: of a heading, from 1; 0 if it is none.
    """

    text: str
    size: float
    top: float
    bottom: float
    left: float
    is_row: bool = False
    is_bold: bool = False
    level: int = 0


def read_lines(textpage: Any, char_count: int) -> list[Line]:
    """The lines of a page in the file's order; empty lines are left out. char_count: pdfium's number of characters."""
    text = textpage.get_text_range(errors="ignore")
    # If the numbers differ, an offset in `text` is not one of pdfium's, and the positions and sizes are unknown.
    offsets_match = len(text) == char_count
    lines: list[Line] = []
    for match in LINE_END.finditer(text):
        is_hyphenated = match[0].rstrip("\r\n").endswith(("\ufffe", "\u0002"))
        line_text = match[0].strip().rstrip("\ufffe\u0002") + "-" * is_hyphenated
        if not line_text.strip("-"):
            continue
        begin = match.start() + len(match[0]) - len(match[0].lstrip())
        if offsets_match:
            left, bottom, _, top = textpage.get_charbox(begin, loose=True)
            end = begin + len(line_text) - 1 - is_hyphenated
            is_seen = len(line_text) <= LONGEST_SEEN_LINE or len(lines) % SEEN_LONG_LINES == 0
            is_bold = is_seen and is_bold_letter(textpage, begin) and is_bold_letter(textpage, max(end, begin))
            lines.append(Line(line_text, round(top - bottom, 1), top, bottom, left, is_bold=is_bold))
        else:
            lines.append(Line(line_text, 0, 0, 0, 0))
    return lines


def is_bold_letter(textpage: Any, index: int) -> bool:
    """Whether the font of a character is bold, by its weight or its name."""
    import pypdfium2.raw as raw

    if raw.FPDFText_GetFontWeight(textpage.raw, index) >= BOLD_WEIGHT:
        return True
    name = ctypes.create_string_buffer(LONGEST_FONT_NAME)
    raw.FPDFText_GetFontInfo(textpage.raw, index, name, LONGEST_FONT_NAME, None)
    return bool(BOLD_NAME.search(name.value))


def join_broken_words(text: str) -> str:
    """The text of several lines without the breaks inside words. A hyphen at the end of a line goes if small letters
    stand on both sides; else it belongs to the word, as in "Orl-Tam". Between characters of scripts without spaces, no
    break is a space.

    >>> join_broken_words("two car-\\npenters of the Orl-\\nTam ferry")
    'two carpenters of the Orl-Tam ferry'
    """

    def join(match: re.Match[str]) -> str:
        before, after = text[match.start() - 1], text[match.end()]
        return "" if before.islower() and after.islower() else match[0][0]

    return BREAK_IN_UNSPACED.sub("", BREAK_IN_WORD.sub(join, text))
