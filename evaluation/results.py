"""The folder of an evaluation: config.json, results.jsonl (a line per question and method), summary.json."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict

from core.errors import SetupError

MEANS = ("em", "f1", "unknown", "not_majority", "gold_in_pool", "calls", "input_tokens", "output_tokens")
ABSENT = object()
MOST = 4


class Row(TypedDict):
    """One line of results.jsonl. All measures are null where `error` is not; `seconds` is wall time in this run."""

    id: str
    method: str
    question: str
    answer: str | None
    gold: list[str]
    em: float | None
    f1: float | None
    unknown: bool | None
    not_majority: bool | None
    gold_in_pool: bool | None
    confidence: float | None
    evidence: list[str]
    passages: list[str]
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    malformed: int | None
    dropped: int | None
    seconds: float
    error: str | None


class Totals:
    """Running sums of one method: memory does not grow with the number of questions answered."""

    def __init__(self) -> None:
        self.answered = 0
        self.sums = dict.fromkeys(MEANS, 0.0)
        self.measured: set[str] = set()
        self.malformed = 0
        self.failed: set[str] = set()

    def add(self, row: Row) -> None:
        if row["error"] is not None:
            self.failed.add(row["id"])
            return
        self.failed.discard(row["id"])
        self.answered += 1
        self.malformed += row["malformed"] or 0
        for name in MEANS:
            value: Any = row.get(name)
            if value is not None:
                self.sums[name] += value
                self.measured.add(name)

    def summary(self) -> dict[str, float | int | None]:
        """Means over the questions answered (null: the method has no such measure) and counts."""
        means = {name: round(self.sums[name] / self.answered, 6) if name in self.measured else None for name in MEANS}
        counts = {"errors": len(self.failed), "malformed": self.malformed}
        return {"n": self.answered + len(self.failed), **means, **counts}


class Results:
    """results.jsonl, open for appending: whole lines only, and what is there already is counted, not asked again."""

    def __init__(self, path: Path, methods: Iterable[str]) -> None:
        self.totals = {name: Totals() for name in methods}
        self.done: set[tuple[str, str]] = set()
        self.path = path
        self.file = path.open("a+b")
        try:
            self.resume()
        except BaseException:
            self.file.close()
            raise

    def resume(self) -> None:
        """Count the lines of an earlier run; a last line without its end was cut by a kill and is dropped."""
        good = 0
        self.file.seek(0)
        for number, line in enumerate(self.file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                self.count(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise SetupError(
                    f"{self.path}, line {number} is not a result; remove the line, or give another folder with --out."
                ) from None
            good += len(line)
        self.file.truncate(good)

    def count(self, row: Row) -> None:
        key = (row["method"], row["id"])
        if key in self.done:
            return
        self.totals[row["method"]].add(row)
        if row["error"] is None:
            self.done.add(key)

    def append(self, row: Row) -> None:
        """Write one whole line now, so that a kill loses at most the line being written."""
        self.file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        self.file.flush()
        self.count(row)

    def summary(self) -> dict[str, dict[str, float | int | None]]:
        return {name: totals.summary() for name, totals in self.totals.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()


def write_json(path: Path, value: Any) -> None:
    """Write a file whole: it is never seen half-written."""
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    os.replace(draft, path)


def keep_config(folder: Path, config: dict[str, Any]) -> None:
    """Write config.json, or find the same one there; another one is a `SetupError` that names what differs."""
    path = folder / "config.json"
    if path.exists():
        before = read_config(path)
        if before != config:
            lines = differences(before, config)
            more = f"; and {len(lines) - MOST} more" if len(lines) > MOST else ""
            raise SetupError(
                f"{folder} holds results of another configuration ({'; '.join(lines[:MOST])}{more}); "
                "give another folder with --out, or the same settings to continue."
            )
    elif (folder / "results.jsonl").exists():
        raise SetupError(f"{folder} holds results but no config.json; give another folder with --out.")
    else:
        write_json(path, config)


def read_config(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise SetupError(f"{path} cannot be read ({error}); give another folder with --out.") from None


def differences(before: Any, now: Any, name: str = "") -> list[str]:
    """'settings.k was 5, now 10' for each value that differs; what one side lacks is named as a whole."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = sorted(before.keys() | now.keys())
        pairs = [(f"{name}.{key}".lstrip("."), before.get(key, ABSENT), now.get(key, ABSENT)) for key in keys]
        return [line for path, one, other in pairs for line in differences(one, other, path)]
    return [] if before == now else [f"{name} was {shown(before)}, now {shown(now)}"]


def shown(value: Any) -> str:
    if value is ABSENT:
        return "absent"
    return "there" if isinstance(value, dict) else json.dumps(value)
