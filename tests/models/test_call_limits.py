"""Limits on calls: how many at once, and how many a minute."""

import asyncio
import threading

from fake_clock import FakeClock
from langchain_openai import ChatOpenAI
from openai_bodies import Response, make_error
from openai_server import LONGEST_WAIT, OpenAIServer, Request

from quorum.core.context import Context
from quorum.models.call import call
from quorum.models.scripted import ScriptedModel


async def test_concurrent_calls_stay_within_the_limit(openai_server: OpenAIServer) -> None:
    pair = threading.Barrier(2)  # the server replies only when two requests are open at once

    def reply_to_pair(request: Request) -> str:
        pair.wait(LONGEST_WAIT)
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
    for _ in range(7):
        await call("answer", "x", context=context, clock=clock)
    assert [time - 1000 for time in times] == [0, 0, 0, 60, 60, 60, 120]
    await asyncio.gather(*(call("answer", "x", context=context, clock=clock) for _ in range(7)))
    assert clock.slept == [60] * 4


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


async def test_two_runs_of_one_model_share_its_limit_and_another_model_has_its_own(openai_server: OpenAIServer) -> None:
    full, held = threading.Semaphore(0), threading.Event()

    def hold(request: Request) -> str:
        full.release()
        held.wait(LONGEST_WAIT)
        return "ok"

    openai_server.reply(hold)
    same = ChatOpenAI(model="test", base_url=openai_server.url, api_key="none")
    contexts = [
        Context(model="openai:test", concurrency=4),
        Context(model="openai:test", concurrency=5),
        Context(model=same, concurrency=5),
        Context(model="openai:other", concurrency=3),
    ]
    calls = asyncio.gather(
        *(call("answer", f"{number} {place}", context=c) for number in range(8) for place, c in enumerate(contexts))
    )
    for _ in range(7):  # four of the one model, three of the other
        await asyncio.to_thread(full.acquire, True, 30)
    held.set()
    await calls
    assert openai_server.most_open_requests == 7
    assert len(openai_server.chats()) == 32


async def test_a_call_that_waits_for_a_limit_per_minute_holds_no_slot() -> None:
    model = ScriptedModel().on("answer", lambda messages: "ok")
    limited = Context(model=model, requests_per_minute=1, concurrency=1)
    clock = FakeClock()
    await call("answer", "first", context=limited, clock=clock)
    sleeps = asyncio.Event()

    class Sleeping(FakeClock):
        async def sleep(self, seconds: float) -> None:
            sleeps.set()
            await asyncio.Event().wait()

    waiting = asyncio.ensure_future(call("answer", "second", context=limited, clock=Sleeping()))
    await asyncio.wait_for(sleeps.wait(), 30)
    # A call without such a limit gets the only slot.
    await asyncio.wait_for(call("answer", "between", context=Context(model=model, concurrency=1)), 30)
    assert not waiting.done()
    waiting.cancel()


async def test_of_two_limits_per_minute_the_smaller_holds_in_its_minute() -> None:
    clock, times = FakeClock(), []  # the clock starts at 1000 seconds
    model = ScriptedModel().on("answer", lambda messages: times.append(clock.now() - 1000) or "ok")
    for limit in (2, 3, 3, 3):
        await call("answer", "x", context=Context(model=model, requests_per_minute=limit), clock=clock)
    assert times == [0, 0, 60, 60]
