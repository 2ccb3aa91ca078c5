"""Puts the passages of concurrent calls into one run of the encoder, in a thread of its own, so that the event loop is
never blocked.
"""

import asyncio
import heapq
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quorum.algorithms.question_kind import is_yes_no_question
from quorum.core.forks import WorkerThread
from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded import read_manifest
from quorum.models.embedded.encoder import Encoder, Logits, get_encoder, is_encoder_loaded
from quorum.models.embedded.question_words import is_no_answer
from quorum.models.embedded.reading import (
    MAX_SPANS,
    NO_ANSWER,
    Calibration,
    Reading,
    Span,
    Window,
    make_reading,
    make_windows,
)
from quorum.models.embedded.recent_items import RecentItems

JOBS_AT_ONCE = 32  # at most, in one run of the encoder
WORKER = WorkerThread("embedded-reader")


@dataclass(frozen=True)
class Job:
    """A question, and the passages in which the reader looks for its answer."""

    question: str
    passages: Sequence[Passage]


@dataclass(frozen=True)
class PassageReading:
    """What the encoder found in one passage for one question, independent of other passages.

    logits: those of each window of the passage, in order; spans: the passage's best spans, each as (normalised text,
    span).
    """

    logits: Sequence[Logits]
    spans: Sequence[tuple[str, Span]]


@dataclass(frozen=True)
class JobResult:
    """The result of a job.

    reading: the best spans of all passages together; parts: the reading of each passage, in order; model: the encoder
    that read them; calibration: the reader's settings (its field `window`: the most tokens in one window).
    """

    job: Job
    reading: Reading
    parts: Sequence[PassageReading]
    model: Encoder
    calibration: Calibration

    @property
    def windows(self) -> list[Window]:
        """The windows that were read, in order."""
        return make_windows(self.model, self.job.question, self.job.passages, self.calibration.window)

    @property
    def logits(self) -> list[Logits]:
        """The logits of each window."""
        return [logits for part in self.parts for logits in part.logits]


ReadingKey = tuple[str, str, str, Calibration]  # question, the passage's title and text, calibration
RECENT_READINGS: weakref.WeakKeyDictionary[Encoder, RecentItems[ReadingKey, PassageReading]] = (
    weakref.WeakKeyDictionary()
)


def get_recent_readings(model: Encoder) -> RecentItems[ReadingKey, PassageReading]:
    """The encoder's latest readings of single passages. They are kept, because several prompts and methods often ask
    the same question about the same passage.
    """
    return RECENT_READINGS.setdefault(model, RecentItems(1024))


def make_key(job: Job, passage: Passage, calibration: Calibration) -> ReadingKey:
    return job.question, passage["title"], passage["text"], calibration


def read_jobs(
    jobs: Sequence[Job], model: Encoder | None = None, calibration: Calibration | None = None
) -> list[JobResult]:
    """The result of each job, in order. All passages without a recent reading are read in one run of the encoder.

    Blocks until the run has ended. model, calibration: by default those of the installed reader.
    """
    model, calibration = model or get_encoder(), calibration or Calibration.from_manifest(read_manifest())
    recent_readings = get_recent_readings(model)
    wanted_passages = {
        make_key(job, passage, calibration): (job.question, passage) for job in jobs for passage in job.passages
    }
    readings = {key: recent_readings.get(key) for key in wanted_passages}
    unread = {key: wanted_passages[key] for key, part in readings.items() if part is None}
    windows_by_key = {
        key: make_windows(model, question, [passage], calibration.window) for key, (question, passage) in unread.items()
    }
    window_logits = iter(read_windows(model, [window for windows in windows_by_key.values() for window in windows]))
    for key, windows in windows_by_key.items():
        passage_reading = read_passage(windows, [next(window_logits) for _ in windows], unread[key][1], calibration)
        readings[key] = passage_reading
        recent_readings.put(key, passage_reading)
    parts_of_jobs = [
        [part for passage in job.passages if (part := readings[make_key(job, passage, calibration)])] for job in jobs
    ]
    return [
        JobResult(job, join_parts(job.question, parts), parts, model, calibration)
        for job, parts in zip(jobs, parts_of_jobs, strict=True)
    ]


def find_recent_result(job: Job) -> JobResult | None:
    """The result of a job whose passages have all been read recently; None otherwise."""
    if not is_encoder_loaded():
        return None
    model, calibration = get_encoder(), Calibration.from_manifest(read_manifest())
    recent_readings = get_recent_readings(model)
    parts = [part for passage in job.passages if (part := recent_readings.get(make_key(job, passage, calibration)))]
    if len(parts) < len(job.passages):
        return None
    return JobResult(job, join_parts(job.question, parts), parts, model, calibration)


def read_windows(model: Encoder, windows: Sequence[Window]) -> list[Logits]:
    """The logits of each window, in order. Equal windows are read once.

    Two windows are equal if their token ids and the index of their first passage token (`tokens_start`) are equal.
    """
    distinct_windows = {(window.tokens_start, *window.ids): window for window in windows}
    row_logits = model.read(
        [window.ids for window in distinct_windows.values()], [window.types for window in distinct_windows.values()]
    )
    logits = dict(zip(distinct_windows, row_logits, strict=True))
    return [logits[window.tokens_start, *window.ids] for window in windows]


def read_passage(
    windows: Sequence[Window], logits: Sequence[Logits], passage: Passage, calibration: Calibration
) -> PassageReading:
    """The best spans of one passage, from all its windows."""
    spans = make_reading(windows, logits, [passage], calibration).spans
    return PassageReading(logits, [(normalize(span.text) or span.text, span) for span in spans])


def join_parts(question: str, parts: Sequence[PassageReading]) -> Reading:
    """The reading of several passages together. Of spans with equal text, only the one with the best score is kept; in
    a tie, the one of the earlier passage. Spans that say no more than the question are left out, but count for the
    score: they, too, show that the passages answer. A question for yes or no keeps them: there a span only shows where
    the passages speak of the matter.
    """
    chosen_spans: dict[str, tuple[Span, int]] = {}
    for number, part in enumerate(parts):
        for text, span in part.spans:
            if text not in chosen_spans or span.score > chosen_spans[text][0].score:
                chosen_spans[text] = span, number
    best = heapq.nsmallest(
        MAX_SPANS, chosen_spans.values(), key=lambda item: (-item[0].score, item[1], item[0].start, item[0].end)
    )
    # In the reading of a single passage, `span.passage` is 0. Here it becomes the passage's number in the job.
    spans = [replace(span, passage=number) if number else span for span, number in best]
    keeps_all = is_yes_no_question(question)
    answers = [span for span in spans if keeps_all or not is_no_answer(span.text, question)]
    return Reading(answers, spans[0].score if spans else NO_ANSWER)


def try_jobs(jobs: Sequence[Job]) -> list[JobResult | Exception]:
    """Like `read_jobs`, but a job that raises an exception gets this exception in place of its result. The other jobs
    get their results.
    """
    try:
        return [*read_jobs(jobs)]
    except Exception as error:  # noqa: BLE001  raised where the job's result is awaited
        if len(jobs) == 1:
            return [error]
        return [result for job in jobs for result in try_jobs([job])]


class Batcher:
    """Collects the jobs of one event loop while the encoder is busy."""

    def __init__(self) -> None:
        self.waiting_jobs: list[tuple[Job, asyncio.Future[JobResult]]] = []
        self.task: asyncio.Task[None] | None = None

    async def read(self, job: Job) -> JobResult:
        """Put the job into the queue, unless its result is known, and wait for the result."""
        if (result := find_recent_result(job)) is not None:
            return result
        future: asyncio.Future[JobResult] = asyncio.get_running_loop().create_future()
        self.waiting_jobs.append((job, future))
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self.drain())
        return await future

    async def drain(self) -> None:
        """Run the waiting jobs in batches until none is left."""
        loop = asyncio.get_running_loop()
        batch: list[tuple[Job, asyncio.Future[JobResult]]] = []
        try:
            await asyncio.sleep(0)  # let the other branches of a fan-out arrive
            while self.waiting_jobs:
                batch, self.waiting_jobs = self.waiting_jobs[:JOBS_AT_ONCE], self.waiting_jobs[JOBS_AT_ONCE:]
                open_jobs = [(job, future) for job, future in batch if not future.done()]  # without cancelled jobs
                results = await loop.run_in_executor(WORKER, try_jobs, [job for job, _ in open_jobs])
                for (_, future), result in zip(open_jobs, results, strict=True):
                    set_result(future, result)
        finally:
            for _, future in [*batch, *self.waiting_jobs]:
                future.cancel()  # if this task was cancelled: cancel the jobs without a result
            self.waiting_jobs = []
            self.task = None  # a task that is kept keeps its event loop from being garbage-collected


def set_result(future: asyncio.Future[JobResult], result: JobResult | Exception) -> None:
    """Set the result or the exception of a future, unless the future is done or cancelled."""
    if future.done():
        return
    if isinstance(result, JobResult):
        future.set_result(result)
    else:
        future.set_exception(result)


BATCHERS: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Batcher] = weakref.WeakKeyDictionary()


async def read_passages(question: str, passages: Sequence[Passage]) -> JobResult:
    """Look for the answer in all the passages. Jobs that wait at the same time share a run of the encoder."""
    return await BATCHERS.setdefault(asyncio.get_running_loop(), Batcher()).read(Job(question, passages))
