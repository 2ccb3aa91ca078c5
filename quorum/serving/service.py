"""The work behind the requests: a question by a method, a client's side task, what it cost and how long it took."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from quorum.api.stream import NodeFinished, RunFinished, stream
from quorum.core.context import Context
from quorum.core.state import Usage
from quorum.evaluation.compare.prices import Prices
from quorum.graphs import answer
from quorum.models.call import call
from quorum.serving.access import Access, Offer
from quorum.serving.chat_request import ChatRequest
from quorum.serving.conversation import question_of
from quorum.serving.errors import Refusal
from quorum.serving.limits import Limits
from quorum.serving.metrics import Metrics
from quorum.serving.replies import Reply, reply_of
from quorum.serving.side_tasks import kind_of, last_user, write_fallback
from quorum.serving.spending import Spending

MOST_AT_ONCE, MOST_WAITING = 32, 1000  # questions of all clients
LONGEST_TASK = 60_000  # characters of a side task
SIDE_TASK = "side_task"
OnNode = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Job:
    """A request that is accepted: what to ask, with which settings, for whom. task: the kind of a side task."""

    chat: ChatRequest
    offer: Offer
    context: Context
    question: str
    key: str
    task: str | None = None

    @property
    def label(self) -> str:
        """The label under which the job is counted."""
        return self.offer.method if self.task is None else SIDE_TASK


class Service:
    """What all requests share."""

    def __init__(self, access: Access, limits: Limits | None = None, prices: Prices | None = None) -> None:
        self.access, self.limits, self.prices = access, limits or Limits(), prices or Prices()
        self.metrics = Metrics()
        self.slots = asyncio.Semaphore(MOST_AT_ONCE)

    async def accept(self, chat: ChatRequest, key: str) -> Job:
        """Check a request. Raises `Refusal` if it is not allowed."""
        offer = await asyncio.to_thread(self.access.find_offer, chat.model)
        context = self.access.make_context(offer, chat.settings)
        task = kind_of(chat.messages)
        question = question_of(chat.messages) if task is None else last_user(chat.messages)
        if len(question) > LONGEST_TASK:
            raise Refusal(400, f"The message has more than {LONGEST_TASK:,} characters.", "string_above_max_length")
        return Job(chat, offer, context, question, key, task)

    def start(self, job: Job, on_node: OnNode | None = None) -> "asyncio.Task[Reply]":
        """Begin the work. Raises `Refusal` beyond the limits. Its cost is counted however it ends.

        on_node: called with the name of every finished node of the method.
        """
        self.limits.begin(job.key, is_question=job.task is None)
        spending, begun = Spending(), time.perf_counter()
        task = asyncio.create_task(self.work(job, spending, on_node))
        task.add_done_callback(lambda done: self.count(job, done, spending, time.perf_counter() - begun))
        return task

    async def work(self, job: Job, spending: Spending, on_node: OnNode | None) -> Reply:
        """Wait for a free place, then make the reply."""
        async with self.place():
            if job.task is not None:
                return await self.do_task(job, job.task, spending)
            return await self.answer(job, spending, on_node)

    def count(self, job: Job, done: "asyncio.Task[Reply]", spending: Spending, seconds: float) -> None:
        """Record the end of a job. An answer counts what its method costs alone; a failure counts its actual calls."""
        usage: Mapping[str, Usage] = spending.usage
        if done.cancelled():
            outcome = "stopped"
        elif done.exception() is not None:
            outcome = "failed"
        else:
            usage, result = done.result().usage, done.result().result
            outcome = "unknown" if result is not None and result.get("unknown") else "answered"
        dollars = self.prices.cost(job.context, usage)
        self.limits.end(job.key, dollars)
        self.metrics.record(job.label, outcome, seconds, usage, dollars)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place among the concurrent questions. Raises `Refusal` (503) if too many wait."""
        if self.metrics.under_way >= MOST_AT_ONCE + MOST_WAITING:
            said = "Too many questions are waiting; ask again in a moment."
            raise Refusal(503, said, "overloaded", "server_error", headers={"retry-after": "2"})
        self.metrics.under_way += 1
        try:
            async with self.slots:
                yield
        finally:
            self.metrics.under_way -= 1

    async def answer(self, job: Job, spending: Spending, on_node: OnNode | None) -> Reply:
        """A question's answer by the method."""
        config: Any = {"callbacks": [spending]}
        if on_node is None:
            result = await answer(job.question, job.offer.method, job.context, config=config)
            return reply_of(result, has_sources=job.chat.has_sources)
        found: Any = stream(job.question, job.offer.method, job.context, config=config)
        async with aclosing(found) as events:
            async for event in events:
                if isinstance(event, NodeFinished) and not event.inside:
                    await on_node(event.node)
                elif isinstance(event, RunFinished):
                    result = event.result
        return reply_of(result, has_sources=job.chat.has_sources)

    async def do_task(self, job: Job, kind: str, spending: Spending) -> Reply:
        """Answer a side task by the chat model; by a fallback if it is the embedded one, which only reads passages."""
        if job.context.model == "embedded":
            return Reply(write_fallback(kind, job.question))
        [said] = await call(SIDE_TASK, job.question, context=job.context, config={"callbacks": [spending]})
        return Reply(said.text, usage={SIDE_TASK: said.usage})


async def end_task(task: "asyncio.Task[Any]") -> None:
    """Cancel a task that is still running, and wait for it."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
