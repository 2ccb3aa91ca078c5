"""LangGraph's StateGraph for asynchronous nodes; compiled, it serves synchronous code as well."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from copy import copy
from dataclasses import replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config as surrounding_config
from langchain_core.runnables.graph import Graph
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.typing import ContextT, InputT, OutputT, StateT

from quorum.core.cancellation import iterate_apart, run_apart
from quorum.core.context import Context, read_environment
from quorum.core.errors import SetupError
from quorum.core.sync import iterate_sync, run_sync
from quorum.graphs.drawing import close_repeated_subgraphs
from quorum.graphs.visible_messages import VisibleMessages
from quorum.nodes.abstain import check_calibration, read_calibration, suppress_unsure_answer
from quorum.nodes.begin import clean_trace

RUNTIME_KEY = "__pregel_runtime"  # LangGraph puts this key into the config of a graph that runs inside another graph


class MethodGraph(StateGraph[StateT, ContextT, InputT, OutputT]):
    """A StateGraph of asynchronous nodes. Its compiled graph also has working synchronous methods (`invoke`, `stream`,
    `batch`). With LangGraph's own StateGraph, these methods raise an error if the nodes are asynchronous.

    Use it for a graph of your own as you would use StateGraph:

        MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context).add_node(begin)...
    """

    def compile(self, *args: Any, **settings: Any) -> "CompiledMethodGraph[StateT, ContextT, InputT, OutputT]":
        """Compile the graph. The parameters are those of `StateGraph.compile`."""
        compiled_graph: Any = super().compile(*args, **settings)
        compiled_graph.__class__ = CompiledMethodGraph  # `StateGraph.compile` always makes a CompiledStateGraph
        return cast("CompiledMethodGraph[StateT, ContextT, InputT, OutputT]", compiled_graph)


class CompiledMethodGraph(CompiledStateGraph[StateT, ContextT, InputT, OutputT]):
    """A compiled graph whose synchronous methods run the asynchronous ones, on one event loop for the whole process.

    The synchronous methods work in a script, a thread, a notebook and a server's handler, and block their caller.
    Ctrl-C cancels the run, and so does closing a stream before its end. The parameters are those of the asynchronous
    methods.
    """

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, *, context: Any = None, **settings: Any
    ) -> Any:
        """Run the graph. With `Context.calibration`, an answer whose confidence is too low becomes unknown."""
        config = clean_trace(config)
        calibration_file, context = take_calibration(context, config)
        if calibration_file is None:
            return await run_apart(super().ainvoke(input, config, context=context, **settings))
        calibration = await asyncio.to_thread(read_calibration, calibration_file)
        await asyncio.to_thread(check_calibration, calibration, self.get_name(), make_context(context))
        state = await run_apart(super().ainvoke(input, config, context=context, **settings))
        return suppress_unsure_answer(state, calibration)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, *, context: Any = None, **settings: Any
    ) -> AsyncIterator[Any]:
        """Stream as LangGraph does, but leave the thoughts of models out of the messages.

        Raises `SetupError` if a calibration is set, because a stream shows an answer before its confidence is known.
        """
        calibration_file, context = take_calibration(context, config)
        if calibration_file is not None:
            raise SetupError(
                f"The calibration {calibration_file} cannot be applied to a stream, which shows an answer before its "
                "confidence is known. LangGraph Studio streams: leave the calibration empty there, or use invoke or "
                "ainvoke."
            )
        stream: Any = super().astream(input, clean_trace(config), context=context, **settings)
        messages = VisibleMessages()
        async with aclosing(iterate_apart(stream)) as items:
            async for item in items:
                yield messages.clean(item)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **settings: Any) -> Any:
        """Run the graph as `ainvoke` does, and wait for the result."""
        with wrap_surrounding_saver():
            return run_sync(self.with_saver_in_threads().ainvoke(input, wrap_config_saver(config), **settings))

    def stream(self, input: Any, config: RunnableConfig | None = None, **settings: Any) -> Iterator[Any]:
        """Stream as `astream` does. Each item is computed when the caller asks for it."""
        with wrap_surrounding_saver():
            return iterate_sync(self.with_saver_in_threads().astream(input, wrap_config_saver(config), **settings))

    def batch(
        self, inputs: list[Any], config: RunnableConfig | list[RunnableConfig] | None = None, **settings: Any
    ) -> list[Any]:
        """Run the graph on each input, as `abatch` does: on all at once, or on as many as `max_concurrency` of the
        config allows. Returns the results in the order of the inputs.
        """
        with wrap_surrounding_saver():
            return run_sync(self.with_saver_in_threads().abatch(inputs, wrap_config_saver(config), **settings))

    def batch_as_completed(
        self, inputs: Sequence[Any], config: RunnableConfig | Sequence[RunnableConfig] | None = None, **settings: Any
    ) -> Iterator[tuple[int, Any]]:
        """For each input (its index, its result), in the order in which the runs end, as `abatch_as_completed` does."""
        with wrap_surrounding_saver():
            graph = self.with_saver_in_threads()
            return iterate_sync(graph.abatch_as_completed(inputs, wrap_config_saver(config), **settings))

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
        graph = copy(self)
        graph.checkpointer = wrap_saver(self.checkpointer)
        return graph


class SaverInThreads(BaseCheckpointSaver[Any]):
    """Gives the asynchronous methods to a checkpointer that has only the synchronous ones, and runs these in threads.

    `invoke`, `stream` and `batch` need it, because they run the graph asynchronously, and some checkpointers
    (SqliteSaver) have only synchronous methods.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver

    @property
    def config_specs(self) -> list[Any]:
        return self.saver.config_specs

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Any) -> "SaverInThreads":
        return SaverInThreads(self.saver.with_allowlist(extra_allowlist))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await asyncio.to_thread(self.saver.get_tuple, config)

    async def aget_delta_channel_history(self, **arguments: Any) -> Mapping[str, Any]:
        return await asyncio.to_thread(self.saver.get_delta_channel_history, **arguments)

    async def alist(self, config: RunnableConfig | None, **arguments: Any) -> AsyncIterator[CheckpointTuple]:
        for checkpoint in await asyncio.to_thread(lambda: list(self.saver.list(config, **arguments))):
            yield checkpoint

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        return await asyncio.to_thread(self.saver.put, config, checkpoint, metadata, versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await asyncio.to_thread(self.saver.put_writes, config, writes, task_id, task_path)


def wrap_config_saver(config: Any) -> Any:
    """The config, or the list of configs. If a config holds the checkpointer of a surrounding run, this checkpointer is
    wrapped in `SaverInThreads`.
    """
    if isinstance(config, Sequence):
        return [wrap_config_saver(part) for part in config]
    configurable = (config or {}).get("configurable") or {}
    if not any(isinstance(value, BaseCheckpointSaver) for value in configurable.values()):
        return config
    return config | {"configurable": {name: wrap_saver(value) for name, value in configurable.items()}}


def wrap_saver(value: Any) -> Any:
    """A checkpointer wrapped in `SaverInThreads`. Anything else is unchanged, and so is a `SaverInThreads`."""
    is_unwrapped_saver = isinstance(value, BaseCheckpointSaver) and not isinstance(value, SaverInThreads)
    return SaverInThreads(value) if is_unwrapped_saver else value


@contextmanager
def wrap_surrounding_saver() -> Iterator[None]:
    """Wrap the checkpointer of a surrounding run. LangChain keeps the config of that run in a context variable."""
    token = surrounding_config.set(wrap_config_saver(surrounding_config.get()))
    try:
        yield
    finally:
        surrounding_config.reset(token)


def take_calibration(context: Any, config: RunnableConfig | None) -> tuple[str | None, Any]:
    """(the calibration file that the context or else the environment names, the context without it). The file is None
    if neither names one, or if the context's calibration is None or "".

    A graph that runs inside another graph, and gets no context of its own, ignores the environment's calibration, so
    it withholds no answer.
    """
    if context is None:
        is_nested = RUNTIME_KEY in ((config or {}).get("configurable") or {})
        calibration_file = None if is_nested else read_environment("calibration", None)
        return (calibration_file, Context(calibration=None)) if calibration_file else (None, None)
    if isinstance(context, Mapping):
        if "calibration" in context:
            return context["calibration"] or None, {**context, "calibration": None}
        calibration_file = read_environment("calibration", None)
        return calibration_file, {**context, "calibration": None} if calibration_file else context
    calibration_file = getattr(context, "calibration", None) or None
    return calibration_file, replace(context, calibration=None) if calibration_file else context


def make_context(context: Any) -> Context:
    """The context as a `Context`. LangGraph's callers may also give a mapping of its fields."""
    return Context(**context) if isinstance(context, Mapping) else cast(Context, context)
