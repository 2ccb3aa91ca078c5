"""Batches concurrent readings into one run of the encoder, which never blocks the event loop."""

import asyncio
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from quorum.core.state import Passage
from quorum.models.embedded import read_manifest
from quorum.models.embedded.encoder import Encoder, Logits, get_encoder
from quorum.models.embedded.reading import Calibration, Reading, Window, make_reading, make_windows

JOBS_AT_ONCE = 32  # readings in one run
WORKER = ThreadPoolExecutor(1, thread_name_prefix="embedded-reader")


@dataclass(frozen=True)
class Job:
    """Read the question in these passages together."""

    question: str
    passages: Sequence[Passage]


@dataclass(frozen=True)
class JobResult:
    """The result of a job: the reading, and the windows and logits from which it was made."""

    reading: Reading
    windows: list[Window]
    logits: list[Logits]


class LogitsCache:
    """A cache of the last windows' logits: several prompts and methods often ask the same question of a passage."""

    def __init__(self, size: int) -> None:
        self.size, self.lock = size, threading.Lock()
        self.entries: OrderedDict[Hashable, Logits] = OrderedDict()

    def get(self, key: Hashable) -> Logits | None:
        with self.lock:
            if key in self.entries:
                self.entries.move_to_end(key)
            return self.entries.get(key)

    def put(self, key: Hashable, logits: Logits) -> None:
        with self.lock:
            self.entries[key] = logits
            while len(self.entries) > self.size:
                self.entries.popitem(last=False)


LOGITS_CACHES: weakref.WeakKeyDictionary[Encoder, LogitsCache] = weakref.WeakKeyDictionary()


def read_windows(model: Encoder, asked: Sequence[Window]) -> list[Logits]:
    """The logits of each window, in order. Equal windows are read once; recent ones come from the cache."""
    recent = LOGITS_CACHES.setdefault(model, LogitsCache(1024))
    keys = [(window.first, *window.ids) for window in asked]
    found: dict[Hashable, Logits | None] = {key: recent.get(key) for key in keys}
    new = {key: window for key, window in zip(keys, asked, strict=True) if found[key] is None}
    read = model.read([window.ids for window in new.values()], [window.types for window in new.values()])
    for key, logits in zip(new, read, strict=True):
        found[key] = logits
        recent.put(key, logits)
    return [one for key in keys if (one := found[key]) is not None]


def read_jobs(jobs: Sequence[Job], model: Encoder | None = None, fit: Calibration | None = None) -> list[JobResult]:
    """Read all windows of all jobs in one run, in order. Blocking."""
    model, fit = model or get_encoder(), fit or Calibration.of(read_manifest())
    made = [make_windows(model, job.question, job.passages, fit.window) for job in jobs]
    logits = iter(read_windows(model, [window for group in made for window in group]))
    results = []
    for job, group in zip(jobs, made, strict=True):
        own = [next(logits) for _ in group]
        results.append(JobResult(make_reading(group, own, job.passages, fit), group, own))
    return results


def try_jobs(jobs: Sequence[Job]) -> list[JobResult | Exception]:
    """As `read_jobs`, but an error in one job leaves the others their results."""
    try:
        return [*read_jobs(jobs)]
    except Exception as error:  # noqa: BLE001  its own waiter raises it
        if len(jobs) == 1:
            return [error]
        return [result for job in jobs for result in try_jobs([job])]


class Batcher:
    """Collects the jobs of one event loop while the encoder is busy."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Job, asyncio.Future[JobResult]]] = []
        self.task: asyncio.Task[None] | None = None

    async def read(self, job: Job) -> JobResult:
        future: asyncio.Future[JobResult] = asyncio.get_running_loop().create_future()
        self.waiting.append((job, future))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.drain())
        return await future

    async def drain(self) -> None:
        loop = asyncio.get_running_loop()
        taken: list[tuple[Job, asyncio.Future[JobResult]]] = []
        try:
            await asyncio.sleep(0)  # let the other branches of a fan-out arrive
            while self.waiting:
                taken, self.waiting = self.waiting[:JOBS_AT_ONCE], self.waiting[JOBS_AT_ONCE:]
                wanted = [(job, future) for job, future in taken if not future.done()]  # without cancelled jobs
                results = await loop.run_in_executor(WORKER, try_jobs, [job for job, _ in wanted])
                for (_, future), result in zip(wanted, results, strict=True):
                    set_result(future, result)
        finally:
            for _, future in [*taken, *self.waiting]:
                future.cancel()  # if this task was cancelled: cancel the jobs without a result
            self.waiting = []
            self.task = None  # a task refers to its loop, which must be free to be collected


def set_result(future: asyncio.Future[JobResult], result: JobResult | Exception) -> None:
    """Set a future's result, unless the future is done or cancelled."""
    if future.done():
        return
    if isinstance(result, JobResult):
        future.set_result(result)
    else:
        future.set_exception(result)


BATCHERS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Batcher] = weakref.WeakKeyDictionary()


async def read_passages(question: str, passages: Sequence[Passage]) -> JobResult:
    """Read the question in the passages together, in one run with all other jobs of the moment."""
    return await BATCHERS.setdefault(asyncio.get_running_loop(), Batcher()).read(Job(question, passages))
