"""Answers the questions and side tasks of requests, and records their cost and time.

A side task asks for a chat's title, tags and the like (see `side_tasks.py`).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from quorum.api.stream import Event, MethodFinished, answer_and_report
from quorum.cascades.written_cascade import is_written_cascade
from quorum.core.context import Context
from quorum.core.state import Result, Usage
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.shown.support import (
    ShownResult,
    add_supporting_statement_and_language_note,
    make_window_note,
)
from quorum.graphs import answer
from quorum.models.call import call
from quorum.models.embedding_requests import pay_for_embeddings
from quorum.models.tracing import get_name
from quorum.serving.chat_request import ChatRequest
from quorum.serving.client import LOCAL, Client
from quorum.serving.conversation import read_question, read_turns
from quorum.serving.cost_bounds import bound_call, bound_request
from quorum.serving.errors import Refusal, find_refusal
from quorum.serving.label_sources import LabelSource
from quorum.serving.limits import Limits, Reservation
from quorum.serving.log.record import RequestRecord, get_record
from quorum.serving.log.request_log import RequestLog
from quorum.serving.metrics import Metrics
from quorum.serving.permissions import Permissions, ServedModel
from quorum.serving.replies import ServedAnswer, make_served_answer
from quorum.serving.side_tasks import find_last_user_message, find_task_kind, make_fallback_reply
from quorum.serving.spending import Spending
from quorum.serving.watched import Watches
from quorum.serving.withheld import make_withheld_result

MAX_RUNNING, MAX_WAITING = 32, 1000  # questions and side tasks of all clients together
LONGEST_MESSAGE = 60_000  # characters of a question or side task
SIDE_TASK = "side_task"
WRITTEN_CASCADE = "cascade"  # the metrics count all cascades that clients write under one name
OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class Job:
    """An accepted request.

    question: the question, or the text of a side task; client: the client whose usage the job is added to (see
    `Limits`); side_task_kind: None for a question; history: the turns before the question; callbacks: of LangChain,
    which hear of nodes and calls; record: what the request log will say.
    """

    chat: ChatRequest
    served_model: ServedModel
    context: Context
    question: str
    client: Client
    side_task_kind: str | None = None
    history: Sequence[Mapping[str, str]] = ()
    callbacks: Sequence[Any] = ()
    record: RequestRecord = field(default_factory=RequestRecord, compare=False)

    @property
    def conversation(self) -> str:
        """What all questions of a conversation have in common: the client, and its first question."""
        first = next((turn["content"] for turn in self.history if turn.get("role") == "user"), self.question)
        return f"{self.client}\n{first}"

    @property
    def label(self) -> str:
        """The name under which the metrics count the job."""
        if self.side_task_kind is not None:
            return SIDE_TASK
        return WRITTEN_CASCADE if is_written_cascade(self.served_model.method) else self.served_model.method


class Service:
    """Accepts and does the jobs of all requests, and holds what they share: limits, prices, metrics, slots."""

    def __init__(
        self,
        permissions: Permissions,
        limits: Limits | None = None,
        prices: Prices | None = None,
        watches: Watches | None = None,
        log: RequestLog | None = None,
    ) -> None:
        self.permissions, self.limits, self.prices = permissions, limits or Limits(), prices or Prices()
        self.watches, self.log = watches, log or RequestLog()
        self.label_sources: Mapping[str, LabelSource] = {}  # what the owner may label
        self.metrics = Metrics()  # of all clients
        self.metrics_of_client: dict[str, Metrics] = {}
        self.slots = asyncio.Semaphore(MAX_RUNNING)

    async def accept(self, chat: ChatRequest, client: Client) -> Job:
        """Check a request and return the job that it asks for. Raises `Refusal` if it is not allowed."""
        permissions = self.permissions.of(client)
        served_model = await asyncio.to_thread(permissions.find_model, chat.model)
        context = permissions.make_context(served_model, chat.settings)
        side_task_kind = find_task_kind(chat.messages)
        question = read_question(chat.messages) if side_task_kind is None else find_last_user_message(chat.messages)
        if len(question) > LONGEST_MESSAGE:
            raise Refusal(
                400, f"The message has more than {LONGEST_MESSAGE:,} characters; shorten it.", "string_above_max_length"
            )
        history = read_turns(chat.messages) if side_task_kind is None and chat.reads_history else ()
        return Job(chat, served_model, context, question, client, side_task_kind, history, record=get_record())

    def start(self, job: Job, on_event: OnEvent | None = None) -> "asyncio.Task[ServedAnswer]":
        """Begin a job. Raises `Refusal` if the client is over its limits.

        The cost is counted even if the job fails or is stopped. on_event: called with every event of the run: nodes
        that finish, pieces of the answer.
        """
        is_side_task = job.side_task_kind is not None
        method = SIDE_TASK if is_side_task else job.served_model.method
        job.record.begin_answer(method, job.served_model.collection, get_name(job.context.model), job.question)
        reservation = self.begin(job.client, is_side_task=is_side_task, bound=self.bound_cost(job))
        spending, started_at = Spending(reservation, self.prices), time.perf_counter()
        task = asyncio.create_task(self.run_job(job, spending, on_event))
        job.record.is_answering = True
        task.add_done_callback(lambda done: self.record_end(job, done, spending, time.perf_counter() - started_at))
        return task

    def begin(self, client: Client, *, is_side_task: bool = False, bound: float = 0.0) -> Reservation:
        """Count the start of a request of a client. Raises `Refusal` (429) beyond its limits."""
        own = None if client.token is None else client.token.limits
        return self.limits.begin(client.id, is_side_task=is_side_task, bound=bound, own=own)

    def bound_cost(self, job: Job) -> float:
        """The most dollars that a job may cost; 0 if dollars are not limited."""
        own = None if job.client.token is None else job.client.token.limits
        if self.limits.find_allowance(own).dollars_per_day is None:
            return 0.0
        if job.side_task_kind is not None:
            return bound_call(self.prices, str(job.context.model), job.question)
        cascade = self.permissions.find_cascade(job.served_model.method)
        if cascade is None:
            return bound_request(self.prices, job.served_model.method, job.context, job.question)
        return cascade.bound_cost(job.context, job.question, self.prices)

    async def run_job(self, job: Job, spending: Spending, on_event: OnEvent | None) -> ServedAnswer:
        """Wait for a free slot, then make the answer."""
        async with self.hold_slot(job.client):
            if job.side_task_kind is not None:
                return await self.answer_side_task(job, job.side_task_kind, spending)
            with pay_for_embeddings(spending):
                return await self.answer(job, spending, on_event)

    def record_end(
        self, job: Job, finished_task: "asyncio.Task[ServedAnswer]", spending: Spending, seconds: float
    ) -> None:
        """Record the end of a job.

        An answer is charged for all its calls, also for those whose replies came from the journal. A job that fails or
        is stopped is charged only for the calls that it really made.
        """
        usage: Mapping[str, Usage] = spending.usage
        answer_text = ""
        if finished_task.cancelled():
            outcome = "stopped"
        elif (error := finished_task.exception()) is not None:
            outcome, refusal = "failed", find_refusal(error, job.context, job.record.id)
            job.record.fail(refusal.status, refusal.code)
        else:
            usage, result = finished_task.result().usage, finished_task.result().result
            answer_text = finished_task.result().answer
            outcome = name_outcome(result)
        # A cascade computes its cost itself, because its stages may have models of their own.
        cascade = None if job.side_task_kind is not None else self.permissions.find_cascade(job.served_model.method)
        if cascade is None:
            dollars = self.prices.compute_cost(job.context, usage)
        else:
            dollars = cascade.compute_cost(job.context, usage, self.prices)
        dollars = spending.compute_dollars(dollars)
        if spending.reservation is not None:
            spending.reservation.close(dollars)
            dollars = None if dollars is None else max(dollars, spending.reservation.charged)
        for metrics in (self.metrics, self.find_metrics(job.client)):
            metrics.record(job.label, outcome, seconds, usage, dollars)
        job.record.end_answer(outcome, usage, dollars, answer_text)
        if self.watches is not None and outcome in ("answered", "unknown"):
            answered = finished_task.result().result
            if answered is not None:
                self.watches.observe(job.served_model.method, job.context, job.question, answered, job.conversation)

    def find_metrics(self, client: Client) -> Metrics:
        """The counters of one client."""
        return self.metrics_of_client.setdefault(client.id, Metrics())

    @asynccontextmanager
    async def hold_slot(self, client: Client = LOCAL) -> AsyncIterator[None]:
        """Wait for one of MAX_RUNNING slots and hold it. Raises `Refusal` (503) if too many jobs wait."""
        if self.metrics.questions_in_progress >= MAX_RUNNING + MAX_WAITING:
            message = "Too many questions are waiting; ask again in a moment."
            raise Refusal(503, message, "overloaded", "server_error", headers={"retry-after": "2"})
        counters = (self.metrics, self.find_metrics(client))
        for metrics in counters:
            metrics.questions_in_progress += 1
        try:
            async with self.slots:
                yield
        finally:
            for metrics in counters:
                metrics.questions_in_progress -= 1

    async def answer(self, job: Job, spending: Spending, on_event: OnEvent | None) -> ServedAnswer:
        """Answer the question with the method of the job, unless its promise is refuted and so its answers withheld."""
        if self.watches is not None and (
            refuted := await self.watches.find_refuted(job.served_model.method, job.context)
        ):
            return give_shown_result(job, make_withheld_result(refuted), on_event)
        config: Any = {"callbacks": [spending, *job.callbacks]}
        question, method = job.question, self.permissions.get_method_or_graph(job.served_model.method)
        if on_event is None:
            result = await answer(question, method, job.context, history=job.history, config=config)
        else:
            result = await answer_and_report(
                question, method, job.context, on_event, history=job.history, config=config
            )
        return await self.make_served_answer(job, result, on_event)

    async def make_served_answer(self, job: Job, result: Result, on_event: OnEvent | None) -> ServedAnswer:
        """Add the supporting sentence and a note to a result, and make what the client gets for it."""
        shown_result = await add_supporting_statement_and_language_note(job.question, result, job.context)
        shown_result["note"] = shown_result["note"] or await make_window_note(result, job.context)
        return give_shown_result(job, shown_result, on_event)

    async def answer_side_task(self, job: Job, kind: str, spending: Spending) -> ServedAnswer:
        """Let the chat model do a side task. The embedded model cannot do one: with it, return a fallback reply."""
        if job.context.model == "embedded":
            return ServedAnswer(make_fallback_reply(kind, job.question))
        [reply] = await call(SIDE_TASK, job.question, context=job.context, config={"callbacks": [spending]})
        return ServedAnswer(reply.text, usage={SIDE_TASK: reply.usage})


def give_shown_result(job: Job, shown_result: ShownResult, on_event: OnEvent | None) -> ServedAnswer:
    """What the client gets for a result; a listener hears of it first."""
    if on_event is not None:
        on_event(MethodFinished(shown_result))
    return make_served_answer(shown_result, wants_sources=job.chat.wants_sources)


def name_outcome(result: Mapping[str, Any] | None) -> str:
    """How the metrics count an answer."""
    if result is not None and "refuted_promise" in result:
        return "withheld"
    return "unknown" if result is not None and result.get("unknown") else "answered"
