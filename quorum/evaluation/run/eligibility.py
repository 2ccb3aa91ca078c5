"""Finds out which methods support the tasks of the questions, by asking one question of each task without cost."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from quorum.core.context import Context, get_filter_spec
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage
from quorum.datasets.records import Record
from quorum.evaluation.compare.rehearsal import has_only_embedded_models
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.graphs import answer

MOST_GIVEN_PASSAGES = 2  # so many of a question's passages are enough for the check
STAND_IN_PASSAGE: Passage = {"id": "stand-in", "title": "", "text": "This stands for what would be found."}


class SilentModel(BaseChatModel):
    """A chat model that always replies with an empty text; stands in for a paid model."""

    @property
    def _llm_type(self) -> str:
        return "quorum-silent"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(""))])


async def drop_ineligible(
    columns: Sequence[Column], dataset: DataSet, task: str | None = None
) -> tuple[list[Column], dict[str, str]]:
    """Leaves out the columns (methods with their settings) from 'all' that do not support a task of the data.

    Returns the other columns, and for each column left out, by its name, the reason.
    Columns that the user named are kept. task: the task of every question; None: each question has its own. Raises
    `SetupError` if no column is left.
    """
    if all(column.must_be_asked for column in columns):
        return list(columns), {}
    records = await asyncio.to_thread(find_first_records, dataset, task)
    left_out_reasons: dict[str, str] = {}
    for column in columns:
        reason = None if column.must_be_asked else await find_objection(column, records)
        if reason is not None:
            left_out_reasons[column.name] = reason
    eligible_columns = [
        replace(column, must_be_asked=True) for column in columns if column.name not in left_out_reasons
    ]
    if not eligible_columns:
        raise SetupError(next(iter(left_out_reasons.values())))
    return eligible_columns, left_out_reasons


def describe_left_out(left_out_reasons: Mapping[str, str]) -> list[str]:
    """'without react, self_ask: ...': a line for each reason why methods of 'all' are left out."""
    names_of_reason: dict[str, list[str]] = {}
    for name, reason in left_out_reasons.items():
        names_of_reason.setdefault(reason.partition(";")[0], []).append(name)
    return [f"without {', '.join(names)}: {reason}." for reason, names in names_of_reason.items()]


def find_first_records(dataset: DataSet, task: str | None) -> dict[str, Record]:
    """The first question of each task, by task."""
    first_records: dict[str, Record] = {}
    for record in dataset.read_records():
        first_records.setdefault(task or dataset.get_task(record), record)
    return first_records


async def find_objection(column: Column, records: dict[str, Record]) -> str | None:
    """The method's error message for a task that it does not support; None if it supports all tasks."""
    for task, record in records.items():
        context = replace_paid_models(column.make_context(task), column.method)
        given_passages = record["passages"][:MOST_GIVEN_PASSAGES] or [STAND_IN_PASSAGE]
        question, golds = record["question"], record["answers"]
        try:
            await answer(question, column.method_or_graph, context, given=given_passages, gold_answers=golds)
        except SetupError as error:
            return str(error)
        except CallError:
            continue  # a failed call says nothing about the method
    return None


def replace_paid_models(context: Context, method: str) -> Context:
    """The context without paid models. If the context's model is the embedded reader, it also takes the place of a paid
    verifier or filter; otherwise a silent model takes the place of all.
    """
    if has_only_embedded_models(context):
        return replace(context, journal="off")
    filter_name = get_filter_spec(context) if method == "filco" else context.context_filter or ""
    unpaid_filter = "llm" if filter_name.startswith("llm") else context.context_filter
    model = "embedded" if context.model == "embedded" else SilentModel()
    return replace(context, model=model, verifier=None, context_filter=unpaid_filter, journal="off")
