"""Refuses rows whose answers were compared with accepted answers by another measure than the folder's other rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.text import PUBLISHED_MEASURE


def read_answer_measure(config_or_row: Mapping[str, Any]) -> str:
    """The `answer_measure` of a config.json or of a line of results.jsonl. Older versions, which had only SQuAD's, did
    not write it.

    >>> read_answer_measure({"answer_measure": "exact_match"}), read_answer_measure({})
    ('exact_match', 'squad_exact_match')
    """
    return str(config_or_row.get("answer_measure") or PUBLISHED_MEASURE)


def check_answer_measure(row: Mapping[str, Any], answer_measure: str | None, results_file: Path) -> None:
    """Raises `SetupError` if the row has another measure. answer_measure: the folder's; None: nothing is checked."""
    if answer_measure is not None and (measure := read_answer_measure(row)) != answer_measure:
        raise SetupError(
            f"{results_file} holds answers that were measured by {measure} where config.json says {answer_measure}, "
            "and results of two measures are not compared; give another folder, or run the evaluation again."
        )
