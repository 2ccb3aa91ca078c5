"""Reads and writes details.jsonl: the origin of each answer, a line for each question and method.

The report needs them for what results.jsonl does not hold: the path through the graph, the passages with their texts,
votes, candidates, summaries, and the replies of the model.
"""

import json
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, cast

from quorum.core.json_text import parse_json
from quorum.core.private_files import open_private_bytes
from quorum.core.state import Evidence, Passage, Result, Usage, Vote
from quorum.evaluation.run.old_keys import rename_old_keys
from quorum.evaluation.run.result_files import explain_write_errors, repair_and_read_lines
from quorum.evaluation.watch import AnswerWatcher, Call, Step

COPIED_KEYS = ("rationale", "candidates", "summaries", "validity", "scores", "votes", "voters_without_evidence")


class Detail(TypedDict):
    """One line of details.jsonl; `steps` and `calls` come from `quorum.evaluation.watch`, in order of start.
    `validity`, `scores`: for each candidate, whether its summary supports it, and its score.
    """

    id: str
    method: str
    rationale: str | None
    candidates: list[str] | None
    summaries: list[str] | None
    validity: list[bool] | None
    scores: list[float] | None
    votes: list[Vote] | None
    evidence: list[Evidence]
    voters_without_evidence: list[str] | None
    passages: list[Passage]
    usage: dict[str, Usage]
    malformed: dict[str, int]
    wordy_answers: dict[str, int]
    steps: list[Step]
    calls: list[Call]


def make_detail(id_: str, method: str, result: Result, watcher: AnswerWatcher) -> Detail:
    """The line for one answer."""
    detail: dict[str, Any] = {name: result.get(name) for name in COPIED_KEYS}
    fields: Any = {
        "id": id_,
        "method": method,
        **detail,
        "evidence": result.get("evidence") or [],
        "passages": result.get("passages") or [],
        "usage": result.get("usage") or {},
        "malformed": {name: replies["count"] for name, replies in (result.get("malformed") or {}).items()},
        "wordy_answers": {name: replies["count"] for name, replies in (result.get("wordy_answers") or {}).items()},
        "steps": watcher.steps,
        "calls": watcher.calls,
    }
    return cast(Detail, fields)


class Details:
    """details.jsonl, open for appending whole lines; a last line that is incomplete after a kill is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = open_private_bytes(path, "a+b")
        deque(repair_and_read_lines(self.file), maxlen=0)  # reads to the end, which removes an incomplete last line

    def append(self, detail: Detail) -> None:
        """Write a line now. It precedes the question's line in results.jsonl, so that every result has its details."""
        with explain_write_errors(self.path):
            self.file.write(json.dumps(detail, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # as in results.jsonl: the full disk was already reported
            self.file.close()


class LineIndex:
    """Looks up the lines of a file of JSON lines by method and question. It holds only their offsets in memory.

    If several lines have the same method and question, the last one counts: the question had failed before and was
    asked again.
    """

    def __init__(self, path: Path) -> None:
        self.offset_of_key: dict[tuple[str, str], int] = {}
        self.file = path.open("rb") if path.exists() else None
        offset = 0
        for line in self.file or ():
            key = read_key(line)
            if key is not None:
                self.offset_of_key[key] = offset
            offset += len(line)

    def get(self, method: str, id_: str) -> dict[str, Any] | None:
        """The line; None if there is none."""
        offset = self.offset_of_key.get((method, id_))
        if offset is None or self.file is None:
            return None
        self.file.seek(offset)
        return rename_old_keys(cast(dict[str, Any], parse_json(self.file.readline())))

    def list_by_method(self, id_: str, methods: Sequence[str]) -> Iterable[tuple[str, dict[str, Any] | None]]:
        """(method, line) of each method."""
        return ((method, self.get(method, id_)) for method in methods)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.file is not None:
            self.file.close()


def read_key(line: bytes) -> tuple[str, str] | None:
    """(method, id) of a line; None for a line without these keys."""
    try:
        value = parse_json(line)
        key = value["method"], value["id"]
        return key if all(isinstance(part, str) for part in key) else None
    except (ValueError, KeyError, TypeError):
        return None
