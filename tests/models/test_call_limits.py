"""Limits on calls: how many at once, and how many a minute."""

import asyncio
import threading

from fake_clock import FakeClock
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.models.call import call
from quorum.models.scripted import ScriptedModel


async def test_concurrent_calls_stay_within_the_limit(openai_server: OpenAIServer) -> None:
    pair = threading.Barrier(2)  # the server replies only when two requests are open at once

    def reply_to_pair(request: Request) -> str:
        pair.wait(30)
        return "ok"

    openai_server.reply(reply_to_pair)
    context = Context(model="openai:test", concurrency=2)
    await asyncio.gather(*(call("answer", f"question {i}", context=context) for i in range(8)))
    assert openai_server.most_open_requests == 2
    assert len(openai_server.chats()) == 8


async def test_a_waiting_retry_leaves_its_place_to_others(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: make_error(429, "wait") if request.text == "first" else "ok")
    context = Context(model="openai:test", concurrency=1, attempts=3)
    clock = FakeClock()
    first, second = await asyncio.gather(
        call("answer", "first", context=context, clock=clock),
        call("answer", "second", context=context, clock=clock),
        return_exceptions=True,
    )
    assert isinstance(first, Exception)
    assert isinstance(second, list)
    assert [request.text for request in openai_server.chats()][:2] == ["first", "second"]


async def test_requests_per_minute_are_limited() -> None:
    clock, times = FakeClock(), []  # the clock starts at 1000 seconds
    model = ScriptedModel().on("answer", lambda messages: times.append(clock.now()) or "ok")
    context = Context(model=model, requests_per_minute=3, concurrency=1)
    await asyncio.gather(*(call("answer", "x", context=context, clock=clock) for _ in range(7)))
    assert [time - 1000 for time in times] == [0, 0, 0, 60, 60, 60, 120]


async def test_tokens_per_minute_are_estimated_before_a_call_and_counted_after_it(openai_server: OpenAIServer) -> None:
    clock, times = FakeClock(), []  # the clock starts at 1000 seconds

    def reply_with_usage(request: Request) -> Response:
        times.append(clock.now() - 1000)
        return Response("ok", usage={"prompt_tokens": 50, "completion_tokens": 30, "total_tokens": 80})

    openai_server.reply(reply_with_usage)
    context = Context(model="openai:test", tokens_per_minute=100, concurrency=4)
    for number in range(3):  # each is estimated at 10 tokens and takes 80
        await call("answer", f"{number}" * 30, context=context, clock=clock)
    assert times == [0, 0, 60]
    # The next call needs more tokens than the limit, so it waits until a minute has passed since the last call.
    await call("answer", "long " * 300, context=context, clock=clock)
    assert times[-1] == 120
