"""A compiled graph gives synchronous code, wherever it runs, the same answers and steps as asynchronous code."""

import asyncio
import signal
import threading
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from answering_model import make_answering_model, script_answers
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Question, Result, State
from quorum.core.sync import run_sync
from quorum.graphs import METHODS
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.models import chat_model
from quorum.models.scripted import ScriptedModel
from quorum.nodes import routes
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin

QUESTION_STATE: Any = {"question": QUESTION, "given": PASSAGES}
THREAD_CONFIG: Any = {"configurable": {"thread_id": "1"}}


class SynchronousSaver(InMemorySaver):
    """A checkpointer without asynchronous methods, like SqliteSaver."""

    async def aget_tuple(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    aput = aput_writes = alist = aget_delta_channel_history = aget_tuple  # type: ignore[assignment]


def sort_steps(updates: list[Any]) -> list[Any]:
    """[the nodes' names in order, the updates sorted by their text], because parallel branches end in any order."""
    names = [next(iter(update)) for update in updates]
    return [names, sorted(map(repr, updates))]


@pytest.mark.parametrize("name", METHODS)
async def test_synchronous_and_asynchronous_runs_are_the_same(name: str) -> None:
    graph, context = METHODS[name].graph, Context(model=make_answering_model())
    result = await graph.ainvoke(QUESTION_STATE, context=context)
    assert result["usage"]
    assert graph.invoke(QUESTION_STATE, context=context) == result
    assert graph.batch([QUESTION_STATE, QUESTION_STATE], context=context) == [result, result]
    assert [*graph.batch_as_completed([QUESTION_STATE], context=context)] == [(0, result)]
    updates = [update async for update in graph.astream(QUESTION_STATE, context=context, stream_mode="updates")]
    assert sort_steps([*graph.stream(QUESTION_STATE, context=context, stream_mode="updates")]) == sort_steps(updates)


@pytest.mark.parametrize("name", METHODS)
def test_without_a_context_defaults_and_environment_apply(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_MODEL", "scripted")
    model = chat_model("scripted")
    assert isinstance(model, ScriptedModel)
    script_answers(model)
    assert METHODS[name].graph.invoke(QUESTION_STATE)["answer"] == "1931"


@pytest.mark.parametrize("mode", ["values", "updates", "messages", "custom", "tasks", "debug", ["updates", "values"]])
async def test_a_synchronous_stream_has_as_many_parts_as_an_asynchronous_one(mode: Any) -> None:
    graph, context = METHODS["concat_pf"].graph, Context(model=make_answering_model())
    expected = [part async for part in graph.astream(QUESTION_STATE, context=context, stream_mode=mode, subgraphs=True)]
    assert len([*graph.stream(QUESTION_STATE, context=context, stream_mode=mode, subgraphs=True)]) == len(expected)


def ask_all_ways() -> list[str]:
    """The answers to one question by `invoke`, `batch` and `stream`."""
    graph, context = METHODS["sure"].graph, Context(model=make_answering_model())
    *_, last_state = graph.stream(QUESTION_STATE, context=context, stream_mode="values")
    return [
        result["answer"]
        for result in (graph.invoke(QUESTION_STATE, context=context), *graph.batch([QUESTION_STATE]), last_state)
    ]


def run_in_script() -> list[str]:
    return ask_all_ways()


def run_in_notebook() -> list[str]:
    """Ask while an event loop is running in the thread, as in a notebook's cell, which the kernel's loop calls."""

    async def cell() -> list[str]:
        return ask_all_ways()

    return asyncio.run(cell())


def run_in_thread() -> list[str]:
    answer_lists: list[list[str]] = []
    thread = threading.Thread(target=lambda: answer_lists.append(ask_all_ways()))
    thread.start()
    thread.join()
    return answer_lists[0]


def run_in_handler() -> list[str]:
    return ask_server("/handler")


def run_in_asynchronous_handler() -> list[str]:
    return ask_server("/asynchronous")


def ask_server(path: str) -> Any:
    app = FastAPI()

    @app.get("/handler")
    def handler() -> list[str]:
        return ask_all_ways()

    @app.get("/asynchronous")
    async def asynchronous() -> list[str]:
        return ask_all_ways()

    with TestClient(app) as client:
        return client.get(path).json()


@pytest.mark.parametrize(
    "ask", [run_in_script, run_in_notebook, run_in_thread, run_in_handler, run_in_asynchronous_handler]
)
def test_synchronous_calls_work_in_scripts_notebooks_threads_and_handlers(
    ask: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_MODEL", "scripted")
    model = chat_model("scripted")
    assert isinstance(model, ScriptedModel)
    script_answers(model)
    assert ask() == ["1931", "1931", "1931"]


@pytest.mark.parametrize("saver", [InMemorySaver, SynchronousSaver])
def test_two_questions_on_one_thread_do_not_mix(saver: type[InMemorySaver]) -> None:
    graph = METHODS["sure"].graph.builder.compile(checkpointer=saver())
    second_question: Any = {"question": "Second?", "given": PASSAGES[3:]}
    result_alone = METHODS["sure"].graph.invoke(second_question, context=Context(model=make_answering_model("1929")))
    graph.invoke(QUESTION_STATE, THREAD_CONFIG, context=Context(model=make_answering_model()))
    assert graph.get_state(THREAD_CONFIG).values["answer"] == "1931"
    second_context = Context(model=make_answering_model("1929"))
    assert graph.invoke(second_question, THREAD_CONFIG, context=second_context) == result_alone
    assert graph.batch([second_question], THREAD_CONFIG, context=second_context) == [result_alone]


@pytest.mark.parametrize("saver", [InMemorySaver, SynchronousSaver])
def test_an_interrupted_run_continues_with_the_edited_state(saver: type[InMemorySaver]) -> None:
    graph = METHODS["post_fusion"].graph.builder.compile(checkpointer=saver(), interrupt_before=["vote"])
    context = Context(model=make_answering_model())
    graph.invoke(QUESTION_STATE, THREAD_CONFIG, context=context)
    state = graph.get_state(THREAD_CONFIG)
    assert (state.next, len(state.values["votes"])) == (("vote",), 5)
    votes = [vote | {"answer": "1889"} for vote in state.values["votes"]]
    # __overwrite__: without it, LangGraph would append the edited votes to the votes of the state.
    graph.update_state(THREAD_CONFIG, {"votes": {"__overwrite__": votes}}, as_node="passage_answer")
    assert graph.invoke(None, THREAD_CONFIG, context=context)["answer"] == "1889"


class UserState(TypedDict, total=False):
    question: str
    answer: str


def look_up(state: UserState) -> UserState:
    """A synchronous node that runs a method without a config. LangChain then gives the method the node's config."""
    result = METHODS["concat"].graph.invoke({**QUESTION_STATE, **state}, context=Context(model=make_answering_model()))
    return {"answer": result["answer"]}


@pytest.mark.parametrize("graph_class", [StateGraph, MethodGraph])
@pytest.mark.parametrize("saver", [InMemorySaver, SynchronousSaver])
def test_a_synchronous_node_can_run_a_method(
    saver: type[InMemorySaver], graph_class: type[StateGraph[UserState]]
) -> None:
    graph = graph_class(UserState).add_node(look_up).add_edge("__start__", "look_up").compile(checkpointer=saver())
    assert graph.invoke({"question": QUESTION}, THREAD_CONFIG)["answer"] == "1931"


@pytest.mark.parametrize("saver", [InMemorySaver, SynchronousSaver])
def test_a_method_can_be_a_node_of_a_synchronous_graph(saver: type[InMemorySaver]) -> None:
    outer = (
        StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
        .add_node("concat", METHODS["concat"].graph)
        .add_edge("__start__", "concat")
        .compile(checkpointer=saver())
    )
    parts = [
        *outer.stream(
            QUESTION_STATE,
            THREAD_CONFIG,
            context=Context(model=make_answering_model()),
            stream_mode="updates",
            subgraphs=True,
        )
    ]
    assert [next(iter(update)) for _, update in parts] == [
        "begin",
        "search",
        "retrieve",
        "concat_answer",
        "find_evidence",
        "concat",
    ]
    assert outer.get_state(THREAD_CONFIG).values["answer"] == "1931"


def test_a_shared_subgraph_works_by_itself() -> None:
    inputs: Any = {"question": QUESTION, "given_passages": PASSAGES}
    result = retrieve.invoke(inputs, context=Context(k=2, reranker="question"))
    assert [passage["id"] for passage in result["passages"]] == ["p1", "p3"]


def test_a_users_graph_can_use_the_shared_nodes() -> None:
    graph = (
        MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
        .add_node(begin)
        .add_node(retrieve)
        .add_node(concat_answer)
        .add_edge("__start__", "begin")
        .add_edge("begin", "retrieve")
        .add_edge("retrieve", "concat_answer")
        .compile(name="own")
        .with_config(tags=["tour"])  # returns a copy of the graph, which must serve synchronous code, too
    )
    assert (graph.name, graph.invoke(QUESTION_STATE, context=Context(model=make_answering_model()))["answer"]) == (
        "own",
        "1931",
    )


def test_a_mistake_raises_the_same_error_as_in_asynchronous_code() -> None:
    graph = METHODS["concat"].graph
    for run in (graph.invoke, lambda inputs: [*graph.stream(inputs)], lambda inputs: graph.batch([inputs])):
        with pytest.raises(SetupError, match="The question is empty"):
            run({"question": " ", "given": PASSAGES})
    failed_result, result = graph.batch(
        [{"question": " "}, QUESTION_STATE], context=Context(model=make_answering_model()), return_exceptions=True
    )
    assert (type(failed_result), result["answer"]) == (SetupError, "1931")


async def count_tasks() -> int:
    """The number of other tasks on the event loop that runs this coroutine."""
    return len(asyncio.all_tasks()) - 1


def test_closing_a_stream_early_cancels_running_work(openai_server: OpenAIServer) -> None:
    # Only the call with the first passage gets its reply; the others are still waiting when the stream is closed.
    openai_server.reply(lambda request: Response("1931", hold=PASSAGES[0]["text"] not in request.text))
    stream = METHODS["post_fusion"].graph.stream(
        QUESTION_STATE, context=Context(model="openai:test"), stream_mode="updates"
    )
    assert [next(iter(next(stream))) for _ in range(3)] == ["begin", "retrieve", "passage_answer"]
    openai_server.wait_for_requests(5)
    assert run_sync(count_tasks()) > 0
    stream.close()
    assert run_sync(count_tasks()) == 0


def test_ctrl_c_cancels_running_work(openai_server: OpenAIServer, ctrl_c_raises: None) -> None:
    openai_server.reply(interrupt)
    with pytest.raises(KeyboardInterrupt):
        METHODS["concat"].graph.invoke(QUESTION_STATE, context=Context(model="openai:test"))
    assert run_sync(count_tasks()) == 0


def interrupt(_: Request) -> Response:
    """Press Ctrl-C while the model is answering; its reply never arrives."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    return Response("1931", hold=True)


async def test_routers_of_quorum_run_on_the_event_loop_and_other_ones_in_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: dict[str, threading.Thread] = {}

    def get_context(runtime: Any) -> Context:
        threads["router of Quorum"] = threading.current_thread()
        return Context()

    def route(state: State) -> str:
        threads["other router"] = threading.current_thread()
        return "__end__"

    async def wait(state: State) -> None:
        threads["node"] = threading.current_thread()

    monkeypatch.setattr(routes, "get_context", get_context)
    graph: Any = MethodGraph(State, context_schema=Context).add_node("first", wait).add_node("second", wait)
    graph.add_edge("__start__", "first").add_conditional_edges("second", route)
    graph.add_conditional_edges("first", routes.filter_if_chosen, {"filter set": "__end__", "no filter": "second"})
    await graph.compile().ainvoke({}, context=Context())
    assert threads["router of Quorum"] is threads["node"] is threading.current_thread()
    assert threads["other router"] is not threads["node"]
