"""The embedded reader with many calls at once: each call gets the reply that it gets alone."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from reader_fixtures import BIRTH_QUESTION, PASSAGES, forget_readings, forget_readings_before_each_test, make_message

from quorum.models.embedded import batching
from quorum.models.embedded.chat import EmbeddedReader

__all__ = ["forget_readings_before_each_test"]  # a fixture that pytest uses for every test of this file


def make_messages(count: int) -> list[HumanMessage]:
    questions = [BIRTH_QUESTION, "When did he die?", "What is tea made from?", "When did tea come to Europe?", "Who?"]
    return [
        make_message(["answer", "summary", "pruning"][n % 3], questions[n % 5], PASSAGES[n % 2 : 1 + n % 3] or PASSAGES)
        for n in range(count)
    ]


async def test_fifty_calls_at_once_get_the_replies_of_calls_one_by_one() -> None:
    model, messages = EmbeddedReader(), make_messages(50)
    concurrent_replies = await asyncio.gather(*(model.ainvoke([message]) for message in messages))
    forget_readings()
    # From the 31st on, the messages repeat the first ones.
    single_replies = [(await model.ainvoke([message])).text for message in messages[:30]]
    assert [reply.text for reply in concurrent_replies] == [single_replies[n % 30] for n in range(50)]


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """An event; until it is set, the reader's worker is busy with another task."""
    event = threading.Event()
    batching.WORKER.submit(event.wait)
    yield event
    event.set()


async def run_other_tasks(times: int = 50) -> None:
    """Let the event loop run the other tasks, several times."""
    for _ in range(times):
        await asyncio.sleep(0)


async def test_the_event_loop_goes_on_while_the_reader_reads(gate: threading.Event) -> None:
    reading = asyncio.create_task(batching.read_passages(BIRTH_QUESTION, PASSAGES))
    await run_other_tasks()  # would not return if the read blocked the event loop
    assert not reading.done()
    gate.set()
    assert "Rohrau" in (await reading).reading.spans[0].text


async def test_a_cancelled_read_does_not_affect_other_reads(gate: threading.Event) -> None:
    submitted_reads = [
        asyncio.create_task(batching.read_passages(BIRTH_QUESTION, [passage])) for passage in PASSAGES[:2]
    ]
    await run_other_tasks()  # both reads are now in one batch, which waits for the worker
    waiting_reads = [asyncio.create_task(batching.read_passages(BIRTH_QUESTION, PASSAGES)) for _ in range(2)]
    await run_other_tasks()  # these two reads wait in the batcher until that batch is done
    submitted_reads[0].cancel()
    waiting_reads[0].cancel()
    gate.set()
    assert "Rohrau" in (await submitted_reads[1]).reading.spans[0].text
    assert "Rohrau" in (await waiting_reads[1]).reading.spans[0].text
    for task in (submitted_reads[0], waiting_reads[0]):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_unreadable_passage_does_not_affect_other_reads() -> None:
    broken_passage: Any = {"id": "x", "title": ""}
    good_result, error = await asyncio.gather(
        batching.read_passages(BIRTH_QUESTION, PASSAGES),
        batching.read_passages(BIRTH_QUESTION, [broken_passage]),
        return_exceptions=True,
    )
    assert isinstance(error, KeyError)
    assert isinstance(good_result, batching.JobResult)
    assert "Rohrau" in good_result.reading.spans[0].text


async def test_concurrent_reads_do_not_change_a_reading() -> None:
    single_result = await batching.read_passages(BIRTH_QUESTION, PASSAGES)
    forget_readings()
    concurrent_results = await asyncio.gather(
        *(batching.read_passages(q, PASSAGES) for q in ("Who died?", BIRTH_QUESTION, "What is tea?", BIRTH_QUESTION))
    )
    assert concurrent_results[1].reading == concurrent_results[3].reading == single_result.reading
