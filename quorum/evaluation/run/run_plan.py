"""Ask what the plan says, and write a row for each answer as it comes. Interrupted, the same plan goes on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_folder
from quorum.evaluation.run.ask_question import Questioner
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.details import Details
from quorum.evaluation.run.gold_placement import add_gold
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.results import Results, write_config
from quorum.evaluation.run.rounds import Recorder, Round, rounds
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.source import Progress, fill_collections, ignore_progress
from quorum.evaluation.run.spending import Spending
from quorum.evaluation.run.workers import run_workers


@dataclass(frozen=True)
class Rows:
    """What was answered. results: results.jsonl, counted; asked: answers got by this call; spent: the model calls made
    for them; left_out: questions without a gold passage, which nothing was asked.
    """

    plan: Plan
    results: Results
    asked: int
    spent: Spending
    left_out: int = 0


async def run(plan: Plan, spending: Spending | None = None, progress: Progress = ignore_progress) -> Rows:
    """Ask all questions by all columns, or what is left of them. spending: counts the calls, and may end the run.

    The caller holds the folder (see `lock_folder`).
    """
    spent = spending or Spending()
    write_config(plan.folder, dict(plan.config))
    with Results(plan.folder / "results.jsonl", [one.name for one in plan.columns], plan.options.unless) as results:
        before, dataset = len(results.done), plan.dataset
        if before < dataset.count * len(plan.columns):
            columns, dataset = await prepare(plan, progress)
            options, given = plan.options, not plan.source.retrieves
            questioner = Questioner(given, options.task, dataset.task, tuple(options.keep))
            with Details(plan.folder / "details.jsonl") if plan.options.details else nullcontext() as details:
                for one in rounds(columns, dataset, results):
                    recorder = Recorder(results, details, spent, partial(report_progress, progress, results, one))
                    await ask_round(one, recorder, questioner, plan)
    return Rows(plan, results, len(results.done) - before, spent, plan.dataset.count - dataset.count)


async def prepare(plan: Plan, progress: Progress) -> tuple[Sequence[Column], DataSet]:
    """The columns, which share retrieval, and the questions, with gold passages if columns place any."""
    searching, dataset = plan.source.retrieves, plan.dataset
    if searching and not plan.indexed:
        await fill_collections(plan.source, dataset, plan.columns, progress)
    if any(column.gold for column in plan.columns):
        extra, task = plan.options.gold_from, plan.options.task
        dataset = await add_gold(dataset, plan.columns, searching=searching, extra=extra, task=task)
    return (share_retrieval(plan.columns) if searching else plan.columns), dataset


async def ask_round(one: Round, recorder: Recorder, questioner: Questioner, plan: Plan) -> None:
    """One round, by the engine of the plan's options."""
    concurrency = plan.options.concurrency
    if plan.options.engine == "ray":
        from quorum.evaluation.run.engine_ray import ask_on_ray

        await ask_on_ray(one, recorder, questioner, concurrency)
        return
    questions = one.dataset.questions()

    async def work() -> None:
        for record in questions:
            for column in one.columns:
                if (column.name, record["id"]) not in recorder.results.done:
                    recorder.add(await questioner.ask(record, column, recorder.spent, recorder.details))

    await run_workers(concurrency, work)


def report_progress(progress: Progress, results: Results, one: Round) -> None:
    """Say how many answers of this round's columns there are."""
    done = sum(len(results.scores[column.name].ids) for column in one.columns)
    progress("ask", done, len(one.columns) * one.dataset.count)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder, created if missing, for one evaluation at a time."""
    try:
        make_private_folder(folder)
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise SetupError(
            f"Another evaluation is writing to {folder}; wait for it, or give another folder with --out."
        ) from None
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise SetupError(
            f"Results cannot be written to {folder} ({error.strerror}); give another folder with --out."
        ) from None
