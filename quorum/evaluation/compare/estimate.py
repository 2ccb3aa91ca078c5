"""Estimates a comparison before anything is paid for: calls, tokens, dollars, time.

The bounds of the calls come from each method's formula; everything else from a rehearsal over a few of the questions.
"""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.callbacks import AsyncCallbackHandler

from quorum.core.context import Context
from quorum.datasets.records import Record
from quorum.evaluation.compare.call_bounds import compute_call_bounds
from quorum.evaluation.compare.rehearsal import RehearsedCall, is_local, rehearse
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.source import Progress, ignore_progress

REHEARSED_QUESTIONS = 8  # questions of a rehearsal
SECONDS_A_CALL = 2.0  # assumed for a chat model that does not run in this process


@dataclass(frozen=True)
class MethodEstimate:
    """What one method uses per question when it runs alone. calls: expected, between `least` and `most`; cost: dollars,
    None if a model has no price.
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

    calls, input_tokens, output_tokens: totals; cost: dollars, None if a price is missing; seconds: expected; rehearsed:
    the number of rehearsed questions.
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
    uses_given_passages: bool,
    sample: int = REHEARSED_QUESTIONS,
    concurrency: int = 8,
    spending: AsyncCallbackHandler | None = None,
    progress: Progress = ignore_progress,
) -> Estimate:
    """Estimate what it takes to ask all columns all questions. The columns must have collections and share searches.

    spending: receives the calls that the comparison needs anyway; the journal then holds their replies.
    """
    records = sample_questions(dataset, sample)
    done_count, total = 0, len(records) * len(columns)
    started = time.perf_counter()

    async def rehearse_all(record: Record) -> list[list[RehearsedCall]]:
        nonlocal done_count
        results_so_far = []
        for column in columns:
            results_so_far.append(
                await rehearse(record, column, dataset.get_task(record), uses_given_passages, spending)
            )
            done_count += 1
            progress("estimate", done_count, total)
        return results_so_far

    calls_by_question = await asyncio.gather(*(rehearse_all(record) for record in records))
    seconds = time.perf_counter() - started
    column_estimates = {
        column.name: estimate_column(column, [calls[place] for calls in calls_by_question])
        for place, column in enumerate(columns)
    }
    return sum_estimates(
        column_estimates, RehearsalResult(columns, calls_by_question, seconds), dataset.count, concurrency
    )


@dataclass(frozen=True)
class RehearsalResult:
    """The calls of each question (first index) and column (second), and the seconds of the whole rehearsal."""

    columns: Sequence[Column]
    calls: Sequence[Sequence[Sequence[RehearsedCall]]]
    seconds: float


def sample_questions(dataset: DataSet, sample: int) -> list[Record]:
    """A sample of the questions, spread evenly over the data."""
    count = min(sample, dataset.count)
    sampled_places = {place * dataset.count // count for place in range(count)}
    return [record for place, record in enumerate(dataset.read_records()) if place in sampled_places]


def estimate_column(column: Column, calls_by_question: Sequence[Sequence[RehearsedCall]]) -> MethodEstimate:
    """The means over the rehearsed questions."""
    count = len(calls_by_question)
    all_calls = [call for question in calls_by_question for call in question]
    least, most = compute_call_bounds(column)
    calls = len(all_calls) / count
    repeated_share = max(
        (sum(call.may_be_repeated for call in question) / len(question) for question in calls_by_question if question),
        default=0.0,
    )
    if repeated_share and math.isfinite(most):
        most = math.ceil(most * (1 + repeated_share))
    return MethodEstimate(
        calls=calls,
        least=min(least, calls),
        most=max(most, calls),
        input_tokens=sum(call.input_tokens for call in all_calls) / count,
        output_tokens=sum(call.output_tokens for call in all_calls) / count,
        cost=None if (cost := compute_calls_cost(column, all_calls)) is None else cost / count,
    )


def compute_calls_cost(column: Column, calls: Sequence[RehearsedCall]) -> float | None:
    """Dollars for these calls; None if a price is missing."""
    total = 0.0
    for call in calls:
        price = column.find_price(call.prompt)
        if price is None:
            return None
        total += price.compute_cost(call.input_tokens, call.output_tokens)
    return total


def sum_estimates(
    column_estimates: dict[str, MethodEstimate], rehearsed: RehearsalResult, questions: int, concurrency: int
) -> Estimate:
    """The totals; calls that several columns share count once."""
    columns = rehearsed.columns
    distinct_calls: dict[tuple[int, str], tuple[Column, RehearsedCall]] = {}
    for number, question in enumerate(rehearsed.calls):
        for column, calls in zip(columns, question, strict=True):
            for call in calls:
                distinct_calls.setdefault((number, call.key), (column, call))
    share = questions / len(rehearsed.calls)
    distinct = [call for _, call in distinct_calls.values()]
    costs = [compute_calls_cost(column, [call]) for column, call in distinct_calls.values()]
    known_costs = [cost for cost in costs if cost is not None]
    local = all(is_local(column.context) for column in columns)
    input_tokens, output_tokens = (
        sum(getattr(call, name) for call in distinct) * share for name in ("input_tokens", "output_tokens")
    )
    count = len(distinct) * share
    return Estimate(
        methods=column_estimates,
        questions=questions,
        rehearsed=len(rehearsed.calls),
        calls=count,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=sum(known_costs) * share if len(known_costs) == len(costs) else None,
        seconds=rehearsed.seconds * share
        if local
        else estimate_seconds(columns[0].context, count, input_tokens + output_tokens, concurrency),
    )


def estimate_seconds(context: Context, calls: float, tokens: float, concurrency: int) -> float:
    """Seconds for so many calls of a remote chat model, under the limits on concurrency, calls and tokens."""
    seconds = calls * SECONDS_A_CALL / max(1, min(concurrency, context.concurrency))
    if context.requests_per_minute:
        seconds = max(seconds, 60 * calls / context.requests_per_minute)
    if context.tokens_per_minute:
        seconds = max(seconds, 60 * tokens / context.tokens_per_minute)
    return seconds
