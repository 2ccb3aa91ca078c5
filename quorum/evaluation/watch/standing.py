"""How a watched promise stands: refuted, confirmed, or neither; computed from the files of its folder alone."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np

from quorum.algorithms.watch import (
    compute_alarm_capital,
    compute_broken_share,
    compute_confirming_capital,
)
from quorum.evaluation.watch.anchors import (
    LABELS_BETWEEN_CHECKS,
    JudgeShift,
    compute_shift,
    list_checks,
    read_anchors,
)
from quorum.evaluation.watch.folder import ANSWERS, EVENTS, WatchFolder
from quorum.evaluation.watch.labelling import describe_judge
from quorum.evaluation.watch.promise import FAILURE, Promise
from quorum.evaluation.watch.sampled import SampledAnswer, list_resets, read_sampled
from quorum.evaluation.watch.sampling import format_time

BLOCK_SIZE, BLOCK_TIME = 100, timedelta(days=7)  # a block of answers ends when it has both
State = Literal["confirmed", "refuted", "judge changed", "open"]
EXIT_CODES: dict[State, int] = {"confirmed": 0, "refuted": 1, "judge changed": 3, "open": 3}


@dataclass(frozen=True)
class Standing:
    """How a promise stands since its last reset.

    capital: the highest so far of the bets against the promise; alarm_at: the capital that refutes it. refuted_at: the
    time of the answer at which the capital reached it. confirmed_labels, confirmed_since: of the last confirmation, the
    number of its labels and the time of its first answer. done, waiting: answers with and without a label.
    broken: an interval for the mean of z that holds at all times at once.
    shift: where a judge labels and there was an alarm, how its verdicts on the anchors had changed by then.
    must_check: whether an alarm waits for the anchors to be asked again. anchors: how many are kept; 0 without a judge.
    """

    promise: Promise
    capital: float
    alarm_at: float
    refuted_at: str | None
    confirmed_labels: int
    confirmed_since: str | None
    done: int
    waiting: int
    broken: tuple[float, float]
    since: str | None
    shift: JudgeShift | None = None
    must_check: bool = False
    anchors: int = 0

    @property
    def state(self) -> State:
        if self.refuted_at is not None:
            return "refuted"
        if self.shift is not None:
            return "judge changed"
        return "confirmed" if self.confirmed_labels and not self.must_check else "open"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.state]

    def to_json(self) -> dict[str, Any]:
        judge = None
        if self.promise.judge_labels:
            judge = {"model": describe_judge(self.promise), "anchors": self.anchors, "must_check": self.must_check}
            if self.shift is not None:
                judge |= {"shift": round(self.shift.shift, 6), "low": self.shift.low, "high": self.shift.high}
        return {
            "promise": self.promise.name,
            "sentence": self.promise.sentence,
            "limit": self.promise.limit,
            "state": self.state,
            "capital": round(self.capital, 6),
            "alarm_at": self.alarm_at,
            "refuted_at": self.refuted_at,
            "confirmed_labels": self.confirmed_labels,
            "confirmed_since": self.confirmed_since,
            "labels": {"done": self.done, "waiting": self.waiting},
            "labels_of": self.promise.labels,
            "broken": {"low": round(self.broken[0], 6), "high": round(self.broken[1], 6)},
            "since": self.since,
            "judge": judge,
        }


@dataclass(frozen=True)
class Bets:
    """What the bets are on: of each sampled answer the label, with 0 (low) or 1 (high) where there is none, and its
    weight; and where a block starts.
    """

    answers: Sequence[SampledAnswer]
    z_low: np.ndarray
    z_high: np.ndarray
    weights: np.ndarray
    starts: Sequence[bool]

    def compute_capital(self, limit: float) -> np.ndarray:
        return compute_alarm_capital(self.z_low, limit, self.starts, self.weights)


def make_bets(answers: Sequence[SampledAnswer]) -> Bets:
    known = [answer.z for answer in answers]
    return Bets(
        answers,
        np.array([0.0 if z is None else z for z in known]),
        np.array([1.0 if z is None else z for z in known]),
        np.array([answer.line["q"][0] / answer.line["q"][1] for answer in answers]),
        mark_block_starts([datetime.fromisoformat(answer.line["time"]) for answer in answers]),
    )


def compute_standing(folder: WatchFolder, promise_count: int = 1) -> Standing:
    """How the promise of a folder stands. promise_count: how many promises are watched at once.

    A promise that is refuted for the first time since its last reset is written into events.jsonl, and stays refuted
    until the next, also if more promises are watched later.
    """
    promise, resets = folder.read_promise(), list_resets(folder)
    bets = make_bets(read_sampled(folder))
    answers = bets.answers
    alarm_at = promise_count / FAILURE * (2 if promise.judge_labels else 1)
    capital = bets.compute_capital(promise.limit)
    alarm = Alarm(find_first(capital >= alarm_at))
    if promise.judge_labels:
        done = sum(answer.z is not None for answer in answers)
        alarm = check_alarm(folder, promise, alarm, alarm_at, done, FAILURE / promise_count)
    highest = float(capital.max(initial=1.0))
    refuted_at = None if alarm.answer is None else str(answers[alarm.answer].line["time"])
    earlier = find_refuted(folder)
    if earlier is not None:
        alarm_at, highest, refuted_at = earlier["alarm_at"], max(highest, earlier["capital"]), earlier["refuted_at"]
    elif refuted_at is not None:
        note_refuted(folder, refuted_at, highest, alarm_at, promise_count)
    first, last = find_last_confirmation(bets.z_high, promise.limit, bets.weights)
    return Standing(
        promise=promise,
        capital=highest,
        alarm_at=alarm_at,
        refuted_at=refuted_at,
        confirmed_labels=sum(answer.z is not None for answer in answers[first:last]),
        confirmed_since=str(answers[first].line["time"]) if last else None,
        done=sum(answer.z is not None for answer in answers),
        waiting=sum(answer.is_waiting(promise) for answer in answers),
        broken=compute_broken_share(bets.z_low, bets.z_high, bets.weights, error=FAILURE),
        since=str(resets[-1]["time"]) if resets else (str(answers[0].line["time"]) if answers else None),
        shift=alarm.shift,
        must_check=alarm.must_check,
        anchors=len(read_anchors(folder)) if promise.judge_labels else 0,
    )


@dataclass(frozen=True)
class Alarm:
    """answer: the place of the sampled answer at which the capital refuted the promise; None if it did not. shift,
    must_check: as in `Standing`.
    """

    answer: int | None
    shift: JudgeShift | None = None
    must_check: bool = False


def find_refuted(folder: WatchFolder) -> Mapping[str, Any] | None:
    """The event by which the promise was refuted since its last reset."""
    number = len(list_resets(folder))
    events = (event for event in folder.read(EVENTS) if event["event"] == "refuted" and event["round"] == number)
    return next(events, None)


def note_refuted(folder: WatchFolder, refuted_at: str, capital: float, alarm_at: float, promise_count: int) -> None:
    event = {
        "event": "refuted",
        "round": len(list_resets(folder)),
        "time": format_time(datetime.now(UTC)),
        "refuted_at": refuted_at,
        "capital": capital,
        "alarm_at": alarm_at,
        "promises": promise_count,
    }
    with suppress(OSError):  # who may only read the folder is told all the same
        folder.append(EVENTS, event)


def check_alarm(
    folder: WatchFolder, promise: Promise, alarm: Alarm, alarm_at: float, done: int, failure: float
) -> Alarm:
    """What is left of an alarm by a judge's labels. It stands if the capital reaches the same height against a limit
    that is higher by the most that the judge's verdicts on the anchors may have risen in any check so far: the labels
    of a time when it was harsher stay, also if it is as before now. done: how many labels there are;
    failure: the promise's share of the probability of a false alarm.
    """
    if alarm.answer is None:
        return alarm
    checks = list_checks(folder)
    shift, highest, checked_labels = None, 0.0, -LABELS_BETWEEN_CHECKS
    for check in checks[1:]:
        bets = make_bets(read_sampled(folder, check.label_lines))  # later labels may be those of another judge
        now = compute_shift(checks[0], check, failure)
        if now.bound >= highest:  # the sentence speaks of the check that explains most
            shift, highest = now, now.bound
        limit = promise.limit + highest
        reached = find_first(bets.compute_capital(limit) >= alarm_at) if limit < 1 else None
        if reached is not None:
            return Alarm(reached, shift)
        checked_labels = sum(answer.z is not None for answer in bets.answers)
    return Alarm(None, shift, must_check=done - checked_labels >= LABELS_BETWEEN_CHECKS)


def find_first(flags: np.ndarray) -> int | None:
    """The place of the first true flag.

    >>> find_first(np.array([False, True, True])), find_first(np.array([]))
    (1, None)
    """
    places = np.flatnonzero(flags)
    return int(places[0]) if places.size else None


def mark_block_starts(times: Sequence[datetime]) -> list[bool]:
    """Where a block begins: when the block before has BLOCK_SIZE answers and has lasted BLOCK_TIME."""
    starts, begun = [], 0
    for i, time in enumerate(times):
        is_start = i == 0 or (i - begun >= BLOCK_SIZE and time - times[begun] >= BLOCK_TIME)
        begun = i if is_start else begun
        starts.append(is_start)
    return starts


def find_last_confirmation(z: np.ndarray, limit: float, weights: np.ndarray) -> tuple[int, int]:
    """The first answer of the last confirmation and the one after its last; (0, 0) without one.

    After a confirmation the bets start anew.
    """
    last_found, begin = (0, 0), 0
    while begin < z.size:
        reached = np.flatnonzero(compute_confirming_capital(z[begin:], limit, weights[begin:]) >= 1 / FAILURE)
        if not reached.size:
            break
        last_found, begin = (begin, begin + int(reached[0]) + 1), begin + int(reached[0]) + 1
    return last_found


def reset(folder: WatchFolder, because: str, time: str) -> None:
    """Begin anew: the answers so far count no more. They stay in the file."""
    count = sum("id" in line for line in folder.read(ANSWERS))
    folder.append(EVENTS, {"event": "reset", "time": time, "because": because, "answers": count})
