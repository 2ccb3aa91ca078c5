"""Estimates a comparison before anything is paid for: calls, tokens, dollars, time.

The fewest and the most calls come from each method's formula (see `call_bounds.py`). Everything else comes from a
rehearsal: each method answers a few of the questions with the embedded reader in place of the chat model, at no cost.
"""

import asyncio
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.callbacks import AsyncCallbackHandler

from quorum.core.context import Context
from quorum.datasets.records import Record
from quorum.evaluation.compare.call_bounds import list_stage_bounds
from quorum.evaluation.compare.embedding_estimates import IndexingEstimate, SearchingEstimate
from quorum.evaluation.compare.prefix_cache import note_cached_prefixes
from quorum.evaluation.compare.rehearsal import RehearsedCall, rehearse_method
from quorum.evaluation.metrics.prices import add_costs
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.eligibility import has_only_embedded_models
from quorum.evaluation.run.source import ProgressCallback, ignore_progress
from quorum.nodes.fit_window import DEFAULT_WINDOW
from quorum.prompts.steps import AGENT

REHEARSED_QUESTIONS = 8  # at most so many questions are rehearsed
SECONDS_PER_CALL = 2.0  # assumed for a chat model that does not run in this process


@dataclass(frozen=True)
class MethodEstimate:
    """What one method uses per question when it runs alone.

    calls: the expected number, which lies between `fewest_calls` and `most_calls`; cost: dollars, None if a model has
    no price. cached_tokens: of the input tokens, those that the server's prefix cache is expected to hold.
    """

    calls: float
    fewest_calls: float
    most_calls: float
    input_tokens: float
    output_tokens: float
    cost: float | None
    cached_tokens: float = 0.0


@dataclass(frozen=True)
class Estimate:
    """The estimate of the whole comparison. `methods` estimates each method as if it ran alone. In the totals, a call
    that several methods share counts only once.

    questions: how many are asked; rehearsed_questions: how many of them were rehearsed. calls, input_tokens,
    output_tokens: totals; cost: dollars, None if a price is missing; seconds: the expected time. indexing, searching:
    what it takes to index the corpus and to embed what is searched for, which the totals do not count. spent: what the
    index and the rehearsed searches really took, by model (see `EmbeddingCounts`); spent_cost: its dollars, None if a
    price is missing. notes: what else is to be known, in sentences.
    """

    methods: dict[str, MethodEstimate]
    questions: int
    rehearsed_questions: int
    calls: float
    input_tokens: float
    output_tokens: float
    cost: float | None
    seconds: float
    indexing: tuple[IndexingEstimate, ...] = ()
    searching: tuple[SearchingEstimate, ...] = ()
    spent: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    spent_cost: float | None = 0.0
    notes: tuple[str, ...] = ()


async def estimate(
    dataset: DataSet,
    columns: Sequence[Column],
    *,
    uses_given_passages: bool,
    task: str | None = None,
    sample_size: int = REHEARSED_QUESTIONS,
    concurrency: int = 8,
    spending: AsyncCallbackHandler | None = None,
    progress: ProgressCallback = ignore_progress,
) -> Estimate:
    """Estimate what it takes to ask all columns all questions.

    The collections that the columns search must be filled already. Pass the columns that `share_retrieval` returned, so
    that they share a cache of searches.

    uses_given_passages: whether the columns read the passages of the questions instead of searching. task: the task of
    every question; None: each has its own. sample_size: how many questions are rehearsed. spending: counts the calls of
    the columns that use only the embedded model: these calls are real, and the comparison later finds their replies in
    the journal. progress: called with ("estimate", rehearsals done, rehearsals in total).
    """
    records = sample_questions(dataset, sample_size)
    done_count, total = 0, len(records) * len(columns)
    started_at = time.perf_counter()

    async def rehearse_all(record: Record) -> list[list[RehearsedCall]]:
        nonlocal done_count
        results_so_far = []
        for column in columns:
            results_so_far.append(
                await rehearse_method(record, column, task or dataset.get_task(record), uses_given_passages, spending)
            )
            done_count += 1
            progress("estimate", done_count, total)
        return results_so_far

    calls_by_question = await asyncio.gather(*(rehearse_all(record) for record in records))
    seconds = time.perf_counter() - started_at
    for place in range(len(columns)):
        note_cached_prefixes([calls[place] for calls in calls_by_question], dataset.count)
    column_estimates = {
        column.name: estimate_column(column, [calls[place] for calls in calls_by_question])
        for place, column in enumerate(columns)
    }
    return estimate_comparison(
        column_estimates, RehearsalResult(columns, calls_by_question, seconds), dataset.count, concurrency
    )


@dataclass(frozen=True)
class RehearsalResult:
    """The calls of each question (first index) and column (second), and the seconds of the whole rehearsal."""

    columns: Sequence[Column]
    calls: Sequence[Sequence[Sequence[RehearsedCall]]]
    seconds: float


def sample_questions(dataset: DataSet, sample_size: int) -> list[Record]:
    """A sample of the questions, spread evenly over the data."""
    count = min(sample_size, dataset.count)
    sampled_places = {place * dataset.count // count for place in range(count)}
    return [record for place, record in enumerate(dataset.read_records()) if place in sampled_places]


def estimate_column(column: Column, calls_by_question: Sequence[Sequence[RehearsedCall]]) -> MethodEstimate:
    """The means over the rehearsed questions, and the bounds of the calls."""
    count = len(calls_by_question)
    all_calls = [call for question_calls in calls_by_question for call in question_calls]
    stages = list_stage_bounds(column)
    fewest_calls, calls = stages[0].fewest, len(all_calls) / count
    # After each of these calls the model may be asked for a shorter reply; of an agent's turns only after the last one.
    # These calls are bounds only: the embedded reader saves nearly all of them.
    shortening_share = max(map(compute_shortening_share, calls_by_question), default=0.0)
    most_calls = sum(stage.most for stage in stages if stage.method != AGENT.name)
    if shortening_share and math.isfinite(most_calls):
        most_calls = math.ceil(most_calls * (1 + shortening_share))
    agents = [stage.most for stage in stages if stage.method == AGENT.name]
    most_calls += sum(agents)
    if any(call.may_ask_for_shorter_reply for call in all_calls):
        most_calls += len(agents)
    return MethodEstimate(
        calls=calls,
        fewest_calls=min(fewest_calls, calls),
        most_calls=max(most_calls, calls),
        input_tokens=sum(call.input_tokens for call in all_calls) / count,
        output_tokens=sum(call.output_tokens for call in all_calls) / count,
        cost=None if (cost := compute_calls_cost(column, all_calls)) is None else cost / count,
        cached_tokens=sum(call.cached_tokens for call in all_calls) / count,
    )


def compute_shortening_share(calls: Sequence[RehearsedCall]) -> float:
    """The share of a question's calls, an agent's turns left out, after which a shorter reply may be asked for."""
    counted = [call for call in calls if call.prompt_name != AGENT.name]
    return sum(call.may_ask_for_shorter_reply for call in counted) / len(counted) if counted else 0.0


def compute_calls_cost(column: Column, calls: Sequence[RehearsedCall]) -> float | None:
    """Dollars for these calls; None if a price is missing."""
    total = 0.0
    for call in calls:
        price = column.find_price(call.prompt_name)
        if price is None:
            return None
        total += price.compute_cost(call.input_tokens, call.output_tokens, call.cached_tokens, calls=1)
    return total


def estimate_comparison(
    column_estimates: dict[str, MethodEstimate], rehearsal: RehearsalResult, question_count: int, concurrency: int
) -> Estimate:
    """The estimate of the whole comparison. question_count: how many questions it asks, rehearsed or not."""
    columns = rehearsal.columns
    # (number of the question, key of a call) -> the first column that made this call, and the call
    call_by_key: dict[tuple[int, str], tuple[Column, RehearsedCall]] = {}
    for question_number, calls_by_column in enumerate(rehearsal.calls):
        for column, calls in zip(columns, calls_by_column, strict=True):
            for call in calls:
                call_by_key.setdefault((question_number, call.key), (column, call))
    scale = question_count / len(rehearsal.calls)
    distinct_calls = [call for _, call in call_by_key.values()]
    cost = add_costs([compute_calls_cost(column, [call]) for column, call in call_by_key.values()])
    uses_only_embedded_models = all(
        has_only_embedded_models(context) for column in columns for context in column.list_contexts(column.context)
    )
    input_tokens, output_tokens = (
        sum(getattr(call, name) for call in distinct_calls) * scale for name in ("input_tokens", "output_tokens")
    )
    call_count = len(distinct_calls) * scale
    return Estimate(
        methods=column_estimates,
        questions=question_count,
        rehearsed_questions=len(rehearsal.calls),
        calls=call_count,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=None if cost is None else cost * scale,
        seconds=rehearsal.seconds * scale
        if uses_only_embedded_models
        else estimate_seconds(columns[0].context, call_count, input_tokens + output_tokens, concurrency),
        notes=tuple(list_notes(columns, column_estimates, rehearsal.calls)),
    )


def list_notes(
    columns: Sequence[Column],
    column_estimates: Mapping[str, MethodEstimate],
    calls: Sequence[Sequence[Sequence[RehearsedCall]]],
) -> Iterator[str]:
    """What the numbers do not say: which tokens are priced as cached, and where a window is only assumed."""
    for name, column_estimate in column_estimates.items():
        if column_estimate.cached_tokens:
            yield (
                f"{name}: of the {column_estimate.input_tokens:,.0f} tokens that a question sends, "
                f"on average {column_estimate.cached_tokens:,.0f} are read from the server's prefix cache, which holds "
                "the beginning of every prompt from the second question on; they are priced as read from it."
            )
    for place, column in enumerate(columns):
        if left_out := sum(call.left_out for calls_by_column in calls for call in calls_by_column[place]):
            yield (
                f"{column.name}: nothing says how many tokens its model reads, so {left_out:,} passages of the "
                f"{len(calls)} rehearsed questions, beyond {DEFAULT_WINDOW:,} tokens, are left out; set context_window "
                "to the size of its window."
            )


def estimate_seconds(context: Context, calls: float, tokens: float, concurrency: int) -> float:
    """The seconds that calls of a remote chat model take, within the limits on calls at once, and on calls and tokens
    per minute.
    """
    seconds = calls * SECONDS_PER_CALL / max(1, min(concurrency, context.concurrency))
    if context.requests_per_minute:
        seconds = max(seconds, 60 * calls / context.requests_per_minute)
    if context.tokens_per_minute:
        seconds = max(seconds, 60 * tokens / context.tokens_per_minute)
    return seconds
