"""How many calls run at once, and which waiting call is next."""

import asyncio

from quorum.models.slots import Slots, queue_calls_as_one_question


async def list_begun_calls(*, is_counted: bool) -> list[str]:
    """The order of calls in one slot. Each question makes three: a and b begin together, and c with b's first call."""
    slots, begun_calls, tasks = Slots(1), list[str](), list[asyncio.Task[None]]()

    async def ask(question: str) -> None:
        if is_counted:
            queue_calls_as_one_question()
        for number in range(3):
            async with slots:
                begun_calls.append(f"{question}{number}")
                if begun_calls[-1] == "b0":
                    tasks.append(asyncio.create_task(ask("c")))
                await asyncio.sleep(0.001)

    await asyncio.gather(ask("a"), ask("b"))
    await tasks[0]
    return begun_calls


async def test_the_question_with_the_fewest_calls_is_next() -> None:
    assert await list_begun_calls(is_counted=True) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


async def test_without_counted_questions_the_first_call_is_next() -> None:
    assert await list_begun_calls(is_counted=False) == ["a0", "b0", "a1", "c0", "b1", "a2", "c1", "b2", "c2"]


async def test_no_more_calls_run_at_once_than_there_are_slots() -> None:
    slots, running_calls, most_running = Slots(3), 0, 0

    async def call() -> None:
        nonlocal running_calls, most_running
        async with slots:
            running_calls += 1
            most_running = max(most_running, running_calls)
            await asyncio.sleep(0)
            running_calls -= 1

    await asyncio.gather(*(call() for _ in range(20)))
    assert most_running == 3
    assert slots.free == 3


async def test_a_cancelled_call_gives_its_slot_back() -> None:
    """One call is cancelled while it waits, another in the moment in which it is given a slot."""
    slots, begun_calls = Slots(1), list[str]()

    async def call(name: str) -> None:
        async with slots:
            begun_calls.append(name)

    async with slots:
        tasks = [asyncio.create_task(call(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
    assert begun_calls == ["c"]
    assert slots.free == 1
