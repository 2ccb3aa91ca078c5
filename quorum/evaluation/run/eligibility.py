"""Finds out which methods support the tasks of the questions, by asking one question of each task without cost."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from quorum.core.context import Context, get_filter_spec
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage
from quorum.datasets.records import Record
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.graphs import answer
from quorum.models.chat import chat_model_async
from quorum.models.rerankers import is_server_reranker

MOST_GIVEN_PASSAGES = 2  # the check sends at most this many of a question's passages
# Given with a question that has no passages of its own, so that nothing is searched.
STAND_IN_PASSAGE: Passage = {"id": "stand-in", "title": "", "text": "This stands for what would be found."}


class EmptyModel(FakeListChatModel):
    """Replies with an empty text. It calls no tool that it is offered."""

    def bind_tools(self, tools: Sequence[Any], **settings: Any) -> Runnable[Any, AIMessage]:
        return self


async def drop_ineligible(
    columns: Sequence[Column], dataset: DataSet, task: str | None = None
) -> tuple[list[Column], dict[str, str]]:
    """Leaves out columns (methods with their settings) that come from `--methods all` and do not support every task of
    the data. Columns that the user named are kept.

    Returns the kept columns, now all with `must_be_asked`, and {name of a column left out: reason}. task: the task of
    every question; None: each question has its own. Raises `SetupError` if no column is left.
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
    """'without react, self_ask: ...': a line for each reason, with the methods of 'all' that are left out for it."""
    names_of_reason: dict[str, list[str]] = {}
    for name, reason in left_out_reasons.items():
        names_of_reason.setdefault(reason.partition(";")[0], []).append(name)
    return [f"without {', '.join(names)}: {reason}." for reason, names in names_of_reason.items()]


def find_first_records(dataset: DataSet, task: str | None) -> dict[str, Record]:
    """{task: the first question of this task}."""
    first_records: dict[str, Record] = {}
    for record in dataset.read_records():
        first_records.setdefault(task or dataset.get_task(record), record)
    return first_records


async def find_objection(column: Column, records: dict[str, Record]) -> str | None:
    """The method's error message for the first task that it does not support; None if it supports all tasks.

    records: {task: a question of this task}.
    """
    if column.method == "agent" and not await is_known_to_take_tools(column.context):
        return f"nothing says whether {describe_model(column.context.model)} takes tools; name agent to ask it"
    for task, record in records.items():
        context = replace_paid_models(column.make_context(task), column.method)
        given_passages = record["passages"][:MOST_GIVEN_PASSAGES] or [STAND_IN_PASSAGE]
        question, gold_answers = record["question"], record["answers"]
        try:
            await answer(question, column.method_or_graph, context, given=given_passages, gold_answers=gold_answers)
        except SetupError as error:
            return str(error)
        except CallError:
            continue  # a failed call says nothing about the method
    return None


async def is_known_to_take_tools(context: Context) -> bool:
    """Whether a model takes tools, as far as this is known without asking it: the built-in models do, and those whose
    profile in LangChain says so.
    """
    if context.model in ("embedded", "scripted"):
        return True
    try:
        model = await chat_model_async(context.model, context)
    except SetupError:  # the run will say so
        return False
    return (getattr(model, "profile", None) or {}).get("tool_calling") is True


def describe_model(model: object) -> str:
    """The model's spec, or the name of its class."""
    return f"the model {model}" if isinstance(model, str) else f"a {type(model).__name__}"


def replace_paid_models(context: Context, method: str) -> Context:
    """The context without paid models and without the journal.

    If the context's model is the embedded reader, it also takes the place of a paid verifier or filter; otherwise
    one that always replies with an empty text takes the place of model, verifier and paid filter. Any other filter
    stays. There is no second retriever, since nothing is searched.
    """
    context = replace(context, second_retriever=None)
    if has_only_embedded_models(context):
        return replace(context, journal="off")
    # The method filco filters also if the user chose no filter. "llm" without a name: the context's own model filters.
    filter_spec = get_filter_spec(context) if method == "filco" else context.context_filter or ""
    unpaid_filter = "llm" if filter_spec.startswith("llm") else context.context_filter
    model = "embedded" if context.model == "embedded" else EmptyModel(responses=[""])
    reranker = "reader" if is_server_reranker(context.reranker) else context.reranker
    return replace(context, model=model, verifier=None, context_filter=unpaid_filter, reranker=reranker, journal="off")


def has_only_embedded_models(context: Context) -> bool:
    """Whether the embedded reader is the only chat model: as the model, as the verifier and as the context filter; and
    no server reranks.
    """
    has_embedded_models = context.model == "embedded" and context.verifier in (None, "embedded")
    return has_embedded_models and not has_other_chat_filter(context) and not is_server_reranker(context.reranker)


def has_other_chat_filter(context: Context) -> bool:
    """Whether the context filter names a chat model other than the embedded reader, such as "llm:openai:NAME".

    "llm" without a name is the context's own model.
    """
    kind, _, name = (context.context_filter or "").partition(":")
    return kind == "llm" and name not in ("", "embedded")
