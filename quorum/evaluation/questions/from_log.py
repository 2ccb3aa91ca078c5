"""Questions that people asked a server, from the sample of a watched promise, as a file to label.

An answer that a person called right becomes the accepted answer of its question. On these questions alone, the method
that was served would always be right. So "keep" is false for all of them while any question of the sample lacks
answers; once none does, the next run keeps them. A question without answers that a reviewer keeps is one to be
answered "unknown".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.evaluation.questions.file import QuestionFile, get_meta
from quorum.evaluation.watch.folder import ANSWERS, LABELS, WatchFolder
from quorum.evaluation.watch.labelling import is_by_judge


@dataclass(frozen=True)
class LogQuestions:
    """added: how many questions this run added to the file `path`; updated: how many of those before have a new label;
    conversations: how many conversations the added ones come from; total: how many questions the file holds now. Of
    this sample's: labelled: how many have the answer that a person called right; open: how many lack answers.
    """

    path: Path
    added: int
    updated: int
    conversations: int
    total: int
    labelled: int
    open: int


def write_log_questions(folder: WatchFolder, out: Path) -> LogQuestions:
    """Add the sampled questions that the file does not hold yet, those of one conversation together, and take up the
    labels of those that it holds; what a reviewer wrote into these stays. Raises `SetupError` for a file that cannot
    hold them.
    """
    file = QuestionFile(out)
    with file.lock():
        lines = {line["id"]: line for line in list_log_questions(folder)}
        held = [line for line in file.lines if str(line.get("id")) in lines]
        updated = sum([take_label(line, lines[line["id"]]) for line in held])
        new_lines = [line for id_, line in lines.items() if id_ not in file.ids]
        own = held + new_lines
        open_count = sum(not line["answers"] and not line.get("keep", True) for line in own)
        for line in own:
            if is_by_label(line):
                line["keep"] = not open_count
        file.add_lines(new_lines)
        return LogQuestions(
            out,
            len(new_lines),
            updated,
            len({line["meta"]["conversation"] for line in new_lines}),
            len(file.lines),
            sum(is_by_label(line) for line in own),
            open_count,
        )


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
    """A line that is not kept yet. `meta.called_right` is the answer that a person called right, if one did."""
    is_right = bool(label and label.get("right") and label["right"][0]) and not line["unknown"]
    called_right = line["short"] if is_right and label and not is_by_judge(label) else None
    return {
        "keep": False,
        "id": line["id"],
        "question": line["question"],
        "answers": [] if called_right is None else [called_right],
        "passages": [],
        "source": f"quorum watch {name}",
        "meta": {
            "conversation": line["conversation"],
            "time": line["time"],
            "answered": line["answer"],
            "called_right": called_right,
        },
    }


def is_by_label(line: Mapping[str, Any]) -> bool:
    """Whether a line's accepted answer is the one that a person called right, and nobody has changed it."""
    called_right = get_meta(line).get("called_right")
    return called_right is not None and line["answers"] == [called_right]


def take_label(line: dict[str, Any], fresh: Mapping[str, Any]) -> bool:
    """Take a newer label over into a line of the file, unless a reviewer gave it answers. Whether that changed it."""
    if (line["answers"] and not is_by_label(line)) or line["answers"] == fresh["answers"]:
        return False
    if not line["answers"] and line.get("keep", True):  # a reviewer says that nothing answers it
        return False
    line["answers"], line["keep"] = fresh["answers"], False
    line["meta"] = {**get_meta(line), "called_right": fresh["meta"]["called_right"]}
    return True
