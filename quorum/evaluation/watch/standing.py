"""How a watched promise stands: refuted, confirmed, or neither; computed from the files of its folder alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np

from quorum.algorithms.watch import (
    compute_alarm_capital,
    compute_broken_share,
    compute_confirming_capital,
)
from quorum.core.text import format_count
from quorum.evaluation.watch.folder import ANSWERS, EVENTS, LABELS, WatchFolder
from quorum.evaluation.watch.promise import FAILURE, Promise

BLOCK_SIZE, BLOCK_TIME = 100, timedelta(days=7)  # a block of answers ends when it has both
EXIT_CODES = {"confirmed": 0, "refuted": 1, "open": 3}


@dataclass(frozen=True)
class Standing:
    """How a promise stands since its last reset.

    capital: the highest so far of the bets against the promise; alarm_at: the capital that refutes it. refuted_at: the
    time of the answer at which the capital reached it. confirmed_labels, confirmed_since: of the last confirmation, the
    number of its labels and the time of its first answer. done, waiting: answers with and without a label.
    broken: an interval for the mean of z that holds at all times at once.
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

    @property
    def state(self) -> Literal["confirmed", "refuted", "open"]:
        if self.refuted_at is not None:
            return "refuted"
        return "confirmed" if self.confirmed_labels else "open"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.state]

    def to_json(self) -> dict[str, Any]:
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
            "broken": {"low": round(self.broken[0], 6), "high": round(self.broken[1], 6)},
            "since": self.since,
        }


def compute_standing(folder: WatchFolder, promise_count: int = 1) -> Standing:
    """How the promise of a folder stands. promise_count: how many promises are watched at once."""
    promise = folder.read_promise()
    events = list(folder.read(EVENTS))
    resets = [event for event in events if event["event"] == "reset"]
    sampled = [line for line in folder.read(ANSWERS) if "id" in line][resets[-1]["answers"] if resets else 0 :]
    labels = read_labels(folder)
    times = [datetime.fromisoformat(line["time"]) for line in sampled]
    known = [labels.get(line["id"]) for line in sampled]
    z_low = np.array([0.0 if z is None else z for z in known])
    z_high = np.array([1.0 if z is None else z for z in known])
    weights = np.array([line["q"][0] / line["q"][1] for line in sampled])
    alarm_at = promise_count / FAILURE
    capital = compute_alarm_capital(z_low, promise.limit, mark_block_starts(times), weights)
    reached = np.flatnonzero(capital >= alarm_at)
    first, last = find_last_confirmation(z_high, promise.limit, weights)
    return Standing(
        promise=promise,
        capital=float(capital.max(initial=1.0)),
        alarm_at=alarm_at,
        refuted_at=sampled[reached[0]]["time"] if reached.size else None,
        confirmed_labels=sum(z is not None for z in known[first:last]),
        confirmed_since=sampled[first]["time"] if last else None,
        done=sum(z is not None for z in known),
        waiting=sum(z is None and line["id"] not in labels for z, line in zip(known, sampled, strict=True)),
        broken=compute_broken_share(z_low, z_high, weights, error=FAILURE),
        since=resets[-1]["time"] if resets else (sampled[0]["time"] if sampled else None),
    )


def read_labels(folder: WatchFolder) -> dict[str, float | None]:
    """z of each answer that somebody has looked at; None if it was skipped. The last label of an answer counts."""
    return {line["id"]: line["z"] for line in folder.read(LABELS)}


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


def describe_standing(standing: Standing) -> list[str]:
    """Sentences for people, the verdict first."""
    promise, day = standing.promise, 10
    labels = f"{format_count(standing.done, 'label')}, {standing.waiting:,} waiting"
    share = f"{describe_broken(promise, *standing.broken)} ({labels}; with probability .95, whenever you look)."
    if standing.state == "refuted":
        verdict = (
            f"NOT KEPT. {promise.sentence}: refuted on {str(standing.refuted_at)[:day]}. If the promise had been kept "
            "all the time, such an alarm would ever come with a probability of 5% at most."
        )
        remedy = f"Calibrate again on new questions, then: quorum watch reset {promise.name} --because TEXT"
        return [verdict, share, remedy]
    if standing.state == "confirmed":
        verdict = (
            f"Kept. {promise.sentence}: confirmed by the last {format_count(standing.confirmed_labels, 'label')} "
            f"(since {str(standing.confirmed_since)[:day]}); such a sentence is wrong with a probability of 5% at most."
        )
        return [verdict, share]
    verdict = f"Not decided yet. {promise.sentence}: neither refuted nor confirmed."
    hint = [f"Label what waits: quorum label {promise.name}"] if standing.waiting else []
    return [verdict, share, *hint]


def describe_broken(promise: Promise, low: float, high: float) -> str:
    """The interval in words. Its ends cross if the share has changed since the reset."""
    is_wrong = promise.kind == "wrong"
    if low > high:
        ends = (f"{high:.1%}", f"{low:.1%}") if is_wrong else (f"{1 - high:.2f}", f"{1 - low:.2f}")
        subject, less, more = ("share wrong", "less", "more") if is_wrong else ("mean score", "more", "less")
        return f"The {subject} has changed: at one time it was {less} than {ends[0]}, at another {more} than {ends[1]}"
    if is_wrong:
        return f"Between {low:.1%} and {high:.1%} of the answers are wrong"
    return f"The answers score between {1 - high:.2f} and {1 - low:.2f} on average"


def reset(folder: WatchFolder, because: str, time: str) -> None:
    """Begin anew: the answers so far count no more. They stay in the file."""
    count = sum("id" in line for line in folder.read(ANSWERS))
    folder.append(EVENTS, {"event": "reset", "time": time, "because": because, "answers": count})


def list_waiting(folder: WatchFolder) -> list[Mapping[str, Any]]:
    """The sampled answers since the last reset that nobody has labelled or skipped, in the order in which they came."""
    resets = [event["answers"] for event in folder.read(EVENTS) if event["event"] == "reset"]
    seen = read_labels(folder)
    sampled = [line for line in folder.read(ANSWERS) if "id" in line][resets[-1] if resets else 0 :]
    return [line for line in sampled if line["id"] not in seen]
