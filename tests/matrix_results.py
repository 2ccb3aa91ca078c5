"""Turns tables of right and wrong answers into folders of results, and decides them as the commands do."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.core.context import Context
from quorum.evaluation.compare.spending_limit import TotalSpent
from quorum.evaluation.decisions.decide import Decision, decide
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.race import RunningRace
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.run.results import Results
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.source import Source
from quorum.evaluation.run.spending import Spending

SEED = 0  # of the random order of a race


@dataclass(frozen=True)
class Matrix:
    """Methods by questions: the exact match of each answer, whether it says unknown, and the tokens it took.

    contains: whether the answer contains an accepted one, by default the same as right; groups: the document of each
    question, or None; confidence: NaN where there is none.
    """

    methods: tuple[str, ...]
    right: NDArray[np.float64]
    tokens: NDArray[np.float64]
    unknown: NDArray[np.bool_]
    contains: NDArray[np.float64] | None = None
    groups: Sequence[str] | None = None
    confidence: NDArray[np.float64] | None = None

    @cached_property
    def ids(self) -> list[str]:
        return [f"q{number:04}" for number in range(self.right.shape[1])]


def make_row(matrix: Matrix, method: int, question: int) -> dict[str, Any]:
    right, says_unknown = float(matrix.right[method, question]), bool(matrix.unknown[method, question])
    contains = right if matrix.contains is None else float(matrix.contains[method, question])
    confidence = None if matrix.confidence is None else float(matrix.confidence[method, question])
    row = {
        "id": matrix.ids[question],
        "method": matrix.methods[method],
        "question": f"Question {question}?",
        "task": "short",
        "answer": f"a{question}" if right else "unknown" if says_unknown else f"wrong {question} {method}",
        "gold": [f"a{question}"],
        "em": right,
        "f1": right,
        "contains": contains,
        "unknown": says_unknown,
        "confidence": None if confidence is None or np.isnan(confidence) else confidence,
        "calls": 1,
        "input_tokens": int(matrix.tokens[method, question]),
        "output_tokens": 0,
        "malformed": 0,
        "dropped": 0,
        "seconds": 0.5,
        "error": None,
    }
    return row if matrix.groups is None else row | {"group": matrix.groups[question]}


def write_matrix(folder: Path, matrix: Matrix) -> Path:
    """Write config.json and results.jsonl as an evaluation does, and an empty details.jsonl. Returns the folder."""
    folder.mkdir(parents=True)
    settings = {"model": "openai:test"}
    config = {
        "quorum": "0",
        "data": {"file": "questions.jsonl", "sha256": "1" * 64, "limit": None},
        "source": {"passages": "given"},
        "prompts": {},
        "methods": {name: {"method": name, **settings} for name in matrix.methods},
    }
    write_json(folder / "config.json", config)
    with (folder / "results.jsonl").open("w") as file:
        for question in range(len(matrix.ids)):
            for method in range(len(matrix.methods)):
                file.write(json.dumps(make_row(matrix, method, question)) + "\n")
    (folder / "details.jsonl").write_text("")
    return folder


def list_units(matrix: Matrix) -> tuple[tuple[str, ...], ...]:
    """The units of a race over these questions, in a random order."""
    ids_of_unit: dict[str, list[str]] = {}
    for number, id_ in enumerate(matrix.ids):
        ids_of_unit.setdefault(id_ if matrix.groups is None else matrix.groups[number], []).append(id_)
    units = list(ids_of_unit.values())
    return tuple(tuple(units[place]) for place in np.random.default_rng(SEED).permutation(len(units)))


def keep_counted_rows(path: Path, race: RunningRace) -> None:
    """Take out the answers that a race would not have asked for."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    kept_rows = (row for row in rows if race.is_counted(row["method"], row["id"]))
    path.write_text("".join(json.dumps(row) + "\n" for row in kept_rows))


def decide_matrix(folder: Path, matrix: Matrix, race_mode: Any = None, **options: Any) -> Decision:
    """The decision of `quorum compare` over the results in `folder`; race_mode: with `--race`, which leaves in the
    folder only the answers that the race asks for.
    """
    columns = parse_columns(",".join(matrix.methods), Context(model="openai:test"))
    data, count = folder / "questions.jsonl", len(matrix.ids)
    results, race_result = Results(folder / "results.jsonl", matrix.methods), None
    with results:
        if race_mode is not None:
            race = RunningRace(
                matrix.methods,
                list_units(matrix),
                mode=race_mode,
                measure="em",
                wrong_cost=options.get("wrong_cost", 0.0),
            )
            race.load(results)
            race_result = race.make_result()
            results.recount(race.is_counted)
            keep_counted_rows(folder / "results.jsonl", race)
        all_options = Options(data=data, race=race_mode, **options)
        plan = Plan(
            all_options, DataSet(data, None, "", count, 0), Source(None, None, None), columns, {"quorum": "0"}, folder
        )
        scores = Scores(plan, results.scores, results.summarize(), [], 0, Spending(), race=race_result)
    spent = TotalSpent(models={}, searches=0, searches_made=0, cost=None)
    return decide(scores, spent)
