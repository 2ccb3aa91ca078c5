"""Questions with passages for tests of silver data.

Silver data are the sentences or passages that one of FILCO's measures chooses by the accepted answers.
"""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quorum.datasets.silver import read_silver


def make_record(number: int, answers: list[str], *texts: str, **fields: Any) -> dict[str, Any]:
    """A question with one passage for each text. fields: further keys of the record."""
    passages = [{"id": f"{number}-{rank}", "title": "T", "text": text} for rank, text in enumerate(texts)]
    return {"id": f"q{number}", "question": f"Which, {number}?", "answers": answers, "passages": passages, **fields}


RECORDS = [
    make_record(1, ["1931"], "A mast stands. It is old.", "It was built in 1931. It is red."),
    make_record(2, ["Ann Lee", "A. Lee"], "Nobody knows. It rains."),
    make_record(3, ["yes"], "It is old. Yes, it is."),
    make_record(4, [], "Nothing is right here."),
    make_record(5, ["1950"], "Built in 1950 by Lee.", "Painted in 1950. It is tall."),
]


def write_records(path: Path, records: Sequence[dict[str, Any]] = RECORDS) -> Path:
    """Write the records as JSON lines and return the path. A file whose name ends in .gz is compressed."""
    lines = "".join(json.dumps(record) + "\n" for record in records)
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "wt", encoding="utf-8") as file:
        file.write(lines)
    return path


def list_silver_texts(out: Path) -> list[list[str]]:
    """For each question of the silver file `out`, the texts of the sentences or passages that were chosen."""
    return [[span["text"] for span in line["silver"]] for line in read_silver(out)]
