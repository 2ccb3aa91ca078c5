"""How many calls run at once, and which waiting call is next."""

import asyncio

from quorum.models.slots import Slots, queue_calls_as_one_question


async def list_begun_calls(*, queue_by_question: bool) -> list[str]:
    """The calls of the questions a, b and c in the order in which they begin, with one slot.

    Each question makes three calls. Questions a and b start together; c starts during b's first call.
    queue_by_question: whether each question's calls are queued as those of one question, as in an evaluation.
    """
    slots, begun_calls, tasks = Slots(1), list[str](), list[asyncio.Task[None]]()

    async def ask(question: str) -> None:
        if queue_by_question:
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


async def test_the_question_with_the_fewest_calls_so_far_is_next() -> None:
    assert await list_begun_calls(queue_by_question=True) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


async def test_outside_an_evaluation_the_call_that_waited_longest_is_next() -> None:
    assert await list_begun_calls(queue_by_question=False) == ["a0", "b0", "a1", "c0", "b1", "a2", "c1", "b2", "c2"]


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
    assert slots.free_count == 3


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
    assert slots.free_count == 1
