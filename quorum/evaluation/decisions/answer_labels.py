"""Labels of people on the answers of two methods in recorded results: which answers they see, and what follows.

Only answers that differ are labelled, in a random order of the questions, which depends on the questions' ids alone. A
verdict is on a question and an answer, so it counts for every method that gave this answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import numpy as np
from filelock import FileLock

from quorum.algorithms.vote_key import vote_key
from quorum.core.append_lines import append_line, read_whole_lines
from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.decisions.gate import check_comparable, choose_method
from quorum.evaluation.decisions.recorded_results import RecordedResults, read_results
from quorum.evaluation.shown.label_task import LabelTask, make_task

LABELS = "labels.jsonl"
UNKNOWN_KEY = ""  # of the answer unknown
Key = tuple[str, str]  # question id, the answer as it is compared in a vote


@dataclass(frozen=True)
class LabelledPair:
    """Two methods whose answers people label. labels: {(question id, key): whether the answer is right; None if it was
    skipped}.
    """

    baseline: RecordedResults
    new: RecordedResults
    methods: tuple[str, str]
    labels: dict[Key, bool | None]

    def read_labels(self) -> None:
        """Read the labels that the folders hold now; the last one of an answer counts."""
        for folder in dict.fromkeys((self.baseline.folder, self.new.folder)):
            for line in read_whole_lines(folder / LABELS):
                self.labels[str(line["id"]), str(line["key"])] = line["right"]

    def find_keys(self, id_: str) -> tuple[str, str]:
        rows = (results.rows[method, id_] for results, method in self.sides)
        first, second = (UNKNOWN_KEY if row.get("unknown") else vote_key(str(row["answer"])) for row in rows)
        return first, second

    @property
    def sides(self) -> tuple[tuple[RecordedResults, str], tuple[RecordedResults, str]]:
        return (self.baseline, self.methods[0]), (self.new, self.methods[1])

    @cached_property
    def differing(self) -> tuple[str, ...]:
        """The ids of the questions on which the answers differ, in their random order."""
        return tuple(id_ for id_ in self.baseline.ids if len(set(self.find_keys(id_))) == 2)

    def is_seen(self, id_: str) -> bool:
        """Whether somebody has labelled both answers, or skipped one."""
        return all((id_, key) in self.labels for key in self.find_keys(id_))

    def is_skipped(self, id_: str) -> bool:
        """Whether it is not known of both answers if they are right, though somebody has seen them."""
        return self.is_seen(id_) and any(self.labels[id_, key] is None for key in self.find_keys(id_))

    @property
    def drawn(self) -> tuple[str, ...]:
        """The ids of the labelled questions that are a random part of those that differ: all up to the first that
        nobody has seen. (Later ones may have labels because another pair of methods was labelled.)
        """
        first_unseen = next((place for place, id_ in enumerate(self.differing) if not self.is_seen(id_)), None)
        return self.differing[:first_unseen]

    def list_tasks(self) -> list[LabelTask]:
        """What waits for a label."""
        return [self.make_task(id_) for id_ in self.differing if not self.is_seen(id_)]

    def make_task(self, id_: str) -> LabelTask:
        rows = [results.rows[method, id_] for results, method in self.sides]
        answers = [str(row["answer"]) for row in rows]
        return make_task(id_, "", str(rows[0].get("question") or id_), answers)

    def save(self, id_: str, right: Sequence[bool] | None, who: str) -> None:
        """Keep a label on the disk. right: of the baseline's answer and of the new one's; None if it was skipped."""
        verdicts = (None, None) if right is None else tuple(right)
        folder, time = self.new.folder, datetime.now(UTC).isoformat(timespec="seconds")
        with FileLock(folder / "labels.lock"):
            for key, verdict in zip(self.find_keys(id_), verdicts, strict=True):
                line = {"id": id_, "key": key, "right": verdict, "who": who, "time": time}
                append_line(folder / LABELS, line)
                self.labels[id_, key] = verdict

    def bound_losses(self, ids: Sequence[str], wrong_cost: float) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest possible loss of each question, divided by 1 + `wrong_cost`: they differ where
        an answer was skipped. Of questions whose answers are equal it is 0.
        """
        low, high = np.zeros(len(ids)), np.zeros(len(ids))
        for place, id_ in enumerate(ids):
            keys = self.find_keys(id_)
            if keys[0] != keys[1]:
                worths = [self.bound_worth(id_, key, wrong_cost) for key in keys]
                low[place] = (worths[0][0] - worths[1][1]) / (1 + wrong_cost)
                high[place] = (worths[0][1] - worths[1][0]) / (1 + wrong_cost)
        return low, high

    def bound_worth(self, id_: str, key: str, wrong_cost: float) -> tuple[float, float]:
        wrong = 0.0 if key == UNKNOWN_KEY else -wrong_cost
        right = self.labels.get((id_, key))
        return (wrong, 1.0) if right is None else (1.0, 1.0) if right else (wrong, wrong)

    def compute_judged(self, ids: Sequence[str]) -> np.ndarray | None:
        """The loss of each question by the judge's verdicts in the results; None if one is missing."""
        first, second = (
            np.array([read_number(results.rows[method, id_].get("judged")) for id_ in ids])
            for results, method in self.sides
        )
        losses: np.ndarray = first - second
        return None if np.isnan(losses).any() else losses


def read_pair(texts: Sequence[str]) -> LabelledPair:
    """The pair that one text FOLDER (of results of two methods) or two texts, FOLDER or FOLDER:METHOD, name.

    Raises `SetupError` for results that cannot be compared, and for questions that failed.
    """
    sides = [split_method(text) for text in texts]
    results = [read_results(folder) for folder, _ in sides]
    methods = [method for _, method in sides]
    if len(results) == 1:
        if len(results[0].methods) != 2 or methods[0] is not None:
            raise SetupError(
                f"{results[0].folder} holds {format_count(len(results[0].methods), 'method')} "
                f"({', '.join(results[0].methods)}); name the two whose answers you label: FOLDER:METHOD FOLDER:METHOD."
            )
        results, methods = results * 2, list(results[0].methods)
    return make_pair(results[0], results[1], (methods[0], methods[1]))


def make_pair(baseline: RecordedResults, new: RecordedResults, methods: tuple[str | None, str | None]) -> LabelledPair:
    """The pair with all labels in the folders of both results."""
    check_comparable(baseline, new)
    names = choose_method(baseline, methods[0]), choose_method(new, methods[1])
    for results, name in zip((baseline, new), names, strict=True):
        failed = sum(results.rows[name, id_].get("answer") is None for id_ in results.ids)
        if failed:
            raise SetupError(
                f"{name} gave no answer to {format_count(failed, 'question')} of {results.folder}; ask them again "
                "first."
            )
    pair = LabelledPair(baseline, new, names, {})
    pair.read_labels()
    return pair


def split_method(text: str) -> tuple[Path, str | None]:
    """FOLDER or FOLDER:METHOD."""
    if Path(text).is_dir():
        return Path(text), None
    folder, colon, method = text.partition(":")
    return Path(folder), (method or None) if colon else None


def is_results(text: str) -> bool:
    """Whether a text names recorded results."""
    return (split_method(text)[0] / "config.json").is_file()


def read_number(value: float | None) -> float:
    return np.nan if value is None else float(value)
