"""Asks people which of two methods' summaries they prefer (SuRe, figure 4c), with a blinded, shuffled sheet.

The sheet is preference.csv, in which people write their choices. The key is preference.key.json: it says which method
wrote which summary of the sheet.
"""

import csv
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.private_files import open_private_text
from quorum.evaluation.experiments.analyses import AnalysisTable
from quorum.evaluation.experiments.preference import Pair, read_pairs
from quorum.evaluation.metrics.statistics import compute_mean_interval, number_units
from quorum.evaluation.report.csv_files import escape_formula

SHEET_FILE, KEY_FILE = "preference.csv", "preference.key.json"
SHEET_HEADER = ("number", "question", "answer", "summary 1", "summary 2", "choice")
# What a person writes as a choice -> 0 if the first summary of the line is preferred, 1 if the second, None for a tie.
PREFERRED_PLACE = {"1": 0, "summary 1": 0, "2": 1, "summary 2": 1, "tie": None, "0": None}


def make_people_preference_tables(folder: Path, names: Sequence[str]) -> list[AnalysisTable]:
    """Write the sheet if there is none yet, and count the choices that people have written in it so far.

    names: the two columns whose summaries are compared. Returns a single table.
    """
    if len(names) != 2:
        raise SetupError(
            f"People compare two methods, but {len(names)} are given ({', '.join(names)}); name two with --methods."
        )
    if not (folder / SHEET_FILE).exists():
        write_sheet(folder, (names[0], names[1]))
    return [count_choices(folder)]


def write_sheet(folder: Path, names: tuple[str, str], seed: int = 0) -> int:
    """Write the sheet and its key. The pairs are in random order, and so are the two summaries of each pair.

    Returns the number of pairs.
    """
    pairs = list(read_pairs(folder / "results.jsonl", *names))
    generator = random.Random(f"{seed} {len(pairs)}")
    generator.shuffle(pairs)
    are_swapped = [generator.random() < 0.5 for _ in pairs]
    key = {
        "methods": list(names),
        "pairs": [
            {"id": pair.id, "is_swapped": is_swapped} | ({} if pair.group is None else {"group": pair.group})
            for pair, is_swapped in zip(pairs, are_swapped, strict=True)
        ],
    }
    with open_private_text(folder / KEY_FILE) as file:
        json.dump(key, file, indent=2)
    with open_private_text(folder / SHEET_FILE) as file:
        writer = csv.writer(file)
        writer.writerow(SHEET_HEADER)
        for number, (pair, is_swapped) in enumerate(zip(pairs, are_swapped, strict=True), start=1):
            writer.writerow(make_row(number, pair, is_swapped))
    return len(pairs)


def make_row(number: int, pair: Pair, is_swapped: bool) -> list[str]:
    """One line of the sheet. is_swapped: the second method's summary comes first. The last cell is empty: a person
    writes the choice there.
    """
    texts = (pair.second_summary, pair.first_summary) if is_swapped else (pair.first_summary, pair.second_summary)
    return [str(number), *(escape_formula(text) for text in (pair.question, pair.answer, *texts)), ""]


def read_choices(folder: Path) -> Iterator[tuple[dict[str, Any], int | None]]:
    """The choices made so far, each with its pair in the key: 0 for the first method's summary, 1 for the second
    method's, None for a tie.

    Raises `SetupError` for a file that cannot be read, a line whose number is not in the key, and an unknown choice.
    """
    path = folder / SHEET_FILE
    try:
        key = json.loads((folder / KEY_FILE).read_text(encoding="utf-8"))
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise SetupError(
            f"{path} or its key cannot be read ({error}); delete both, and run the same command again."
        ) from None
    for row in rows:
        yield from read_choice(row, key["pairs"], path)


def read_choice(
    row: dict[str, Any], pairs: Sequence[dict[str, Any]], path: Path
) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Yields the choice of one line as in `read_choices`, or nothing if there is no choice yet. pairs: from the key."""
    choice = (row.get("choice") or "").strip().lower()
    if not choice:
        return
    number = str(row.get("number") or "").strip()
    if not number.isdecimal() or not 0 < int(number) <= len(pairs):
        raise SetupError(
            f"{path} has a line with the number {number!r}, which {KEY_FILE} does not have; restore the numbers in the "
            "column 'number' as the command wrote them."
        )
    if choice not in PREFERRED_PLACE:
        raise SetupError(f"{path}, line number {number}: the choice is {choice!r}; write 1, 2 or tie.")
    place = PREFERRED_PLACE[choice]
    pair = pairs[int(number) - 1]
    yield pair, place if place is None or not pair["is_swapped"] else 1 - place


def count_choices(folder: Path) -> AnalysisTable:
    """The shares of the choices that prefer each method's summary or neither, with intervals over the choices."""
    pairs_and_choices = list(read_choices(folder))
    choices = [choice for _, choice in pairs_and_choices]
    units = number_units(
        [pair["id"] for pair, _ in pairs_and_choices],
        {pair["id"]: pair["group"] for pair, _ in pairs_and_choices if pair.get("group")},
    )
    key = json.loads((folder / KEY_FILE).read_text(encoding="utf-8"))
    names_and_choices = (*((name, number) for number, name in enumerate(key["methods"])), ("neither", None))
    rows: list[dict[str, Any]] = [
        {
            "summaries of": name,
            "preferred": compute_mean_interval([choice == wanted_choice for choice in choices], units)
            if choices
            else None,
        }
        for name, wanted_choice in names_and_choices
    ]
    title = (
        f"{len(choices)} of {len(key['pairs'])} pairs decided in {SHEET_FILE}: write 1, 2 or tie under 'choice', "
        "then run the same command again"
    )
    return AnalysisTable(title=title, rows=rows)
