"""The sampled answers of a promise since its last reset, with their labels: what its standing is computed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from quorum.evaluation.watch.folder import ANSWERS, EVENTS, LABELS, WatchFolder
from quorum.evaluation.watch.promise import Promise

Line = Mapping[str, Any]


@dataclass(frozen=True)
class SampledAnswer:
    """line: of answers.jsonl; rival: the line of the rival's answer to the same question, if there is one; label: the
    last line of labels.jsonl about it, if there is one.
    """

    line: Line
    rival: Line | None
    label: Line | None

    @property
    def id(self) -> str:
        return str(self.line["id"])

    @property
    def z(self) -> float | None:
        """By how much the answer breaks the promise; None without a label."""
        return None if self.label is None or self.label.get("z") is None else float(self.label["z"])

    def is_waiting(self, promise: Promise) -> bool:
        """Whether somebody could label it now: nobody has looked at it, and the rival has answered where it must."""
        return self.label is None and (promise.kind != "loss" or (self.rival is not None and "answer" in self.rival))


def list_resets(folder: WatchFolder) -> list[Line]:
    return [event for event in folder.read(EVENTS) if event["event"] == "reset"]


def read_sampled(folder: WatchFolder, label_lines: int | None = None) -> list[SampledAnswer]:
    """The sampled answers since the last reset, in the order in which they were asked. label_lines: how many lines of
    labels.jsonl count, from its beginning; None for all.
    """
    labels = {line["id"]: line for line in islice(folder.read(LABELS), label_lines)}
    lines, rivals = [], {}
    for line in folder.read(ANSWERS):
        if "id" in line:
            lines.append(line)
        elif "rival_of" in line:
            rivals[line["rival_of"]] = line
    resets = list_resets(folder)
    lines = lines[resets[-1]["answers"] if resets else 0 :]
    return [SampledAnswer(line, rivals.get(line["id"]), labels.get(line["id"])) for line in lines]
