"""The folder of an evaluation: config.json, results.jsonl (a line per question and method), summary.json."""

import json
import math
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, TypedDict

import numpy as np

from quorum.core.errors import SetupError
from quorum.core.private_files import open_private_bytes, open_private_text
from quorum.evaluation.metrics.registry import WORTH, list_compared_measures, list_metrics
from quorum.evaluation.metrics.statistics import Floats, bootstrap, percentile

COST_KEYS = ("calls", "input_tokens", "output_tokens")
ABSENT_VALUE = object()
MOST_NAMED = 4
Summary = Mapping[str, Mapping[str, float | int | None]]


class Row(TypedDict, total=False):
    """One line of results.jsonl. All measures are null where `error` is not; `seconds` is wall time in this run, or,
    where details are kept, what the answer would have taken alone. `stored`: how many of its calls the journal, or an
    equal call of another method, had already answered; `group`: the question's document or conversation, if the data
    name one.

    The measures are those of `quorum.evaluation.metrics.registry`, by name; `passages` and `retrieved` are ids, after
    and before a filter. What an experiment keeps besides (a rationale) follows at the end, then the metrics of
    installed packages.
    """

    id: str
    method: str
    question: str
    task: str
    answer: str | None
    gold: list[str]
    em: float | None
    f1: float | None
    contains: float | None
    accuracy: float | None
    rouge_l: float | None
    str_em: float | None
    unknown: bool | None
    not_majority: bool | None
    gold_in_pool: bool | None
    oracle: bool | None
    oracle_f1: float | None
    overlap_own: float | None
    overlap_other: float | None
    recall: float | None
    precision: float | None
    s_precision: float | None
    recall_before: float | None
    precision_before: float | None
    s_precision_before: float | None
    hit_at_1: float | None
    mrr: float | None
    answer_in_passages: bool | None
    answer_on_top: bool | None
    supported: bool | None
    context_tokens: int | None
    context_precision: float | None
    confidence: float | None
    candidates: list[str] | None
    evidence: list[str]
    unsupported: list[str] | None
    passages: list[str]
    retrieved: list[str] | None
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    malformed: int | None
    verbose: int | None
    not_greedy: bool | None
    dropped: int | None
    seconds: float
    stored: int | None
    error: str | None
    group: str
    rationale: str | None
    gold_rank: int | None


def measure_names() -> list[str]:
    """The names of each row's measures: the metrics, then the costs."""
    return [*list_metrics(), *COST_KEYS]


class ColumnScores:
    """The measures of one method, question by question, as arrays of numbers: flat in memory for any data set.

    ids: the answered questions, in order of arrival; NaN if a question does not have a measure.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.values = {name: array("d") for name in (*measure_names(), "confidence", "seconds")}
        self.stored: list[bool] = []  # by answer: whether a call of it was stored, or shared with another method
        self.tasks: set[str] = set()
        self.malformed = self.verbose = self.not_greedy = 0
        self.failed: set[str] = set()
        self.counts: dict[str, float | int | None] = {}
        self.wrong_cost = 0.0

    def add(self, row: Row) -> None:
        if row["error"] is not None:
            self.failed.add(row["id"])
            return
        self.failed.discard(row["id"])
        self.ids.append(row["id"])
        self.tasks.add(row.get("task") or "short")
        self.malformed += row["malformed"] or 0
        self.verbose += row.get("verbose") or 0  # not in rows of an older Quorum
        self.not_greedy += bool(row.get("not_greedy"))
        self.stored.append(bool(row.get("stored")))
        for name, values in self.values.items():
            value: Any = row.get(name)
            values.append(math.nan if value is None else value)

    def of(self, name: str, ids: Sequence[str]) -> Floats:
        """A measure of these questions, in their order; all of them must have been answered."""
        place = {id_: index for index, id_ in enumerate(self.ids)}
        values: Floats = np.array(self.values[name])
        return values[[place[id_] for id_ in ids]] if ids else np.empty(0)

    def judge(self, verdicts: Mapping[str, float | None], counts: Mapping[str, float | int | None]) -> None:
        """Add a judge's verdicts on the answers, by id: 1 right, 0 wrong, null unscored. counts: for the summary."""
        judged = (verdicts.get(id_) for id_ in self.ids)
        self.values["judged"] = array("d", (math.nan if verdict is None else verdict for verdict in judged))
        self.counts = dict(counts)

    def add_worth(self, measure: str, wrong_cost: float) -> None:
        """Add the worth of each answer: its measure s less wrong_cost * (1 - s); saying unknown costs nothing."""
        score, unknown = np.array(self.values[measure]), np.array(self.values["unknown"]) == 1
        worth = np.where(unknown, score, score - wrong_cost * (1 - score))
        self.wrong_cost, self.values[WORTH] = wrong_cost, array("d", worth.tolist())

    def known(self, name: str) -> Floats:
        """The values of a measure, for the questions that have it."""
        values: Floats = np.array(self.values[name])
        known_values: Floats = values[~np.isnan(values)]
        return known_values

    def own_seconds(self) -> Floats:
        """The seconds of the answers whose calls were all made for them."""
        seconds, stored = np.array(self.values["seconds"]), np.array(self.stored, dtype=np.bool_)
        measured: Floats = seconds[~stored & ~np.isnan(seconds)]
        return measured

    def summary(self) -> dict[str, float | int | None]:
        """Means over the questions that have a measure (null: none has), intervals of some, and counts. The seconds are
        null if every answer has a call that was stored or shared; `seconds_without` counts the answers that have one.
        """
        values: dict[str, float | int | None] = {"n": len(self.ids) + len(self.failed)}
        metrics, compared = list_metrics(), list_compared_measures()
        for name in (*measure_names(), *(["judged"] if "judged" in self.values else [])):
            known_values = self.known(name)
            if name in metrics and metrics[name].counts_all and len(known_values):
                known_values = np.nan_to_num(np.array(self.values[name]))
            values[name] = round(math.fsum(known_values) / len(known_values), 6) if len(known_values) else None
            if name in compared:
                interval = bootstrap(known_values)[1:] if len(known_values) else (None, None)
                ends = zip(("low", "high"), interval, strict=True)
                values |= {f"{name}_{end}": None if value is None else round(value, 6) for end, value in ends}
        seconds = self.own_seconds()
        for end, share in (("p50", 0.5), ("p95", 0.95)):
            values[f"seconds_{end}"] = round(percentile(seconds, share), 4) if len(seconds) else None
        values["seconds_without"] = sum(self.stored)
        troubles = {"malformed": self.malformed, "verbose": self.verbose, "not_greedy": self.not_greedy}
        return values | {"errors": len(self.failed)} | troubles | self.counts


class Results:
    """results.jsonl, open for appending whole lines. Earlier lines are counted, and their questions not asked again."""

    def __init__(self, path: Path, methods: Iterable[str], unless: str | None = None) -> None:
        self.scores = {name: ColumnScores() for name in methods}
        self.unless = unless  # a method: the others are not asked the questions that it answers correctly
        self.known: set[str] = set()
        self.done: set[tuple[str, str]] = set()
        self.counts: Callable[[str, str], bool] | None = None
        self.path = path
        self.file = open_private_bytes(path, "a+b")
        try:
            self.resume()
        except BaseException:
            self.file.close()
            raise

    def resume(self) -> None:
        """Count the lines of an earlier run."""
        for number, line in enumerate(read_whole_lines(self.file), start=1):
            try:
                self.count(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise SetupError(
                    f"{self.path}, line {number} is not a result; remove the line, or give another folder with --out."
                ) from None

    def recount(self, counts: Callable[[str, str], bool]) -> None:
        """Count the lines anew: only those whose method and question `counts`. Nothing may be appended afterwards."""
        self.scores = {name: ColumnScores() for name in self.scores}
        self.known, self.done, self.counts = set(), set(), counts
        self.resume()

    def count(self, row: Row) -> None:
        key = (row["method"], row["id"])
        if key in self.done or (self.counts is not None and not self.counts(*key)):
            return
        self.scores[row["method"]].add(row)
        if row["method"] == self.unless and row["em"] == 1 and row["gold"]:
            self.known.add(row["id"])
        if row["error"] is None:
            self.done.add(key)

    def append(self, row: Row) -> None:
        """Write one whole line now, so that a kill loses at most the line being written."""
        with explain_write_errors(self.path):
            self.file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self.file.flush()
        self.count(row)

    def summary(self) -> dict[str, dict[str, float | int | None]]:
        return {name: scores.summary() for name, scores in self.scores.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the buffer holds a line that a full disk cut short, which was already reported
            self.file.close()


def read_whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file that is also writable; removes a last line that is incomplete after a kill."""
    good = 0
    file.seek(0)
    for line in file:
        if not line.endswith(b"\n"):
            break
        good += len(line)
        yield line
    file.truncate(good)


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Raises `SetupError` if the disk is full or fails; earlier lines are kept."""
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"{path} cannot be written ({error.strerror or error}); make room, then run the same again, which goes on "
            "where it stopped."
        ) from None


def write_json(path: Path, value: Any) -> None:
    """Write a whole file at once: no reader sees it half-written."""
    draft = path.with_name(path.name + ".tmp")
    with explain_write_errors(path):
        with open_private_text(draft) as file:
            file.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())  # else a loss of power could leave an empty file under the name
        os.replace(draft, path)


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """Write config.json, or check that the existing one is the same. If the folder has results and its configuration
    differs, raises a `SetupError` that names the differences. Without results, config.json is replaced.
    """
    path, results = folder / "config.json", folder / "results.jsonl"
    if path.exists():
        before = read_config(path)
        if before != config and not (results.exists() and results.stat().st_size):
            write_json(path, config)
        elif before != config:
            lines = list_differences(before, config)
            more = f"; and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
            raise SetupError(
                f"{folder} holds results of another configuration ({'; '.join(lines[:MOST_NAMED])}{more}); "
                "give another folder with --out, or the same settings to continue."
            )
    elif results.exists():
        raise SetupError(f"{folder} holds results but no config.json; give another folder with --out.")
    else:
        write_json(path, config)


def read_config(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise SetupError(f"{path} cannot be read ({error}); give another folder with --out.") from None


def list_differences(before: Any, now: Any, name: str = "") -> list[str]:
    """'settings.k was 5, now 10' for each value that differs; a part that one side lacks is named as a whole."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted(before.keys() | now.keys())
        pairs = [
            (f"{name}.{key}".lstrip("."), before.get(key, ABSENT_VALUE), now.get(key, ABSENT_VALUE)) for key in keys
        ]
        return [line for path, left, right in pairs for line in list_differences(left, right, path)]
    return [] if before == now else [f"{name} was {format_value(before)}, now {format_value(now)}"]


def format_value(value: Any) -> str:
    if value is ABSENT_VALUE:
        return "absent"
    return "there" if isinstance(value, dict) else json.dumps(value)
