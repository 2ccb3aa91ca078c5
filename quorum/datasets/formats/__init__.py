"""Reads data sets in their published formats, which it recognises by content; `docs/data.md` lists the formats.

Begin with `read_records`. This package imports quorum.datasets.records and quorum.core.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.datasets.formats.convert import Format, UnusableRecord
from quorum.datasets.formats.files import read_numbered_records
from quorum.datasets.formats.langsmith_examples import LANGSMITH
from quorum.datasets.formats.open_domain import DPR, FLASHRAG, KILT, NQ, OWN_FORMAT, TRIVIAQA, WEBQUESTIONS
from quorum.datasets.formats.reading_comprehension import ASQA, FEVER, HOTPOTQA, SQUAD, STRATEGYQA
from quorum.datasets.records import Record, preview_value

FORMATS = (
    DPR,
    TRIVIAQA,
    HOTPOTQA,
    STRATEGYQA,
    WEBQUESTIONS,
    FEVER,
    ASQA,
    KILT,
    FLASHRAG,
    LANGSMITH,
    SQUAD,
    OWN_FORMAT,
    NQ,
)


def read_records(path: Path, problems: list[str] | None = None) -> Iterator[Record]:
    """Yield the questions of a file. The first record that fits one of the formats sets the format of the file.

    Raises `SetupError` for a bad record. With a list `problems`, the message is added to that list instead.
    """
    chosen_format: Format | None = None
    for number, where, value in read_numbered_records(path, problems):
        chosen_format = chosen_format or next(
            (data_format for data_format in FORMATS if isinstance(value, dict) and data_format.fits(value)), None
        )
        try:
            record = convert_record(chosen_format, value, where)
        except SetupError as error:
            if problems is None:
                raise
            problems.append(str(error))
            continue
        record["id"] = record["id"] or str(number)
        record.setdefault("source", path.name)
        yield record


def convert_record(chosen_format: Format | None, value: Any, where: str) -> Record:
    """Convert a value to one of our records.

    chosen_format: None if no record so far fitted a format; the value is then read in our own format. where: the place
    of the value in its file, for messages. Raises `SetupError` for a value that cannot be converted.
    """
    expected_format = chosen_format or OWN_FORMAT
    try:
        return drop_empty_answers(expected_format.convert(value, where), where)
    except UnusableRecord as error:
        reason = f" ({error})"
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        reason = ""
    others = (
        ""
        if chosen_format
        else f", or a record of {', '.join(other.name for other in FORMATS if other is not OWN_FORMAT)}"
    )
    raise SetupError(
        f"{where}: expected {expected_format.expected}{others}; found {preview_value(value)}{reason}."
    ) from None


def drop_empty_answers(record: Record, where: str) -> Record:
    """The record without accepted answers that are empty texts. Raises `SetupError` if there are only such answers: the
    answers may have been lost, and a list without answers would say that "unknown" is right.
    """
    answers = [answer for answer in record["answers"] if answer.strip()]
    is_rejected = record.get("meta", {}).get("keep") is False
    if record["answers"] and not answers and not is_rejected:
        raise SetupError(f'{where}: the answer is empty; write the accepted answers, or [] if "unknown" is right.')
    record["answers"] = answers
    return record
