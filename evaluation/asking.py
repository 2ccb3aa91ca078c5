"""One question by one run: a method's answer, from all that is retrieved or from the best of it alone."""

from dataclasses import replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from core.context import Context
from core.data import Record
from core.state import Asked, Result, merge_malformed, merge_usage
from evaluation.methods import MethodRun
from graphs import answer


async def answer_to(record: Record, run: MethodRun, context: Context, *, given: bool, config: RunnableConfig) -> Result:
    """The result; of a run with `top`, read from so many of the passages, `retrieved` naming all in their order.

    Raises CallError when a call failed for good.
    """
    passages = record["passages"] if given else None
    if run.top is None:
        return await answer(
            record["question"], run.strategy, context, given=passages, gold_answers=record["answers"], config=config
        )
    from graphs.retrieval import unfiltered

    asked = Asked(question=record["question"], provided=passages)
    found: Any = await unfiltered.ainvoke(cast(Any, asked), config, context=context)
    result = await answer(
        record["question"],
        run.strategy,
        replace(context, reranker=None),
        given=found["passages"][: run.top] or None,
        gold_answers=record["answers"],
        config=config,
    )
    result["retrieved"] = [passage["id"] for passage in found["passages"]]
    result["usage"] = merge_usage(found.get("usage"), result.get("usage"))
    result["malformed"] = merge_malformed(found.get("malformed"), result.get("malformed"))
    result["dropped"] = (found.get("dropped") or 0) + (result.get("dropped") or 0)
    return result
