"""The file of questions that `quorum questions` writes: JSON lines to review and edit.

Every command with an argument DATA can read it.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.questions import read_questions
from quorum.datasets.records import read_json_lines
from quorum.evaluation.questions.check import Draft
from quorum.evaluation.questions.draw import QUESTION_KINDS, Kind
from quorum.evaluation.run.result_files import explain_write_errors


class QuestionFile:
    """The file that `quorum questions` writes. Existing lines, which a reviewer may have edited, stay as they
    are; new lines follow. Each addition replaces the whole file, so no other process finds it half-written.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix != ".jsonl":
            raise SetupError(f"--out {path} is not a file of JSON lines; give a name that ends in .jsonl.")
        self.path = path
        self.lines: list[dict[str, Any]] = []
        self.kept_ids: set[str] = set()  # the ids of the questions that neither a check nor a reviewer rejected
        self.read_lines()

    def read_lines(self) -> None:
        """Read the lines that the file has now. Raises `SetupError` for a line that is not a question."""
        self.lines, self.kept_ids = [], set()
        if self.path.exists():
            self.kept_ids = {record["id"] for record in read_questions(self.path)}
            self.lines = [line for _, line in read_json_lines(self.path)]
        if not all(
            isinstance(line.get("question"), str) and isinstance(line.get("answers"), list) for line in self.lines
        ):
            raise SetupError(f"{self.path} holds data of another format than questions; give another file with --out.")

    @property
    def ids(self) -> set[str]:
        """The ids of all questions in the file, including the rejected ones."""
        return {str(line.get("id")) for line in self.lines}

    def list_question_texts(self) -> Iterator[str]:
        return (line["question"] for line in self.lines)

    def count_kept_by_kind(self) -> dict[Kind, int]:
        """How many questions of each kind the file has, without the rejected ones."""
        counts = Counter(get_kind(line) for line in self.lines if str(line.get("id")) in self.kept_ids)
        return {kind: counts[kind] for kind in QUESTION_KINDS}

    def count_all_by_kind(self) -> dict[Kind, int]:
        """How many questions of each kind the file has, including the rejected ones."""
        counts = Counter(map(get_kind, self.lines))
        return {kind: counts[kind] for kind in QUESTION_KINDS}

    def check_corpus(self, passages: Sequence[Passage], corpus: str) -> None:
        """Raise a `SetupError` if a question that Quorum wrote is about a passage that the corpus no longer holds.

        corpus: what the message calls the corpus.
        """
        corpus_ids = {passage["id"] for passage in passages}
        for line in self.lines:
            missing_ids = [id_ for id_ in list_evidence_ids(line) if id_ not in corpus_ids]
            if get_kind(line) is not None and missing_ids:
                raise SetupError(
                    f"{self.path} holds question {line.get('id')!r} about the passage {missing_ids[0]!r}, which "
                    f"{corpus} does not hold; give another file with --out, or remove the questions whose documents "
                    "have changed."
                )

    def add(self, drafts: Sequence[Draft], models_and_prompt_of_kind: Mapping[Kind, Mapping[str, Any]]) -> None:
        """Append one line for each draft, and write the file.

        models_and_prompt_of_kind: the models and the prompt that write questions of each kind, for the lines' `meta`.
        """
        self.add_lines([make_line(draft, models_and_prompt_of_kind[draft.draw.kind]) for draft in drafts])

    def add_lines(self, lines: Sequence[dict[str, Any]]) -> None:
        """Append lines of the data format, and write the file."""
        self.lines += lines
        self.kept_ids |= {str(line["id"]) for line in lines if line["keep"]}
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with explain_write_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(
                    "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in self.lines), "utf-8"
                )
                temporary.replace(self.path)
            finally:
                temporary.unlink(missing_ok=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the file for this run, and read its lines again. Raises `SetupError` if another run has locked it."""
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=0)
        with explain_write_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
            except Timeout:
                raise SetupError(
                    f"Another run is writing to {self.path}; wait for it, or give another file with --out."
                ) from None
        try:
            self.read_lines()
            yield
        finally:
            lock.release()


def make_line(draft: Draft, origin: Mapping[str, Any]) -> dict[str, Any]:
    """A question's line in the data format. It has no passages, so that an evaluation searches the corpus. `meta` holds
    what a reviewer needs: `why` is the fault of a rejected question; `read` holds the verifier's answers by the name of
    what it was shown, such as "passages", or "memory" if it was shown nothing. origin: the models and the prompt that
    wrote the question, also for `meta`.
    """
    draw = draft.draw  # the kind of the question, its id and its passages
    evidence = [
        {"passage": passage["id"], "title": passage["title"], "text": passage["text"]} for passage in draw.passages
    ]
    return {
        "keep": draft.fault is None,
        "id": draw.id,
        "question": draft.question,
        "answers": draft.answers,
        "gold": [] if draw.kind == "unanswerable" else [passage["id"] for passage in draw.passages],
        "passages": [],
        "source": "quorum questions",
        "meta": {"kind": draw.kind, "why": draft.fault, "read": draft.verifier_answers, "evidence": evidence, **origin},
    }


def get_kind(line: Mapping[str, Any]) -> Kind | None:
    """The kind of a question that Quorum wrote; None for a line of another origin, or if a reviewer has changed the
    kind into an unknown one.
    """
    named_kind = get_meta(line).get("kind")
    return next((kind for kind in QUESTION_KINDS if kind == named_kind), None)


def list_evidence_ids(line: Mapping[str, Any]) -> list[str]:
    """The ids of the passages that a question was written about."""
    evidence = get_meta(line).get("evidence")
    items = evidence if isinstance(evidence, list) else []
    return [str(item.get("passage")) for item in items if isinstance(item, dict)]


def get_meta(line: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = line.get("meta")
    return meta if isinstance(meta, dict) else {}
