"""Calls with several messages and tools: what is sent, kept and counted; servers that take no tools."""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import StateGraph
from openai_bodies import Response, make_error
from openai_server import LONGEST_WAIT, OpenAIServer, Request
from typing_extensions import TypedDict

import quorum.prompts.registry  # noqa: F401  the embedded reader replies to known prompts only
from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.models.call import Reply, call
from quorum.models.messages import dump_tool_calls
from quorum.models.openai_tool_calls import StreamedCalls
from quorum.models.scripted import ScriptedModel
from quorum.models.tools import ToolCall, read_tool_calls

TOOL = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Find passages.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    },
}
QUESTION = [SystemMessage("Answer from passages."), HumanMessage("When was it built?")]
SEARCHED = [
    *QUESTION,
    AIMessage("", tool_calls=[{"id": "call00001", "name": "search", "args": {"query": "built"}}]),
    ToolMessage("[1] It was built in 1931.", tool_call_id="call00001"),
]
OLD_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def call_tools(*functions: Any, text: str | None = None) -> Response:
    """A reply that calls tools. functions: (name, arguments) of each call, or what stands in the place of a call."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": function[0], "arguments": function[1]}}
        if isinstance(function, tuple)
        else function
        for n, function in enumerate(functions)
    ]
    return Response(message={"content": text, "tool_calls": calls}, finish_reason="tool_calls")


async def ask(content: Any = QUESTION, **settings: Any) -> Reply:
    tool_choice = settings.pop("tool_choice", None)
    context = Context(**{"model": "openai:test", **settings})
    return (await call("agent", content, context=context, tools=[TOOL], tool_choice=tool_choice))[0]


async def test_messages_and_tools_are_sent_and_the_calls_come_back(openai_server: OpenAIServer) -> None:
    openai_server.reply(call_tools(("search", '{"query": "tower"}'), ("search", '{"query": "mast"}'), text="I look."))
    reply = await ask(SEARCHED)
    assert (reply.text, reply.tool_calls) == (
        "I look.",
        (ToolCall("search", {"query": "tower"}), ToolCall("search", {"query": "mast"})),
    )
    body = openai_server.chats()[0].body
    assert body["tools"] == [TOOL]
    assert "tool_choice" not in body
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert body["messages"][2]["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"query": "built"}'}
    assert body["messages"][3]["tool_call_id"] == "call00001"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (("search", '{"query": "tow'), ToolCall("search", None, '{"query": "tow')),
        (("search", "[1]"), ToolCall("search", None, "[1]")),
        (("search", {"query": "an object"}), ToolCall("search", {"query": "an object"})),
        (("search", None), ToolCall("search", {})),
        ((None, '{"query": "half \\ud83d"}'), ToolCall("", {"query": "half �"})),
    ],
    ids=["broken JSON", "a list", "an object", "nothing", "no name, half a character"],
)
async def test_calls_of_any_form_are_read(openai_server: OpenAIServer, function: Any, expected: ToolCall) -> None:
    openai_server.reply(call_tools(function))
    replies = [await ask(journal="journal.sqlite") for _ in range(2)]
    assert [(reply.text, reply.tool_calls, reply.is_reused) for reply in replies] == [
        ("", (expected,), False),
        ("", (expected,), True),
    ]
    assert len(openai_server.chats()) == 1


async def test_a_reply_that_only_calls_a_tool_is_unreadable_if_no_tools_were_offered(
    openai_server: OpenAIServer,
) -> None:
    openai_server.reply(call_tools(("search", "{}")))
    with pytest.raises(CallError, match="it calls a tool and says nothing"):
        await call("answer", "When?", context=Context(model="openai:test", attempts=2))
    openai_server.reply(call_tools("no call", 5))
    with pytest.raises(CallError, match="it calls a tool and says nothing"):
        await ask(attempts=2)


async def test_the_calls_of_a_reply_that_was_cut_off_are_left_out(openai_server: OpenAIServer) -> None:
    cut = {"tool_calls": [{"id": "c", "function": {"name": "search", "arguments": '{"query": "to'}}], "content": None}
    openai_server.reply(Response(message=cut, finish_reason="length"))
    reply = await ask()
    assert (reply.text, reply.tool_calls, reply.finish) == ("", (), "length")


async def test_every_message_and_tool_decides_the_journals_key(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: str(len(openai_server.chats())))
    other_result = [*SEARCHED[:3], ToolMessage("[1] It was built in 1932.", tool_call_id="call00001")]
    requests: list[tuple[Any, Any]] = [(QUESTION, None), (SEARCHED, None), (other_result, None), (SEARCHED, "none")]
    for _ in range(2):
        replies = [await ask(content, tool_choice=choice, journal="journal.sqlite") for content, choice in requests]
        assert [reply.text for reply in replies] == ["1", "2", "3", "4"]
    assert [request.body.get("tool_choice") for request in openai_server.chats()] == [None, None, None, "none"]


async def test_an_entry_of_an_older_quorum_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The journal was written before calls carried several messages; no server answers at its address now."""
    journal = str(tmp_path / "journal.sqlite")
    connection = sqlite3.connect(journal)
    connection.executescript((Path(__file__).parent / "journal_of_one_message.sql").read_text())
    connection.execute("PRAGMA user_version=1")
    connection.close()
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:54321/v1")
    context, text = Context(model="openai:test", journal=journal, attempts=1), "When was it built?"
    assert [reply.text for reply in await call("answer", text, context=context)] == ["1931"]
    assert [reply.text for reply in await call("answer", text, context=context, n=2, temperature=0.7)] == [
        "1932",
        "1933",
    ]
    assert (await call("answer", text, context=context, schema=OLD_SCHEMA))[0].text == '{"answer": "1934"}'


async def test_a_read_only_journal_without_the_table_of_calls_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from quorum.models.journal_database import open_read_only, read_records

    path = tmp_path / "journal.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript((Path(__file__).parent / "journal_of_one_message.sql").read_text())
    keys = [key for (key,) in connection.execute("SELECT key FROM replies WHERE text = '1931'")]
    connection.close()
    (record,) = read_records(open_read_only(str(path)), keys)
    assert record is not None
    assert (record.text, record.tool_calls_json) == ("1931", "")


NO_TOOLS = [
    make_error(400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    make_error(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    make_error(422, "Extra inputs are not permitted: tools"),
    make_error(404, "No endpoints found that support tool use."),
    make_error(500, "tools param requires --jinja flag"),
]


@pytest.mark.parametrize("refusal", NO_TOOLS, ids=["ollama", "vllm", "strict", "openrouter", "llama.cpp"])
async def test_a_model_without_tools_is_one_sentence_and_is_not_asked_again(
    openai_server: OpenAIServer, refusal: Response
) -> None:
    openai_server.reply(refusal)
    message = f"takes no tools \\({refusal.status}: .*; choose the method react, which searches without them"
    with pytest.raises(SetupError, match=message):
        await ask()
    with pytest.raises(SetupError, match="takes no tools; choose the method react"):
        await ask("Another question?")
    assert len(openai_server.chats()) == (2 if refusal.status == 500 else 1)  # a 5xx may pass


async def test_a_model_class_without_tools_is_refused_before_it_is_asked() -> None:
    with pytest.raises(SetupError, match="takes no tools; choose the method react"):
        await ask(model=FakeListChatModel(responses=["never said"]))


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "Failed to call a function. See 'failed_generation'."), (400, "This prompt breaks our rules.")],
)
async def test_other_failures_say_nothing_about_tools(openai_server: OpenAIServer, status: int, message: str) -> None:
    openai_server.reply([make_error(status, message), "1931"])
    with pytest.raises(CallError, match=message[:20]):
        await ask()
    assert (await ask()).text == "1931"


async def test_a_server_that_refuses_the_tool_choice_is_asked_without_tools(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(request: Request) -> str | Response:
        return make_error(400, "tool_choice none is not supported") if "tool_choice" in request.body else "1931"

    openai_server.reply(refuse)
    assert [(await ask(content, tool_choice="none")).text for content in (SEARCHED, QUESTION)] == ["1931", "1931"]
    assert [sorted({"tools", "tool_choice"} & request.body.keys()) for request in openai_server.chats()] == [
        ["tool_choice", "tools"],
        [],
        [],
    ]
    assert [record.message for record in caplog.records if "tool_choice" in record.message] == [
        f"The model 'openai:test' at {openai_server.url} does not take tool_choice; going on without it."
    ]


async def test_a_server_that_refuses_also_the_turn_without_tools_is_not_asked_for_ever(
    openai_server: OpenAIServer,
) -> None:
    def refuse(request: Request) -> Response:
        assert len(openai_server.chats()) < 9
        if "tools" in request.body:
            return make_error(400, "tool_choice 'none' is not supported")
        return make_error(400, "Tool calling without the parameter tools= is not supported.")

    openai_server.reply(refuse)
    with pytest.raises(CallError, match="without the parameter tools="):
        await ask(SEARCHED, tool_choice="none")
    assert len(openai_server.chats()) == 2


async def test_requests_in_flight_together_all_learn_that_strict_is_refused(openai_server: OpenAIServer) -> None:
    everybody = threading.Barrier(4)

    def refuse(request: Request) -> str | Response:
        if "strict" not in request.body["tools"][0]["function"]:
            return "1931"
        everybody.wait(LONGEST_WAIT)
        return make_error(400, "Unknown parameter: 'tools[0].function.strict'.")

    openai_server.reply(refuse)
    tool = {**TOOL, "function": {**TOOL["function"], "strict": True}}  # type: ignore[dict-item]
    context = Context(model="openai:test", journal="off")
    questions = [[*QUESTION[:1], HumanMessage(f"Question {n}?")] for n in range(4)]
    replies = await asyncio.gather(*(call("agent", asked, context=context, tools=[tool]) for asked in questions))
    assert [reply.text for (reply,) in replies] == ["1931"] * 4


@pytest.mark.parametrize("message", ["undefined function 'x': unknown", "unknown tool template"])
async def test_a_passing_fault_of_the_server_does_not_refuse_tools(openai_server: OpenAIServer, message: str) -> None:
    openai_server.reply([make_error(500, message), "1931"])
    assert (await ask()).text == "1931"


async def test_a_server_that_refuses_the_field_strict_is_asked_without_it(openai_server: OpenAIServer) -> None:
    def refuse(request: Request) -> str | Response:
        refusal = make_error(400, "Unknown parameter: 'tools[0].function.strict'.")
        return refusal if "strict" in request.body["tools"][0]["function"] else "1931"

    openai_server.reply(refuse)
    tool = {**TOOL, "function": {**TOOL["function"], "strict": True}}  # type: ignore[dict-item]
    for _ in range(2):
        (reply,) = await call("agent", QUESTION, context=Context(model="openai:test"), tools=[tool])
        assert reply.text == "1931"
    assert len(openai_server.chats()) == 3


def make_piece(arguments: str, id_: str = "", name: str | None = "search", **index: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}, **index}


TOWER, MAST = '{"query": "tower"}', '{"query": "mast"}'
BOTH = (ToolCall("search", {"query": "tower"}), ToolCall("search", {"query": "mast"}))
PIECES: dict[str, tuple[list[dict[str, Any]], tuple[ToolCall, ...]]] = {
    "in pieces": (
        [make_piece("", "a", index=0), *(make_piece(t, name=None, index=0) for t in (TOWER[:6], TOWER[6:]))],
        BOTH[:1],
    ),
    "pieces of two calls in turns": (
        [
            *(make_piece(text[:6], id_, index=n) for n, (text, id_) in enumerate([(TOWER, "a"), (MAST, "b")])),
            *(make_piece(text[6:], name=None, index=n) for n, text in enumerate([TOWER, MAST])),
        ],
        BOTH,
    ),
    "the name in each piece": ([make_piece(TOWER[:6], "a", index=0), make_piece(TOWER[6:], "a", index=0)], BOTH[:1]),
    "one index, other ids": ([make_piece(TOWER, "a", index=0), make_piece(MAST, "b", index=0)], BOTH),
    "one index, no ids": ([make_piece(TOWER, index=0), make_piece(MAST, index=0)], BOTH),
    "no index": ([make_piece(TOWER, "a"), make_piece(MAST, "b")], BOTH),
    "cut": ([make_piece('{"query": "tow', "a", index=0)], (ToolCall("search", None, '{"query": "tow'),)),
    "a list": ([make_piece("[1]", "a", index=0)], (ToolCall("search", None, "[1]"),)),
}


@pytest.mark.parametrize("form", PIECES)
def test_the_pieces_of_streamed_calls_are_joined(form: str) -> None:
    pieces, expected = PIECES[form]
    calls = StreamedCalls()
    for piece in pieces:
        calls.add({"tool_calls": [piece]})
    message = AIMessageChunk(content="", tool_call_chunks=calls.make_chunks())
    assert read_tool_calls(dump_tool_calls(message)) == expected


async def test_streamed_calls_are_read(openai_server: OpenAIServer) -> None:
    """LangGraph streams a call if somebody listens to messages, as Studio does."""

    class Found(TypedDict, total=False):
        calls: list[Any]

    async def node(state: Found) -> Found:
        return {"calls": list((await ask(journal="off")).tool_calls)}

    graph = StateGraph(Found).add_node(node).add_edge("__start__", "node").compile()
    cut = ("search", '{"query": "to')
    openai_server.reply(call_tools(("search", {"query": "tower"}), ("search", '{"query": "mast"}'), cut, text=""))
    seen = [item async for item in graph.astream({}, stream_mode=["messages", "updates"])]
    assert openai_server.chats()[0].body["stream"]
    assert seen[-1][1]["node"]["calls"] == [
        ToolCall("search", {"query": "tower"}),
        ToolCall("search", {"query": "mast"}),
        ToolCall("search", None, '{"query": "to'),
    ]


async def test_the_scripted_model_calls_tools_and_records_those_offered() -> None:
    model = ScriptedModel().on(
        "agent", AIMessage("Look.", tool_calls=[{"id": "x", "name": "search", "args": {"query": "q"}}])
    )
    reply = await ask(model=model)
    assert (reply.text, reply.tool_calls) == ("Look.", (ToolCall("search", {"query": "q"}),))
    assert model.history[0].parameters["tools"] == [TOOL]
    assert reply.usage["output_tokens"] > 2  # the call counts as well


async def test_tokens_are_estimated_over_all_messages_and_tools(openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("1931", usage=None))
    short, long = await ask(QUESTION), await ask(SEARCHED)
    tools = -(-len(json.dumps([TOOL]).encode()) // 3)
    assert short.usage["input_tokens"] == tools + -(-len("Answer from passages.\nWhen was it built?") // 3)
    assert long.usage["input_tokens"] > short.usage["input_tokens"]
