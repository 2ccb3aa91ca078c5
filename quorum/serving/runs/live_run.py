"""A run in progress: its methods, and its events on their way into the file and to those who read it."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from quorum.api.event_json import event_to_json
from quorum.api.stream import (
    AnswerText,
    Event,
    MethodFailed,
    MethodFinished,
    Retrying,
    RunFinished,
    RunStarted,
)
from quorum.core.cancellation import end_task
from quorum.core.harmless_markdown import HarmlessText
from quorum.evaluation.shown.run_summary import count_answered, group_answers, summarize_run
from quorum.models.tracing import copy_without_secrets, hides_passages
from quorum.serving.errors import Refusal
from quorum.serving.runs.run_folder import INTERRUPTED, SavedRun

LARGEST_RUN = 50_000_000  # bytes of one run's file
# Fields of an event that hold no text of documents: they stay if passages must be hidden.
PLAIN_FIELDS = frozenset(
    {
        *("type", "method", "methods", "process", "node", "inside", "phase"),
        *("code", "sentence", "remedy", "cause", "groups"),
        *("answered_text", "passages_text", "reader_text"),
    }
)
Explain = Callable[[BaseException], Refusal]
REMEDY_OF_CODE = {
    "setup": "change",
    "invalid_setting": "change",
    "context_length_exceeded": "change",
    "insufficient_quota": "wait",
    "overloaded": "wait",
}


class LiveRun:
    """A run in progress. number: of its last event; explain: says what a client may know of an exception; hide:
    removes what a client may not know from a text; on_end: called when the run has ended.
    """

    def __init__(
        self,
        saved: SavedRun,
        number: int,
        explain: Explain,
        hide: Callable[[str], str],
        on_end: Callable[["LiveRun"], None],
    ) -> None:
        self.saved, self.number, self.explain, self.hide, self.on_end = saved, number, explain, hide, on_end
        self.tasks: dict[str, asyncio.Task[Any]] = {}  # of the methods that are still asked
        self.watchers: set[asyncio.Task[None]] = set()
        self.results: dict[str, Mapping[str, Any]] = {}
        self.failures: dict[str, Mapping[str, Any]] = {}
        self.texts: dict[str, HarmlessText] = {}
        self.changed = asyncio.Event()  # set at the next event; every event has a new one
        self.is_stopped = self.is_unwritable = False
        self.size = 0

    def start(self, process_id: str, tasks: Mapping[str, "asyncio.Task[Any]"], reader_text: str = "") -> None:
        """Begin to watch methods that were just started, before any of them has run.

        reader_text: as in `RunStarted`.
        """
        self.tasks |= tasks
        self.results = {method: result for method, result in self.results.items() if method not in tasks}
        self.failures = {method: failure for method, failure in self.failures.items() if method not in tasks}
        question = self.saved.question
        started = RunStarted(question, tuple(tasks), self.count_answered(), reader_text)
        self.write({**event_to_json(started), "process": process_id})
        for method, task in tasks.items():
            watcher = asyncio.create_task(self.watch(method, task), name=f"run {self.saved.id}")
            self.watchers.add(watcher)
            watcher.add_done_callback(self.watchers.discard)

    def make_listener(self, method: str) -> Callable[[Event], None]:
        """What is called with the events of one method."""
        started_at = time.perf_counter()

        def listen(event: Event) -> None:
            if isinstance(event, RunStarted | RunFinished):
                return  # of the method alone
            if isinstance(event, AnswerText):
                self.write_text(method, event)
            elif isinstance(event, MethodFinished):
                self.end_text(method)
                seconds = round(time.perf_counter() - started_at, 3)
                self.results[method] = event.result
                groups, answered_text = self.group_results(), self.count_answered()
                written = self.write_event(method, MethodFinished(event.result, seconds, groups, answered_text))
                self.results[method] = written["result"]
            elif isinstance(event, Retrying):
                self.write_event(method, replace(event, cause=self.hide(event.cause)))
            else:
                self.write_event(method, event)

        return listen

    def write_text(self, method: str, event: AnswerText) -> None:
        """Write a piece of an answer, made harmless, as far as it is clear what it is."""
        if event.replaces or method not in self.texts:
            self.texts[method] = HarmlessText()
        text = self.texts[method].add(event.text)
        if text or event.replaces:
            self.write_event(method, AnswerText(text, event.replaces))

    def end_text(self, method: str) -> None:
        text = self.texts.pop(method, HarmlessText()).end()
        if text:
            self.write_event(method, AnswerText(text))

    async def watch(self, method: str, task: "asyncio.Task[Any]") -> None:
        """Wait until a method has ended, and write why, if it gave no answer."""
        is_interrupted = False
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:  # the server ends
            is_interrupted = True
            task.cancel()
        self.texts.pop(method, None)
        failure = self.describe_interruption() if is_interrupted else self.describe_end(task)
        if failure is not None:
            self.failures[method] = self.write_event(method, failure)
        del self.tasks[method]
        if not self.tasks:
            summary = summarize_run(self.methods, self.results, self.failures)
            del summary["answered_text"]
            self.write(event_to_json(RunFinished(**summary)))
            self.on_end(self)
            self.changed.set()
        if is_interrupted:
            raise asyncio.CancelledError

    def group_results(self) -> list[dict[str, Any]]:
        """The distinct answers so far."""
        known = {method: self.results[method] for method in self.methods if method in self.results}
        return group_answers(known, len(self.methods))

    def count_answered(self) -> str:
        return count_answered(self.methods, len(self.results))

    @property
    def methods(self) -> list[str]:
        """All methods of the run."""
        return list(self.saved.head["request"]["methods"])

    def describe_interruption(self) -> MethodFailed:
        return MethodFailed("interrupted", INTERRUPTED)

    def describe_end(self, task: "asyncio.Task[Any]") -> MethodFailed | None:
        """Why a method ended without an answer; None if it has answered."""
        if task.cancelled():
            if self.is_stopped:
                return MethodFailed("stopped", "This method was stopped before it had answered.")
            return self.describe_interruption()
        error = task.exception()
        if error is None:
            return None
        refusal = error if isinstance(error, Refusal) else self.explain(error)
        code = refusal.code or "setup"
        remedy: Any = REMEDY_OF_CODE.get(code, "retry")
        return MethodFailed(code, refusal.message, remedy)

    async def stop(self) -> None:
        """Stop all methods that have not answered, and wait until they have ended."""
        self.is_stopped = True
        watchers = list(self.watchers)
        for task in list(self.tasks.values()):
            await end_task(task)
        if watchers:
            await asyncio.wait(watchers)

    def write_event(self, method: str, event: Event) -> dict[str, Any]:
        """Write an event of a method. Returns it as JSON."""
        head = event_to_json(event)
        return self.write({"type": head["type"], "method": method, **head})

    def write(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Write an event, then tell the readers. Returns it as JSON, without secrets.

        If it cannot be written, or the file becomes too large, the run is stopped: nobody may see an event that is lost
        later.
        """
        hides = hides_passages()
        clean = {
            name: copy_without_secrets({name: value}, hide_passages=hides and name not in PLAIN_FIELDS)[name]
            for name, value in event.items()
        }
        if not self.is_unwritable:
            numbered = {"n": self.number + 1, "time": round(time.time(), 3), **clean}
            try:
                self.size += self.saved.file.append(numbered)
                self.number += 1
            except OSError:
                self.give_up()
            if self.size > LARGEST_RUN:
                self.is_stopped = True
                self.cancel()
            changed, self.changed = self.changed, asyncio.Event()
            changed.set()
        return clean

    def give_up(self) -> None:
        """The file cannot be written to, or was deleted: nothing more is written, and all methods are stopped."""
        self.is_unwritable = True
        self.cancel()

    def cancel(self) -> None:
        for task in self.tasks.values():
            task.cancel()
