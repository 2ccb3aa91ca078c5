"""Keeps the model calls of a run, with their prompts and replies, in a file beside the run's events.

The events do not hold them, because a page that follows a run does not need them until a visitor asks for them.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from quorum.evaluation.shown.trace import Step, Tracer
from quorum.serving.runs.run_file import RunFile

FORMAT_NAME = "quorum calls 1"
LARGEST_FILE = 20_000_000  # bytes; later calls are left out


class CallLog:
    """The file. file: where it is; it need not exist yet. hide: removes from an error what a client may not know."""

    def __init__(self, file: RunFile, hide: Callable[[str], str]) -> None:
        self.file, self.hide, self.size = file, hide, 0

    def make_recorder(self, method: str) -> "CallRecorder":
        """What records the calls of a method."""
        return CallRecorder(method, self)

    def begin(self, method: str) -> None:
        """Forget the earlier calls of a method, which is asked (again)."""
        with suppress(OSError):
            if self.file.path.exists():
                self.file.remove_torn_line()
                self.size = self.file.path.stat().st_size
            else:
                self.file.create({})
        self.write({"method": method, "begins": True})

    def write(self, call: Mapping[str, Any]) -> None:
        """Append a call. What cannot be written is left out: the run goes on without it."""
        if self.size <= LARGEST_FILE:
            with suppress(OSError):
                self.size += self.file.append(call)


class CallRecorder(Tracer):
    """Writes every model call of one method when it ends."""

    def __init__(self, method: str, log: CallLog) -> None:
        super().__init__(self.record)
        self.method, self.log = method, log
        self.nodes: dict[int, str] = {}  # {id of a call's step: the node that made the call}

    def begin_step(self, step: Step | None, run_id: UUID, parent: UUID | None) -> None:
        parent_step = None if parent is None else self.step_of_run.get(parent)
        if step is not None and step.kind == "call":
            self.nodes[id(step)] = parent_step.name if parent_step is not None and parent_step.kind == "node" else ""
        super().begin_step(step, run_id, parent)

    def record(self, step: Step) -> None:
        if step.kind != "call":
            return
        seconds = None if step.seconds is None else round(step.seconds, 3)
        error = step.error and self.log.hide(step.error)
        values = {"reasoning": step.reasoning, "details": step.details, "error": error}
        call = {"prompt": step.prompt, "reply": step.reply, "seconds": seconds}
        optional = {name: value for name, value in values.items() if value}
        self.log.write(
            {"method": self.method, "node": self.nodes.get(id(step), ""), "name": step.name, **call, **optional}
        )


def read_calls(file: RunFile, method: str) -> list[dict[str, Any]]:
    """The calls of a method, as it was asked last; empty if none were kept. Raises ValueError. The call blocks."""
    calls: list[dict[str, Any]] = []
    with suppress(FileNotFoundError):
        for call in file.read_events():
            if call.get("method") == method:
                calls = [] if call.get("begins") else [*calls, call]
    return calls
