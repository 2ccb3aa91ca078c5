"""Watches one answer through LangChain callbacks: the nodes of its graph, the model's replies, and the time that the
method would take alone.
"""

import time
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from typing_extensions import TypedDict

from quorum.evaluation.run.callbacks import get_node_name, is_reused, read_message, read_reply_text, read_usage

SECONDS_DECIMALS = 4
SEARCH_SECONDS: ContextVar[dict[str, float] | None] = ContextVar("SEARCH_SECONDS", default=None)
"""The `search_seconds` of the `AnswerWatcher` that watches the current answer: a dictionary from each query to the
seconds of its search. A search counts even if another method's answer started it. None: the answer is not watched.
`Questioner` sets this variable; `CachingRetriever` adds to the dictionary."""


class Step(TypedDict):
    """A node that ran. The number of a step is its index in `AnswerWatcher.steps`.

    enclosing_step: the number of the step whose subgraph contains this node, None for a node of the method's own graph;
    round: the number of LangGraph's superstep.
    """

    node: str
    enclosing_step: int | None
    round: int
    seconds: float


class Call(TypedDict):
    """A model call and its reply. step: the number of the step that made it; name: the prompt, and which of several
    calls with this prompt ("answer: passage 2").

    seconds: how long the model took. For a reused reply (`reused`: from the journal or an identical call), how long it
    took originally.
    """

    step: int | None
    name: str
    reply: str
    input_tokens: int
    output_tokens: int
    seconds: float
    reused: bool


class AnswerWatcher(AsyncCallbackHandler):
    """Records one run of one graph: its steps, calls and searches, for the line of the answer in
    details.jsonl and for its `seconds` in results.jsonl.
    """

    run_inline = True  # LangChain calls us in the run's own task, which is faster

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.calls: list[Call] = []
        self.step_of_run: dict[UUID, int | None] = {}  # LangChain's run -> the number of the step that it belongs to
        self.start_times: dict[UUID, float] = {}
        self.open_calls: dict[UUID, Call] = {}
        # (step, start, end, seconds) of each call and search; seconds of a reused reply or search: its original time
        self.spans: list[tuple[int | None, float, float, float]] = []
        self.open_searches: dict[UUID, tuple[int | None, str, float]] = {}  # run -> step, query, start
        self.search_seconds: dict[str, float] = {}
        self.started_at = time.perf_counter()

    async def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        enclosing_step = self.step_of_run.get(parent_run_id) if parent_run_id else None
        name = get_node_name(kwargs.get("name"), parent_run_id, metadata)
        if name is None:
            self.step_of_run[run_id] = enclosing_step
            return
        self.step_of_run[run_id] = len(self.steps)
        self.start_times[run_id] = time.perf_counter()
        self.steps.append(
            Step(
                node=name,
                enclosing_step=enclosing_step,
                round=int((metadata or {}).get("langgraph_step", 0)),
                seconds=0.0,
            )
        )

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        number = self.step_of_run.get(run_id)
        if number is not None and run_id in self.start_times:
            self.steps[number]["seconds"] = round(time.perf_counter() - self.start_times.pop(run_id), SECONDS_DECIMALS)

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        step = self.step_of_run.get(parent_run_id) if parent_run_id else None
        self.start_times[run_id] = time.perf_counter()
        name = str(kwargs.get("name") or "call")
        self.open_calls[run_id] = Call(
            step=step, name=name, reply="", input_tokens=0, output_tokens=0, seconds=0.0, reused=False
        )
        self.calls.append(self.open_calls[run_id])

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        if run_id not in self.open_calls:
            return
        call, started_at, now = self.open_calls.pop(run_id), self.start_times.pop(run_id), time.perf_counter()
        usage = read_usage(response)
        seconds = float(getattr(read_message(response), "response_metadata", {}).get("seconds", now - started_at))
        call["reply"], call["reused"] = read_reply_text(response), is_reused(response)
        call["seconds"] = round(seconds, SECONDS_DECIMALS)
        call["input_tokens"], call["output_tokens"] = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
        self.spans.append((call["step"], started_at, now, seconds))

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        failed_call = self.open_calls.pop(run_id, None)
        # The call is repeated, which makes a new entry, or the answer fails.
        self.calls = [call for call in self.calls if call is not failed_call]

    async def on_retriever_start(
        self, serialized: dict[str, Any], query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        step = self.step_of_run.get(parent_run_id) if parent_run_id else None
        self.open_searches[run_id] = (step, query, time.perf_counter())

    async def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any) -> None:
        step, query, started_at = self.open_searches.pop(run_id, (None, "", 0.0))
        if step is not None and query in self.search_seconds:
            self.spans.append((step, started_at, time.perf_counter(), self.search_seconds[query]))

    def compute_seconds_alone(self) -> float:
        """Seconds from the question to the answer, as if no other method ran: a stored reply and a cached search count
        with their original time.
        """
        return max(time.perf_counter() - self.started_at, compute_graph_seconds(self.steps, self.spans, None))


def compute_graph_seconds(
    steps: Sequence[Step], spans: Sequence[tuple[int | None, float, float, float]], enclosing_step: int | None
) -> float:
    """Seconds of the subgraph inside the step with the number `enclosing_step` (None: of the whole graph).

    The supersteps of a graph take place one after the other, and each takes as long as its slowest node.
    """
    seconds_of_superstep: dict[int, float] = {}
    for number, step in enumerate(steps):
        if step["enclosing_step"] == enclosing_step and number != enclosing_step:
            inner_seconds = compute_graph_seconds(steps, spans, number) + compute_node_seconds(
                [span for span in spans if span[0] == number]
            )
            superstep = step["round"]
            seconds_of_superstep[superstep] = max(
                seconds_of_superstep.get(superstep, 0.0), step["seconds"], inner_seconds
            )
    return sum(seconds_of_superstep.values())


def compute_node_seconds(spans: Sequence[tuple[int | None, float, float, float]]) -> float:
    """Seconds of the calls and searches of one node; of those that overlap, only the longest counts."""
    total, longest, latest_end = 0.0, 0.0, float("-inf")
    for _, start, end, seconds in sorted(spans, key=lambda span: span[1]):
        if start >= latest_end:
            total, longest = total + longest, 0.0
        longest, latest_end = max(longest, seconds), max(latest_end, end)
    return total + longest
