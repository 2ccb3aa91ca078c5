"""Odd responses with status 200: such a response is read, or else the request is repeated. If no attempt gives a
readable response, only that call fails.
"""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response
from openai_server import OpenAIServer
from quorum_command import Quorum
from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.models.call import Reply, call

SERVED_CONTEXT = Context(model="openai:test")


async def ask(context: Context = SERVED_CONTEXT, clock: FakeClock | None = None) -> Reply:
    (reply,) = await call("answer", "Which?", context=context, clock=clock or FakeClock())
    return reply


def make_completion(choices: Any, **fields: Any) -> Response:
    """A completion with these choices. fields: keys to add to its body, or to replace in it."""
    return Response(
        body={"id": "1", "object": "chat.completion", "created": 0, "model": "test", "choices": choices} | fields
    )


def make_message_response(content: Any, **fields: Any) -> Response:
    """A completion with that content in its message. fields: more keys of the message."""
    message = {"role": "assistant", "content": content} | fields
    return make_completion([{"index": 0, "message": message, "finish_reason": "stop"}])


TOOL_CALL = {"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
MALFORMED_RESPONSES = {
    "no choices": make_completion([]),
    "choices null": make_completion(None),
    "choices a number": make_completion(7),
    "choice a number": make_completion([7]),
    "message null": make_completion([{"index": 0, "message": None}]),
    "message a text": make_completion([{"index": 0, "message": "Paris"}]),
    "content null": make_message_response(None),
    "content a number": make_message_response(42),
    "content true": make_message_response(True),
    "content an object": make_message_response({"text": "Paris"}),
    "content numbers": make_message_response([1, 2]),
    "content without text": make_message_response([{"type": "image_url", "image_url": {"url": "x"}}]),
    "content empty list": make_message_response([]),
    "tool calls alone": make_message_response(None, tool_calls=[TOOL_CALL]),
    "not UTF-8": Response(body=b'{"choices": [{"message": {"content": "caf\xe9"}}]}'),
    "binary": Response(body=bytes(range(256))),
    "HTML": Response(body=b"<html>login</html>", headers={"Content-Type": "text/html"}),
    "HTML sent as JSON": Response(body=b"<html>login</html>"),
    "null": Response(body=b"null"),
    "a list": Response(body=[1]),
    "a text": Response(body="Paris"),
    "a number": Response(body=b"7"),
    "endless number": Response(body=b'{"choices": ' + b"9" * 5000 + b"}"),
    "nested deeply": Response(body=b"[" * 100_000),
}


@pytest.mark.parametrize("response", MALFORMED_RESPONSES.values(), ids=MALFORMED_RESPONSES)
async def test_a_malformed_response_is_retried(openai_server: OpenAIServer, response: Response) -> None:
    openai_server.reply([response, "there"])
    assert (await ask()).text == "there"
    assert len(openai_server.chats()) == 2


@pytest.mark.parametrize("response", MALFORMED_RESPONSES.values(), ids=MALFORMED_RESPONSES)
async def test_a_server_that_sends_only_malformed_responses_fails_the_call(
    openai_server: OpenAIServer, response: Response
) -> None:
    openai_server.reply(response)
    with pytest.raises(CallError, match=r"after 2 tries: the reply could not be read \(.+\)"):
        await ask(Context(model="openai:test", attempts=2))


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # of langchain-openai with openai 2
@pytest.mark.parametrize("name", ["no choices", "content a number", "content numbers", "not UTF-8", "HTML"])
async def test_malformed_responses_to_a_callers_own_client_are_retried_too(
    openai_server: OpenAIServer, name: str
) -> None:
    openai_server.reply([MALFORMED_RESPONSES[name], "there"])
    model = ChatOpenAI(model="test", base_url=openai_server.url, api_key="none", max_retries=0)  # type: ignore[arg-type]
    assert (await ask(Context(model=model))).text == "there"


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (
            make_message_response([{"type": "text", "text": "New "}, {"type": "text", "text": "York"}]),
            "New York",
        ),
        (make_message_response(["New ", "York"]), "New York"),
        (
            make_message_response([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Bern"}]),
            "Bern",
        ),
        (make_message_response("Oslo", tool_calls=[TOOL_CALL]), "Oslo"),
        (make_message_response(None, refusal="I cannot help with that."), "I cannot help with that."),
        (make_message_response(""), ""),
        (make_completion([{"index": 0, "message": {"content": "Rome"}, "finish_reason": 3}]), "Rome"),
        (make_completion([{"index": 0, "message": {"role": "assistant"}, "finish_reason": "length"}]), ""),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_the_text_is_found_wherever_a_response_holds_it(
    openai_server: OpenAIServer, response: Response, text: str
) -> None:
    openai_server.reply([response])
    assert (await ask()).text == text


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("content", [None, "", "\n\n"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_reply_that_stands_only_in_the_reasoning_is_read(
    openai_server: OpenAIServer, field: str, content: str | None, stream: bool
) -> None:
    openai_server.reply([Response(message={"content": content, field: "Ada Korn"})])
    reply = await ask_while_streaming(FakeClock()) if stream else await ask()
    assert (reply.text, reply.reasoning, reply.finish) == ("Ada Korn", "", "stop")


@pytest.mark.parametrize("stream", [False, True])
async def test_reasoning_is_no_reply_if_the_model_was_cut_off(openai_server: OpenAIServer, stream: bool) -> None:
    response = Response(message={"content": None, "reasoning_content": "Ada or Ida?"}, finish_reason="length")
    openai_server.reply([response])
    reply = await ask_while_streaming(FakeClock()) if stream else await ask()
    assert (reply.text, reply.reasoning) == ("", "Ada or Ida?")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_in_a_field_of_its_own_is_read(openai_server: OpenAIServer, stream: bool) -> None:
    openai_server.reply([Response(message={"content": None, "refusal": "I cannot help with that."})])
    reply = await ask_while_streaming(FakeClock()) if stream else await ask()
    assert reply.text == "I cannot help with that."


@pytest.mark.parametrize("name", ["content null", "content a number", "tool calls alone"])
async def test_a_greedy_model_that_writes_the_same_unreadable_message_is_asked_twice(
    openai_server: OpenAIServer, name: str
) -> None:
    openai_server.reply(MALFORMED_RESPONSES[name])
    with pytest.raises(CallError, match=r"after 2 tries: the reply could not be read .* the same message each time"):
        await ask()
    assert len(openai_server.chats()) == 2
    with pytest.raises(CallError, match="after 8 tries"):  # it may write another one
        await ask(Context(model="openai:test", temperature=1))


class TextState(TypedDict, total=False):
    text: str


async def ask_while_streaming(clock: FakeClock) -> Reply:
    """The reply to a call whose tokens a graph streams."""
    replies: list[Reply] = []

    async def node(state: TextState) -> TextState:
        replies.append(await ask(clock=clock))
        return {"text": replies[-1].text}

    graph = StateGraph(TextState).add_node("node", node).add_edge(START, "node").compile()
    async for _ in graph.astream({"text": "Which?"}, stream_mode="messages"):
        pass
    return replies[-1]


@pytest.mark.parametrize(
    "event", [b"data: 7\n\n", b'data: {"choices": [7]}\n\n', b'data: {"choices": []}\n\n', b"\xff\n\n"]
)
async def test_a_malformed_stream_is_retried(openai_server: OpenAIServer, event: bytes) -> None:
    headers = {"Content-Type": "text/event-stream"}
    openai_server.reply([Response(body=event + b"data: [DONE]\n\n", headers=headers), "there"])
    assert (await ask_while_streaming(FakeClock())).text == "there"


async def test_a_stream_may_send_its_text_in_content_blocks(openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("", message={"content": [{"type": "text", "text": "Bern"}]}))
    assert (await ask_while_streaming(FakeClock())).text == "Bern"


ODD_USAGE = [
    {"prompt_tokens": 3.5, "completion_tokens": 1},
    {"prompt_tokens": "3", "completion_tokens": 1},
    {"prompt_tokens": -3, "completion_tokens": 1},
    {"prompt_tokens": 3, "completion_tokens": 10**30},
    {"prompt_tokens": True, "completion_tokens": 1},
    {"prompt_tokens": 3},
    {"prompt_tokens": [3], "completion_tokens": 1},
    "many",
    [],
    7,
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("usage", ODD_USAGE, ids=str)
async def test_invalid_token_counts_count_as_missing(
    openai_server: OpenAIServer, usage: Any, stream: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The journal is on because it stores the token counts of a reply, too.
    monkeypatch.setenv("QUORUM_JOURNAL", str(tmp_path / "journal.sqlite"))
    openai_server.reply(Response("four", usage=usage))
    reply = await ask_while_streaming(FakeClock()) if stream else await ask(Context(model="openai:test"))
    # missing counts are estimated from the texts
    assert reply.usage == {"calls": 1, "input_tokens": 2, "output_tokens": 2, "cached_tokens": 0}


async def test_malformed_token_details_leave_the_counts_unchanged(openai_server: OpenAIServer) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": -8}, "completion_tokens_details": {"reasoning_tokens": "2"}}
    openai_server.reply(Response("four", usage={"prompt_tokens": 12, "completion_tokens": 3} | details))
    assert (await ask()).usage == {"calls": 1, "input_tokens": 12, "output_tokens": 3, "cached_tokens": 0}


def test_an_evaluation_goes_on_after_a_reply_that_cannot_be_read(
    openai_server: OpenAIServer, quorum: Quorum, tmp_path: Path
) -> None:
    lines = [
        {"id": f"q{n}", "question": f"{QUESTION} {n}", "answers": ["1931"], "passages": PASSAGES} for n in range(3)
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    openai_server.reply(lambda request: make_message_response(42) if f"{QUESTION} 1" in request.text else "1931")
    folder = tmp_path / "out"
    run = quorum("eval", data, "--methods", "concat", "--model", "openai:test", "--out", folder, "--set", "attempts=1")
    assert run.code == 1
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted((row["id"], row["answer"]) for row in rows) == [("q0", "1931"), ("q1", None), ("q2", "1931")]
    (failed_row,) = (row for row in rows if row["error"])
    assert "its content is a number" in failed_row["error"]
    # Only the user can read the folder and its files.
    files = [folder / name for name in ("results.jsonl", "config.json", "summary.json")]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
