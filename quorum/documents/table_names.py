"""Finds the rows of a table that name its columns, by what they and the rows below them look like."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

# A row's values by column; "" for an empty cell, None for a place into which the cell to its left extends.
Row = list[str | None]

MAX_NAME_ROWS = 4
SAMPLE_ROWS = 50  # rows below the names that are looked at
MAJORITY = 0.7
LONGEST_NAME = 25  # words
LONGEST_ONLY_NAME = 5  # words, in a table of one column
NO_VALUE = frozenset(
    ("n/a", "na", "n.a.", "nan", "none", "null", "unknown", "tbd", "missing", "no data", "not available", "?", "*", "x")
)
YEAR = re.compile(r"(?:18|19|20|21)\d\d")
INTEGER = re.compile(r"\d{1,9}")
LETTER_RUN, DIGIT_RUN = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")


class Evidence(NamedTuple):
    """In how many columns a row looks like names, and in how many like one more row of values.

    recurring: how many of its texts stand in the same column below. has_number: whether it has a number that is no
    year.
    """

    names: int
    values: int
    recurring: int
    has_number: bool


def count_name_rows(rows: Sequence[Row], width: int, marked: int | None, *, names_are_usual: bool) -> int:
    """How many of the first rows name the columns; at least one row is no names.

    marked: how many the file marks as names; None if it marks nothing. width: the number of columns.
    """
    if len(rows) < 2 or marked == 0:
        return 0
    if marked:
        count = min(marked, len(rows) - 1)
        return count + (count < len(rows) - 1 and is_second_name_row(rows[count - 1], rows[count], rows[count + 1 :]))
    count = 0
    while count < min(MAX_NAME_ROWS - 1, len(rows) - 2) and is_group_row(
        rows[count], rows[count + 1], rows[count + 2 :]
    ):
        count += 1
    if count:
        return count + 1
    if not is_name_row(rows[0], rows[1:], width, names_are_usual=names_are_usual):
        return 0
    return 1 + (len(rows) > 2 and is_unit_row(rows[0], rows[1], rows[2:]))


def is_name_row(first: Row, body: Sequence[Row], width: int, *, names_are_usual: bool) -> bool:
    """Whether a row names the columns of the rows below it.

    It does if it has texts above numbers. If no column shows that, names must be texts or years which do not recur
    below them; in a table of two columns, such a row is more likely a pair as "Owner: Orla AG", unless names are usual.
    """
    texts = [value for value in first if value]
    evidence = weigh_evidence(first, body)
    if evidence.values:
        return evidence.names > 2 * evidence.values
    if evidence.names:
        return True
    if not texts or evidence.has_number or any(len(text.split()) > LONGEST_NAME for text in texts):
        return False
    if evidence.recurring:
        return False
    if all(not has_letter(text) for text in texts):
        return len(texts) > 1 and are_ordered_years(texts)
    if width == 1:
        return names_are_usual and len(texts[0].split()) <= LONGEST_ONLY_NAME and texts[0][-1] not in ".!?"
    if len(texts) < max(2, width - 1) and not (names_are_usual and 2 * len(texts) > width):
        return False
    if len(set(texts)) < len(texts) and any(has_repetition(row) for row in body[:SAMPLE_ROWS]):
        return False
    return names_are_usual or width > 2


def weigh_evidence(first: Sequence[str | None], body: Sequence[Sequence[str | None]]) -> Evidence:
    """What speaks for and against `first` as the names of the rows in `body`."""
    names = values = recurring = 0
    has_number = False
    sample = [row for row in body[:SAMPLE_ROWS] if row != first]  # names are written again on every page
    ordered_columns = find_ordered_numbers(first, sample)
    for column, value in enumerate(first):
        below = [row[column] or "" for row in sample if column < len(row)]
        below = [text for text in below if is_value(text)]
        if not value or not is_value(value):
            continue
        is_below_numbers = bool(below) and share(map(is_number, below)) >= MAJORITY
        if column in ordered_columns:
            names += 1
        elif is_number(value):
            is_year = bool(YEAR.fullmatch(value))
            is_name = has_letter(value) and is_below_numbers and share(map(has_letter, below)) < 1 - MAJORITY
            is_like_below = is_below_numbers and not (is_year and not are_years(below))
            names += is_name
            values += is_like_below and not is_name and not continues_count(column, value, below)
            has_number = has_number or (not is_year and not is_name)
        elif below and has_same_shape(value, below):
            values += 1
        else:
            names += is_below_numbers
            recurring += value in below
    return Evidence(names, values, recurring, has_number)


def has_same_shape(value: str, below: Sequence[str]) -> bool:
    """Whether a text with a digit has the form of most texts below it."""
    shape = get_shape(value)
    return bool(DIGIT_RUN.search(value)) and share(get_shape(text) == shape for text in below) >= MAJORITY


def share(marks: Iterable[bool]) -> float:
    listed = list(marks)
    return sum(listed) / max(len(listed), 1)


def has_letter(text: str) -> bool:
    return bool(LETTER_RUN.search(text))


def is_value(text: str) -> bool:
    """Whether a text says something, unlike "n/a" or "-"."""
    return any(map(str.isalnum, text)) and text.lower() not in NO_VALUE


def is_number(text: str) -> bool:
    """Whether a text begins as a number, a date or a quantity does: its first letter or digit is a digit, and few
    letters follow.

    >>> [is_number(text) for text in ("87 m", "03/25/2016", "-4,5 %", "Q1", "12 Mill Lane, Tam")]
    [True, True, True, False, False]
    """
    beginning = next((character for character in text if character.isalnum()), "")
    return beginning.isdigit() and sum(map(str.isalpha, text)) <= 8 and len(text.split()) <= 4


def get_shape(text: str) -> str:
    """A text's form: "RX-200" and "AB-7" are both "a-0"."""
    return DIGIT_RUN.sub("0", LETTER_RUN.sub("a", text))


def are_years(texts: Sequence[str]) -> bool:
    return share(bool(YEAR.fullmatch(text)) for text in texts) >= MAJORITY


def are_ordered_years(texts: Sequence[str]) -> bool:
    return all(map(YEAR.fullmatch, texts)) and len({int(b) > int(a) for a, b in pairwise(texts)}) == 1


def continues_count(column: int, value: str, below: Sequence[str]) -> bool:
    """Whether the first column counts the rows, and the value is where its count begins: it says nothing of names."""
    numbers = [value, *below[:3]]
    return column == 0 and all(map(INTEGER.fullmatch, numbers)) and find_step([int(number) for number in numbers]) == 1


def find_ordered_numbers(first: Sequence[str | None], body: Sequence[Sequence[str | None]]) -> set[int]:
    """The columns whose values in `first` are whole numbers with even steps, as "1, 2, 3", if those of no row below are
    so.

    Only names are like that, if there are three or more and a text stands in the same row.
    """

    def find(row: Sequence[str | None]) -> set[int]:
        columns = [column for column, value in enumerate(row) if value and INTEGER.fullmatch(value)]
        numbers = [int(row[column] or 0) for column in columns]
        return set(columns) if len(numbers) > 2 and find_step(numbers) else set()

    columns = find(first)
    has_text = any(value and has_letter(value) for value in first) or (bool(first) and not first[0])
    return columns if columns and has_text and not any(find(row) for row in body) else set()


def find_step(numbers: Sequence[int]) -> int:
    """The difference between neighbours; 0 if it is not always the same."""
    steps = {b - a for a, b in pairwise(numbers)}
    return steps.pop() if len(steps) == 1 else 0


def has_repetition(row: Row) -> bool:
    values = [value for value in row if value]
    return len(set(values)) < len(values)


def is_group_row(upper: Row, lower: Row, body: Sequence[Row]) -> bool:
    """Whether a row names groups of columns, whose own names stand in the next row.

    Either a cell of it spans some of the columns; or cells right of a name are empty, or repeat it, and the row below
    has a name for each of them. The row below must have the form of names.
    """
    texts = [value for value in upper if value]
    if not texts or any(is_number(text) and not YEAR.fullmatch(text) for text in texts):
        return False
    spans = [column for column, value in enumerate(upper) if value is None]
    if spans:
        return len(spans) < len(upper) - 1 and is_second_name_row(upper, lower, body)
    columns = [column for column in range(1, len(upper)) if is_in_group(upper, column)]
    if not columns or any(column >= len(lower) or not lower[column] for column in columns):
        return False
    merged: Row = [value or (upper[column] if column < len(upper) else "") for column, value in enumerate(lower)]
    evidence = weigh_evidence(merged, body)
    return evidence.values == 0 and evidence.names > 0 and not evidence.has_number


def is_in_group(upper: Row, column: int) -> bool:
    """Whether a place without a name of its own stands right of a name, or repeats it."""
    if upper[column]:
        return upper[column] == upper[column - 1]
    return any(upper[:column])


def is_second_name_row(upper: Row, lower: Row, body: Sequence[Row]) -> bool:
    """Whether a row below a row of names, some of which span columns, has the names of these columns."""
    spanned = [column for column, value in enumerate(upper) if value is None]
    if not spanned or not body:
        return False
    under = [
        column
        for column in range(min(len(upper), len(lower)))
        if upper[column] is None or (column + 1 < len(upper) and upper[column + 1] is None)
    ]
    own_names = [lower[column] or "" for column in under]
    if not all(own_names) or any(is_number(name) and not YEAR.fullmatch(name) for name in own_names):
        return False
    others = [column for column in range(min(len(upper), len(lower))) if column not in under]
    reach_down = bool(others) and all(not upper[column] or upper[column] == lower[column] for column in others)
    evidence = weigh_evidence(lower, body)
    return evidence.values == 0 and (evidence.names > 0 or reach_down or len(set(own_names)) < len(own_names))


def is_unit_row(names: Row, units: Row, body: Sequence[Row]) -> bool:
    """Whether a row below the names has units only: it is empty above columns of text, and a text above numbers."""
    if not any(not value for value in units[: len(names)]):
        return False
    evidence = weigh_evidence(units, body)
    columns = [column for column, value in enumerate(units) if value]
    return (
        bool(columns)
        and evidence.names == len(columns)
        and all(column < len(names) and names[column] for column in columns)
        and has_text_columns(units, body)
    )


def has_text_columns(units: Row, body: Sequence[Row]) -> bool:
    """Whether each column that has no unit has text below."""
    for column, value in enumerate(units):
        below = [row[column] for row in body[:SAMPLE_ROWS] if column < len(row) and row[column]]
        if not value and below and share(is_number(text or "") for text in below) >= MAJORITY:
            return False
    return True
