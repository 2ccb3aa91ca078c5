"""A method without a `Context` of its own: as a node of another graph, or with settings in `configurable`."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from answering_model import make_answering_model
from langchain_openai import ChatOpenAI
from langgraph.graph import StateGraph
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Question, Result, State
from quorum.graphs import METHODS

INPUT: Any = {"question": QUESTION, "given": PASSAGES}
METHOD = METHODS["post_fusion"].graph
THREE: Any = {"configurable": {"k": 3, "user": "ann"}}


@dataclass
class OtherContext:
    """The context of an application; `k` happens to be the name of a setting, too."""

    user: str = "ann"
    k: Any = 2


@dataclass
class ContextWithoutSettings:
    user: str = "ann"


def make_parent(context_schema: Any) -> Any:
    """A graph of an application with a method as its only node."""
    graph = StateGraph(State, input_schema=Question, output_schema=Result, context_schema=context_schema)
    return graph.add_node("method", METHOD).add_edge("__start__", "method").compile()


async def test_settings_come_from_the_configurable_if_there_is_no_context() -> None:
    assert len((await METHOD.ainvoke(INPUT, THREE))["votes"]) == 3
    assert len(METHOD.invoke(INPUT, THREE)["votes"]) == 3
    context = Context(model=make_answering_model())
    assert len((await METHOD.ainvoke(INPUT, THREE, context=context))["votes"]) == 5  # the context wins


@pytest.mark.parametrize(
    ("context", "config", "votes"),
    [
        (None, {}, 5),
        (None, THREE, 3),
        (ContextWithoutSettings(), {}, 5),
        (ContextWithoutSettings(), THREE, 3),
        (OtherContext(), {}, 2),
        (OtherContext(), THREE, 2),
        ({"user": "ann", "k": 4}, {}, 4),
        ({"user": "ann"}, THREE, 3),
    ],
)
async def test_a_method_in_a_graph_with_another_context_has_its_settings(context: Any, config: Any, votes: int) -> None:
    parent = make_parent(None if isinstance(context, dict) else type(context))
    assert len((await parent.ainvoke(INPUT, config, context=context))["votes"]) == votes
    assert len(parent.invoke(INPUT, config, context=context)["votes"]) == votes


async def test_a_value_that_is_no_setting_is_refused_with_its_source() -> None:
    with pytest.raises(SetupError, match=r"k='many' does not fit; .* context of the graph around this one"):
        await make_parent(OtherContext).ainvoke(INPUT, context=OtherContext(k="many"))
    with pytest.raises(SetupError, match=r"k=0 does not fit; .*config\['configurable'\]"):
        METHOD.invoke(INPUT, {"configurable": {"k": 0}})


def test_one_model_object_works_on_one_event_loop_after_another(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda _: Response("1931"))
    model = ChatOpenAI(model="test", base_url=openai_server.url, api_key="none", temperature=0)  # type: ignore[arg-type]
    context = Context(model=model, journal="off")
    for _ in range(2):
        assert METHOD.invoke(INPUT, context=context)["answer"] == "1931"
        assert asyncio.run(METHOD.ainvoke(INPUT, context=context))["answer"] == "1931"
    assert {request.body["temperature"] for request in openai_server.chats()} == {0}


def test_twenty_passages_are_asked_about_at_once_in_synchronous_code(openai_server: OpenAIServer) -> None:
    """The server holds every reply until it has got twenty requests."""

    def reply(_: Any) -> Response:
        if len(openai_server.chats()) >= 20:
            openai_server.release_held_replies()
            return Response("1931")
        return Response("1931", hold=True)

    openai_server.reply(reply)
    passages = [{"id": str(i), "title": "", "text": f"Lumen Tower {i} was finished in 1931."} for i in range(20)]
    context = Context(model="openai:test", k=20, concurrency=20, journal="off")
    result = METHOD.invoke({"question": QUESTION, "given": passages}, context=context)
    assert len(result["votes"]) == 20
