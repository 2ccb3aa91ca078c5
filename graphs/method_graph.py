"""LangGraph's StateGraph for asynchronous nodes; compiled, it serves synchronous code as well.

LangGraph's own synchronous side was tried, with nodes that have two sides. It asks about each passage in a thread, and
neither Ctrl-C nor closing a stream ends the calls of these threads: both wait for the last reply. So `invoke`, `stream`
and `batch` run the asynchronous side, on an event loop of Quorum's own. Only public names of LangGraph are used.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import wraps
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.runtime import get_runtime
from langgraph.typing import ContextT, InputT, OutputT, StateT

from quorum.core.cancellation import iterate_apart, run_apart
from quorum.core.context import Context, adopt_context
from quorum.core.errors import SetupError
from quorum.core.sync import iterate_sync, run_sync
from quorum.graphs.drawing import close_repeated_subgraphs
from quorum.graphs.savers import wrap_saver, wrap_savers
from quorum.graphs.visible_messages import VisibleMessages
from quorum.nodes import routes
from quorum.nodes.abstain import abstain, check_calibration, read_calibration
from quorum.nodes.begin import trace_run
from quorum.nodes.find_evidence import find_evidence
from quorum.nodes.shorten import shorten


class MethodGraph(StateGraph[StateT, ContextT, InputT, OutputT]):
    """A StateGraph of asynchronous nodes. Its compiled graph also has working synchronous methods (`invoke`, `stream`,
    `batch`). With LangGraph's own StateGraph, these methods raise an error if the nodes are asynchronous.

    Use it for a graph of your own as you would use StateGraph:

        MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context).add_node(begin)...
    """

    def add_conditional_edges(self, source: str, path: Any, path_map: Any = None) -> Self:
        """Add edges as StateGraph does, but call Quorum's own routers on the event loop.

        They only read the state. LangGraph calls a plain function in a thread, which costs more than such a router;
        this stays so for a function of your own, which may wait for something.
        """
        is_own_router = getattr(path, "__module__", None) == routes.__name__
        super().add_conditional_edges(source, make_asynchronous(path) if is_own_router else path, path_map)
        return self

    def shorten_after(self, *nodes: str, then: str = "find_evidence", name: str = "shorten") -> Self:
        """Add the node `shorten`, which asks the model for the short answer when these nodes got only a wordy one.

        then: the node after these and after `shorten`. name: that of the node, where a graph has two.
        """
        graph: Any = self  # the type checker knows no node for a state that may be of any type
        graph.add_node(name, shorten).add_edge(name, then)
        for node in nodes:
            graph.add_conditional_edges(node, routes.shorten_if_wordy, {"wordy": name, "not wordy": then})
        return self

    def end_with_evidence(self) -> Self:
        """Add the last two nodes of a method: `find_evidence` and, for a calibration, `abstain`."""
        graph: Any = self
        graph.add_node(find_evidence).add_node(abstain).add_edge("abstain", "__end__").add_conditional_edges(
            "find_evidence", routes.abstain_if_calibrated, {"calibration set": "abstain", "no calibration": "__end__"}
        )
        return self

    def compile(self, *args: Any, **settings: Any) -> "CompiledMethodGraph[StateT, ContextT, InputT, OutputT]":
        """Compile the graph. The parameters are those of `StateGraph.compile`."""
        # A graph's attributes are the parameters of its class, which LangGraph's own `copy` relies on, too.
        return CompiledMethodGraph(**vars(super().compile(*args, **settings)))


class CompiledMethodGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled graph whose synchronous methods run the asynchronous ones, on one event loop for the whole process.

    The synchronous methods work in a script, a thread, a notebook and a server's handler, and block their caller.
    Ctrl-C cancels the run, and so does closing a stream before its end. The parameters are those of the asynchronous
    methods. A synchronous method raises `SetupError` for a checkpointer of an event loop that it would block.
    """

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, *, context: Any = None, **settings: Any
    ) -> Any:
        """Run the graph."""
        return await run_apart(super().ainvoke(input, trace_run(config), context=context, **settings))

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, *, context: Any = None, **settings: Any
    ) -> AsyncIterator[Any]:
        """Stream as LangGraph does, but leave the thoughts of models out of the messages.

        Raises `SetupError` for a calibration (`Context.calibration`) that was not made for this graph.
        """
        await self.check_calibration(context)
        stream: Any = super().astream(input, trace_run(config), context=context, **settings)
        messages = VisibleMessages()
        async with aclosing(iterate_apart(stream)) as items:
            async for item in items:
                yield messages.clean(item)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **settings: Any) -> Any:
        """Run the graph as `ainvoke` does, and wait for the result."""
        return run_sync(self.with_saver_in_threads().ainvoke(input, wrap_savers(config), **settings))

    def stream(self, input: Any, config: RunnableConfig | None = None, **settings: Any) -> Iterator[Any]:
        """Stream as `astream` does. Each item is computed when the caller asks for it."""
        return iterate_sync(self.with_saver_in_threads().astream(input, wrap_savers(config), **settings))

    def batch(
        self, inputs: list[Any], config: RunnableConfig | list[RunnableConfig] | None = None, **settings: Any
    ) -> list[Any]:
        """Run the graph on each input, as `abatch` does: on all at once, or on as many as `max_concurrency` of the
        config allows. Returns the results in the order of the inputs.
        """
        return run_sync(self.with_saver_in_threads().abatch(inputs, wrap_savers(config), **settings))

    def batch_as_completed(
        self, inputs: Sequence[Any], config: RunnableConfig | Sequence[RunnableConfig] | None = None, **settings: Any
    ) -> Iterator[tuple[int, Any]]:
        """For each input (its index, its result), in the order in which the runs end, as `abatch_as_completed` does."""
        graph = self.with_saver_in_threads()
        return iterate_sync(graph.abatch_as_completed(inputs, wrap_savers(config), **settings))

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The drawing of the graph, as LangGraph makes it. xray: whether subgraphs are open, or how many levels of
        them. A subgraph that comes twice is open in one place only, so that Mermaid can draw every graph.
        """
        return close_repeated_subgraphs(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> Graph:
        """The same drawing as `get_graph`."""
        return close_repeated_subgraphs(await super().aget_graph(config, xray=xray))

    def with_saver_in_threads(self) -> "CompiledMethodGraph[StateT, ContextT, InputT, OutputT]":
        """This graph with its checkpointer, if it has one, wrapped in `SaverInThreads`."""
        if self.checkpointer is None:
            return self
        return self.copy({"checkpointer": wrap_saver(self.checkpointer)})

    async def check_calibration(self, context: Any) -> None:
        """Before the run, raise a `SetupError` for a calibration of another method or other settings, and for a method
        without the node `abstain`, which applies it. A graph without the node `begin` is no method and applies none.
        """
        if "begin" not in self.nodes:
            return
        run_context = find_context(context)
        file = run_context.calibration
        if not file:
            return
        if "abstain" not in self.nodes:
            raise SetupError(
                f"The graph {self.get_name()} cannot apply the calibration {file}, because it has no node abstain; add "
                "quorum.nodes.abstain.abstain as its last node, or leave the calibration empty."
            )
        calibration = await asyncio.to_thread(read_calibration, file)
        await asyncio.to_thread(check_calibration, calibration, self.get_name(), run_context)


def make_asynchronous(router: Callable[..., Any]) -> Callable[..., Any]:
    """The router as a coroutine function."""

    @wraps(router)
    async def route(*args: Any, **settings: Any) -> Any:
        return router(*args, **settings)

    return route


def find_context(context: Any) -> Context:
    """The settings with which a graph runs. context: that of the call; None: that of the graph around, if there is one,
    else the defaults.
    """
    if context is None:
        try:
            context = get_runtime().context
        except (RuntimeError, AttributeError):  # no graph runs around this one
            context = None
    return context if isinstance(context, Context) else adopt_context(context)
