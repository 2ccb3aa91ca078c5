"""Which answers are sampled for a label, and the lines that are written of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_hex
from statistics import median
from threading import Lock
from typing import Any

from quorum.algorithms.vote_key import vote_key
from quorum.algorithms.watch import choose_sampling
from quorum.evaluation.watch.folder import ANSWERS, EVENTS, LABELS, WatchFolder

WEEKS_OF_EQUAL_SAMPLING = 4
FEWEST_FOR_MEDIAN = 20  # sampled confidences of the week before; with fewer no answer is flagged
UNSAMPLED_AT_ONCE = 100  # so many are counted in memory before their number is written


@dataclass(frozen=True)
class WeekPlan:
    """How one week's answers are sampled.

    week: such as 2026-W48 (UTC); sampling: the probabilities for answers that are not flagged and that are; median: of
    the confidences of the week before, None without enough of them. An answer is flagged if its confidence is lower.
    """

    week: str
    sampling: tuple[float, float]
    median: float | None

    def is_flagged(self, confidence: float | None) -> bool:
        return self.median is not None and confidence is not None and confidence < self.median


class Sampler:
    """Samples the answers of one promise and writes them to its folder. Not safe for threads: one thread uses it, and
    another may only `skip`.

    budget: the share of all answers to be labelled; clock: the time now, in UTC.
    """

    def __init__(
        self, folder: WatchFolder, budget: float, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.folder, self.budget, self.clock = folder, budget, clock
        self.salt = folder.read_salt()
        self.plan: WeekPlan | None = None
        self.unsampled, self.last_time = [0, 0], clock()
        self.skipped, self.skip_lock = [0, 0], Lock()

    def skip(self, confidence: float | None) -> None:
        """Count an answer for which there is no time as one that is not sampled; the next `observe` adds it."""
        plan = self.plan
        with self.skip_lock:
            self.skipped[int(plan is not None and plan.is_flagged(confidence))] += 1

    def add_skipped(self) -> None:
        """Count what was skipped since the last look."""
        with self.skip_lock:
            skipped, self.skipped = self.skipped, [0, 0]
        self.unsampled = [count + more for count, more in zip(self.unsampled, skipped, strict=True)]

    def observe(
        self,
        question: str,
        result: Mapping[str, Any],
        *,
        is_flagged: bool | None = None,
        conversation: str = "",
        collection: str | None = None,
    ) -> Mapping[str, Any] | None:
        """Take note of an answer; return its line if it was sampled. is_flagged: what a judge says of it; None: its
        confidence says whether it looks doubtful. conversation: what the questions of one conversation have in common;
        collection: which was searched. Raises OSError if it could not be written.
        """
        now, confidence = self.clock(), result.get("confidence")
        plan = self.find_plan(now)
        self.add_skipped()
        stratum = int(plan.is_flagged(confidence) if is_flagged is None else is_flagged)
        id_ = token_hex(8)
        if not is_sampled(self.salt, id_, plan.sampling[stratum]):
            self.unsampled[stratum] += 1
            self.last_time = now
            if sum(self.unsampled) >= UNSAMPLED_AT_ONCE:
                self.write_counts()
            return None
        self.write_counts()
        line = {
            "id": id_,
            "time": format_time(now),
            "question": question,
            **describe_answer(result),
            "confidence": confidence,
            "collection": collection,
            "conversation": hash_conversation(self.salt, conversation or question),
            "h": stratum,
            "q": [plan.sampling[0], plan.sampling[stratum]],
        }
        self.folder.append(ANSWERS, line)
        return line

    def write_counts(self) -> None:
        """Write how many answers were not sampled since the last line. A crash loses at most UNSAMPLED_AT_ONCE."""
        if any(self.unsampled):
            self.folder.append(ANSWERS, {"unsampled": self.unsampled, "time": format_time(self.last_time)})
            self.unsampled = [0, 0]

    def find_plan(self, now: datetime) -> WeekPlan:
        """The plan of this week: fixed, and written, when its first answer comes."""
        week = format_week(now)
        if self.plan is None or self.plan.week != week:
            if self.plan is not None:
                self.write_counts()
            self.plan = read_plan(self.folder, week) or self.make_plan(week)
        return self.plan

    def make_plan(self, week: str) -> WeekPlan:
        """Plan a week from those before, and write the plan."""
        labels = {line["id"]: float(line["z"]) for line in self.folder.read(LABELS) if line.get("z") is not None}
        weeks, counts = set(), [0, 0]
        label_counts, broken, last_week = [0, 0], [0.0, 0.0], ""
        confidences: list[float] = []
        for line in self.folder.read(ANSWERS):
            if "rival_of" in line:
                continue
            line_week = format_week(datetime.fromisoformat(line["time"]))
            weeks.add(line_week)
            if "unsampled" in line:
                counts = [count + more for count, more in zip(counts, line["unsampled"], strict=True)]
                continue
            if line_week != last_week:
                last_week, confidences = line_week, []
            confidences += [] if line["confidence"] is None else [line["confidence"]]
            counts[line["h"]] += 1
            if line["id"] in labels:
                label_counts[line["h"]] += 1
                broken[line["h"]] += labels[line["id"]]
        sampling = (self.budget, self.budget)
        if len(weeks) >= WEEKS_OF_EQUAL_SAMPLING:
            sampling = choose_sampling(label_counts, broken, counts, self.budget)
        plan = WeekPlan(week, sampling, median(confidences) if len(confidences) >= FEWEST_FOR_MEDIAN else None)
        self.folder.append(EVENTS, {"event": "week", "week": week, "sampling": plan.sampling, "median": plan.median})
        return plan


def describe_answer(result: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of an answer: as it is shown, as it is compared, and the passages it comes from, by their ids."""
    return {
        "answer": result.get("answer_text") or result.get("answer"),
        "short": result.get("answer"),
        "key": vote_key(str(result.get("answer") or "")),
        "unknown": bool(result.get("unknown")),
        "passages": [passage["id"] for passage in result.get("passages") or ()],
    }


def hash_conversation(salt: str, text: str) -> str:
    """A name for a conversation from which its text cannot be read."""
    return sha256(f"{salt}{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_plan(folder: WatchFolder, week: str) -> WeekPlan | None:
    """The plan of a week, if it was written already."""
    for line in folder.read(EVENTS):
        if line["event"] == "week" and line["week"] == week:
            return WeekPlan(week, tuple(line["sampling"]), line["median"])
    return None


def is_sampled(salt: str, id_: str, share: float) -> bool:
    """Whether an answer is sampled. Its id alone decides: nothing that is known of the answer has a part in it."""
    return int.from_bytes(sha256(f"{salt}{id_}".encode()).digest()) < share * 2**256


def format_week(time: datetime) -> str:
    year, week, _ = time.isocalendar()
    return f"{year}-W{week:02}"


def format_time(time: datetime) -> str:
    return time.isoformat(timespec="seconds")
