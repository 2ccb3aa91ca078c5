"""Data sets in the formats in which they are published, recognised by their content; `docs/data.md` lists them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.datasets.formats.convert import Broken, Format
from quorum.datasets.formats.files import values_of
from quorum.datasets.formats.open_domain import DPR, FLASHRAG, KILT, NQ, OURS, TRIVIAQA, WEBQUESTIONS
from quorum.datasets.formats.reading import ASQA, FEVER, HOTPOTQA, SQUAD, STRATEGYQA
from quorum.datasets.records import Record, shown

FORMATS = (DPR, TRIVIAQA, HOTPOTQA, STRATEGYQA, WEBQUESTIONS, FEVER, ASQA, KILT, FLASHRAG, SQUAD, OURS, NQ)


def records_of(path: Path, bad: list[str] | None = None) -> Iterator[Record]:
    """The questions of a file in any of the formats. The first record that fits one says which.

    A record that does not fit is a `SetupError`, or, where `bad` is given, a sentence in it.
    """
    chosen: Format | None = None
    for number, where, value in values_of(path, bad):
        chosen = chosen or next((known for known in FORMATS if isinstance(value, dict) and known.fits(value)), None)
        try:
            record = converted(chosen, value, where)
        except SetupError as error:
            if bad is None:
                raise
            bad.append(str(error))
            continue
        record["id"] = record["id"] or str(number)
        record.setdefault("source", path.name)
        yield record


def converted(chosen: Format | None, value: Any, where: str) -> Record:
    """A value as a record of ours; of ours, too, where no format fits it."""
    form = chosen or OURS
    try:
        return form.convert(value, where)
    except Broken as error:
        said = f" ({error})"
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        said = ""
    others = "" if chosen else f", or a record of {', '.join(other.name for other in FORMATS if other is not OURS)}"
    raise SetupError(f"{where}: expected {form.expected}{others}; found {shown(value)}{said}.") from None
