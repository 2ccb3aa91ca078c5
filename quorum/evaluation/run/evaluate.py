"""Ask the questions of a data set by several methods. Interrupted, the same call goes on where it stopped."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from langchain_core.runnables import RunnableConfig

from quorum.core.context import Context, get_filter_model
from quorum.core.errors import CallError, SetupError
from quorum.core.ray_cluster import check_engine
from quorum.datasets.records import Record
from quorum.evaluation.compare.baseline import Comparison, check_baseline, compare_groups
from quorum.evaluation.metrics.corpus_measures import CorpusMeasure, corpus_values
from quorum.evaluation.metrics.judge import Judge, check_judge, judge_answers
from quorum.evaluation.run.ask_question import answer_to
from quorum.evaluation.run.columns import MethodRun, check_names
from quorum.evaluation.run.config import configuration, short_hash
from quorum.evaluation.run.dataset import DataSet, read_data
from quorum.evaluation.run.details import Detail, Details, detail_of
from quorum.evaluation.run.eligibility import able, left_out_words
from quorum.evaluation.run.gold_placement import with_gold
from quorum.evaluation.run.results import Results, Row, Scores, Summary, keep_config, write_json
from quorum.evaluation.run.rows import answered_row, failed_row
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.source import Progress, in_collection, passage_source, silent
from quorum.evaluation.run.spending import Spending
from quorum.evaluation.run.tasks import measures_of
from quorum.evaluation.run.workers import at_once
from quorum.evaluation.watch import Watch
from quorum.models.chat import chat_model_async
from quorum.models.context_filters import context_filter

LOG = logging.getLogger("quorum")


@dataclass(frozen=True)
class Report:
    """Where the results lie and what they say.

    summary: {method: {measure: value}}; comparisons: each group of methods against its baseline; scores: every question
    of every method; asked: answers got by this call; spent: the model calls made for them, which is less than the
    summary counts where methods share calls and where the journal had replies. left_out: questions without a gold
    passage, which nothing was asked; known: questions that only the run `unless` was asked, as it got them right.
    judging: the calls of the judge, apart; None without one.
    """

    folder: Path
    summary: Summary
    comparisons: list[Comparison]
    scores: Mapping[str, Scores]
    asked: int
    spent: Spending
    left_out: int = 0
    known: int = 0
    judging: Spending | None = None

    @property
    def judged(self) -> tuple[str, ...]:
        """The measures that the answers are judged by, as the tasks of the data call for, and a judge's word."""
        measures = measures_of({task for scores in self.scores.values() for task in scores.tasks} or {"short"})
        return (*measures, "judged") if any("judged" in one.values for one in self.scores.values()) else measures


async def evaluate(
    data: Path,
    runs: Sequence[MethodRun],
    *,
    out: Path | None = None,
    limit: int | None = None,
    concurrency: int = 8,
    corpus: str | None = None,
    collection: str | None = None,
    task: str | None = None,
    groups: Sequence[Sequence[str]] | None = None,
    baseline: str | None = None,
    keep: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
    measures: Mapping[str, CorpusMeasure] | None = None,
    details: bool = False,
    spent: Spending | None = None,
    unless: str | None = None,
    gold_from: Path | None = None,
    skip_bad: bool = False,
    judge: Judge | None = None,
    engine: str = "local",
    progress: Progress = silent,
) -> Report:
    """Ask every question of `data` (JSON lines, also gzip) by every run; write configuration, results, summary and
    comparison.

    Passages are the question's own, unless a `corpus` ("pool": the passages of all questions; else a file of JSON
    lines) or a `collection` is named to retrieve from. `concurrency`: questions at once. A question whose calls fail
    is a row with an error and is asked again by the next call with the same configuration; a `SetupError` stops
    everything. Without `out` the folder is results/NAME-HASH, the hash that of the configuration.

    task: what every question asks for; without it, what the data say or their answers look like, where a run has no
    `answer_type` of its own. groups: names of runs that are compared with the first of their group or with `baseline`;
    all of them by default. keep: further keys of the result to keep in the rows. about: what config.json says besides.
    measures: measures of all answers of a method at once (see `quorum.evaluation.metrics.corpus_measures`). details:
    keep what every answer was made of, too (see `quorum.evaluation.run.details`); `seconds` of a row are then those
    that it would have taken alone. spent: where to count what is spent. unless: the name of a run; the others are not
    asked the questions that it gets right (EM). gold_from: passages among which are gold ones that the questions do not
    bring, for runs that place them. skip_bad: pass over broken records instead of refusing the data. judge: who says
    of every answer whether it is right (see `quorum.evaluation.metrics.judge`); it may be named when all is answered.
    engine: "local", or "ray" for questions asked by many processes, with the same results (docs/scale.md).
    """
    check_engine(engine)
    if concurrency < 1:
        raise SetupError(
            f"A concurrency of {concurrency} does not fit; give the number of questions at once, from 1 on."
        )
    check_baseline(groups or [[run.name for run in runs]], baseline)
    check_names(runs)
    dataset = read_data(data, limit, skip_bad=skip_bad)
    for run in runs:
        await usable(run.context)  # a model that cannot be used is found before a folder is made
    runs, unable = await able(runs, dataset, task)
    for words in left_out_words(unable):
        LOG.warning("%s", words)
    if baseline in unable:
        raise SetupError(f"The baseline {baseline!r} does not serve these questions: {unable[baseline]}")
    groups = groups or [[run.name for run in runs]]
    source = passage_source(dataset, corpus, collection)
    added = {**({"task": task} if task else {}), **({"details": True} if details else {}), **(about or {})}
    config = configuration(dataset, runs, source.described(), added)
    folder = out or Path("results") / f"{data.name.split('.')[0]}-{short_hash(config)}"
    if judge is not None:
        await check_judge(judge)
    with exclusive(folder):
        keep_config(folder, config)
        with Results(folder / "results.jsonl", [run.name for run in runs], unless) as results:
            before, total, spent, asked = len(results.done), dataset.count * len(runs), spent or Spending(), dataset
            if before < total:
                if source.retrieves:
                    runs = await in_collection(source, dataset, runs, progress)
                if any(run.gold for run in runs):
                    asked = await with_gold(dataset, runs, searching=source.retrieves, extra=gold_from, task=task)
                if source.retrieves:
                    runs = share_retrieval(runs)
                with Details(folder / "details.jsonl") if details else nullcontext() as kept:
                    asking = partial(
                        ask,
                        given=not source.retrieves,
                        task_of=(lambda record: task) if task else dataset.task_of,
                        keep=keep,
                    )
                    for some, questions in in_turn(runs, asked, results):
                        tell = partial(tell_asked, progress, results, some, len(some) * questions.count)
                        if engine == "ray":
                            from quorum.evaluation.run.engine_ray import ask_on_ray

                            await ask_on_ray(questions, some, results, asking, concurrency, tell, spent, kept)
                        else:
                            here = partial(asking, spent=spent, details=kept)
                            await ask_all(questions.questions(), some, results, here, concurrency, tell)
            if judge is not None:
                await judge_answers(folder, results, judge, concurrency=concurrency, progress=progress)
            summary, comparisons = await asyncio.to_thread(conclude, folder, results, groups, baseline, measures or {})
    made, left_out = len(results.done) - before, dataset.count - asked.count
    judging = None if judge is None else judge.spent
    return Report(folder, summary, comparisons, results.scores, made, spent, left_out, len(results.known), judging)


def in_turn(runs: Sequence[MethodRun], dataset: DataSet, results: Results) -> Iterator[tuple[list[MethodRun], DataSet]]:
    """Which runs are asked which questions: all of them all; or first the run `unless`, then the others what that one
    did not get right. What it failed on is left for another time.
    """
    first = [run for run in runs if run.name == results.unless]
    if first:
        yield first, dataset
        settled = results.known | results.scores[first[0].name].failed
        dataset = replace(dataset, count=dataset.count - len(settled), without=dataset.without | settled)
    yield [run for run in runs if run not in first], dataset


def tell_asked(progress: Progress, results: Results, some: Sequence[MethodRun], total: int) -> None:
    """How many answers of these runs there are."""
    progress("ask", sum(len(results.scores[run.name].ids) for run in some), total)


async def usable(context: Context) -> None:
    """Raises a `SetupError` when a model or the filter of the context cannot be used."""
    await chat_model_async(context.model, context)
    if context.verifier is not None:
        await chat_model_async(context.verifier, context)
    if context.context_filter is not None:
        writer = get_filter_model(context)
        if writer is None:
            await asyncio.to_thread(context_filter, context.context_filter)
        else:
            await chat_model_async(writer, context)


def conclude(
    folder: Path,
    results: Results,
    groups: Sequence[Sequence[str]],
    baseline: str | None,
    measures: Mapping[str, CorpusMeasure],
) -> tuple[Summary, list[Comparison]]:
    """Write summary.json and comparison.json. The intervals take a while where there are many questions."""
    summary = results.summary()
    for name, values in corpus_values(results.path, measures).items():
        for method, value in values.items():
            summary[method][name] = value
    comparisons = compare_groups(results.scores, groups, baseline)
    write_json(folder / "summary.json", summary)
    if comparisons:
        write_json(folder / "comparison.json", comparisons)
    return summary, comparisons


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for one evaluation at a time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
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


async def ask_all(
    questions: Iterator[Record],
    runs: Sequence[MethodRun],
    results: Results,
    ask: Callable[[Record, MethodRun], Awaitable[Row]],
    concurrency: int,
    tell: Callable[[], None],
) -> None:
    """Workers take question after question and ask each by every method that has not answered it yet."""

    async def work() -> None:
        for record in questions:
            for run in runs:
                if (run.name, record["id"]) not in results.done:
                    results.append(await ask(record, run))
                    tell()

    await at_once(concurrency, work)


async def ask(
    record: Record,
    run: MethodRun,
    *,
    given: bool,
    task_of: Callable[[Record], str],
    keep: Sequence[str],
    spent: Spending,
    details: Details | list[Detail] | None,
) -> Row:
    """One question by one method. A call that failed for good makes a row with an error."""
    started, watch = time.perf_counter(), None if details is None else Watch()
    config: RunnableConfig = {"callbacks": [spent] if watch is None else [spent, watch]}
    context = run.for_task(task_of(record))
    try:
        result = await answer_to(record, run, context, given=given, config=config)
    except CallError as failure:
        seconds = time.perf_counter() - started
        return failed_row(record, run.name, context.answer_type, str(failure), seconds=seconds)
    seconds = time.perf_counter() - started if watch is None else watch.alone()
    if details is not None and watch is not None:
        details.append(detail_of(record["id"], run.name, result, watch))
    row = partial(answered_row, pool=run.pool, seconds=seconds, keep=keep)
    return await asyncio.to_thread(row, record, run.name, context.answer_type, result)
