"""`quorum.stream` yields an event for each node that finishes, and then the result."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import cast

import pytest
from langchain_core.messages import AIMessageChunk
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum import (
    METHODS,
    AnswerText,
    CandidateFound,
    Context,
    Event,
    MethodFinished,
    NodeFinished,
    NodeStarted,
    Retrying,
    RunFinished,
    RunStarted,
    SetupError,
    VoteCast,
    answer,
    index,
    stream,
)
from quorum.api.event_json import event_to_json
from quorum.api.stream import AnswerReader
from quorum.core.state import Passage
from quorum.core.visible_text import MODELS_WITHOUT_OPENING_TAG

PASSAGES: list[Passage] = [
    {"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."},
    {"id": "2", "title": "Vell", "text": "Vell has a harbour and a small museum of ships."},
]
QUESTION = "Who built the lighthouse of Vell?"


async def collect_events(method: str, context: Context | None = None) -> list[Event]:
    return [event async for event in stream(QUESTION, method, context, given=PASSAGES)]


async def test_every_node_is_an_event_and_the_result_comes_last() -> None:
    first, *events, piece, answered, last = await collect_events("post_fusion")
    assert first == RunStarted(QUESTION, ("post_fusion",))
    assert piece == AnswerText("Ada Korn")
    finished = [event for event in events if isinstance(event, NodeFinished)]
    names = [event.node for event in finished]
    assert names == ["begin", "search", "retrieve", "passage_answer", "passage_answer", "vote", "find_evidence"]
    assert [event.node for event in finished if event.inside] == ["search"]
    started = [(event.node, event.inside) for event in events if isinstance(event, NodeStarted)]
    assert sorted(started) == sorted((event.node, event.inside) for event in finished)
    assert isinstance(answered, MethodFinished)
    assert isinstance(last, RunFinished)
    assert last.result is not None
    assert last.result["answer"] == "Ada Korn"
    assert last.result == answered.result
    assert [event.vote for event in events if isinstance(event, VoteCast)] == [
        vote for event in finished for vote in event.update.get("votes") or []
    ]


async def test_every_candidate_and_vote_is_an_event_once() -> None:
    """Also of a question in a conversation, where the method's graph is a node of another graph."""
    for history in ([], [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello."}]):
        for method in ("sure", "post_fusion", "pf_concat", "self_verification", "rerank"):
            context = Context(k=2)
            events = [event async for event in stream(QUESTION, method, context, given=PASSAGES, history=history)]
            result = cast("RunFinished", events[-1]).result
            assert result is not None
            assert len([event for event in events if isinstance(event, VoteCast)]) == len(result["votes"] or [])
            candidates = [event.candidate for event in events if isinstance(event, CandidateFound)]
            assert candidates == (result["candidates"] or [])


async def test_events_are_json_without_folders_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "vell.txt").write_text(PASSAGES[0]["text"], encoding="utf-8")
    context = Context(store=str(tmp_path / "store"), collection="vell", k=1)
    index(tmp_path / "vell.txt", collection="vell", context=context)
    events = [event_to_json(event) async for event in stream(QUESTION, "concat", context)]
    text = json.dumps(events, allow_nan=False)
    assert str(tmp_path) not in text
    kinds = dict.fromkeys(event["type"] for event in events)
    assert list(kinds) == [
        "run_started",
        "node_started",
        "node_finished",
        "answer_text",
        "method_finished",
        "run_finished",
    ]
    result = events[-2]["result"]
    assert result["verdict"] == "supported"
    assert result["headline"]["quote"] == PASSAGES[0]["text"]
    [citation] = result["citations"]
    assert (citation["n"], citation["document"], citation["page"]) == (1, "vell.txt", None)
    assert result["passages"][0]["text"][citation["start"] : citation["end"]] == result["answer_markdown"] == "Ada Korn"


async def test_an_update_is_what_the_node_changed() -> None:
    votes = [
        event.update["votes"][0]["passage"]
        for event in await collect_events("post_fusion")
        if isinstance(event, NodeFinished) and event.node == "passage_answer"
    ]
    assert sorted(votes) == ["1", "2"]


@pytest.mark.parametrize("method", ["concat", "post_fusion", "sure", "blendfilter", "react", "self_verification"])
async def test_the_result_is_what_answer_returns(method: str) -> None:
    last = (await collect_events(method, Context(k=2)))[-1]
    assert isinstance(last, RunFinished)
    assert last.result == await answer(QUESTION, method, Context(k=2), given=PASSAGES)


async def test_events_of_an_inner_graph_name_the_node_that_contains_it() -> None:
    events = await collect_events("concat", Context(reranker="question"))
    inner_events = [event for event in events if isinstance(event, NodeFinished) and event.inside]
    assert inner_events
    assert {event.inside[0] for event in inner_events} <= {
        event.node for event in events if isinstance(event, NodeFinished)
    }


async def test_an_event_cannot_be_changed() -> None:
    event = next(event for event in await collect_events("concat") if isinstance(event, NodeFinished))
    with pytest.raises(FrozenInstanceError):
        event.node = "another"  # type: ignore[misc]


async def test_an_unknown_method_is_a_setup_error() -> None:
    with pytest.raises(SetupError, match="did you mean concat"):
        await collect_events("conct")


async def test_leaving_early_ends_the_run(openai_server: OpenAIServer) -> None:
    tasks_before = asyncio.all_tasks()
    async with aclosing(stream(QUESTION, "concat", Context(model="openai:any"), given=PASSAGES)) as events:
        async for event in events:
            assert isinstance(event, RunStarted)
            break
    assert {task for task in asyncio.all_tasks() - tasks_before if not task.done()} == set()
    assert openai_server.requests == []


LONG_ANSWER = (
    "It was built by Ada Korn in 1874, long before the harbour of the town was dug. Ships came later, and stayed."
)


def list_pieces(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, AnswerText)]


@pytest.mark.parametrize("thought", ["", "<think>Was it Ida? No.</think>\n"])
@pytest.mark.parametrize("method", ["concat", "concat_pf", "pf_concat", "filco"])
async def test_a_long_answer_is_streamed_while_it_is_written(
    openai_server: OpenAIServer, method: str, thought: str
) -> None:
    openai_server.reply(thought + LONG_ANSWER)
    context = Context(model="openai:test", answer_type="long", context_filter="embedded" if method == "filco" else None)
    events = await collect_events(method, context)
    pieces, last = list_pieces(events), events[-1]
    assert isinstance(last, RunFinished)
    assert last.result is not None
    assert len(pieces) > 5
    assert "".join(pieces) == last.result["answer"] == LONG_ANSWER
    assert last.result["answer"] == (await answer(QUESTION, method, context, given=PASSAGES))["answer"]


@pytest.mark.parametrize("reply", ["unknown", "The passages do not say who built it, and nothing in them settles it."])
async def test_nothing_of_a_refusal_is_shown_before_the_votes_decide(openai_server: OpenAIServer, reply: str) -> None:
    # Only the first prompt holds both passages; each later prompt holds one passage, numbered [1].
    openai_server.reply(lambda request: reply if "[2] Vell" in request.text else LONG_ANSWER)
    events = await collect_events("concat_pf", Context(model="openai:test", answer_type="long"))
    assert list_pieces(events) == [LONG_ANSWER]
    kinds = [event.node if isinstance(event, NodeFinished) else type(event).__name__ for event in events]
    order = [kind for kind in kinds if kind not in ("NodeStarted", "VoteCast")]
    ends = ["AnswerText", "MethodFinished", "RunFinished"]
    assert order[-7:] == [*(["passage_answer"] * 2), "vote", "find_evidence", *ends]


async def test_of_several_samples_only_the_answer_that_wins_is_shown(openai_server: OpenAIServer) -> None:
    openai_server.reply(LONG_ANSWER)
    events = await collect_events("concat", Context(model="openai:test", answer_type="long", samples=3, temperature=1))
    assert list_pieces(events) == [LONG_ANSWER]


async def test_a_call_that_is_sent_again_is_an_event(openai_server: OpenAIServer) -> None:
    openai_server.reply([make_error(503, "busy"), make_error(503, "busy", Retry_After="0"), "Ada Korn"])
    context = Context(model="openai:test", attempts=3)
    events = await collect_events("concat", context)
    retries = [event for event in events if isinstance(event, Retrying)]
    assert [(event.next_try, event.tries) for event in retries] == [(2, 3), (3, 3)]
    assert "503" in retries[0].cause
    assert event_to_json(retries[1])["wait"] == 0
    assert isinstance(events[-1], RunFinished)


async def test_a_stream_that_is_cut_and_retried_repeats_nothing(openai_server: OpenAIServer) -> None:
    openai_server.reply([Response(LONG_ANSWER, truncate=True), LONG_ANSWER])
    events = await collect_events("concat", Context(model="openai:test", answer_type="long"))
    assert "".join(list_pieces(events)) == LONG_ANSWER


async def test_messages_of_a_graph_hold_no_thoughts(openai_server: OpenAIServer) -> None:
    openai_server.reply("<think>Ida? No.</think>Ada Korn")
    inputs = {"question": QUESTION, "given": PASSAGES}
    context = Context(model="openai:test")
    for modes in ("messages", ["updates", "messages"]):  # with a list, LangGraph yields (mode, item) pairs
        run = METHODS["concat"].graph.astream(inputs, context=context, stream_mode=modes)
        items = [item async for item in run]
        pieces = [
            item if modes == "messages" else item[1] for item in items if modes == "messages" or item[0] == "messages"
        ]
        assert "".join(message.text for message, _ in pieces) == "Ada Korn"


THOUGHT = "It was Ida, I should say, as the first passage has it. No: the text names Ada Korn. So that is settled."


@pytest.fixture
def forgotten_models_without_opening_tag() -> Iterator[None]:
    """Clear, before and after the test, the process's list of models that write thoughts without an opening tag."""
    MODELS_WITHOUT_OPENING_TAG.clear()
    yield
    MODELS_WITHOUT_OPENING_TAG.clear()


@pytest.mark.usefixtures("forgotten_models_without_opening_tag")
async def test_a_thought_whose_opening_tag_is_missing_is_withdrawn_at_its_end(openai_server: OpenAIServer) -> None:
    """In the first run the thought looks like an answer: it is shown, and withdrawn at the closing tag. In the second
    run the thought of this model is held back.
    """
    openai_server.reply(f"{THOUGHT}</think>{LONG_ANSWER}")
    context = Context(model="openai:plain", answer_type="long")
    pieces = [event for event in await collect_events("concat", context) if isinstance(event, AnswerText)]
    [replacing_index] = [index for index, event in enumerate(pieces) if event.replaces]
    assert "".join(event.text for event in pieces[replacing_index:]) == LONG_ANSWER
    assert replacing_index > 0
    assert len(pieces[replacing_index:]) > 3  # the answer is streamed in several pieces
    events_of_second_run = await collect_events("concat", context)
    assert not any(event.replaces for event in events_of_second_run if isinstance(event, AnswerText))
    assert "".join(list_pieces(events_of_second_run)) == LONG_ANSWER


@pytest.mark.usefixtures("forgotten_models_without_opening_tag")
@pytest.mark.parametrize("opening_words", ["Okay, so who built it? ", "Hmm. ", "We need to find out who built it. "])
async def test_text_that_begins_like_a_thought_is_held_back(opening_words: str, openai_server: OpenAIServer) -> None:
    openai_server.reply(f"{opening_words}{THOUGHT}</think>{LONG_ANSWER}")
    assert (
        "".join(list_pieces(await collect_events("concat", Context(model="openai:other", answer_type="long"))))
        == LONG_ANSWER
    )


def test_a_thought_in_a_foreign_graphs_messages_is_withdrawn(forgotten_models_without_opening_tag: None) -> None:
    """Graphs of other packages stream everything that the model sends."""
    reader, metadata = AnswerReader(QUESTION), {"prompt": "answer_long"}
    words = re.findall(r"\S+\s*", f"{THOUGHT}</think>{LONG_ANSWER}")
    pieces = [reader.read(AIMessageChunk(word, id="1"), metadata) for word in words]
    pieces.append(reader.finish(LONG_ANSWER))
    shown_pieces = [piece for piece in pieces if piece is not None]
    [replacing_index] = [index for index, piece in enumerate(shown_pieces) if piece.replaces]
    assert replacing_index > 0
    assert "".join(piece.text for piece in shown_pieces[replacing_index:]) == LONG_ANSWER


@pytest.mark.usefixtures("forgotten_models_without_opening_tag")
async def test_an_answer_that_begins_like_a_thought_is_shown_at_its_end(openai_server: OpenAIServer) -> None:
    openai_server.reply(f"Okay, {LONG_ANSWER}")
    events = await collect_events("concat", Context(model="openai:other", answer_type="long"))
    pieces = list_pieces(events)
    assert "".join(pieces) == f"Okay, {LONG_ANSWER}"
    assert pieces[0] == "".join(pieces).rpartition(" ")[0]  # the last word, which may be incomplete, follows it
