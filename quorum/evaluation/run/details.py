"""Reads and writes details.jsonl: the origin of each answer, a line for each question and method.

The report takes from details.jsonl what results.jsonl does not hold: the path through the graph, the passages with
their texts, votes, candidates, summaries, and the replies of the model.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict, cast

from quorum.core.json_text import parse_json
from quorum.core.private_files import open_private_bytes
from quorum.core.state import Citation, CountedReplies, Evidence, Passage, Result, Usage, Vote
from quorum.evaluation.run.result_files import explain_write_errors, repair_and_read_lines
from quorum.evaluation.run.watch import AnswerWatcher, Call, Step

# The keys of a result whose values a line of details.jsonl holds unchanged; null if the method does not use the key.
COPIED_KEYS = (
    "rationale",
    "candidates",
    "summaries",
    "validity",
    "scores",
    "votes",
    "voters_without_evidence",
    "citations",
    "action",
)


class Detail(TypedDict):
    """One line of details.jsonl: what is known about the answer of one method to one question.

    id: the question's id. method: the column's name. validity, scores: for each candidate, whether its summary supports
    it, and its score. voters_without_evidence: ids of the passages that voted for the answer and do not contain it.
    citations: of a long answer, else null. action: of the method crag, else null.
    usage, malformed, wordy_answers: by prompt name; the last two count replies. steps, calls: from
    `quorum.evaluation.run.watch`, in the order in which they started.
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
    citations: list[Citation] | None
    action: str | None
    passages: list[Passage]
    usage: dict[str, Usage]
    malformed: dict[str, int]
    wordy_answers: dict[str, int]
    steps: list[Step]
    calls: list[Call]


def make_detail(id_: str, method: str, result: Result, watcher: AnswerWatcher) -> Detail:
    """The line for one answer. id_: the question's id; watcher: the one that watched this answer."""
    detail: Any = {
        "id": id_,
        "method": method,
        **{key: result.get(key) for key in COPIED_KEYS},
        "evidence": result.get("evidence") or [],
        "passages": result.get("passages") or [],
        "usage": result.get("usage") or {},
        "malformed": count_by_prompt(result.get("malformed")),
        "wordy_answers": count_by_prompt(result.get("wordy_answers")),
        "steps": watcher.steps,
        "calls": watcher.calls,
    }
    return cast(Detail, detail)


def count_by_prompt(counted_replies: Mapping[str, CountedReplies] | None) -> dict[str, int]:
    """The number of replies for each prompt name, without the replies themselves."""
    return {prompt: replies["count"] for prompt, replies in (counted_replies or {}).items()}


class Details:
    """The open file details.jsonl, to which whole lines are appended.

    If a killed run left an incomplete last line, this line is removed when the file is opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = open_private_bytes(path, "a+b")
        deque(repair_and_read_lines(self.file), maxlen=0)  # reads to the end, which removes an incomplete last line

    def append(self, detail: Detail) -> None:
        """Write a line at once. Call this before the answer's line is written to results.jsonl, so that every
        answer there has its details.
        """
        with explain_write_errors(self.path):
            self.file.write(json.dumps(detail, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # a full disk, which `append` has already reported
            self.file.close()


class LineIndex:
    """Looks up lines by method and question in details.jsonl, results.jsonl or judged.jsonl.

    It holds only the lines' offsets in memory. If the file does not exist, it finds no line.

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
        """The content of the line for a method and a question's id; None if there is no such line."""
        offset = self.offset_of_key.get((method, id_))
        if offset is None or self.file is None:
            return None
        self.file.seek(offset)
        return cast(dict[str, Any], parse_json(self.file.readline()))

    def list_by_method(self, id_: str, methods: Sequence[str]) -> Iterable[tuple[str, dict[str, Any] | None]]:
        """(method, what `get` returns for this method and the question's id) for each of the methods."""
        return ((method, self.get(method, id_)) for method in methods)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.file is not None:
            self.file.close()


def read_key(line: bytes) -> tuple[str, str] | None:
    """(method, question's id) of a line; None if the line cannot be parsed, or lacks one of the two as a text."""
    try:
        value = parse_json(line)
        key = value["method"], value["id"]
        return key if all(isinstance(part, str) for part in key) else None
    except (ValueError, KeyError, TypeError):
        return None
