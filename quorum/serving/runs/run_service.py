"""Starts, stops, retries and reads runs. Each method of a run is asked as a chat client would ask it, with the same
permissions, limits and metrics.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from quorum.cascades.written_cascade import is_written_cascade, split_steps
from quorum.core.context import Context
from quorum.core.where import format_where
from quorum.models.tracing import copy_without_secrets
from quorum.serving.chat_request import make_field_refusal
from quorum.serving.client import Client
from quorum.serving.errors import Refusal, explain_failure, hide_paths
from quorum.serving.runs.call_log import CallLog, read_calls
from quorum.serving.runs.export import MethodAnswer, read_answers
from quorum.serving.runs.follow import follow_file
from quorum.serving.runs.live_run import LiveRun
from quorum.serving.runs.request import RunRequest, check_saved_request
from quorum.serving.runs.run_folder import RunFolder, SavedRun
from quorum.serving.service import Job, Service

MODEL_NAMES = {"model", "verifier", "context_filter", "reranker"}  # settings that may name a model elsewhere

MAX_LIVE_RUNS = 256  # of all clients together; their methods wait in line with all other questions
MAX_READERS = 256  # open streams of events, of all clients together
MAX_TURNS = 6  # earlier questions that a follow-up question is understood by
OFFLINE_TEXT = "answered by the offline reader"
PARAM_OF_CHAT = {"model": "methods", "quorum": "settings", "messages": "question"}  # the same fields of both requests


class RunService:
    """The runs of a server. service: asks the methods; folder: where the runs are kept."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service, self.folder = service, RunFolder(folder)
        self.live_runs: dict[str, LiveRun] = {}
        self.reader_count = 0

    async def start(self, request: RunRequest, client: Client, request_id: str) -> SavedRun:
        """Begin a run. Raises `Refusal` for a request that is not allowed, and beyond the limits."""
        self.check_room()
        history, earlier = await self.read_history(request, client)
        jobs = {method: await self.make_job(request, method, client, history[method]) for method in request.methods}
        self.check_room()
        try:
            saved_request = copy_without_secrets(request.to_json(), hide_passages=False)
            saved = self.folder.create(client.id, saved_request, time.time(), describe_reading(client, jobs, earlier))
        except OSError as error:
            message = f"The server cannot save this run ({error.strerror or error}); ask whoever runs it."
            raise Refusal(507, message, "not_saved", "server_error") from None
        try:
            self.begin(self.make_live_run(saved, 0, request_id), jobs)
        except Refusal:
            self.folder.running_ids.discard(saved.id)
            self.folder.delete(saved.id)
            raise
        return saved

    async def make_job(
        self, request: RunRequest, method: str, client: Client, history: Sequence[Mapping[str, str]]
    ) -> Job:
        """What one method is asked. Raises `Refusal`, which names the field of the runs API that is wrong."""
        try:
            job = await self.service.accept(request.make_chat(method), client)
        except Refusal as refusal:
            refusal.param = PARAM_OF_CHAT.get(refusal.param or "", refusal.param)
            raise
        return replace(job, question=request.question, side_task_kind=None, history=history)

    def make_live_run(self, saved: SavedRun, number: int, request_id: str) -> LiveRun:
        """A run in which no method is asked yet. number: of its last event."""
        server_context = self.service.permissions.server_context

        def explain(error: BaseException) -> Refusal:
            return explain_failure(error, server_context, request_id)

        return LiveRun(saved, number, explain, lambda text: hide_paths(text, server_context), self.end)

    def begin(self, live_run: LiveRun, jobs: Mapping[str, Job], reader_text: str = "") -> None:
        """Start methods of a run, all or none: raises `Refusal` if the client's limits do not allow one of them.
        reader_text: as in `RunStarted`.

        No method runs before the run is registered, because nothing is awaited here.
        """
        tasks: dict[str, asyncio.Task[Any]] = {}
        calls = CallLog(self.folder.get_calls_file(live_run.saved.id), live_run.hide)
        recorded = []
        try:
            for method, job in jobs.items():
                job = replace(job, record=job.record.branch(live_run.saved.id))
                if job.context.calibration is None:  # it may withhold the answer, which a reply would tell
                    job = replace(job, callbacks=(calls.make_recorder(method),))
                    recorded.append(method)
                tasks[method] = self.service.start(job, live_run.make_listener(method))
        except Refusal:
            for task in tasks.values():
                task.cancel()
            raise
        for method in recorded:  # no task has run yet
            calls.begin(method)
        self.folder.running_ids.add(live_run.saved.id)
        self.live_runs[live_run.saved.id] = live_run
        live_run.start(self.folder.processes.own_id, tasks, reader_text)

    def end(self, live_run: LiveRun) -> None:
        """A run has ended."""
        self.live_runs.pop(live_run.saved.id, None)
        self.folder.running_ids.discard(live_run.saved.id)
        with suppress(RuntimeError):  # the server ends
            client = live_run.saved.head["client"]
            asyncio.get_running_loop().run_in_executor(None, self.folder.remove_oldest, client)

    def check_room(self) -> None:
        """Raise `Refusal` if too many runs are in progress."""
        if len(self.live_runs) >= MAX_LIVE_RUNS:
            message = f"{MAX_LIVE_RUNS} runs are in progress already; ask again when one has ended."
            raise Refusal(503, message, "overloaded", "server_error", headers={"retry-after": "2"})

    async def find(self, id_: str, client: Client) -> SavedRun:
        """A client's run. Raises `Refusal` (404), also for one that read what the client may no longer read."""
        return await asyncio.to_thread(lambda: self.folder.find(id_, client.id, self.make_filter(client)))

    def list_runs(self, client: Client) -> Iterator[SavedRun]:
        """The runs that a client may see, newest first. The call blocks."""
        may_read = self.make_filter(client)
        return (saved for saved in self.folder.list_runs(client.id) if may_read(saved))

    def make_filter(self, client: Client) -> Callable[[SavedRun], bool]:
        """Whether a client may still read what a run of its has read. The call blocks.

        A run is shown as long as the client's token allows all collections that it asked, under the filter that the
        token had then: under another one, the run may hold passages that the token no longer lets through.
        """
        if client.token is None:
            return lambda saved: True
        allowed, where = set(self.service.permissions.of(client).list_collections()), format_where(client.token.where)

        def may_read(saved: SavedRun) -> bool:
            reading = saved.head.get("reading") or {}
            is_same_filter = where is None or reading.get("where") == where
            return is_same_filter and "collections" in reading and allowed.issuperset(reading["collections"])

        return may_read

    async def read_answers(self, saved: SavedRun) -> dict[str, MethodAnswer]:
        """The answers of a run so far. Raises `Refusal` if its file cannot be read."""
        try:
            return await asyncio.to_thread(lambda: read_answers(saved.file.read_events()))
        except (OSError, ValueError, KeyError):
            raise Refusal(404, f"The run {saved.id} cannot be read.", "run_not_found") from None

    async def read_history(
        self, request: RunRequest, client: Client
    ) -> tuple[dict[str, list[dict[str, str]]], list[SavedRun]]:
        """(turns, runs) before a follow-up question. The turns are as each method is told them: with its own earlier
        answers, and where it gave none, with another method's. Raises `Refusal` if the run that it follows is missing.
        """
        turns: dict[str, list[dict[str, str]]] = {method: [] for method in request.methods}
        earlier: list[SavedRun] = []
        id_ = request.follows
        for _ in range(MAX_TURNS):
            if not id_:
                break
            try:
                saved = await self.find(id_, client)
                answers = await self.read_answers(saved)
            except Refusal:
                if id_ == request.follows:
                    raise
                break  # an earlier question was deleted
            earlier.append(saved)
            for method, messages in turns.items():
                turns[method] = [
                    {"role": "user", "content": saved.question},
                    *list_answer_turns(answers, method),
                    *messages,
                ]
            id_ = str(saved.head["request"].get("follows", ""))
        return turns, earlier

    def list_conversation(self, saved: SavedRun, client: Client) -> list[SavedRun]:
        """The runs of a conversation, in the order in which they were asked: the first question, and all that follow
        it or one another. saved: any of them. The call blocks.
        """
        runs = {run.id: run for run in self.list_runs(client)}
        first, seen = saved, {saved.id}
        while (earlier := runs.get(first.follows)) is not None and earlier.id not in seen:
            first = earlier
            seen.add(first.id)
        members = {first.id}
        for id_ in sorted(runs):  # a run is asked after the one that it follows, and ids begin with the time
            if runs[id_].follows in members:
                members.add(id_)
        return [runs.get(id_, saved) for id_ in sorted(members)]

    async def stop(self, saved: SavedRun) -> None:
        """Stop the methods of a run that have not answered. Does nothing for a run that has ended."""
        live_run = self.live_runs.get(saved.id)
        if live_run is not None:
            await live_run.stop()

    async def list_calls(self, saved: SavedRun, method: str) -> list[dict[str, Any]]:
        """The model calls of a method of a run, with their prompts and replies."""
        try:
            return await asyncio.to_thread(read_calls, self.folder.get_calls_file(saved.id), method)
        except (OSError, ValueError):
            raise Refusal(404, f"The calls of the run {saved.id} cannot be read.", "run_not_found") from None

    async def retry(
        self, saved: SavedRun, method: Any, client: Client, request_id: str, *, is_offline: bool = False
    ) -> None:
        """Ask one method of a run again. Raises `Refusal`, also if the method is being asked.

        is_offline: the embedded model answers in place of the one that was asked.
        """
        request = check_saved_request(saved.head)
        if method not in request.methods:
            raise make_field_refusal("method", f"one of the run's methods: {', '.join(request.methods)}")
        if client.token is not None and saved.head["reading"]["where"] != format_where(client.token.where):
            raise Refusal(409, "What you may read has changed since this run; ask its question again.", "conflict")
        self.check_not_asked(saved, method)
        history, _ = await self.read_history(request, client)
        job = await self.make_job(request, method, client, history[method])
        if is_offline:
            job = replace(job, context=make_offline_context(job))
        answers, last = await self.read_answers(saved), await asyncio.to_thread(saved.file.read_last_event)
        self.check_not_asked(saved, method)
        live_run = self.live_runs.get(saved.id)
        if live_run is None:
            if last is None or last["type"] != "run_finished":
                raise Refusal(409, "Another process of the server is at work on this run; ask again later.", "conflict")
            live_run = self.make_live_run(saved, last["n"], request_id)
            live_run.results = {name: item.result for name, item in answers.items() if item.result is not None}
            live_run.failures = {name: item.error for name, item in answers.items() if item.error is not None}
        self.begin(live_run, {method: job}, OFFLINE_TEXT if is_offline else "")

    def check_not_asked(self, saved: SavedRun, method: str) -> None:
        """Raise `Refusal` (409) if a method of a run is being asked now."""
        live_run = self.live_runs.get(saved.id)
        if live_run is not None and method in live_run.tasks:
            raise Refusal(409, f"The method {method} is being asked; stop the run first, or wait.", "conflict")
        if live_run is None:
            self.check_room()

    async def delete(self, saved: SavedRun) -> None:
        """Stop a run and remove it."""
        await self.stop(saved)
        await asyncio.to_thread(self.folder.delete, saved.id)

    async def follow(self, saved: SavedRun, after: int) -> AsyncIterator[bytes | None]:
        """The lines of the events with higher numbers than `after`, also those to come, until the run has ended. None
        after KEEPALIVE_SECONDS without an event.
        """

        def find_change() -> asyncio.Event | None:
            live_run = self.live_runs.get(saved.id)
            return None if live_run is None else live_run.changed

        async for line in follow_file(saved.file, after, find_change):
            yield line


def describe_reading(client: Client, jobs: Mapping[str, Job], earlier: Sequence[SavedRun]) -> dict[str, Any] | None:
    """What a run of a named client may read: collections, and the filter of the client's token. The run also holds what
    the earlier runs, which it follows, have read.
    """
    if client.token is None:
        return None
    collections = {job.served_model.collection for job in jobs.values()}
    for saved in earlier:
        collections.update((saved.head.get("reading") or {}).get("collections", ()))
    return {"collections": sorted(collections), "where": format_where(client.token.where)}


def list_answer_turns(answers: Mapping[str, MethodAnswer], method: str) -> list[dict[str, str]]:
    """A list of one turn: the answer of the method, or else of another one; empty if none has answered."""
    results = [answer.result for name, answer in sorted(answers.items(), key=lambda item: item[0] != method)]
    texts = [str(result["answer"]) for result in results if result is not None and "answer" in result]
    return [{"role": "assistant", "content": text} for text in texts[:1]]


def make_offline_context(job: Job) -> Context:
    """The context in which the embedded model answers, and no model elsewhere is asked. Raises `Refusal` (409) for a
    cascade whose steps name models of their own, and where a calibration speaks of another model's answers.
    """
    cascade = getattr(job.served_model, "method", "")
    if is_written_cascade(cascade) and any(MODEL_NAMES & step.settings.keys() for step in split_steps(cascade)):
        raise Refusal(409, f"The steps of {cascade} name models of their own; ask without them.", "conflict")
    if job.context.calibration is not None:
        raise Refusal(409, "The server's calibration speaks of another model's answers.", "conflict")
    return replace(job.context, model="embedded", verifier=None, context_filter=None, reranker=None)
