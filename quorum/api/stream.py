"""A run as it happens: one event for each node that has finished, and at last the result."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from quorum.graphs import DEFAULT, method_of

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from quorum.core.context import Context
    from quorum.core.state import Passage, Question, Result
    from quorum.graphs import Graph


@dataclass(frozen=True)
class Event:
    """Something that happened in a run. Pass over the kinds of events that you do not know: there may be more."""


@dataclass(frozen=True)
class NodeFinished(Event):
    """A node has finished.

    node: its name, as the method's diagram has it. update: what it changed in the state. inside: the nodes whose graphs
    it is part of, from the outermost; empty for a node of the method itself.
    """

    node: str
    update: Mapping[str, Any]
    inside: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFinished(Event):
    """The run is over, and this is its result: the last event."""

    result: "Result"


async def stream(
    question: str,
    method: "str | Graph" = DEFAULT,
    context: "Context | None" = None,
    *,
    given: "Sequence[Passage] | None" = None,
    gold_answers: Sequence[str] | None = None,
    history: Sequence[Mapping[str, str]] = (),
    config: "RunnableConfig | None" = None,
) -> AsyncIterator[Event]:
    """Answer one question as `answer` does, and yield what happens while it happens.

    The parameters are those of `answer`. Yields a `NodeFinished` for every node, in the order in which they finish (a
    node that is asked for each passage comes once for each), and last a `RunFinished`, whose `result` is what `answer`
    returns. Leaving the loop early cancels the run; close the iterator (`contextlib.aclosing`) to wait for that.

    Raises SetupError for a mistake in input or configuration, CallError when a model call failed after its retries.

    >>> import asyncio, quorum
    >>> async def main():
    ...     async for event in quorum.stream("Who wrote the Zen of Python?", "post_fusion", quorum.Context(k=2)):
    ...         if isinstance(event, quorum.NodeFinished):
    ...             print(event.node)
    ...         elif isinstance(event, quorum.RunFinished):
    ...             print(event.result["answer"])
    >>> asyncio.run(main())
    begin
    retrieve
    passage_answer
    passage_answer
    vote
    Tim Peters
    """
    from quorum.core.context import Context

    state: Question = {
        "question": question,
        "given": None if given is None else list(given),
        "gold_answers": None if gold_answers is None else list(gold_answers),
    }
    graph: Any = method_of(method).graph if isinstance(method, str) else method
    asked: Any = state
    if history:
        from quorum.graphs.conversation import continue_conversation

        graph, asked = continue_conversation(graph, state, history)
    last: dict[str, Any] = {}
    run = graph.astream(asked, config, context=context or Context(), stream_mode=["updates", "values"], subgraphs=True)
    parts: AsyncIterator[Any] = run
    async for space, mode, part in parts:
        if mode == "values":
            last = last if space else part
            continue
        for node, update in part.items():
            if not node.startswith("__"):  # of LangGraph's own, such as an interrupt
                yield NodeFinished(node, update or {}, tuple(name.partition(":")[0] for name in space))
    yield RunFinished(cast("Result", {name: last[name] for name in list_result_names(graph) if name in last}))


def list_result_names(graph: "Graph") -> Sequence[str]:
    """The names of the state fields that a graph returns; `answer` leaves the messages of a conversation out, too."""
    names = graph.output_channels
    return [names] if isinstance(names, str) else [name for name in names if name != "messages"]
