"""Ask the questions of a data set by several methods. Interrupted, the same call goes on where it stopped."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout
from langchain_core.runnables import RunnableConfig

from core.data import Record
from core.errors import CallError, SetupError
from core.state import Result
from evaluation.config import configuration, short_hash
from evaluation.dataset import read_data
from evaluation.methods import MethodRun
from evaluation.metrics import score
from evaluation.results import Results, Row, keep_config, write_json
from evaluation.retrieval import share_retrieval
from evaluation.source import Progress, in_collection, passage_source, silent
from evaluation.spending import Spending
from graphs import answer
from models.chat import chat_model_async


@dataclass(frozen=True)
class Report:
    """Where the results lie and what they say: {method: {measure: value}}.

    asked: answers got by this call; spent: the model calls made for them, which is less than the summary counts where
    methods share calls and where the journal had replies.
    """

    folder: Path
    summary: dict[str, dict[str, float | int | None]]
    asked: int
    spent: Spending


async def evaluate(
    data: Path,
    runs: Sequence[MethodRun],
    *,
    out: Path | None = None,
    limit: int | None = None,
    concurrency: int = 8,
    corpus: str | None = None,
    collection: str | None = None,
    progress: Progress = silent,
) -> Report:
    """Ask every question of `data` (JSON lines, also gzip) by every run; write configuration, results and summary.

    Passages are the question's own, unless a `corpus` ("pool": the passages of all questions; else a file of JSON
    lines) or a `collection` is named to retrieve from. `concurrency`: questions at once. A question whose calls fail
    is a row with an error and is asked again by the next call with the same configuration; a `SetupError` stops
    everything. Without `out` the folder is results/NAME-HASH, the hash that of the configuration.
    """
    if concurrency < 1:
        raise SetupError(
            f"A concurrency of {concurrency} does not fit; give the number of questions at once, from 1 on."
        )
    dataset = read_data(data, limit)
    source = passage_source(dataset, corpus, collection)
    config = configuration(dataset, runs, source.described())
    folder = out or Path("results") / f"{data.name.split('.')[0]}-{short_hash(config)}"
    for run in runs:
        await chat_model_async(
            run.context.model, run.context
        )  # a model that cannot be used is found before a folder is made
    with exclusive(folder):
        keep_config(folder, config)
        with Results(folder / "results.jsonl", [run.name for run in runs]) as results:
            before, total, spent = len(results.done), dataset.count * len(runs), Spending()
            if before < total:
                if source.retrieves:
                    runs = share_retrieval(await in_collection(source, dataset, runs, progress))
                tell = lambda: progress("ask", len(results.done), total)  # noqa: E731
                ask_one = partial(ask, given=not source.retrieves, config={"callbacks": [spent]})
                await ask_all(dataset.questions(), runs, results, ask_one, concurrency, tell)
            summary = results.summary()
            write_json(folder / "summary.json", summary)
    return Report(folder, summary, len(results.done) - before, spent)


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

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(concurrency):
                workers.create_task(work())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def ask(record: Record, run: MethodRun, *, given: bool, config: RunnableConfig) -> Row:
    """One question by one method. A call that failed for good makes a row with an error."""
    started = time.perf_counter()
    passages = record["passages"] if given else None
    result, error = None, None
    try:
        result = await answer(
            record["question"],
            run.method,
            run.context,
            given=passages,
            gold_answers=record["answers"],
            config=config,
        )
    except CallError as failure:
        error = str(failure)
    return row(record, run, result, time.perf_counter() - started, error)


def row(record: Record, run: MethodRun, result: Result | None, seconds: float, error: str | None) -> Row:
    """The line of results.jsonl for one question and method."""
    known = Result() if result is None else result
    scores = None if result is None else score(result, record["answers"])
    usage = None if result is None else list((known.get("usage") or {}).values())
    return Row(
        id=record["id"],
        method=run.name,
        question=record["question"],
        answer=known.get("answer"),
        gold=record["answers"],
        em=scores and scores["em"],
        f1=scores and scores["f1"],
        unknown=scores and scores["unknown"],
        not_majority=bool(scores["not_majority"]) if scores and run.pool else None,
        gold_in_pool=bool(scores["gold_in_pool"]) if scores and run.pool else None,
        confidence=known.get("confidence"),
        evidence=[item["passage"] for item in known.get("evidence") or []],
        passages=[passage["id"] for passage in known.get("passages") or []],
        calls=None if usage is None else sum(one["calls"] for one in usage),
        input_tokens=None if usage is None else sum(one["input_tokens"] for one in usage),
        output_tokens=None if usage is None else sum(one["output_tokens"] for one in usage),
        malformed=None if result is None else sum(one["count"] for one in (known.get("malformed") or {}).values()),
        dropped=None if result is None else known.get("dropped") or 0,
        seconds=round(seconds, 4),
        error=error,
    )
