"""Which of all methods can serve what the questions ask for: tried on one question of each task, free of cost."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from quorum.core.context import Context, get_filter
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage
from quorum.datasets.records import Record
from quorum.evaluation.compare.estimate import is_local
from quorum.evaluation.run.columns import MethodRun
from quorum.evaluation.run.dataset import DataSet
from quorum.graphs import answer

PASSAGES = 2
STAND_IN: Passage = {"id": "stand-in", "title": "", "text": "This stands for what would be found."}


class SilentModel(BaseChatModel):
    """Says nothing to anything: in place of a model that is paid for."""

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


async def able(
    runs: Sequence[MethodRun], dataset: DataSet, task: str | None = None
) -> tuple[list[MethodRun], dict[str, str]]:
    """The runs without those of 'all' that cannot serve a task of the data, and why not, by name.

    What was chosen by its own name stays. task: what every question asks for; without it, what the data say. Raises
    `SetupError` where nothing is left.
    """
    if all(run.chosen for run in runs):
        return list(runs), {}
    records = await asyncio.to_thread(one_of_each, dataset, task)
    left_out: dict[str, str] = {}
    for run in runs:
        reason = None if run.chosen else await why_not(run, records)
        if reason is not None:
            left_out[run.name] = reason
    able = [replace(run, chosen=True) for run in runs if run.name not in left_out]  # tried: they need it no more
    if not able:
        raise SetupError(next(iter(left_out.values())))
    return able, left_out


def left_out_words(left_out: Mapping[str, str]) -> list[str]:
    """'without react, self_ask: ...', a line for each reason that methods of 'all' are left out for."""
    whose: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        whose.setdefault(reason.partition(";")[0], []).append(name)
    return [f"without {', '.join(names)}: {reason}." for reason, names in whose.items()]


def one_of_each(dataset: DataSet, task: str | None) -> dict[str, Record]:
    """The first question of each task."""
    found: dict[str, Record] = {}
    for record in dataset.questions():
        found.setdefault(task or dataset.task_of(record), record)
    return found


async def why_not(run: MethodRun, records: dict[str, Record]) -> str | None:
    """What the method says of a task that it does not serve; None where it serves all."""
    for task, record in records.items():
        context = free(run.for_task(task), run.method)
        given = record["passages"][:PASSAGES] or [STAND_IN]
        try:
            await answer(record["question"], run.method_or_graph, context, given=given, gold_answers=record["answers"])
        except SetupError as error:
            return str(error)
        except CallError:
            continue  # a failed call says nothing of the method
    return None


def free(context: Context, method: str) -> Context:
    """The context without a model that is paid for."""
    if is_local(context):
        return replace(context, journal="off")
    chosen = get_filter(context) if method == "filco" else context.context_filter or ""
    kind = "llm" if chosen.startswith("llm") else context.context_filter
    return replace(context, model=SilentModel(), verifier=None, context_filter=kind, journal="off")
