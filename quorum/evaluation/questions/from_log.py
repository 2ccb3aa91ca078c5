"""Questions that people asked a server, from the sample of a watched promise, as a file to label.

An answer that a person called right becomes the accepted answer of its question. All other questions are written with
"keep": false, because without accepted answers an evaluation would take "unknown" for the right one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.evaluation.questions.file import QuestionFile
from quorum.evaluation.watch.folder import ANSWERS, LABELS, WatchFolder


@dataclass(frozen=True)
class LogQuestions:
    """added: how many questions this run added to the file `path`; labelled: how many of these have an accepted answer;
    conversations: how many conversations they come from; total: how many questions the file holds now.
    """

    path: Path
    added: int
    labelled: int
    conversations: int
    total: int


def write_log_questions(folder: WatchFolder, out: Path) -> LogQuestions:
    """Add the sampled questions that the file does not hold yet, those of one conversation together. The lines that it
    holds stay as they are. Raises `SetupError` for a file that cannot hold them.
    """
    file = QuestionFile(out)
    with file.lock():
        new_lines = [line for line in list_log_questions(folder) if line["id"] not in file.ids]
        file.add_lines(new_lines)
        conversations = {line["meta"]["conversation"] for line in new_lines}
        labelled = sum(line["keep"] for line in new_lines)
        return LogQuestions(out, len(new_lines), labelled, len(conversations), len(file.lines))


def list_log_questions(folder: WatchFolder) -> list[dict[str, Any]]:
    """The sampled questions in the data format, those of one conversation together."""
    labels = {line["id"]: line for line in folder.read(LABELS)}
    sampled = [line for line in folder.read(ANSWERS) if "id" in line]
    first_places: dict[str, int] = {}
    for place, line in enumerate(sampled):
        first_places.setdefault(line["conversation"], place)
    sampled.sort(key=lambda line: first_places[line["conversation"]])
    return [make_log_line(folder.name, line, labels.get(line["id"])) for line in sampled]


def make_log_line(name: str, line: dict[str, Any], label: dict[str, Any] | None) -> dict[str, Any]:
    is_right = bool(label and label.get("right") and label["right"][0]) and not line["unknown"]
    return {
        "keep": is_right,
        "id": line["id"],
        "question": line["question"],
        "answers": [line["short"]] if is_right else [],
        "passages": [],
        "source": f"quorum watch {name}",
        "meta": {"conversation": line["conversation"], "time": line["time"], "answered": line["answer"]},
    }
