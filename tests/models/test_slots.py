"""How many calls run at once, and which waiting call is next."""

import asyncio
import threading

import pytest

from quorum.models.slots import Slots, count_earlier_calls, queue_calls_as_one_question


async def list_begun_calls(*, queue_by_question: bool) -> list[str]:
    """The calls of the questions a, b and c in the order in which they begin, with one slot.

    Each question makes three calls. Questions a and b start together; c starts during b's first call.
    queue_by_question: whether each question's calls are queued as those of one question, as in an evaluation.
    """
    slots, begun_calls, tasks = Slots(), list[str](), list[asyncio.Task[None]]()

    async def ask(question: str) -> None:
        if queue_by_question:
            queue_calls_as_one_question()
        for number in range(3):
            async with slots.hold(1, count_earlier_calls()):
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
    slots, running_calls, most_running = Slots(), 0, 0

    async def call() -> None:
        nonlocal running_calls, most_running
        async with slots.hold(3):
            running_calls += 1
            most_running = max(most_running, running_calls)
            await asyncio.sleep(0)
            running_calls -= 1

    await asyncio.gather(*(call() for _ in range(20)))
    assert most_running == 3
    assert (slots.running, slots.limits) == (0, {})


async def test_a_cancelled_call_gives_its_slot_back() -> None:
    """One call is cancelled while it waits, another in the moment in which it is given a slot."""
    slots, begun_calls = Slots(), list[str]()

    async def call(name: str) -> None:
        async with slots.hold(1):
            begun_calls.append(name)

    async with slots.hold(1):
        tasks = [asyncio.create_task(call(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
    assert begun_calls == ["c"]
    assert (slots.running, slots.limits) == (0, {})


async def test_of_two_limits_the_smaller_holds_while_both_ask() -> None:
    slots, running, most_running = Slots(), 0, list[int]()

    async def call(limit: int) -> None:
        nonlocal running
        async with slots.hold(limit):
            running += 1
            most_running.append(running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(call(limit) for limit in [4, 5] * 10))
    assert max(most_running) == 4
    most_running.clear()
    await asyncio.gather(*(call(5) for _ in range(10)))
    assert max(most_running) == 5


def test_slots_are_those_of_all_event_loops_of_the_process() -> None:
    """Four threads with a loop each ask at once. A loop that is closed while its calls wait holds no slot."""
    slots, lock, running, most_running = Slots(), threading.Lock(), 0, 0

    async def call() -> None:
        nonlocal running, most_running
        async with slots.hold(3):
            with lock:
                running += 1
                most_running = max(most_running, running)
            try:
                await asyncio.sleep(0)
            finally:
                with lock:
                    running -= 1

    async def ask() -> None:
        await asyncio.gather(*(call() for _ in range(50)))

    async def abandon() -> None:
        async with slots.hold(1):
            waiting = [asyncio.ensure_future(call()) for _ in range(3)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in waiting)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        asyncio.run(abandon())
    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert 1 <= most_running <= 3
    assert (slots.running, slots.limits) == (0, {})
