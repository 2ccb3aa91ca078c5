"""Concurrent readings become one run of the encoder; the event loop never waits for it."""

import asyncio
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from core.state import Passage
from models.embedded import manifest
from models.embedded.encoder import Encoder, Logits, encoder
from models.embedded.reading import Calibration, Reading, Window, reading_of, windows

AT_ONCE = 32  # readings in one run
WORKER = ThreadPoolExecutor(1, thread_name_prefix="embedded-reader")


@dataclass(frozen=True)
class Job:
    """Read the question in these passages together."""

    question: str
    passages: Sequence[Passage]


@dataclass(frozen=True)
class Done:
    """What came of a job: its reading, and the windows and logits behind it."""

    reading: Reading
    windows: list[Window]
    logits: list[Logits]


def read_jobs(jobs: Sequence[Job], model: Encoder | None = None, fit: Calibration | None = None) -> list[Done]:
    """All windows of all jobs in one go, in order; blocking."""
    model, fit = model or encoder(), fit or Calibration.of(manifest())
    made = [windows(model, job.question, job.passages, fit.window) for job in jobs]
    flat = [window for group in made for window in group]
    logits = iter(model.read([window.ids for window in flat], [window.types for window in flat]))
    done = []
    for job, group in zip(jobs, made, strict=True):
        own = [next(logits) for _ in group]
        done.append(Done(reading_of(group, own, job.passages, fit), group, own))
    return done


def attempt(jobs: Sequence[Job]) -> list[Done | Exception]:
    """As `read_jobs`; a job that cannot be read costs its own reading and no other."""
    try:
        return [*read_jobs(jobs)]
    except Exception as error:  # noqa: BLE001  its own waiter raises it
        if len(jobs) == 1:
            return [error]
        return [result for job in jobs for result in attempt([job])]


class Batcher:
    """Collects the jobs of one event loop while the encoder is busy."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Job, asyncio.Future[Done]]] = []
        self.task: asyncio.Task[None] | None = None

    async def read(self, job: Job) -> Done:
        future: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self.waiting.append((job, future))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.drain())
        return await future

    async def drain(self) -> None:
        loop = asyncio.get_running_loop()
        taken: list[tuple[Job, asyncio.Future[Done]]] = []
        try:
            await asyncio.sleep(0)  # let the other branches of a fan-out arrive
            while self.waiting:
                taken, self.waiting = self.waiting[:AT_ONCE], self.waiting[AT_ONCE:]
                wanted = [(job, future) for job, future in taken if not future.done()]  # without what was given up
                results = await loop.run_in_executor(WORKER, attempt, [job for job, _ in wanted])
                for (_, future), result in zip(wanted, results, strict=True):
                    settle(future, result)
        finally:
            for _, future in [*taken, *self.waiting]:
                future.cancel()  # of those that nothing came of: this task was cancelled
            self.waiting = []
            self.task = None  # a task holds its loop, which must be free to go


def settle(future: asyncio.Future[Done], result: Done | Exception) -> None:
    """Hand a result over, unless nobody waits for it any more."""
    if future.done():
        return
    if isinstance(result, Done):
        future.set_result(result)
    else:
        future.set_exception(result)


BATCHERS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Batcher] = weakref.WeakKeyDictionary()


async def read(question: str, passages: Sequence[Passage]) -> Done:
    """Read the question in the passages together, in one run with whatever else is asked at the same time."""
    return await BATCHERS.setdefault(asyncio.get_running_loop(), Batcher()).read(Job(question, passages))
