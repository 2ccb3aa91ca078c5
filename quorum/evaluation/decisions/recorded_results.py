"""Reads the results of an evaluation or a comparison as tables of methods by questions."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.algorithms.vote_key import vote_key
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.metrics.registry import is_binary
from quorum.evaluation.metrics.statistics import number_units
from quorum.evaluation.run.answer_measure import check_answer_measure, read_answer_measure
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.dataset import describe_missing_answers
from quorum.evaluation.run.read_rows import has_type, read_rows
from quorum.evaluation.run.tasks import list_deciding_measures

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Row = Mapping[str, Any]

HIGHEST_WRONG_COST = 1_000_000  # a wrong answer may cost at most as much as this many right answers are worth


@dataclass(frozen=True)
class RecordedResults:
    """The content of a results folder.

    config: the content of config.json. measure: the deciding measure. methods: the methods' names. ids: the questions'
    ids, shuffled, in an order that depends on them alone. rows: by (method, question id), the line of results.jsonl
    with the answer; the line with the error if there is no answer. A question that a method was not asked has no row.
    """

    folder: Path
    config: Mapping[str, Any]
    measure: str
    methods: tuple[str, ...]
    ids: tuple[str, ...]
    rows: Mapping[tuple[str, str], Row]

    def get_numbers(self, method: str, key: str) -> Floats:
        """The number under `key` in a method's row for each question; NaN if it is null or there is no row."""
        rows = (self.rows.get((method, id_)) or {} for id_ in self.ids)
        values: list[Any] = [row.get(key) for row in rows]
        return np.array([math.nan if value is None else float(value) for value in values])

    def find_asked_questions(self, method: str) -> Flags:
        """For each question, whether the method was asked it; it may have answered or failed."""
        return np.array([(method, id_) in self.rows for id_ in self.ids], dtype=np.bool_)

    def find_failed_questions(self, method: str) -> Flags:
        """For each question, whether the method was asked it and gave no answer that could be scored."""
        has_score = ~np.isnan(self.get_numbers(method, self.measure))
        return self.find_asked_questions(method) & ~has_score

    def get_vote_keys(self, method: str) -> list[str]:
        """The answer to each question, normalised as in a vote; "" for a question without an answer."""
        return [vote_key(str((self.rows.get((method, id_)) or {}).get("answer") or "")) for id_ in self.ids]

    def bound_worth(self, method: str, wrong_cost: float = 0.0) -> tuple[Floats, Floats]:
        """The lowest and the highest possible worth of each answer.

        An answer is worth its measure minus `wrong_cost` times (1 - measure); an unknown answer costs nothing. If the
        method gave no answer that could be scored, the bounds are -`wrong_cost` and 1; otherwise they are equal.
        """
        score, unknown = self.get_numbers(method, self.measure), self.get_numbers(method, "unknown") == 1
        value = np.where(unknown, score, score - wrong_cost * (1 - score))
        missing = np.isnan(value)
        return np.where(missing, -wrong_cost, value), np.where(missing, 1.0, value)

    @property
    def missing_answers_note(self) -> str:
        """A sentence about the questions without an accepted answer; "" if all have one."""
        ids = {id_ for (_, id_), row in self.rows.items() if row.get("gold") == []}
        return describe_missing_answers(len(ids), len(self.ids))

    @property
    def is_right_or_wrong(self) -> bool:
        """Whether the measure only says right or wrong, with nothing in between."""
        return is_binary(self.measure)

    @cached_property
    def complete_methods(self) -> tuple[str, ...]:
        """The methods that were asked every question; in a race, some methods are not asked all questions."""
        return tuple(method for method in self.methods if self.find_asked_questions(method).all())

    @cached_property
    def is_unanswerable(self) -> Flags:
        """For each question, whether the data have no answer to it, so that "unknown" is right."""
        unanswerable_ids = {id_ for (_, id_), row in self.rows.items() if row.get("gold") == []}
        return np.array([id_ in unanswerable_ids for id_ in self.ids], dtype=np.bool_)

    @cached_property
    def group_numbers(self) -> NDArray[np.int64]:
        """A number for each question; questions of one document or conversation have the same number."""
        group_of_id: dict[str, str] = {}
        for (_, id_), row in self.rows.items():
            if row.get("group"):
                group_of_id[id_] = str(row["group"])
        units = number_units(self.ids, group_of_id)
        return np.arange(len(self.ids)) if units is None else units

    def get_settings(self, method: str) -> Mapping[str, Any]:
        """The method and its settings, as config.json describes them."""
        method_settings: Mapping[str, Any] = self.config.get("methods", {}).get(method, {})
        return method_settings

    @property
    def answer_measure(self) -> str:
        """How the answers were compared with accepted ones (`Context.answer_measure`)."""
        return read_answer_measure(self.config)

    @property
    def data_and_source(self) -> Mapping[str, Any]:
        """The questions, the source of the passages and the task; results must agree in all three to be compared."""
        return {name: self.config.get(name) for name in ("data", "source", "task")}


def read_results(folder: Path, measure: str | None = None, *, prefer_verdicts: bool = False) -> RecordedResults:
    """The results in a folder that `quorum eval` or `quorum compare` wrote.

    measure: the deciding measure; by default that of the task, as in `quorum compare`. prefer_verdicts: decide by a
    judge's verdicts if there are any. Raises `SetupError` if the folder holds no such results, or if the measure is
    missing or is not always from 0 to 1.
    """
    config_file, results_file = folder / "config.json", folder / "results.jsonl"
    if not config_file.exists() or not results_file.exists():
        raise SetupError(f"{folder} holds no results; name a folder that quorum eval or quorum compare wrote.")
    config = read_json_file(config_file, advice="run the evaluation again")
    if not isinstance(config, dict) or not isinstance(config.get("methods", {}), dict):
        raise SetupError(f"{config_file} is not the configuration of an evaluation; run the evaluation again.")
    rows: dict[tuple[str, str], Row] = {}
    for _, row in read_rows(results_file):
        check_answer_measure(row, read_answer_measure(config), results_file)
        key = row["method"], row["id"]
        if key not in rows or (rows[key].get("error") is not None and row.get("error") is None):
            rows[key] = {"error": None, "answer": None, **row}
    if not rows:
        raise SetupError(f"{results_file} holds no answers yet; finish the evaluation first.")
    verdicts = read_verdicts(folder)
    if verdicts:
        rows = {key: {**row, "judged": verdicts.get(key)} for key, row in rows.items()}
    tasks = {row.get("task") or "short" for row in rows.values()}
    has_short_answers = any(row.get("str_em") is not None for row in rows.values())
    chosen_measure = measure or (
        "judged"
        if verdicts and prefer_verdicts
        else list_deciding_measures(tasks, has_short_answers=has_short_answers)[0]
    )
    if all(row.get(chosen_measure) is None for row in rows.values()):
        raise SetupError(
            f"The results in {folder} have no measure {chosen_measure!r}; name a measure of results.jsonl."
        )
    if any(row.get(chosen_measure) is not None and not has_type(row[chosen_measure], float) for row in rows.values()):
        raise SetupError(
            f"The measure {chosen_measure!r} of {results_file} is not always a number; name another, or run the "
            "evaluation again."
        )
    if any(row.get(chosen_measure) is not None and not 0 <= row[chosen_measure] <= 1 for row in rows.values()):
        raise SetupError(
            f"The measure {chosen_measure!r} is not a share between 0 and 1; name one that is, such as em or f1."
        )
    configured_methods = config.get("methods", {})
    methods = tuple(dict.fromkeys([*configured_methods, *(method for method, _ in rows)]))
    asked_methods = tuple(method for method in methods if any(key[0] == method for key in rows))
    ids = shuffle_ids({id_ for _, id_ in rows})
    return RecordedResults(folder, config, chosen_measure, asked_methods, ids, rows)


def shuffle_ids(ids: Iterable[str]) -> tuple[str, ...]:
    """The ids in a random order that is the same whenever the ids are: rows come in the order in which answers arrived,
    and neither a split of the questions nor a bet may depend on that.
    """
    return tuple(sorted(ids, key=lambda id_: (sha256(id_.encode("utf-8", "surrogatepass")).digest(), id_)))


def read_verdicts(folder: Path) -> dict[tuple[str, str], float | None]:
    """{(method, question id): the judge's verdict}; empty if no judge was asked."""
    path = folder / "judged.jsonl"
    lines = read_rows(path) if path.exists() else ()
    return {(line["method"], line["id"]): read_verdict(line, path) for _, line in lines}


def read_verdict(line: Mapping[str, Any], path: Path) -> float | None:
    """The verdict of a line of judged.jsonl; None if the judge's reply could not be read."""
    verdict = line.get("judged")
    if verdict is not None and not has_type(verdict, float):
        raise SetupError(f"{path} has a verdict that is no number; remove the file, and run the judge again.")
    return verdict


def check_method(results: RecordedResults, method: str) -> str:
    """The name, if the results have that method; else raises a `SetupError` that lists the methods."""
    if method not in results.methods:
        raise SetupError(f"{results.folder} has no method {method!r}; it has: {', '.join(results.methods)}.")
    return method


def read_share(text: str, option: str, *, may_be_all: bool = False) -> float:
    """A share between 0 and 1 from '5%' or '0.05'. option: the name of the option, for the error message; may_be_all:
    whether 100% fits, too.
    """
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not (0 < value < 1 or (may_be_all and value == 1)):
        raise SetupError(f"{option} {text!r} does not fit; give a share between 0 and 1, such as 5% or 0.05.")
    return value


def format_question_groups(group_count: int, question_count: int) -> str:
    """The size of a test in words: '120 questions', or '67 groups of questions' if it counts each group as one."""
    if group_count == question_count:
        return format_count(question_count, "question")
    return format_count(group_count, "group of questions", "groups of questions")


def compute_failure_probability(confidence: float) -> float:
    """The probability with which a promise of this confidence level may fail. Raises `SetupError` unless
    0.5 <= confidence < 1.
    """
    if not 0.5 <= confidence < 1:
        raise SetupError(
            f"--confidence {confidence:g} does not fit; give a probability of at least 0.5 and below 1, such as 0.9."
        )
    return round(1 - confidence, 12)


def check_wrong_cost(wrong_cost: float) -> float:
    """The cost of a wrong answer, unchanged. Raises `SetupError` if it is below 0 or above HIGHEST_WRONG_COST."""
    if not 0 <= wrong_cost <= HIGHEST_WRONG_COST:
        raise SetupError(
            f"--wrong-cost {wrong_cost:g} does not fit; give what a wrong answer costs, from 0 to "
            f"{HIGHEST_WRONG_COST:,}."
        )
    return wrong_cost
