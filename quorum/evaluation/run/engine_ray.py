"""The engine `ray`: workers ask questions and return rows; only this process writes them (docs/scale.md)."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from quorum.core.errors import SetupError
from quorum.core.ray_cluster import connect_cluster, count_cores
from quorum.core.ray_workers import WorkerPool, map_items
from quorum.evaluation.run.ask_question import Questioner
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.engine_worker import Answers, Asker, Job, Open, Services
from quorum.evaluation.run.results import Row
from quorum.evaluation.run.rounds import Recorder, Round
from quorum.evaluation.run.rows import failed_row

LOG = logging.getLogger("quorum")
T = TypeVar("T")
TRIES_TOGETHER, TRIES_ALONE = 2, 2
MOST_SERVED = 100_000  # how many calls of the actor may wait at once


@dataclass
class Keeper:
    """Writes the answers that arrive. failed: (method, question) with an error in this run; they are not asked again
    now.
    """

    asking: Round
    recorder: Recorder
    failed: set[tuple[str, str]] = field(default_factory=set)

    def keep(self, answers: Answers) -> None:
        """Write details before rows, so that every result has its details."""
        spent, details = self.recorder.spent, self.recorder.details
        for name, amount in zip(("calls", "input_tokens", "output_tokens"), answers.spent, strict=True):
            setattr(spent, name, getattr(spent, name) + amount)
        if details is not None:
            for detail in answers.details:
                details.append(detail)
        for row in answers.rows:
            self.row(row)

    def row(self, row: Row) -> None:
        if (row["method"], row["id"]) in self.recorder.results.done:
            return  # asked twice: the worker exited after answering, before the answer arrived here
        if row["error"] is not None:
            self.failed.add((row["method"], row["id"]))
        self.recorder.add(row)

    def open(self) -> Open:
        """The questions with neither an answer nor an error of this run."""
        names = [column.name for column in self.asking.columns]
        settled: dict[str, list[str]] = {}
        for name, id_ in self.recorder.results.done | self.failed:
            settled.setdefault(id_, []).append(name)
        left = {id_: [name for name in names if name not in found] for id_, found in settled.items()}
        finished = frozenset(id_ for id_, missing in left.items() if not missing)
        started = {id_: missing for id_, missing in left.items() if missing and len(missing) < len(names)}
        return Open(self.asking.dataset.questions, names, finished, started)

    def lost(self, questioner: Questioner) -> Iterator[Row]:
        """Error rows for the questions that no worker survived."""
        columns = {column.name: column for column in self.asking.columns}
        tries = TRIES_TOGETHER + TRIES_ALONE
        for record, names in self.open()():
            for name in names:
                task = columns[name].context_for(questioner.task_of(record)).answer_type
                error = f"Its worker ended each of the {tries} times that it was asked (out of memory, or killed)."
                yield failed_row(record, name, task, error, seconds=0.0)


async def ask_on_ray(asking: Round, recorder: Recorder, questioner: Questioner, concurrency: int) -> None:
    """One round, on Ray (see `quorum.evaluation.run.run_plan.ask_round`).

    If a worker exits, its question is asked again elsewhere, then once more by a worker with no other question, so that
    no other question suffers. After that the question gets an error row.
    """
    columns, dataset = asking.columns, asking.dataset
    keeper = Keeper(replace(asking, dataset=replace(dataset, path=dataset.path.resolve())), recorder)
    with connect_cluster(*needed(columns)):
        crew = crew_of(columns, concurrency, count_cores())
        job = Job([with_part(one, crew.workers) for one in columns], questioner, recorder.details is not None)
        check_travels(job)
        with services(job.folder) as shared:
            for one in (crew, replace(crew, at_once=1, tries=TRIES_ALONE)):
                open_ = keeper.open()
                if next(iter(open_()), None) is None:
                    return
                async for answers in threaded(lambda: map_items(open_, Asker, (job, shared), one)):  # noqa: B023
                    keeper.keep(answers)
    for row in keeper.lost(questioner):
        keeper.row(row)


def needed(runs: Sequence[Column]) -> list[str]:
    """The files and folders that workers read."""
    from quorum.retrievers.langchain_retrievers import BM25Retriever, ChromaRetriever

    found: list[str] = []
    for run in runs:
        context = run.context
        retriever = getattr(context.retriever, "inner", None)
        for part in (retriever, *(getattr(retriever, name, None) for name in ("dense", "lexical"))):
            if isinstance(part, BM25Retriever | ChromaRetriever) and "://" not in str(part.store):
                found.append(str(part.store))
        found += [path for path in (context.examples, context.prompts) if isinstance(path, str)]
    return list(dict.fromkeys(found))


def crew_of(runs: Sequence[Column], concurrency: int, cores: int) -> WorkerPool:
    """Start a worker for each core, but no more than the questions and the concurrent calls can occupy. All workers
    together ask at most `concurrency` questions at once, and make no more calls than the contexts allow.
    """
    workers = min(concurrency, cores, *(run.context.concurrency for run in runs))
    return WorkerPool(workers=workers, at_once=concurrency // workers, tries=TRIES_TOGETHER)


def with_part(run: Column, workers: int) -> Column:
    """The run with one worker's share of the concurrent calls."""
    return replace(run, context=replace(run.context, concurrency=run.context.concurrency // workers))


def check_travels(job: Job) -> None:
    from ray import cloudpickle

    try:
        cloudpickle.dumps(job)
    except Exception as error:
        raise SetupError(
            f"The settings cannot be sent to other processes ({error}); name models, retrievers and graphs by text "
            "instead of giving objects, or use the engine 'local'."
        ) from error


@contextmanager
def services(folder: str) -> Iterator[Any]:
    """The actor on this machine that all workers share; their warnings are logged here."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(Services).options(num_cpus=0, max_concurrency=MOST_SERVED, scheduling_strategy=here)
    shared = actor.remote(os.path.abspath(folder))

    async def listen() -> None:
        while True:
            LOG.warning("%s", await shared.heard.remote())

    listening = asyncio.ensure_future(listen())
    try:
        yield shared
    finally:
        listening.cancel()
        ray.kill(shared)


async def threaded(make: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
    """The items of a blocking iterator, read on a thread. On cancellation nothing waits for the thread."""
    loop, arrived = asyncio.get_running_loop(), asyncio.Queue[Callable[[], T]]()

    def put(get: Callable[[], T]) -> None:
        with_open_loop(loop, lambda: arrived.put_nowait(get))

    def pump() -> None:
        try:
            for item in make():
                put(lambda item=item: item)  # type: ignore[misc]
        except BaseException as error:  # noqa: BLE001  raised by who reads
            put(raising(error))
        else:
            put(raising(StopAsyncIteration()))

    threading.Thread(target=pump, daemon=True).start()
    while True:
        get = await arrived.get()
        try:
            item = get()
        except StopAsyncIteration:
            return
        yield item


def raising(error: BaseException) -> Callable[[], Any]:
    def get() -> Any:
        raise error

    return get


def with_open_loop(loop: asyncio.AbstractEventLoop, act: Callable[[], Any]) -> None:
    """Call a function on the loop, unless the loop is closed: then nobody is waiting any more."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(act)
