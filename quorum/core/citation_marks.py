"""Finds the marks by which an answer cites passages, such as [2], [1, 3] and [2-4], and removes them.

A mark in Markdown's code is part of the code, and `[1](address)` is a link: neither cites a passage.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# A fenced block up to its closing fence or the end of the text, or code between backticks inside a line.
CODE = re.compile(
    r"^[ \t]{0,9}(?P<fence>`{3,}+|~{3,}+)[^\n]*\n(?:.*?^[ \t]{0,9}(?P=fence)[`~]*[ \t]*$|.*\Z)|(?P<ticks>(?<!`)`++)"
    r"[^\n]*?(?<!`)(?P=ticks)(?!`)",
    re.MULTILINE | re.DOTALL,
)
NO_LINE_BREAK = re.compile(r"[^\n]")
NOUN = r"(?:passages?|sources?|documents?|docs?|ref(?:erence)?s?)\.?[ \t]*"
NUMBER = rf"(?:{NOUN})?[#^]?\d{{1,3}}"
SEPARATOR = r"[ \t]*(?:[,;、，&–—‑-]|,?[ \t]?and\b|to\b)[ \t]*"
NUMBERS = rf"{NUMBER}(?:{SEPARATOR}{NUMBER}){{0,19}}"
# In square brackets (those of Chinese and Japanese, too), or in round ones with a noun: "(passage 3)".
MARK = re.compile(
    rf"(?<![\\!])(?:[\[［【〔]\^?[ \t]?(?P<numbers>{NUMBERS})[ \t]?(?:†[^\]】\n]{{0,80}})?[\]］】〕](?!\()"
    rf"|[(（](?:see[ \t]|cf\.?[ \t])?(?P<named>{NOUN}{NUMBERS})[)）])",
    re.IGNORECASE,
)
# The beginning of a mark at the end of a text.
OPEN_MARK = re.compile(r"[ \t]*[\[［【〔(（][^\[\]［］【】〔〕()（）\n]{0,120}\Z")
RANGE = re.compile(r"(\d+)[ \t]*(?:[–—‑-]|to\b)[ \t]*[^\d,;、，&]{0,12}(\d+)|(\d+)", re.IGNORECASE)
FEWEST_WORDS = 4  # of a part of a sentence that a mark may cite alone
WIDEST_RANGE = 50  # numbers of one mark; no prompt numbers more passages than a window holds


@dataclass(frozen=True)
class Mark:
    """A mark in a text: its characters [start, end), and the numbers of the passages that it cites, from 1."""

    start: int
    end: int
    numbers: tuple[int, ...]


def find_marks(text: str) -> list[Mark]:
    """The marks of a text outside its code, in their order.

    >>> [mark.numbers for mark in find_marks("It fell [1][2], twice [2, 4-6]; `list[3]` is code, [0, 1] a range.")]
    [(1,), (2,), (2, 4, 5, 6)]
    """
    return [
        Mark(match.start(), match.end(), numbers)
        for match in MARK.finditer(blank_code(text))
        if (numbers := read_numbers(match["numbers"] or match["named"]))
    ]


def blank_code(text: str) -> str:
    """The text with letters in place of the code of its Markdown (fenced blocks, and code between backticks), so that
    every other character keeps its position, and no line breaks are lost.
    """
    has_code = "`" in text or "~~~" in text
    return CODE.sub(lambda code: NO_LINE_BREAK.sub("c", code.group()), text) if has_code else text


def read_numbers(text: str) -> tuple[int, ...]:
    """The numbers of a mark, each once. Empty if there are several and one of them is 0: an interval, as in [0, 1]."""
    numbers: list[int] = []
    for first, last, single in RANGE.findall(text):
        if single or not int(first) < int(last) <= int(first) + WIDEST_RANGE:
            numbers += [int(number) for number in (first, last, single) if number]
        else:
            numbers += range(int(first), int(last) + 1)
    return () if len(numbers) > 1 and 0 in numbers else tuple(dict.fromkeys(numbers))


def strip_marks(text: str) -> str:
    """The text without its marks and the spaces that stood before them.

    >>> strip_marks("It fell [1][2]. [3] It rose [1, 3] again.")
    'It fell. It rose again.'
    """
    marks = find_marks(text)
    kept, place = "", 0
    for mark in marks:
        kept += text[place : mark.start]
        place = mark.end
        at_line_start = not kept.rpartition("\n")[2].strip()
        following = text[place : place + 1]
        if at_line_start:  # "[1] The tower": the line begins with its text
            place += len(text[place:]) - len(text[place:].lstrip(" \t"))
        elif not following or not following.isalnum():
            kept = kept.rstrip(" \t")
    return kept + text[place:] if marks else text


def strip_marks_so_far(text: str) -> str:
    """As `strip_marks`, for a text that is still being written: its end is left out where it may begin a mark.

    >>> strip_marks_so_far("It fell [1], then [2")
    'It fell, then'
    """
    return strip_marks(OPEN_MARK.sub("", text)).rstrip()


def blank_marks(text: str) -> str:
    """The text with spaces in place of its marks, so that every other character keeps its position."""
    for mark in find_marks(text):
        text = text[: mark.start] + " " * (mark.end - mark.start) + text[mark.end :]
    return text


def replace_numbers(text: str, get_number: Callable[[int], int | None]) -> str:
    """The text with other numbers in its marks. get_number: old number -> new number, or None to leave out the mark's
    number; a mark without any number left is removed.

    >>> replace_numbers("It fell [1].", lambda number: number + 4)
    'It fell [5].'
    """
    pieces, place = [], 0
    for mark in find_marks(text):
        numbers = [number for old in mark.numbers if (number := get_number(old)) is not None]
        before = text[place : mark.start]
        pieces.append(before if numbers else before.rstrip(" \t"))
        pieces += [f"[{number}]" for number in dict.fromkeys(numbers)]
        place = mark.end
    return "".join([*pieces, text[place:]])


def cut_invented_passages(text: str, passage_count: int) -> str:
    """The text up to a passage that the model invents: a line that begins with the number after the last passage's.

    passage_count: how many passages were shown. A text that begins with such a line stays whole.

    >>> cut_invented_passages("It fell [1].\\n\\n[3] The fall\\nIt fell twice.", 2)
    'It fell [1].'
    """
    for mark in find_marks(text):
        before = text[: mark.start]
        if mark.numbers == (passage_count + 1,) and before.strip() and not before.rpartition("\n")[2].strip():
            return before.rstrip()
    return text


def has_wrong_number(text: str, passage_count: int) -> bool:
    """Whether a mark of the text cites a passage that was not shown. passage_count: how many were shown."""
    return any(not 1 <= number <= passage_count for mark in find_marks(text) for number in mark.numbers)


def find_cited_statement(
    text: str, mark: Mark, marks: Sequence[Mark], sentences: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """(start, end) of what a mark cites: its sentence up to the mark, from the mark before it on, if this part has some
    words, else the whole sentence that it stands in or after; at the beginning of a line, the sentence after it.

    marks: those of the text; sentences: those of `blank_marks(text)`. None if the text has no words beside the mark.
    """
    before = [span for span in sentences if span[0] < mark.start]
    if not before or "\n" in text[before[-1][1] : mark.start]:
        return next((span for span in sentences if span[0] >= mark.end), before[-1] if before else None)
    start, end = before[-1]
    # Marks without words between them cite the same.
    ends = [other.end for other in marks if start < other.end <= mark.start and text[other.end : mark.start].strip()]
    part = max(ends, default=start), min(mark.start, end)
    return part if len(text[part[0] : part[1]].split()) >= FEWEST_WORDS else (start, end)
