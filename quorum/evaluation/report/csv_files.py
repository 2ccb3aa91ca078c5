"""Writes report.csv and questions.csv, the report for spreadsheets."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quorum.core.private_files import open_private_text
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.results import Summary

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # first characters that make a spreadsheet read a cell as a formula
QUESTION_FIELDS = [
    *("id", "method", "question", "gold", "answer", "em", "f1", "accuracy", "rouge_l", "str_em", "unknown")
]
QUESTION_FIELDS += ["confidence", "calls", "input_tokens", "output_tokens", "seconds", "error", "contains"]


def escape_formula(text: str) -> str:
    """The text; an apostrophe is put before it if a spreadsheet would otherwise run it as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def write_methods_csv(path: Path, summary: Summary, costs: dict[str, float | None]) -> None:
    """Write report.csv: a line for each method, with its mean cost per question (None if unknown) and every measure of
    summary.json.
    """
    measures = list(dict.fromkeys(name for row in summary.values() for name in row))
    with open_private_text(path, newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "cost", *measures])
        writer.writerows(
            [escape_formula(name), costs[name], *(row.get(measure) for measure in measures)]
            for name, row in summary.items()
        )


def write_questions_csv(path: Path, ids: Sequence[str], methods: Sequence[str], results: LineIndex) -> None:
    """Write questions.csv: a line for each question and method with a result. results: the lines of results.jsonl."""
    with open_private_text(path, newline="") as file:
        writer = csv.writer(file)
        writer.writerow(QUESTION_FIELDS)
        for id_ in ids:
            for _, row in results.list_by_method(id_, methods):
                if row is not None:
                    writer.writerow([format_cell(row.get(name)) for name in QUESTION_FIELDS])


def format_cell(value: Any) -> Any:
    """A value as a cell: the items of a list are joined by bars, and a text that looks like a formula is escaped."""
    text = " | ".join(value) if isinstance(value, list) else value
    if not isinstance(text, str):
        return text
    return escape_formula(text.encode("utf-8", "replace").decode())  # lone surrogates become "?"
