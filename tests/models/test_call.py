"""Calls of a chat model: what is sent, what comes back, what is counted."""

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from fake_clock import FakeClock
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, StateGraph
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request
from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.models import chat_model
from quorum.models.call import call, remove_thinking
from quorum.models.loops import CACHE_OF_LOOP
from quorum.models.scripted import ScriptedModel

SERVED_CONTEXT = Context(model="openai:test")


class RunRecorder(AsyncCallbackHandler):
    """A tracer that records the name and the metadata of every run of a chat model."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, dict[str, Any]]] = []

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        self.runs.append((kwargs["name"], kwargs["metadata"]))


async def test_a_call_sends_one_message_and_counts_tokens(openai_server: OpenAIServer) -> None:
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    openai_server.reply(Response("  Paris \n", usage=usage))
    (reply,) = await call("answer", "Which city?", context=SERVED_CONTEXT)
    assert (reply.text, reply.raw, reply.is_reused, reply.finish) == ("Paris", "  Paris \n", False, "stop")
    assert reply.usage == {"calls": 1, "input_tokens": 12, "output_tokens": 3, "cached_tokens": 8}
    (request,) = openai_server.chats()
    assert request.body["messages"] == [{"role": "user", "content": "Which city?"}]
    assert request.body["temperature"] == 0
    assert request.body["model"] == "test"
    assert not {"seed", "top_p", "n", "stop"} & set(request.body)
    assert request.headers["authorization"] == "Bearer none"  # the placeholder that is sent if no key is set


async def test_tokens_are_estimated_where_the_server_counts_none(openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("four", usage=None))
    (reply,) = await call("answer", "1234567", context=SERVED_CONTEXT)
    assert reply.usage == {"calls": 1, "input_tokens": 3, "output_tokens": 2, "cached_tokens": 0}


async def test_samples_are_independent_requests_with_their_own_seeds(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: f"sample {request.body['seed']}")
    context = Context(model="openai:test", seed=5, top_p=0.9)
    replies = await call("answer", "Which?", context=context, n=3, temperature=0.7)
    assert [reply.text for reply in replies] == ["sample 5", "sample 6", "sample 7"]
    assert {request.body["temperature"] for request in openai_server.chats()} == {0.7}
    assert {request.body["top_p"] for request in openai_server.chats()} == {0.9}
    assert not any(reply.is_reused for reply in replies)


async def test_greedy_samples_are_one_request_and_count_one_call_each(openai_server: OpenAIServer) -> None:
    openai_server.reply("Rome")
    replies = await call("answer", "Which?", context=SERVED_CONTEXT, n=3)
    assert len(openai_server.chats()) == 1
    assert [reply.usage["calls"] for reply in replies] == [1, 1, 1]
    assert [reply.is_reused for reply in replies] == [False, True, True]


async def test_identical_calls_in_flight_are_one_request(openai_server: OpenAIServer) -> None:
    openai_server.reply(Response("Oslo", hold=True))
    calls = [asyncio.create_task(call("answer", "Same?", context=SERVED_CONTEXT)) for _ in range(5)]
    other = asyncio.create_task(call("answer", "Other?", context=SERVED_CONTEXT))
    await asyncio.to_thread(openai_server.wait_for_requests, 2)
    calls[0].cancel()  # the one that started the request leaves; the others still get the reply
    openai_server.release_held_replies()
    replies = [reply for replies_of_call in await asyncio.gather(*calls[1:], other) for reply in replies_of_call]
    assert [reply.text for reply in replies] == ["Oslo"] * 5
    assert calls[0].cancelled()
    assert sorted(request.text for request in openai_server.chats()) == ["Other?", "Same?"]


async def test_a_call_that_nobody_awaits_is_cancelled(openai_server: OpenAIServer) -> None:
    openai_server.reply([Response("late", hold=True), "fresh"])
    calls = [asyncio.create_task(call("answer", "Same?", context=SERVED_CONTEXT)) for _ in range(2)]
    await asyncio.to_thread(openai_server.wait_for_requests, 1)
    for task in calls:
        task.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    (reply,) = await call("answer", "Same?", context=SERVED_CONTEXT)
    assert (reply.text, reply.is_reused) == ("fresh", False)


async def test_a_trace_names_every_call(openai_server: OpenAIServer) -> None:
    openai_server.reply("yes")
    trace = RunRecorder()
    config: Any = {"callbacks": [trace], "metadata": {"mine": 1}}
    await asyncio.gather(
        *(
            call(
                "validate",
                "Is it?",
                context=SERVED_CONTEXT,
                prompt_version="v1",
                call_subject="candidate 2",
                config=config,
            )
            for _ in "ab"
        )
    )
    assert [name for name, _ in trace.runs] == ["validate: candidate 2"] * 2
    first, second = (metadata for _, metadata in trace.runs)
    assert (first["prompt"], first["prompt_version"], first["mine"]) == ("validate", "v1", 1)
    assert "reused" not in first
    assert second["reused"] is True


class QuestionState(TypedDict, total=False):
    text: str


async def test_streamed_tokens_are_counted_and_broken_streams_are_retried(openai_server: OpenAIServer) -> None:
    openai_server.reply([Response("one two three four five six", truncate=True), "seven eight"])
    clock, usages = FakeClock(), []

    async def node(state: QuestionState) -> QuestionState:
        (reply,) = await call("answer", state["text"], context=SERVED_CONTEXT, clock=clock)
        usages.append(reply.usage)
        return {"text": reply.text}

    graph = StateGraph(QuestionState).add_node("node", node).add_edge(START, "node").compile()
    parts = [part async for part in graph.astream({"text": "Which number?"}, stream_mode="messages")]
    assert [request.body["stream"] for request in openai_server.chats()] == [True, True]
    assert openai_server.chats()[0].body["stream_options"] == {"include_usage": True}
    assert "eight" in "".join(str(message.text) for message, _ in parts)
    assert usages == [{"calls": 1, "input_tokens": 3, "output_tokens": 3, "cached_tokens": 0}]
    assert len(clock.slept) == 1


async def test_a_parameter_that_a_model_refuses_is_left_out(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse_temperature(request: Request) -> str | Response:
        if "temperature" in request.body:
            return make_error(
                400, "Unsupported value: 'temperature' does not support 0 with this model.", "unsupported_value"
            )
        return "fine"

    openai_server.reply(refuse_temperature)
    assert [(await call("answer", text, context=SERVED_CONTEXT))[0].text for text in ("a", "b")] == ["fine", "fine"]
    assert len(openai_server.chats()) == 3
    assert "does not take temperature" in caplog.text


async def test_a_refused_parameter_is_left_out_of_every_call_under_way(openai_server: OpenAIServer) -> None:
    """The server refuses every call of a fan-out before the first refusal is known."""

    def refuse_temperature(request: Request) -> str | Response:
        if "temperature" in request.body:
            refusal = make_error(400, "Unsupported value: 'temperature' does not support 0.7 with this model.")
            return replace(refusal, hold=True)
        return "fine"

    openai_server.reply(refuse_temperature)
    calls = [asyncio.create_task(call("answer", text, context=SERVED_CONTEXT, n=2, temperature=0.7)) for text in "abc"]
    await asyncio.to_thread(openai_server.wait_for_requests, 6)
    openai_server.release_held_replies()
    assert [reply.text for replies in await asyncio.gather(*calls) for reply in replies] == ["fine"] * 6
    assert len(openai_server.chats()) == 12


async def test_broken_unicode_can_be_sent(openai_server: OpenAIServer) -> None:
    await call("answer", "caf\ud800é", context=SERVED_CONTEXT)
    assert openai_server.chats()[0].text == "caf?é"


def test_clients_belong_to_one_loop_and_close_with_it(openai_server: OpenAIServer) -> None:
    async def call_and_get_client() -> Any:
        assert chat_model("openai:test", SERVED_CONTEXT) is chat_model("openai:test", SERVED_CONTEXT)
        assert chat_model("openai:test", SERVED_CONTEXT) is not chat_model("openai:other", SERVED_CONTEXT)
        await call("answer", "Which?", context=SERVED_CONTEXT)
        return chat_model("openai:test", SERVED_CONTEXT)

    earlier_loops = set(CACHE_OF_LOOP)  # the loop of synchronous calls, if an earlier test made any
    first, second = asyncio.run(call_and_get_client()), asyncio.run(call_and_get_client())
    assert first is not second
    assert first.root_async_client.is_closed()
    assert second.root_async_client.is_closed()
    assert set(CACHE_OF_LOOP) == earlier_loops
    assert len(openai_server.chats()) == 2


class FieldTemperatureModel(FakeListChatModel):
    """A model that takes its temperature as a field of the object, not as an argument of a call.

    temperatures: the field's value at each call.
    """

    temperature: float | None = None
    temperatures: list[float | None] = []

    def _call(self, *args: Any, **kwargs: Any) -> str:
        assert "temperature" not in kwargs
        self.temperatures.append(self.temperature)
        return super()._call(*args, **kwargs)


async def test_a_model_object_keeps_its_temperature_except_in_calls_that_sample() -> None:
    model = FieldTemperatureModel(responses=["a"], temperature=0.3)
    context = Context(model=model)
    assert [reply.text for reply in await call("answer", "x", context=context)] == ["a"]
    await call("answer", "x", context=context, temperature=0.7, n=2)
    assert model.temperatures == [0.3, 0.7, 0.7]
    assert model.temperature == 0.3
    other_context = Context(model=FakeListChatModel(responses=["b"]), temperature=1.0)
    assert [reply.text for reply in await call("answer", "x", context=other_context, n=2)] == ["b", "b"]


class InputsModel(FakeListChatModel):
    """A model that reads the prompt's variables beside its text, as the embedded reader does.

    received: for each call, the additional fields of its message, and the arguments of the call.
    """

    reads_prompt_inputs: bool = True
    received: list[tuple[dict[str, Any], Any]] = []

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        kwargs.pop("run_manager", None)
        self.received.append((messages[0].additional_kwargs, kwargs))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("read"))])


async def test_inputs_go_to_the_model_that_reads_them_and_to_no_other(openai_server: OpenAIServer) -> None:
    reader = InputsModel(responses=[])
    await call("answer", "text", context=Context(seed=3), model=reader, inputs={"question": "q"}, n=2, temperature=0.5)
    assert reader.received[0][0]["quorum"] == {"prompt": "answer", "inputs": {"question": "q"}, "sample": 0}
    assert [extra["quorum"]["sample"] for extra, _ in reader.received] == [0, 1]
    assert [(sent["temperature"], sent["seed"]) for _, sent in reader.received] == [(0.5, 3), (0.5, 4)]
    await call("answer", "text", context=SERVED_CONTEXT, inputs={"question": "q"})
    assert openai_server.chats()[0].body["messages"] == [{"role": "user", "content": "text"}]


async def test_content_in_blocks_is_read_as_text() -> None:
    class BlocksModel(FakeListChatModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
            message = AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Bern"}])
            return ChatResult(generations=[ChatGeneration(message=message)])

    (reply,) = await call("answer", "x", context=Context(model=BlocksModel(responses=[])))
    assert reply.text == "Bern"


async def test_our_own_errors_and_bugs_are_raised_unchanged() -> None:
    model = ScriptedModel().enqueue(SetupError("stop"), ZeroDivisionError("bug"))
    with pytest.raises(SetupError, match="stop"):
        await call("answer", "x", context=Context(model=model))
    with pytest.raises(ZeroDivisionError, match="bug"):
        await call("answer", "x", context=Context(model=model))


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Paris", "Paris"),
        ("<think>a\nb</think>\n\nParis", "Paris"),
        ("<think>a</think> Paris <THINK>b</THINK> France", "Paris  France"),
        ("Paris <think>never closed", "Paris"),
        ("<think>never closed, Paris", ""),
        ("opened by the template</think>Paris", "Paris"),
        ("<think>a <think>b</think> c</think>Paris", "Paris"),
        ("I think so", "I think so"),
        ("", ""),
    ],
)
def test_thinking_is_removed(raw: str, text: str) -> None:
    assert remove_thinking(raw) == text
