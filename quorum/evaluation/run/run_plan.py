"""Carries out a plan: asks its questions and writes a row for each answer. An interrupted plan can be resumed."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_folder
from quorum.datasets.data_set_names import find_folder_name
from quorum.evaluation.run.ask_question import Questioner
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.config_file import write_or_check_config
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.details import Details
from quorum.evaluation.run.gold_placement import add_gold
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.race import RaceWatcher, RunningRace, start_race
from quorum.evaluation.run.race_result import RaceResult
from quorum.evaluation.run.result_files import make_folder_error
from quorum.evaluation.run.results import Results
from quorum.evaluation.run.rounds import QuestionRound, Recorder, split_into_rounds
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.source import ProgressCallback, fill_collections, ignore_progress
from quorum.evaluation.run.spending import LimitReachedError, Spending
from quorum.evaluation.run.warm_up import warm_up
from quorum.evaluation.run.workers import run_workers
from quorum.models.embedded.workload import expect_many_questions
from quorum.models.embedding_requests import pay_for_embeddings


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run.

    results: the answers in results.jsonl, also those of earlier runs; after a race, only those that it counts (see
    `RunningRace.is_counted`); new_answers: how many answers without an
    error this run added; spending: the model calls of this run; count_without_gold_passage: how many questions were
    skipped because they have no gold passage; race: the result of the race; None without a race.
    """

    plan: Plan
    results: Results
    new_answers: int
    spending: Spending
    count_without_gold_passage: int = 0
    race: RaceResult | None = None


async def run(
    plan: Plan,
    spending: Spending | None = None,
    progress: ProgressCallback = ignore_progress,
    watch_race: RaceWatcher | None = None,
) -> RunOutcome:
    """Ask all columns (methods with their settings) the questions that they have not answered yet.

    spending: counts the calls, and ends the run at the limit (`--max-cost`); progress: called while passages are
    indexed and after each answer; watch_race: called whenever a race has settled a question.

    The caller must have locked the folder (see `lock_folder`).
    """
    spending = spending or Spending()
    write_or_check_config(plan.folder, dict(plan.config), find_folder_name(plan.dataset.path))
    with (
        pay_for_embeddings(spending),
        Results(
            plan.folder / "results.jsonl",
            [column.name for column in plan.columns],
            plan.options.screening_column,
            plan.columns[0].context.answer_measure,
        ) as results,
    ):
        earlier_answer_count, dataset = len(results.answered_pairs), plan.dataset
        if plan.race is not None:
            race = await asyncio.to_thread(start_race, plan.race, plan.columns, plan.dataset, results, watch_race)
            if not race.is_finished:
                with suppress(LimitReachedError):  # the race then ends with its survivors
                    await ask_all(plan, results, spending, progress, race)
            new_answer_count = len(results.answered_pairs) - earlier_answer_count
            race_result = await asyncio.to_thread(race.make_result)
            # Count an answer only if its question was settled while its method was still in the race.
            results.recount(race.is_counted)
            return RunOutcome(plan, results, new_answer_count, spending, race=race_result)
        if earlier_answer_count < dataset.count * len(plan.columns):
            dataset = await ask_all(plan, results, spending, progress)
    return RunOutcome(
        plan,
        results,
        len(results.answered_pairs) - earlier_answer_count,
        spending,
        count_without_gold_passage=plan.dataset.count - dataset.count,
    )


async def ask_all(
    plan: Plan, results: Results, spending: Spending, progress: ProgressCallback, race: RunningRace | None = None
) -> DataSet:
    """Ask the questions that are not yet answered. Returns the plan's data set, without the questions that were left
    out because they have no gold passage (see `prepare_questions`).

    Without a screening column (`Options.screening_column`), all columns are asked in one round. With one, this column
    is asked first, in a round of its own, because the others are asked only what it did not answer correctly (see
    `split_into_rounds`).
    """
    columns, dataset = await prepare_questions(plan, progress)
    if plan.race is not None:
        columns = plan.race.order(columns)
    options, uses_given_passages = plan.options, not plan.source.retrieves
    questioner = Questioner(uses_given_passages, options.task, dataset.task, tuple(options.extra_keys), dataset.labels)
    details_file = Details(plan.folder / "details.jsonl") if plan.options.writes_details else nullcontext()
    with details_file as details, expect_many_questions():
        for round_of_questions in split_into_rounds(columns, dataset, results, race):
            recorder = Recorder(
                results, details, spending, partial(report_progress, progress, results, round_of_questions), race
            )
            await ask_round(round_of_questions, recorder, questioner, options.concurrency, options.engine)
    return dataset


async def prepare_questions(plan: Plan, progress: ProgressCallback) -> tuple[Sequence[Column], DataSet]:
    """Fill the collections and load the models. Returns the columns, which now share retrieval, and the questions.

    If a column has a `gold_position`, each question gets its gold passages, and questions without a known gold passage
    are left out.
    """
    retrieves, dataset = plan.source.retrieves, plan.dataset
    if retrieves and not plan.is_indexed:
        await fill_collections(plan.source, dataset, plan.columns, progress)
    if any(column.gold_position for column in plan.columns):
        gold_file, task = plan.options.gold_from, plan.options.task
        dataset = await add_gold(dataset, plan.columns, retrieves=retrieves, gold_file=gold_file, task=task)
    columns = share_retrieval(plan.columns) if retrieves else plan.columns
    if plan.options.engine == "local":
        await warm_up(columns, retrieves=retrieves)
    return columns, dataset


async def ask_round(
    round_of_questions: QuestionRound, recorder: Recorder, questioner: Questioner, concurrency: int, engine: str
) -> None:
    """Ask the questions of one round, on Ray or in this process as `engine` says."""
    if engine == "ray":
        from quorum.evaluation.run.engine_ray import ask_on_ray

        await ask_on_ray(round_of_questions, recorder, questioner, concurrency)
        return
    questions = round_of_questions.dataset.read_records()  # one iterator for all workers: each question is taken once

    async def work() -> None:
        for record in questions:
            await round_of_questions.wait_for_turn(record, concurrency)
            for column in round_of_questions.columns:
                if (
                    round_of_questions.is_asked(column.name)
                    and (column.name, record["id"]) not in recorder.results.answered_pairs
                ):
                    recorder.add(await questioner.ask(record, column, recorder.spending, recorder.details))

    await run_workers(concurrency, work)


def report_progress(progress: ProgressCallback, results: Results, round_of_questions: QuestionRound) -> None:
    """Report how many answers this round's columns have, and how many are wanted; in a race, how many questions are
    settled, and how many there are.
    """
    if round_of_questions.race is not None:
        progress("ask", round_of_questions.race.settled_count, round_of_questions.race.question_count)
        return
    answered_count = sum(len(results.scores[column.name].ids) for column in round_of_questions.columns)
    progress("ask", answered_count, len(round_of_questions.columns) * round_of_questions.dataset.count)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder while the `with` block runs, so that only one evaluation at a time writes to it.

    Creates the folder if it is missing. Raises `SetupError` if the folder is locked or cannot be written.
    """
    try:
        make_private_folder(folder)
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise SetupError(
            f"Another evaluation is writing to {folder}; wait until it ends, or give another folder with --out."
        ) from None
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        if not is_about_folder(error, folder):
            raise
        raise make_folder_error(folder, error.strerror) from None


def is_about_folder(error: OSError, folder: Path) -> bool:
    """Whether an error names no file, or the folder, a folder above it, or a file inside it."""
    if not isinstance(error.filename, str | bytes):
        return True
    path, folder = Path(os.fsdecode(error.filename)).absolute(), folder.absolute()
    return path in (folder, *folder.parents) or folder in path.parents
