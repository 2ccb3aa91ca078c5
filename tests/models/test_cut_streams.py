"""A stream that does not say that its reply is whole was cut: it is asked for again, and never kept in the journal."""

import json
import logging
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from langchain_core.messages import AIMessageChunk
from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph
from openai_bodies import Response
from openai_server import OpenAIServer
from quorum_command import Quorum
from typing_extensions import TypedDict

from quorum import METHODS, AnswerText, Context, RunFinished, stream
from quorum.core.errors import CallError
from quorum.core.state import Passage
from quorum.models.call import Reply, call
from quorum.models.journal import close_journals
from quorum.models.journal_database import Record, open_database, read_records, write_records

WHOLE = "The lighthouse of Vell was built by Ada Korn in 1874. It stands on the north pier, and it is still lit."
CUT = Response(WHOLE, stream_ends=(), words=6)
UNMARKED = Response(WHOLE, stream_ends=())
PASSAGES: list[Passage] = [
    {"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn on the north pier."}
]
QUESTION = "What is known of the lighthouse of Vell?"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(model="openai:test", answer_type="long", journal=str(tmp_path / "journal.sqlite"))


class TextState(TypedDict, total=False):
    text: str


async def ask_while_streaming(context: Context, clock: FakeClock | None = None) -> Reply:
    """The reply to a call whose tokens a graph streams."""
    replies: list[Reply] = []

    async def node(state: TextState) -> TextState:
        replies.extend(await call("answer", "Which?", context=context, clock=clock or FakeClock()))
        return {"text": replies[-1].text}

    graph = StateGraph(TextState).add_node("node", node).add_edge(START, "node").compile()
    async for _ in graph.astream({"text": ""}, stream_mode="messages"):
        pass
    return replies[-1]


def read_journal(context: Context) -> list[tuple[str, str | None]]:
    """The (text, finish) pairs in the journal."""
    close_journals()
    if not Path(str(context.journal)).exists():
        return []
    with sqlite3.connect(str(context.journal)) as connection:
        rows = connection.execute("SELECT text, finish FROM replies").fetchall()
    connection.close()
    return rows


@pytest.mark.parametrize(
    ("ends", "finish"), [(("finish",), "stop"), (("done",), "complete"), (("finish", "done"), "stop")]
)
async def test_a_finish_reason_or_done_is_enough(
    openai_server: OpenAIServer, context: Context, ends: tuple[str, ...], finish: str
) -> None:
    openai_server.reply(Response(WHOLE, stream_ends=ends))
    first, second = [await ask_while_streaming(context) for _ in range(2)]
    assert (first.text, first.finish, first.is_reused) == (WHOLE, finish, False)
    assert (second.text, second.is_reused) == (WHOLE, True)
    assert len(openai_server.chats()) == 1


async def test_a_cut_stream_is_asked_for_again(openai_server: OpenAIServer, context: Context) -> None:
    openai_server.reply([CUT, WHOLE])
    assert (await ask_while_streaming(context)).text == WHOLE
    assert read_journal(context) == [(WHOLE, "stop")]


@pytest.mark.parametrize("text", ["data: [DONE]", "x\n\ndata: [DONE]\n\n"])
async def test_done_in_a_reply_is_no_end(openai_server: OpenAIServer, context: Context, text: str) -> None:
    openai_server.reply([Response(text, stream_ends=()), WHOLE])
    assert (await ask_while_streaming(context)).text == WHOLE


async def test_a_server_that_never_ends_its_streams_is_believed_but_not_journaled(
    openai_server: OpenAIServer, context: Context, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply(UNMARKED)
    with caplog.at_level(logging.WARNING, "quorum"):
        replies = [await ask_while_streaming(context) for _ in range(3)]
    assert [(reply.text, reply.finish, reply.is_reused) for reply in replies] == [(WHOLE, None, False)] * 3
    assert len(openai_server.chats()) == 4  # only the first call was made twice
    assert [record.message.count("neither a finish reason nor [DONE]") for record in caplog.records] == [1]
    assert read_journal(context) == []


async def test_a_server_that_ends_its_streams_is_asked_until_one_is_whole(
    openai_server: OpenAIServer, context: Context
) -> None:
    openai_server.reply(["Bern", CUT, CUT, CUT, WHOLE])
    await ask_while_streaming(Context(model="openai:test"))
    assert (await ask_while_streaming(context)).text == WHOLE
    openai_server.reply(CUT)
    message = r"after 8 tries: .*\(its stream ended with neither a finish reason nor \[DONE\]\)"
    with pytest.raises(CallError, match=message):
        await ask_while_streaming(Context(model="openai:test"))


async def test_a_whole_reply_without_a_finish_reason_is_journaled(
    openai_server: OpenAIServer, context: Context
) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": WHOLE}, "finish_reason": None}
    openai_server.reply(Response(body={"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}))
    for _ in range(2):
        await call("answer", "Which?", context=context)
    assert len(openai_server.chats()) == 1
    assert read_journal(context) == [(WHOLE, "complete")]


async def test_a_half_reply_in_a_journal_is_asked_for_again(openai_server: OpenAIServer, context: Context) -> None:
    """An older version kept it, without a finish reason."""
    openai_server.reply(WHOLE)
    await call("answer", "Which?", context=context)
    close_journals()
    with sqlite3.connect(str(context.journal)) as connection:
        connection.execute("UPDATE replies SET text = 'The lighthouse of', finish = NULL")
    connection.close()
    replies = [(await call("answer", "Which?", context=context))[0] for _ in range(2)]
    assert [(reply.text, reply.is_reused) for reply in replies] == [(WHOLE, False), (WHOLE, True)]
    assert read_journal(context) == [(WHOLE, "stop")]


def test_only_a_reply_with_a_finish_reason_replaces_one_without(tmp_path: Path) -> None:
    """Models of other protocols may never give one: their replies stay."""
    connection = open_database(str(tmp_path / "journal.sqlite"))
    old = Record("old", None, 1, 1, 0, 1.0, reasoning="old thought")
    for new_finish, text, reasoning in ((None, "old", "old thought"), ("stop", "new", "")):
        for record in (old, Record("new", new_finish, 1, 1, 0, 1.0)):
            write_records(connection, [("key", record)])
        (found,) = read_records(connection, ["key"])
        assert found is not None
        assert (found.text, found.reasoning) == (text, reasoning)
    connection.close()


async def test_a_callers_own_client_is_asked_again_too(openai_server: OpenAIServer) -> None:
    """It does not show [DONE], so that only a finish reason ends its streams."""
    model = ChatOpenAI(model="test", base_url=openai_server.url, api_key="none", max_retries=0)  # type: ignore[arg-type]
    openai_server.reply([CUT, WHOLE])
    assert (await ask_while_streaming(Context(model=model))).text == WHOLE
    openai_server.reply(UNMARKED)
    assert (await ask_while_streaming(Context(model=model))).text == WHOLE


async def test_a_finish_reason_that_is_sent_twice_is_read_once(openai_server: OpenAIServer) -> None:
    choice = {"index": 0, "delta": {"content": "Bern"}, "finish_reason": "length"}
    event = f"data: {json.dumps({'id': '1', 'model': 'm', 'choices': [choice]})}\n\n".encode()
    openai_server.reply(Response(body=event * 2, headers={"Content-Type": "text/event-stream"}))
    reply = await ask_while_streaming(Context(model="openai:test"))
    assert (reply.text, reply.finish) == ("BernBern", "length")


# Every place that shows an answer while it is written.


async def test_quorum_stream_shows_a_cut_beginning_only_once(openai_server: OpenAIServer, context: Context) -> None:
    openai_server.reply([CUT, WHOLE])
    events = [event async for event in stream(QUESTION, "concat", context, given=PASSAGES)]
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert "".join(event.text for event in events if isinstance(event, AnswerText)) == WHOLE == last.result["answer"]
    assert read_journal(context) == [(WHOLE, "stop")]


async def test_a_new_reply_replaces_a_cut_one_that_began_otherwise(
    openai_server: OpenAIServer, context: Context
) -> None:
    other_beginning = "A keeper called Ida Moor lived there alone. She lit the lamp each evening, and wrote of ships."
    openai_server.reply([Response(other_beginning, stream_ends=(), words=15), WHOLE])
    events = [event async for event in stream(QUESTION, "concat", context, given=PASSAGES)]
    pieces = [event for event in events if isinstance(event, AnswerText)]
    [beginning] = [place for place, event in enumerate(pieces) if event.replaces]
    assert "".join(event.text for event in pieces[beginning:]) == WHOLE


async def test_astream_events_and_messages_of_a_graph(openai_server: OpenAIServer, context: Context) -> None:
    graph: Any = METHODS["concat"].graph
    openai_server.reply([CUT, WHOLE, CUT, WHOLE])
    inputs = {"question": QUESTION, "given": PASSAGES}
    ends = [
        event["data"]["output"]["answer"]
        async for event in graph.astream_events(inputs, context=context, version="v2")
        if event["event"] == "on_chain_end" and event["name"] == "concat"
    ]
    assert ends == [WHOLE]
    close_journals()
    Path(str(context.journal)).unlink()
    texts: dict[str, str] = {}
    async for message, _ in graph.astream(inputs, context=context, stream_mode="messages"):
        assert isinstance(message, AIMessageChunk)
        texts[str(message.id)] = texts.get(str(message.id), "") + message.text
    assert [text.split()[:6] for text in texts.values()] == [WHOLE.split()[:6]] * 2  # each try is a message of its own
    assert list(texts.values())[1] == WHOLE
    assert read_journal(context) == [(WHOLE, "stop")]


def test_a_streamed_answer_in_the_terminal(
    openai_server: OpenAIServer, context: Context, quorum: Quorum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_JOURNAL", str(context.journal))
    passages = tmp_path / "passages.jsonl"
    passages.write_text(json.dumps(PASSAGES[0]) + "\n", encoding="utf-8")
    arguments = ("ask", QUESTION, "--passages", passages, "--model", "openai:test", "--method", "concat")
    openai_server.reply([CUT, WHOLE])
    run = quorum(*arguments, "--set", "answer_type=long", "--stream")
    assert (run.code, run.err.count("\nThe lighthouse of Vell was built")) == (0, 1)
    again = quorum(*arguments, "--set", "answer_type=long", "--json")
    assert json.loads(again.out)["answer"] == WHOLE
    assert len(openai_server.chats()) == 2
