"""Asks questions on Ray: workers return rows, and only this process writes them (docs/scale.md)."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from quorum.cluster.ray_cluster import connect_cluster, count_cores
from quorum.cluster.ray_workers import WorkerPool, map_items
from quorum.core.errors import SetupError
from quorum.evaluation.run.ask_question import Questioner
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.engine_worker import Answers, Asker, Job, RemainingQuestionsReader, Services
from quorum.evaluation.run.rounds import QuestionRound, Recorder
from quorum.evaluation.run.rows import make_failed_row

LOG = logging.getLogger("quorum")
T = TypeVar("T")
TRIES_TOGETHER, TRIES_ALONE = 2, 2  # how often a question is tried beside other questions, then alone on its worker
MOST_WAITING_CALLS = 100_000  # how many calls from workers may wait at once for `Services`


@dataclass
class AnswerWriter:
    """Writes the answers that workers return. failed_pairs: the (method, question) pairs that ended with an error in
    this run and are not asked again.
    """

    asked_round: QuestionRound
    recorder: Recorder
    failed_pairs: set[tuple[str, str]] = field(default_factory=set)

    def write_answers(self, answers: Answers) -> None:
        """Write the details before the rows, so that no row is ever without its details.

        If a worker exited, its question may have been asked twice. The first row written is kept, with its details.
        """
        details = self.recorder.details
        if details is not None:
            for detail in answers.details:
                if not self.is_answered(detail["method"], detail["id"]):
                    details.append(detail)
        for row in answers.rows:
            self.write_row(row)
        # The spending comes last: if it ends the run, the answers are already written.
        self.recorder.spending.merge(answers.spending)

    def is_answered(self, method: str, id_: str) -> bool:
        return (method, id_) in self.recorder.results.answered_pairs

    def write_row(self, row: Row) -> None:
        """Write the row of a method's answer to a question, unless the results already hold this answer."""
        if self.is_answered(row["method"], row["id"]):
            return
        if row["error"] is not None:
            self.failed_pairs.add((row["method"], row["id"]))
        self.recorder.add(row)

    def make_remaining_questions_reader(self) -> RemainingQuestionsReader:
        """A reader of the remaining questions: those for which a method that is still asked has neither an answer nor
        an error from this run.
        """
        names = [column.name for column in self.asked_round.columns if self.asked_round.is_asked(column.name)]
        answered_names: dict[str, list[str]] = {}
        for name, id_ in self.recorder.results.answered_pairs | self.failed_pairs:
            answered_names.setdefault(id_, []).append(name)
        missing_names = {
            id_: [name for name in names if name not in answered] for id_, answered in answered_names.items()
        }
        finished_ids = frozenset(id_ for id_, missing in missing_names.items() if not missing)
        missing_names = {id_: missing for id_, missing in missing_names.items() if missing}
        return RemainingQuestionsReader(self.asked_round.dataset.read_records, names, finished_ids, missing_names)

    def find_dropped_methods(self) -> frozenset[str]:
        """The methods that a race has dropped."""
        return frozenset(
            column.name for column in self.asked_round.columns if not self.asked_round.is_asked(column.name)
        )

    def make_worker_exit_rows(self, questioner: Questioner) -> Iterator[Row]:
        """Error rows for the questions during which a worker exited at every try."""
        columns = {column.name: column for column in self.asked_round.columns}
        tries = TRIES_TOGETHER + TRIES_ALONE
        for record, names in self.make_remaining_questions_reader()():
            for name in names:
                task = columns[name].make_context(questioner.get_task(record)).answer_type
                error = (
                    f"The worker process exited each of the {tries} times that this question was asked "
                    "(out of memory, or killed)."
                )
                measure = columns[name].context.answer_measure
                yield make_failed_row(record, name, task, error, seconds=0.0, answer_measure=measure)


async def ask_on_ray(asked_round: QuestionRound, recorder: Recorder, questioner: Questioner, concurrency: int) -> None:
    """Ask one round on Ray (see `quorum.evaluation.run.run_plan.ask_round`).

    If a worker exits, its questions are asked again by another worker. If workers have exited TRIES_TOGETHER times
    during a question, a worker that has no other question asks this question, up to TRIES_ALONE times; if the worker
    exits, no other question is lost. If the worker exits each of these times too, the question gets an error row.
    """
    columns, dataset = asked_round.columns, asked_round.dataset
    writer = AnswerWriter(replace(asked_round, dataset=replace(dataset, path=dataset.path.resolve())), recorder)
    with connect_cluster(*find_needed_files(columns)):
        pool = size_worker_pool(columns, concurrency, count_cores())
        worker_columns = [share_concurrency(column, pool.workers) for column in columns]
        job = Job(worker_columns, questioner, recorder.details is not None, is_race=asked_round.race is not None)
        check_picklable(job)
        with start_services(job.folder) as services:
            dropped_names: frozenset[str] = frozenset()
            for worker_pool in (pool, replace(pool, at_once=1, tries=TRIES_ALONE)):
                read_remaining = writer.make_remaining_questions_reader()
                if next(read_remaining(), None) is None:
                    return
                async for answers in iterate_on_thread(
                    lambda: map_items(read_remaining, Asker, (job, services), worker_pool)  # noqa: B023
                ):
                    writer.write_answers(answers)
                    if dropped_names != (dropped_names := writer.find_dropped_methods()):
                        services.set_dropped_methods.remote(dropped_names)
    for row in writer.make_worker_exit_rows(questioner):
        writer.write_row(row)


def find_needed_files(columns: Sequence[Column]) -> list[str]:
    """The files and folders that workers read: stores, examples and prompts."""
    from quorum.retrievers.langchain_retrievers import BM25Retriever, ChromaRetriever

    files: list[str] = []
    for column in columns:
        context = column.context
        # `share_retrieval` wraps the retriever of a column in a CachingRetriever; `inner` is the wrapped retriever.
        retriever = getattr(context.retriever, "inner", None)
        for part in (retriever, *(getattr(retriever, name, None) for name in ("dense", "lexical"))):
            if isinstance(part, BM25Retriever | ChromaRetriever) and "://" not in str(part.store):
                files.append(str(part.store))
        for step_context in column.list_contexts(context):
            files += [path for path in (step_context.examples, step_context.prompts) if isinstance(path, str)]
    return list(dict.fromkeys(files))


def size_worker_pool(columns: Sequence[Column], concurrency: int, cores: int) -> WorkerPool:
    """The pool has a worker for each core, but not more workers than `concurrency`, and not more than the concurrent
    model calls that any column's context allows. So no worker's share of questions and calls is zero.
    """
    workers = min(concurrency, cores, *(column.context.concurrency for column in columns))
    return WorkerPool(workers=workers, at_once=concurrency // workers, tries=TRIES_TOGETHER)


def share_concurrency(column: Column, workers: int) -> Column:
    """The column, allowed only one worker's share of its concurrent calls."""
    return replace(column, context=replace(column.context, concurrency=column.context.concurrency // workers))


def check_picklable(job: Job) -> None:
    """Raises `SetupError` unless the job can be sent to another process."""
    from ray import cloudpickle

    try:
        cloudpickle.dumps(job)
    except Exception as error:
        raise SetupError(
            f"The settings cannot be sent to other processes ({error}); give models, retrievers and graphs by their "
            "names instead of as objects, or use the engine 'local'."
        ) from error


@contextmanager
def start_services(folder: str) -> Iterator[Any]:
    """Start the actor `Services` on this machine, and log the workers' warnings in this process. At the end, the actor
    is stopped.

    Through this actor, the workers share the journals and the servers' limits per minute, report warnings, and learn
    which methods a race has dropped. folder: the working directory of the actor, the base of relative paths.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    this_node = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(Services).options(num_cpus=0, max_concurrency=MOST_WAITING_CALLS, scheduling_strategy=this_node)
    services = actor.remote(os.path.abspath(folder))

    async def log_warnings() -> None:
        while True:
            LOG.warning("%s", await services.wait_for_warning.remote())

    warning_task = asyncio.ensure_future(log_warnings())
    try:
        yield services
    finally:
        warning_task.cancel()
        ray.kill(services)


async def iterate_on_thread(make_iterator: Callable[[], Iterator[T]]) -> AsyncIterator[T]:
    """Yield the items of a blocking iterator, which is read on a thread. Cancellation does not wait for the thread."""
    loop, getters = asyncio.get_running_loop(), asyncio.Queue[Callable[[], T]]()

    def enqueue(get: Callable[[], T]) -> None:
        call_on_open_loop(loop, lambda: getters.put_nowait(get))

    def read_items() -> None:
        try:
            for item in make_iterator():
                enqueue(lambda item=item: item)  # type: ignore[misc]
        except BaseException as error:  # noqa: BLE001  it is raised again below
            enqueue(make_raiser(error))
        else:
            enqueue(make_raiser(StopAsyncIteration()))

    threading.Thread(target=read_items, daemon=True).start()
    while True:
        get = await getters.get()
        try:
            item = get()
        except StopAsyncIteration:
            return
        yield item


def make_raiser(error: BaseException) -> Callable[[], Any]:
    """A function that raises the error."""

    def get() -> Any:
        raise error

    return get


def call_on_open_loop(loop: asyncio.AbstractEventLoop, function: Callable[[], Any]) -> None:
    """Call a function on the loop. Does nothing if the loop is closed, because nobody waits for the result any more."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)
