"""`quorum.stream`: the nodes as they finish, and last the result."""

import asyncio
from contextlib import aclosing
from dataclasses import FrozenInstanceError

import pytest
from openai_server import OpenAIServer

from quorum import Context, Event, NodeFinished, RunFinished, SetupError, answer, stream
from quorum.core.state import Passage

PASSAGES: list[Passage] = [
    {"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."},
    {"id": "2", "title": "Vell", "text": "Vell has a harbour and a small museum of ships."},
]
QUESTION = "Who built the lighthouse of Vell?"


async def events_of(method: str, context: Context | None = None) -> list[Event]:
    return [event async for event in stream(QUESTION, method, context, given=PASSAGES)]


async def test_every_node_is_told_and_the_result_comes_last() -> None:
    *nodes, last = await events_of("post_fusion")
    names = [event.node for event in nodes if isinstance(event, NodeFinished)]
    assert len(names) == len(nodes)
    assert names == ["begin", "retrieve", "passage_answer", "passage_answer", "vote"]
    assert isinstance(last, RunFinished)
    assert last.result["answer"] == "Ada Korn"


async def test_an_update_is_what_the_node_changed() -> None:
    votes = [
        event.update["votes"][0]["passage"]
        for event in await events_of("post_fusion")
        if isinstance(event, NodeFinished) and event.node == "passage_answer"
    ]
    assert sorted(votes) == ["1", "2"]


@pytest.mark.parametrize("method", ["concat", "post_fusion", "sure", "blendfilter", "react", "self_verification"])
async def test_the_result_is_what_answer_returns(method: str) -> None:
    last = (await events_of(method, Context(k=2)))[-1]
    assert isinstance(last, RunFinished)
    assert last.result == await answer(QUESTION, method, Context(k=2), given=PASSAGES)


async def test_nodes_of_an_inner_graph_name_the_node_that_it_is() -> None:
    events = await events_of("concat", Context(reranker="question"))
    inner = [event for event in events if isinstance(event, NodeFinished) and event.inside]
    assert inner
    assert {event.inside[0] for event in inner} <= {event.node for event in events if isinstance(event, NodeFinished)}


async def test_an_event_cannot_be_changed() -> None:
    first = (await events_of("concat"))[0]
    assert isinstance(first, NodeFinished)
    with pytest.raises(FrozenInstanceError):
        first.node = "another"  # type: ignore[misc]


async def test_an_unknown_method_is_a_setup_error() -> None:
    with pytest.raises(SetupError, match="did you mean concat"):
        await events_of("conct")


async def test_leaving_early_ends_the_run(openai_server: OpenAIServer) -> None:
    before = asyncio.all_tasks()
    async with aclosing(stream(QUESTION, "concat", Context(model="openai:any"), given=PASSAGES)) as events:
        async for event in events:
            assert isinstance(event, NodeFinished)
            break
    assert {task for task in asyncio.all_tasks() - before if not task.done()} == set()
    assert openai_server.requests == []
