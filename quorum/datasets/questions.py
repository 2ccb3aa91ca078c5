"""Reads evaluation questions from our JSON lines or a published format, and writes them as JSON lines."""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO, cast

from quorum.core.errors import SetupError
from quorum.datasets.formats import read_records
from quorum.datasets.records import Record


def read_questions(
    path: Path, *, problems: list[str] | None = None, left_out: list[str] | None = None
) -> Iterator[Record]:
    """Yield the questions of an evaluation set, in our JSON lines or another format of `quorum.datasets.formats`.

    Raises `SetupError` for a bad record. With a list `problems`, the message is added to that list instead, and reading
    continues. A record with "keep": false was rejected in a review: it is skipped, and its id is added to `left_out`.
    """
    for record in read_records(path, problems):
        if record.get("meta", {}).get("keep") is not False:
            yield record
        elif left_out is not None:
            left_out.append(record["id"])


def write_questions(path: Path, records: Iterable[Record]) -> int:
    """Write records as our JSON lines, gzipped if the name ends in .gz, and return their number.

    If the writing fails, nothing is written: an existing file at `path` stays as it was.
    """
    count, temporary = 0, path.with_name(f".{path.name}.{os.getpid()}")
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with cast(TextIO, opener(temporary, "wt", encoding="utf-8")) as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
                count += 1
        temporary.replace(path)
    except OSError as error:
        raise SetupError(f"{path} cannot be written ({error.strerror or error}); give another path.") from None
    finally:
        with suppress(OSError):  # the temporary path may be as unusable as `path`
            temporary.unlink(missing_ok=True)
    return count
