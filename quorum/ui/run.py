"""Asks several methods one question at the same time. The result is plain data, which `cards` draws."""

import asyncio
import re
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_hex
from typing import Any, Literal
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler

from quorum.api.stream import AnswerText, Event, answer_and_report
from quorum.core.errors import QuorumError
from quorum.evaluation.run.columns import Column
from quorum.evaluation.shown.support import ShownResult, add_supporting_statement_and_language_note
from quorum.evaluation.shown.trace import Step, Tracer
from quorum.models.tracing import copy_without_secrets
from quorum.ui.query import AskRequest

QUOTED_PATH = r"(?<=['\"])(?:~|[A-Za-z]:)?[/\\][^'\"]+(?=['\"])"  # may hold spaces
PATH = re.compile(rf"{QUOTED_PATH}|(?<![\w.:/\\])(?:~|[A-Za-z]:)?[/\\][\w.@%+~-]+(?:[/\\][\w.@%+~-]*)*")
TURN_NODES = ("begin_turn", "end_turn")  # nodes of a conversation, which only read and write messages
Phase = Literal["running", "done", "failed", "stopped"]
ReadHistory = Callable[[str], Awaitable[list[dict[str, str]]]]
MakeSpending = Callable[[], AsyncCallbackHandler]


@dataclass
class Answer:
    """The answer of one method to the question, also while the method still works on it.

    name: the method with its settings, such as sure[k=3]; method: the method's name alone; result: None until the
    method is done; error: one sentence that says why the method failed; seconds: the total time; partial_answer: the
    answer as far as it is written; root: a step that holds all steps so far, also those of a failed or running node;
    version: a number that grows with every change.
    """

    name: str
    method: str
    phase: Phase = "running"
    result: ShownResult | None = None
    error: str | None = None
    seconds: float | None = None
    partial_answer: str = ""
    root: Step = field(default_factory=lambda: Step("run", "run"))
    version: int = 0

    def mark_changed(self) -> None:
        self.version += 1


@dataclass
class Run:
    """One question to several methods, in progress or ended.

    asked_at: seconds since 1970; answers: one for each method; save_error: why the ended run could not be saved; task:
    the asyncio task that asks the methods; viewer_count: how many open pages show the run.
    """

    id: str
    query: AskRequest
    asked_at: float
    answers: list[Answer]
    save_error: str | None = None
    task: "asyncio.Task[None] | None" = None
    viewer_count: int = 0

    @property
    def is_running(self) -> bool:
        return any(answer.phase == "running" for answer in self.answers)

    def stop(self) -> None:
        """Cancel the methods that still run; finished answers stay."""
        if self.task is not None:
            self.task.cancel()

    def leave(self) -> None:
        """Count that a page that showed the run is gone. When the last one is gone, the run is stopped."""
        self.viewer_count -= 1
        if self.viewer_count == 0:
            self.stop()


@dataclass(frozen=True)
class NodeState:
    """The state of a graph's node: how often it has begun and ended, and its total seconds."""

    phase: Phase
    begin_count: int
    end_count: int
    seconds: float


class AnswerTracer(Tracer):
    """A tracer that adds its steps to an answer, and marks the answer as changed when a step begins or ends."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.root, self.answer = answer.root, answer

    def begin_step(self, step: Step | None, run_id: UUID, parent: UUID | None) -> None:
        super().begin_step(step, run_id, parent)
        self.answer.mark_changed()

    def end_step(self, run_id: UUID, **outputs: Any) -> None:
        super().end_step(run_id, **outputs)
        self.answer.mark_changed()


def make_id() -> str:
    """A new id; ids sort by time."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{token_hex(3)}"


def start_run(
    query: AskRequest,
    columns: list[Column],
    save: Callable[[Run], Awaitable[None]],
    read_history: ReadHistory | None = None,
    make_spending: MakeSpending | None = None,
) -> Run:
    """Start the methods and return the run, which collects their answers. `save` gets the ended run.

    columns: the methods with their settings. make_spending: returns a callback that charges the calls of a method; None
    if nothing is limited. read_history: takes the name of a method with its settings, and returns
    the turns before the question; None for a question without earlier turns.
    """
    run = Run(make_id(), query, time.time(), [Answer(column.name, column.method) for column in columns])
    run.task = asyncio.create_task(run_methods(run, columns, save, read_history, make_spending), name=f"run {run.id}")
    return run


async def run_methods(
    run: Run,
    columns: list[Column],
    save: Callable[[Run], Awaitable[None]],
    read_history: ReadHistory | None,
    make_spending: MakeSpending | None,
) -> None:
    """Ask all methods at the same time, and save the run when all have ended or the run was stopped."""
    columns_and_answers = zip(columns, run.answers, strict=True)
    try:
        await asyncio.gather(
            *(
                run_method(run.query.question, column, answer, read_history, make_spending)
                for column, answer in columns_and_answers
            )
        )
    except asyncio.CancelledError:
        for answer in run.answers:  # a task cancelled before its start does not run its own clean-up
            if answer.phase == "running":
                end_answer(answer, "stopped")
    try:
        await save(run)
    except QuorumError as error:
        run.save_error = describe_error(error)


async def run_method(
    question: str,
    column: Column,
    answer: Answer,
    read_history: ReadHistory | None,
    make_spending: MakeSpending | None = None,
) -> None:
    """Ask one method. Its errors go into its answer and never affect another method."""
    started_at = time.perf_counter()
    phase: Phase = "failed"
    try:
        config: Any = {"callbacks": [AnswerTracer(answer), *([make_spending()] if make_spending else [])]}
        history = [] if read_history is None else await read_history(column.name)
        method_or_graph, context = column.method_or_graph, column.context

        def show_answer_text(event: Event) -> None:
            if isinstance(event, AnswerText):
                answer.partial_answer = event.text if event.replaces else answer.partial_answer + event.text
                answer.mark_changed()

        result = await answer_and_report(
            question, method_or_graph, context, show_answer_text, history=history, config=config
        )
        answer.result = await add_supporting_statement_and_language_note(question, result, context)
        phase = "done"
    except asyncio.CancelledError:
        phase = "stopped"
        raise
    except QuorumError as error:
        answer.error = describe_error(error)
    except Exception as error:  # noqa: BLE001  the card shows the bug; the terminal shows the traceback
        traceback.print_exc(file=sys.stderr)
        answer.error = describe_bug(error)
    finally:
        answer.seconds = time.perf_counter() - started_at
        end_answer(answer, phase)


def end_answer(answer: Answer, phase: Phase) -> None:
    answer.phase = phase
    answer.mark_changed()


def describe_bug(error: Exception) -> str:
    """The page's message for an unexpected error."""
    return f"Something in Quorum failed ({type(error).__name__}); the terminal of quorum serve says where."


def describe_error(error: BaseException) -> str:
    """An error on one line, without secrets and without absolute paths of the server.

    If a path was left out, the message with its paths is printed on the server's terminal.
    """
    whole_message = " ".join(str(copy_without_secrets(str(error), hide_passages=False)).split())
    shown_message = PATH.sub("[a path on the server]", whole_message)
    if shown_message != whole_message:
        print(f"quorum: {whole_message}", file=sys.stderr)
    return shown_message


def list_top_nodes(answer: Answer) -> Iterator[Step]:
    """The nodes of the method's own graph, in the order in which they were entered.

    For a follow-up question, the node `stand_alone` of the conversation's graph comes first. It rewrites the question
    so that it can be understood alone.
    """
    for graph in answer.root.steps:
        for step in graph.steps:
            # A conversation's graph has the method's name, and so has its node that runs the method's graph.
            if step.kind == "node" and step.name == graph.name:
                for inner_graph in step.steps:
                    yield from (node for node in inner_graph.steps if node.kind == "node")
            elif step.kind == "node" and step.name not in TURN_NODES:
                yield step


def list_node_states(answer: Answer) -> dict[str, NodeState]:
    """{name of a node: its state} for all nodes that were entered, in the order of their first entry."""
    steps_of_node: dict[str, list[Step]] = {}
    for step in list_top_nodes(answer):
        steps_of_node.setdefault(step.name, []).append(step)
    return {name: summarize_steps(steps, answer.phase) for name, steps in steps_of_node.items()}


def summarize_steps(steps: list[Step], answer_phase: Phase) -> NodeState:
    """The state of one node, from its steps and the phase of its method's answer.

    A step that has no end although its method no longer runs was stopped.
    """
    finished_steps = [step for step in steps if step.seconds is not None]
    node_phase: Phase = "done"
    if len(finished_steps) < len(steps):
        node_phase = "running" if answer_phase == "running" else "stopped"
    elif any(step.error for step in steps):
        node_phase = "stopped" if answer_phase == "stopped" else "failed"
    return NodeState(node_phase, len(steps), len(finished_steps), sum(step.seconds or 0.0 for step in finished_steps))


def list_visited_nodes(answer: Answer) -> list[tuple[str, int]]:
    """(name of a node, how often it ran in a row) in the order of the run.

    The node `begin`, which only resets the state, is left out. A node that ran again after another node is
    listed again.
    """
    visits: list[tuple[str, int]] = []
    for step in list_top_nodes(answer):
        if visits and visits[-1][0] == step.name:
            visits[-1] = (step.name, visits[-1][1] + 1)
        elif step.name != "begin":
            visits.append((step.name, 1))
    return visits


def count_calls_and_tokens(answer: Answer) -> tuple[int, int, int]:
    """(calls, input tokens, output tokens) of the result."""
    usage = ((answer.result or {}).get("usage") or {}).values()
    return (
        sum(counts["calls"] for counts in usage),
        sum(counts["input_tokens"] for counts in usage),
        sum(counts["output_tokens"] for counts in usage),
    )
