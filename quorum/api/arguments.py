"""Reads the arguments of `evaluate` and `compare`: methods by name or as graphs, questions as a file or as records."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.graphs import Graph


def split_methods(methods: "str | Graph | Sequence[str | Graph]") -> tuple[str, list["Graph"]]:
    """(the methods given by name, as one text with commas between the names; the methods given as graphs)."""
    if isinstance(methods, str):
        return methods, []
    if not isinstance(methods, Sequence):
        return "", [methods]
    names = [method for method in methods if isinstance(method, str)]
    return ",".join(names), [method for method in methods if not isinstance(method, str)]


@contextmanager
def open_data_path(data: "str | Path | Iterable[Mapping[str, Any]]") -> Iterator[Path]:
    """Yield the path of a data set. Records in memory go to a temporary file, removed when the `with` block ends."""
    if isinstance(data, str | Path):
        yield Path(data)
        return
    try:
        lines = [json.dumps(record) for record in data]
    except (TypeError, ValueError) as error:
        raise SetupError(
            f'The records cannot be written as JSON ({error}); give each record as a dict with a text "question" '
            'and a list of texts "answers".'
        ) from None
    with tempfile.TemporaryDirectory(prefix="quorum-") as folder:
        path = Path(folder) / "records" / "questions.jsonl"  # runs show the file with its folder
        path.parent.mkdir()
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        yield path
