"""Estimates a comparison before anything is paid for: calls, tokens, dollars, time.

The bounds of the calls come from each method's shape; everything else from a rehearsal over a few of the questions.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.callbacks import AsyncCallbackHandler

from quorum.core.context import Context
from quorum.datasets.records import Record
from quorum.evaluation.compare.call_bounds import call_bounds
from quorum.evaluation.compare.rehearsal import RehearsedCall, is_local, rehearse
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.source import Progress, ignore_progress

REHEARSED_QUESTIONS = 8  # questions of a rehearsal
SECONDS_A_CALL = 2.0  # assumed of a chat model that is not in this process


@dataclass(frozen=True)
class MethodEstimate:
    """What one method uses for a question when it runs alone. `calls`: expected, between `least` and `most`; cost in
    dollars, None if a model has no price.
    """

    calls: float
    least: float
    most: float
    input_tokens: float
    output_tokens: float
    cost: float | None


@dataclass(frozen=True)
class Estimate:
    """The estimate of the whole comparison. `methods` counts each method alone; the totals count shared calls once.

    calls, input_tokens, output_tokens: in all; cost: dollars, None where a price is missing; seconds: expected;
    rehearsed: questions that were tried.
    """

    methods: dict[str, MethodEstimate]
    questions: int
    rehearsed: int
    calls: float
    input_tokens: float
    output_tokens: float
    cost: float | None
    seconds: float


async def estimate(
    dataset: DataSet,
    columns: Sequence[Column],
    *,
    given: bool,
    sample: int = REHEARSED_QUESTIONS,
    concurrency: int = 8,
    spending: AsyncCallbackHandler | None = None,
    progress: Progress = ignore_progress,
) -> Estimate:
    """Estimate asking all columns all questions. The columns must have their collections, and share searches.

    spending: receives the calls that the comparison would make anyway; the journal then holds their replies.
    """
    records = sample_questions(dataset, sample)
    done, total = 0, len(records) * len(columns)
    started = time.perf_counter()

    async def rehearse_all(record: Record) -> list[list[RehearsedCall]]:
        nonlocal done
        every = []
        for column in columns:
            every.append(await rehearse(record, column, dataset.task_of(record), given, spending))
            done += 1
            progress("estimate", done, total)
        return every

    tried = await asyncio.gather(*(rehearse_all(record) for record in records))
    took = time.perf_counter() - started
    alone = {
        column.name: estimate_column(column, [calls[place] for calls in tried]) for place, column in enumerate(columns)
    }
    return add_up(alone, RehearsalResult(columns, tried, took), dataset.count, concurrency)


@dataclass(frozen=True)
class RehearsalResult:
    """The calls of each question (first index) and column (second), and the seconds of the whole rehearsal."""

    columns: Sequence[Column]
    calls: Sequence[Sequence[Sequence[RehearsedCall]]]
    seconds: float


def sample_questions(dataset: DataSet, sample: int) -> list[Record]:
    """A sample of the questions, spread evenly over the data."""
    count = min(sample, dataset.count)
    wanted = {place * dataset.count // count for place in range(count)}
    return [record for place, record in enumerate(dataset.questions()) if place in wanted]


def estimate_column(column: Column, tried: Sequence[Sequence[RehearsedCall]]) -> MethodEstimate:
    """The means over the questions that were tried."""
    count = len(tried)
    every = [one for question in tried for one in question]
    least, most = call_bounds(column)
    calls = len(every) / count
    wordy = max((sum(one.again for one in question) / len(question) for question in tried if question), default=0.0)
    if wordy and math.isfinite(most):
        most = math.ceil(most * (1 + wordy))
    return MethodEstimate(
        calls=calls,
        least=min(least, calls),
        most=max(most, calls),
        input_tokens=sum(one.input_tokens for one in every) / count,
        output_tokens=sum(one.output_tokens for one in every) / count,
        cost=None if (cost := cost_of(column, every)) is None else cost / count,
    )


def cost_of(column: Column, calls: Sequence[RehearsedCall]) -> float | None:
    """Dollars for these calls; None if a price is missing."""
    total = 0.0
    for one in calls:
        price = column.price_of(one.prompt)
        if price is None:
            return None
        total += price.of(one.input_tokens, one.output_tokens)
    return total


def add_up(alone: dict[str, MethodEstimate], rehearsed: RehearsalResult, questions: int, concurrency: int) -> Estimate:
    """The totals; calls that several columns share count once."""
    columns = rehearsed.columns
    once: dict[tuple[int, str], tuple[Column, RehearsedCall]] = {}
    for number, question in enumerate(rehearsed.calls):
        for column, calls in zip(columns, question, strict=True):
            for one in calls:
                once.setdefault((number, one.key), (column, one))
    share = questions / len(rehearsed.calls)
    distinct = [one for _, one in once.values()]
    costs = [cost_of(column, [one]) for column, one in once.values()]
    known = [one for one in costs if one is not None]
    local = all(is_local(column.context) for column in columns)
    read, written = (sum(getattr(one, name) for one in distinct) * share for name in ("input_tokens", "output_tokens"))
    count = len(distinct) * share
    return Estimate(
        methods=alone,
        questions=questions,
        rehearsed=len(rehearsed.calls),
        calls=count,
        input_tokens=read,
        output_tokens=written,
        cost=sum(known) * share if len(known) == len(costs) else None,
        seconds=rehearsed.seconds * share
        if local
        else estimate_seconds(columns[0].context, count, read + written, concurrency),
    )


def estimate_seconds(context: Context, calls: float, tokens: float, concurrency: int) -> float:
    """Seconds for this many calls to a remote chat model, under the limits on concurrent calls and calls per minute."""
    seconds = calls * SECONDS_A_CALL / max(1, min(concurrency, context.concurrency))
    if context.requests_per_minute:
        seconds = max(seconds, 60 * calls / context.requests_per_minute)
    if context.tokens_per_minute:
        seconds = max(seconds, 60 * tokens / context.tokens_per_minute)
    return seconds
