"""Checkpointers of an event loop in synchronous code: they work if another thread runs the loop, else not."""

import asyncio
import threading
from typing import Any

import pytest
from answering_model import make_answering_model
from langgraph.checkpoint.memory import InMemorySaver
from method_fixtures import PASSAGES, QUESTION

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.graphs import METHODS

INPUT: Any = {"question": QUESTION, "given": PASSAGES}
THREAD: Any = {"configurable": {"thread_id": "1"}}


class LoopSaver(InMemorySaver):
    """A checkpointer of one event loop, like AsyncSqliteSaver: its synchronous methods wait for that loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.loop = loop

    def run_on_loop(self, work: Any) -> Any:
        async def run() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result()

    def get_tuple(self, config: Any) -> Any:
        return self.run_on_loop(lambda: super(LoopSaver, self).get_tuple(config))

    def put(self, *arguments: Any) -> Any:
        return self.run_on_loop(lambda: super(LoopSaver, self).put(*arguments))

    def put_writes(self, *arguments: Any) -> Any:
        return self.run_on_loop(lambda: super(LoopSaver, self).put_writes(*arguments))


def make_graph(loop: asyncio.AbstractEventLoop) -> Any:
    return METHODS["concat"].graph.builder.compile(checkpointer=LoopSaver(loop))


async def test_a_synchronous_call_that_would_block_the_checkpointers_loop_is_refused() -> None:
    graph, context = make_graph(asyncio.get_running_loop()), Context(model=make_answering_model())
    for call in (graph.invoke, lambda *a, **b: [*graph.stream(*a, **b)], lambda i, *a, **b: graph.batch([i], *a, **b)):
        with pytest.raises(SetupError, match="an event loop which this synchronous call would block"):
            call(INPUT, THREAD, context=context)


def test_a_checkpointer_whose_loop_has_ended_is_refused() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(SetupError, match="an event loop which does not run"):
        make_graph(loop).invoke(INPUT, THREAD, context=Context(model=make_answering_model()))


def test_a_checkpointer_whose_loop_runs_in_another_thread_works() -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        graph = make_graph(loop)
        assert graph.invoke(INPUT, THREAD, context=Context(model=make_answering_model()))["answer"] == "1931"
        assert graph.get_state(THREAD).values["answer"] == "1931"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
