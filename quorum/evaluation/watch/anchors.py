"""Has a judge changed? Anchors are answers that are kept, with the verdicts that the judge gave when they were fixed:
asked again, a judge that has not changed says the same.

anchors.jsonl holds them, a line each; the verdicts are in events.jsonl, those of check 0 from when they were fixed.
After a reset new ones are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from quorum.algorithms.betting import compute_interval, compute_lower_bound
from quorum.core.errors import CallError
from quorum.evaluation.watch.folder import EVENTS, LABELS, WatchFolder
from quorum.evaluation.watch.promise import FAILURE, Promise
from quorum.evaluation.watch.sampled import list_resets
from quorum.evaluation.watch.sampling import format_time

ANCHORS = "anchors.jsonl"
FEWEST_ANCHORS = 300  # with 100, a system that breaks its promise five times over is not told from a changed judge
LABELS_BETWEEN_CHECKS = 50
MOST_MISSING = 0.1  # the share of verdicts that may be missing


@dataclass(frozen=True)
class AnchorCheck:
    """One time that all anchors were asked. number: 0 when they were fixed; z: the verdicts, by the anchors' ids, None
    for a missing one; label_lines: how many lines labels.jsonl had then.
    """

    number: int
    z: Mapping[str, float | None]
    label_lines: int


@dataclass(frozen=True)
class JudgeShift:
    """How the judge's verdicts on the anchors have risen. shift: the mean; low, high: its 95% interval; bound: above
    which it is only with the small probability that this check may use.
    """

    shift: float
    low: float
    high: float
    bound: float


def read_anchors(folder: WatchFolder) -> list[dict[str, Any]]:
    """The anchors that were kept since the last reset."""
    number = len(list_resets(folder))
    return [line for line in folder.read(ANCHORS) if line["round"] == number]


def keep_anchor(folder: WatchFolder, id_: str, question: str, answers: Sequence[Mapping[str, Any]]) -> None:
    """Keep an answer, and the rival's if there is one, each with its key and the passages that the judge reads."""
    line = {"id": id_, "round": len(list_resets(folder)), "question": question, "answers": list(answers)}
    folder.append(ANCHORS, line)


def list_checks(folder: WatchFolder) -> list[AnchorCheck]:
    """The checks since the last reset, in order."""
    number = len(list_resets(folder))
    return [
        AnchorCheck(event["check"], event["z"], event["label_lines"])
        for event in folder.read(EVENTS)
        if event["event"] == "anchors" and event["round"] == number
    ]


def write_check(folder: WatchFolder, z: Mapping[str, float | None]) -> None:
    """Keep the verdicts on all anchors. Raises `CallError` if too many are missing."""
    missing = sum(value is None for value in z.values())
    if missing > MOST_MISSING * len(z):
        raise CallError(f"the judge gave no verdict on {missing} of {len(z)} anchors")
    event = {
        "event": "anchors",
        "round": len(list_resets(folder)),
        "check": len(list_checks(folder)),
        "time": format_time(datetime.now(UTC)),
        "z": dict(z),
        "label_lines": sum(1 for _ in folder.read(LABELS)),
    }
    folder.append(EVENTS, event)


def compute_shift(first: AnchorCheck, check: AnchorCheck, failure: float = FAILURE) -> JudgeShift:
    """How far the verdicts have risen between two checks.

    failure: of one promise; of k it is FAILURE / k each. The bound of check i holds with probability 1 - failure / (2 i
    (i + 1)), so those of all checks together with 1 - failure / 2. A verdict that is missing now counts as risen to 1.
    """
    rises = [
        (1.0 if now is None else now) - then
        for id_, then in first.z.items()
        if then is not None
        for now in (check.z.get(id_),)
    ]
    bound = bound_rise(np.array(rises), check.number, failure)
    low, high = compute_interval(rises)
    return JudgeShift(float(np.mean(rises)) if rises else 0.0, low, high, bound)


def bound_rise(rises: np.ndarray, check: int, failure: float = FAILURE) -> float:
    """The upper bound of a mean rise in check i = 1, 2, ...; at least 0.

    >>> round(bound_rise(np.zeros(300), 1), 3)
    0.022
    """
    return max(0.0, -compute_lower_bound(-rises, failure / (2 * check * (check + 1))))


def is_collecting(folder: WatchFolder, promise: Promise) -> bool:
    """Whether the anchors are not fixed yet, so that answers are kept as anchors, and none is sampled."""
    return promise.labels == "judge" and not list_checks(folder)
