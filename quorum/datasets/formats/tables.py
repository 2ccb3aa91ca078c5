"""Reads questions from CSV and TSV files, also as Excel saves them: with semicolons, with "sep=;" in the first line, in
Windows-1252 or UTF-16.
"""

import csv
import io
import json
import logging
import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from quorum.core.encodings import Unreadable, decode_text
from quorum.core.errors import SetupError
from quorum.core.files import LARGEST_FILE, escape_name, format_megabytes, open_unpacked, read_bounded_lines
from quorum.core.json_text import parse_json
from quorum.datasets.records import open_text

LOG = logging.getLogger("quorum")
DELIMITERS = "\t,;"
SEPARATOR_LINE = re.compile(r'\s*"?sep=(?P<delimiter>[\t,;|])"?\s*', re.IGNORECASE)  # in Excel's files
EXPECTED_COLUMNS = "a header with the columns question and answers (or answer)"
CHUNK_SIZE = 1_000_000  # bytes
MOST_SHOWN_CHARACTERS = 200  # of the names of the columns
READING_ERRORS = (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error, Unreadable)


class Header(NamedTuple):
    """The header of a table. names: the columns' names in lower case."""

    delimiter: str
    names: list[str]

    @property
    def names_questions(self) -> bool:
        """Whether the columns have the names by which questions and answers are read."""
        return "question" in self.names and ("answer" in self.names or "answers" in self.names)


def read_header(lines: Iterator[str]) -> Header:
    """The header: the first line that is not blank, or the second if the first says "sep=;". Takes from `lines` what it
    reads.

    Of the delimiters tab, comma and semicolon it takes one by which the header names questions and answers, else the
    one that gives the most columns.

    >>> read_header(iter(["sep=;", "Question;Answers"]))
    Header(delimiter=';', names=['question', 'answers'])
    """
    filled_lines = (line for line in lines if line.strip())
    first_line = next(filled_lines, "")
    separator = SEPARATOR_LINE.fullmatch(first_line)
    if separator:
        return split_header(next(filled_lines, ""), separator["delimiter"])
    headers = [split_header(first_line, delimiter) for delimiter in DELIMITERS]
    return max(headers, key=lambda header: (header.names_questions, len(header.names)))


def split_header(line: str, delimiter: str) -> Header:
    """The header of which this is the line."""
    return Header(delimiter, [name.strip().lower() for name in next(csv.reader([line], delimiter=delimiter), [])])


def read_rows(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield (number from 1, place for messages, record in our format) for each row; `convert_row` makes the record. A
    row of empty cells is skipped.

    A row with more cells than the header is yielded as a list; the conversion to our format then refuses it. Raises
    `SetupError` if the file cannot be read, or has no columns for questions and answers.
    """
    number = 0
    try:
        with open_table(path) as file:
            header = read_header(read_bounded_lines(file))
            if not header.names_questions:
                found = ", ".join(header.names)[:MOST_SHOWN_CHARACTERS]
                raise SetupError(
                    f"{path}, line 1: expected {EXPECTED_COLUMNS}, or JSON lines; found the columns "
                    f"{escape_name(found)}; rename them in the file."
                )
            rows = csv.reader(file, delimiter=header.delimiter, strict=True)
            for number, row in enumerate(filter(None, rows), start=1):
                if any(cell.strip() for cell in row):
                    value: Any = row if len(row) > len(header.names) else convert_row(header.names, row)
                    yield number, f"{path}, row {number}", value
    except READING_ERRORS as error:
        where, reason = f" after row {number}" if number else "", getattr(error, "strerror", None) or error
        raise SetupError(f"{path} cannot be read{where} ({reason}); expected CSV, best in UTF-8.") from None


def open_table(path: Path) -> TextIO:
    """Open a text file for reading, in the encoding that its byte order mark says, else as UTF-8; a file that is not
    UTF-8 as `decode_text` assumes, with one warning.

    Raises an OSError for a file that cannot be read, or is not UTF-8 and larger than LARGEST_FILE, and `Unreadable` for
    one that is not text.
    """
    if is_text(path):
        return open_text(path, newline="")
    with open_unpacked(path) as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise OSError(f"not UTF-8, and larger than {format_megabytes(LARGEST_FILE)}")
    decoded_text = decode_text(data)
    if decoded_text.note:
        warn_assumed(path, decoded_text.note)
    return io.StringIO(decoded_text.text, newline="")


def is_text(path: Path) -> bool:
    """Whether the whole file can be decoded by its byte order mark, or as UTF-8, and has no NUL characters."""
    try:
        with open_text(path) as file:
            return all("\0" not in chunk for chunk in iter(lambda: file.read(CHUNK_SIZE), ""))
    except UnicodeDecodeError:
        return False


@lru_cache(maxsize=64)
def warn_assumed(path: Path, note: str) -> None:
    """Warn about the encoding of a file, once: a comparison reads its questions several times."""
    LOG.warning("%s: %s.", path, note)


def read_first_lines(path: Path, count: int = 2) -> list[str]:
    """The first lines of a file that are not blank, stripped. Raises one of READING_ERRORS for a file that is no
    text.
    """
    try:
        with open_text(path) as file:
            lines = list(take_filled_lines(file, count))
        if not any("\0" in line for line in lines):
            return lines
    except UnicodeDecodeError:
        pass
    with open_table(path) as file:
        return list(take_filled_lines(file, count))


def take_filled_lines(file: TextIO, count: int) -> Iterator[str]:
    """The first `count` lines that are not blank, stripped of white space."""
    filled_lines = (line.strip() for line in read_bounded_lines(file) if line.strip())
    for _, line in zip(range(count), filled_lines, strict=False):
        yield line


def convert_row(names: list[str], cells: list[str]) -> dict[str, Any]:
    """A row as our record. names: the header's names in lower case.

    The answers in a cell are a JSON list, or separated by "|"; an empty cell gives [""], which is refused later: no
    answer is written []. `meta` gets all columns except id, question and answer(s).
    """
    row = dict(zip(names, cells, strict=False))
    cell = row.get("answers" if "answers" in names else "answer") or ""
    answers: Any = [part.strip() for part in cell.split("|") if part.strip()] or [""]
    if cell.strip().startswith("["):
        try:
            answers = parse_json(cell)
        except json.JSONDecodeError:
            answers = cell  # the converter reports that this is not a list
    meta = {name: value for name, value in row.items() if name not in ("id", "question", "answer", "answers")}
    return {"id": row.get("id") or None, "question": row.get("question"), "answers": answers, "meta": meta}
