"""Computes the user's own measures over all answers of a method at once.

Such a measure is a function of (answers, golds), where golds has a list of accepted answers for each answer. Questions
without accepted answers are left out. With a file wording.py in the working directory,

    def words(answers, golds):
        return sum(len(answer.split()) for answer in answers) / len(answers)

`quorum eval ... --measure words=wording:words` writes the value to summary.json as "words" and shows it in a table.
MAUVE is `quorum.evaluation.experiments.mauve:compute_mauve`.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.evaluation.run.column_scores import list_measure_names

UserMeasure = Callable[[list[str], list[list[str]]], float]


def read_measures(items: Sequence[str]) -> dict[str, UserMeasure]:
    """The functions named by NAME=MODULE:FUNCTION; modules are found in the working directory, too."""
    measures: dict[str, UserMeasure] = {}
    for item in items:
        name, equals, location = (part.strip() for part in item.partition("="))
        module_name, colon, function_name = location.partition(":")
        if not (name and equals and module_name and colon and function_name):
            raise SetupError(f"Measure {item!r} cannot be read; write NAME=MODULE:FUNCTION, as in mauve=my_file:score.")
        if name in list_measure_names() or name in measures:
            raise SetupError(f"There is a measure {name!r} already; give yours another name.")
        measures[name] = import_function(module_name, function_name)
    return measures


def import_function(module_name: str, function_name: str) -> UserMeasure:
    """The function of a module, which may lie in the working directory. Raises `SetupError` if there is none."""
    working_folder = os.getcwd()
    if working_folder not in sys.path:
        sys.path.append(working_folder)
    try:
        function: Any = getattr(import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise SetupError(
            f"Measure {module_name}:{function_name} cannot be imported ({error}); check the names."
        ) from None
    if not callable(function):
        raise SetupError(
            f"Measure {module_name}:{function_name} is not a function; name a function (answers, golds) -> number."
        )
    user_measure: UserMeasure = function
    return user_measure


def compute_user_measures(path: Path, measures: Mapping[str, UserMeasure]) -> dict[str, dict[str, float]]:
    """{measure: {method: value}} over the answers in results.jsonl, which lies at `path`.

    A measure gets the answers in the order of the questions' ids. Failed questions and those without accepted answers
    are left out.
    """
    if not measures:
        return {}
    rows: dict[str, dict[str, tuple[str, list[str]]]] = {}  # method -> question id -> (answer, accepted answers)
    with path.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["error"] is None and row["gold"]:
                rows.setdefault(row["method"], {})[row["id"]] = (row["answer"], row["gold"])
    values: dict[str, dict[str, float]] = {name: {} for name in measures}
    for method, rows_by_id in rows.items():
        answers, golds = zip(*(rows_by_id[id_] for id_ in sorted(rows_by_id)), strict=True)
        for name, measure in measures.items():
            values[name][method] = float(measure(list(answers), list(golds)))
    return values
