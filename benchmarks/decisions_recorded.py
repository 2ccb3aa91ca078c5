"""The recorded answers of all methods to one set of questions: numbers only, in one small file.

NAME.npz holds arrays of methods by questions: right, unknown, failed, key (equal answers have equal numbers),
confidence (NaN without one), certified (no replacement of a single passage changes the vote), calls, tokens. Two arrays
are of methods by methods by questions: shared_calls and shared_tokens [A, B] are the calls and tokens of method B that
method A needs as well. `about` is JSON: the methods, the measure, the model with its weights' hash, the hash of the
questions (data), where the passages come from (source), and the version of Quorum that asked (quorum).
"""

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorum.algorithms.cascades import RecordedAnswers
from quorum.core.context import Context
from quorum.evaluation.decisions.answer_table import make_answer_table
from quorum.evaluation.decisions.recorded_results import read_results
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options

Floats = NDArray[np.float64]
Cost = Literal["calls", "tokens"]


@dataclass(frozen=True)
class RecordedSet:
    """The recorded answers of all methods to one set of questions. name: the name of the file without .npz; about,
    arrays: as in the file (see the top of this module).
    """

    name: str
    about: dict[str, Any]
    arrays: dict[str, NDArray[Any]]

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(self.about["methods"])

    @property
    def right_by_question(self) -> Floats:
        """1 for a right answer, 0 for any other; questions by methods."""
        return self.arrays["right"].T.astype(np.float64)

    def make_recorded_answers(self, cost: Cost) -> RecordedAnswers:
        """The tables from which cascades are designed and certified."""
        right, has_failed = self.arrays["right"].astype(np.float64), self.arrays["failed"].astype(np.bool_)
        return RecordedAnswers(
            methods=self.methods,
            lowest_worth=right,
            highest_worth=np.where(has_failed, 1.0, right),
            is_known=~has_failed & ~self.arrays["unknown"].astype(np.bool_),
            has_failed=has_failed,
            answer_number=self.arrays["key"].astype(np.int64),
            confidence=self.arrays["confidence"].astype(np.float64),
            is_certified=self.arrays["certified"].astype(np.bool_),
            cost=self.arrays[cost].astype(np.float64),
            shared_cost=self.arrays[f"shared_{cost}"].astype(np.float64),
            question_groups=np.arange(right.shape[1]),
        )


def record_answers(name: str, data: Path, corpus: str | None, out: Path, limit: int, methods: str) -> Path:
    """Ask the methods the questions of one set, with the embedded reader, then write the numbers to out/NAME.npz, and
    return this path. After an interruption, call this function again: it asks only the questions still missing.
    """
    folder = out / "runs" / name
    options = Options(
        data=data, methods=methods, limit=limit, corpus=corpus, context=Context(k=5), out=folder, writes_details=True
    )
    asyncio.run(evaluate(options))
    return write_recorded_set(folder, out / f"{name}.npz")


def write_recorded_set(folder: Path, path: Path) -> Path:
    """Write the numbers of a folder of results, for the questions that all methods were asked, to `path`; return it."""
    folder_results = read_results(folder)
    asked_ids = tuple(
        id_
        for id_ in folder_results.ids
        if all((method, id_) in folder_results.rows for method in folder_results.methods)
    )
    results = replace(folder_results, ids=asked_ids)
    table_by_calls, table_by_tokens = make_answer_table(results, "calls"), make_answer_table(results, "tokens")
    unknown = [results.get_numbers(method, "unknown") == 1 for method in table_by_calls.methods]
    about = {
        "methods": table_by_calls.methods,
        "measure": results.measure,
        "model": results.get_settings(table_by_calls.methods[0])["model"],
        "data": results.config["data"],
        "source": results.config["source"],
        "quorum": results.config["quorum"],
    }
    _, answer_number = np.unique(table_by_calls.answer_number, return_inverse=True)
    np.savez_compressed(
        path,
        about=np.array(json.dumps(about)),
        right=table_by_calls.lowest_worth.astype("u1"),
        unknown=np.array(unknown, dtype="u1"),
        failed=table_by_calls.has_failed.astype("u1"),
        key=answer_number.reshape(table_by_calls.answer_number.shape).astype("u2"),
        confidence=table_by_calls.confidence.round(4).astype("f4"),
        certified=table_by_calls.is_certified.astype("u1"),
        calls=table_by_calls.cost.astype("u2"),
        tokens=table_by_tokens.cost.astype("u4"),
        shared_calls=table_by_calls.shared_cost.astype("u1"),
        shared_tokens=table_by_tokens.shared_cost.astype("u2"),
    )
    return path


def read_recorded_set(path: Path) -> RecordedSet:
    """The numbers in a file; needs no model and no network."""
    with np.load(path) as stored_arrays:
        arrays = {name: stored_arrays[name] for name in stored_arrays.files if name != "about"}
        return RecordedSet(path.stem, json.loads(str(stored_arrays["about"])), arrays)
