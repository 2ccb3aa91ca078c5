"""Asks one column (a method with its settings) one question, and makes a row of results.jsonl from its answer."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.core.labels import LABELS, NOT_ENOUGH_INFO
from quorum.core.state import Passage, Result, is_either_true, merge_counted_replies, merge_usage
from quorum.core.where import NothingMatchesError
from quorum.datasets.records import Record
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.details import Detail, Details, make_detail
from quorum.evaluation.run.gold_placement import find_gold_rank, place_gold
from quorum.evaluation.run.rows import make_answered_row, make_failed_row
from quorum.evaluation.run.spending import ReusedCallCounter, Spending
from quorum.evaluation.run.tasks import RETRIEVAL_TASKS, get_stated_task, list_labels
from quorum.evaluation.run.watch import SEARCH_SECONDS, AnswerWatcher
from quorum.graphs import answer
from quorum.models.slots import queue_calls_as_one_question
from quorum.prompts import list_texts, load_overrides


@dataclass(frozen=True)
class Questioner:
    """Asks questions with the options of one run.

    uses_given_passages: the methods read the passages that come with each question, and search no collection. task: the
    task of all questions; None: each question has the task of its `meta.answer_type`, or `default_task` if it states
    none. extra_keys: further keys of the result to write into the rows. labels: the labels that a claim may have, if
    its record does not list them in `meta.labels`.
    """

    uses_given_passages: bool
    task: str | None = None
    default_task: str = "short"
    extra_keys: Sequence[str] = ()
    labels: Sequence[str] = LABELS

    def get_task(self, record: Record) -> str:
        """The task of a question, as a value of `Context.answer_type`."""
        return self.task or get_stated_task(record) or self.default_task

    async def ask(
        self, record: Record, column: Column, spending: Spending, details: Details | list[Detail] | None
    ) -> Row:
        """Ask one column one question; returns the row. If a call fails permanently, the row holds the error.

        `spending` counts the calls. The answer's line of details.jsonl is added to `details`; None: no line is made.
        With `details`, the row's seconds are those that the method would take alone; without, those that have passed.
        """
        started_at, watcher = time.perf_counter(), None if details is None else AnswerWatcher()
        reused_calls = ReusedCallCounter()
        SEARCH_SECONDS.set(None if watcher is None else watcher.search_seconds)
        config: RunnableConfig = {
            "callbacks": [spending, reused_calls] if watcher is None else [spending, reused_calls, watcher]
        }
        task = self.get_task(record)
        context = use_label_prompts(column.make_context(task), list_labels(record) or self.labels)
        task = task if task in RETRIEVAL_TASKS else context.answer_type
        try:
            result = await answer_question(
                record, column, context, uses_given_passages=self.uses_given_passages, config=config
            )
        except (CallError, NothingMatchesError) as failure:
            if isinstance(failure, NothingMatchesError) and not self.uses_given_passages:
                raise  # nothing matches for the other questions, either
            seconds = time.perf_counter() - started_at
            return make_failed_row(
                record,
                column.name,
                task,
                str(failure),
                seconds=seconds,
                answer_measure=context.answer_measure,
            )
        seconds = time.perf_counter() - started_at if watcher is None else watcher.compute_seconds_alone()
        if details is not None and watcher is not None:
            details.append(make_detail(record["id"], column.name, result, watcher))
        make_row = partial(
            make_answered_row,
            all_votes_known=column.knows_all_votes,
            seconds=seconds,
            answer_measure=context.answer_measure,
            reused_calls=reused_calls.count,
            extra_keys=self.extra_keys,
        )
        return await asyncio.to_thread(make_row, record, column.name, task, result)


def use_label_prompts(context: Context, labels: Sequence[str]) -> Context:
    """The context for a claim with these labels. If NOT ENOUGH INFO is not among them (as in KILT's FEVER), the context
    gets the prompts for two labels, except where the user has prompts of their own. Otherwise it is unchanged.
    """
    if context.answer_type != "label" or NOT_ENOUGH_INFO in labels:
        return context
    overrides = load_overrides(context.prompts)
    return replace(context, prompts={**list_texts("two_way"), **overrides})


async def answer_question(
    record: Record, column: Column, context: Context, *, uses_given_passages: bool, config: RunnableConfig
) -> Result:
    """A column's result for a question. If the column has a `gold_position`, gold passages are first placed among the
    retrieved ones. The method then reads all these passages, or, if the column has `passages_read`, only the first
    `passages_read`.

    If the column has `passages_read` or a `gold_position`, the result's `retrieved` lists the ids of all retrieved
    passages, in the order of retrieval or, with a reranker, in the reranker's order. If the column has a
    `gold_position`, the result's `gold_rank` is the rank of the first gold passage among them, or None if none of them
    is gold.

    Raises CallError when a call failed permanently.
    """
    queue_calls_as_one_question()
    passages = record["passages"] if uses_given_passages else None
    question, gold_answers, method = record["question"], record["answers"], column.method_or_graph
    if column.passages_read is None and column.gold_position is None:
        return await answer(question, method, context, given=passages, gold_answers=gold_answers, config=config)
    from quorum.graphs.parts.search_and_rerank import SearchInput, search_and_rerank

    search_input = SearchInput(question=question, given_passages=passages)
    retrieval_result: Any = await search_and_rerank.ainvoke(cast(Any, search_input), config, context=context)
    result = await answer(
        question,
        method,
        replace(context, reranker=None, where=None),  # `search_and_rerank` has filtered and reranked the passages
        # If no passage was found, None: methods refuse an empty list of given passages.
        given=select_passages_to_read(retrieval_result["passages"], record, column, context) or None,
        gold_answers=gold_answers,
        config=config,
    )
    result["retrieved"] = [passage["id"] for passage in retrieval_result["passages"]]
    result["usage"] = merge_usage(retrieval_result.get("usage"), result.get("usage"))
    result["malformed"] = merge_counted_replies(retrieval_result.get("malformed"), result.get("malformed"))
    result["wordy_answers"] = merge_counted_replies(retrieval_result.get("wordy_answers"), result.get("wordy_answers"))
    result["temperature_refused"] = is_either_true(
        retrieval_result.get("temperature_refused"), result.get("temperature_refused")
    )
    result["dropped"] = (retrieval_result.get("dropped") or 0) + (result.get("dropped") or 0)
    if column.gold_position is not None:
        rank = find_gold_rank(retrieval_result["passages"], record, context.answer_type)
        return cast(Result, {**result, "gold_rank": rank})
    return result


def select_passages_to_read(passages: list[Passage], record: Record, column: Column, context: Context) -> list[Passage]:
    """The passages that the method reads, in reading order: the first `passages_read` of the column (None: all).

    If the column has a `gold_position`, gold passages are first placed among the retrieved ones.
    """
    if column.gold_position is not None:
        passages = place_gold(passages, record, context.answer_type, context, column.gold_position)
    return passages[: column.passages_read]
