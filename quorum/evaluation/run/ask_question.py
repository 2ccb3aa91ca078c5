"""One question by one run: a method's answer, from all that is retrieved, from the best of it alone, or with gold
passages put among it.
"""

from dataclasses import replace
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from quorum.core.context import Context
from quorum.core.state import Passage, Result, merge_malformed, merge_usage
from quorum.datasets.records import Record
from quorum.evaluation.run.columns import MethodRun
from quorum.evaluation.run.gold_placement import gold_rank, placed
from quorum.graphs import answer


async def answer_to(record: Record, run: MethodRun, context: Context, *, given: bool, config: RunnableConfig) -> Result:
    """The result; of a run with `top`, read from so many of the passages, of a run with `gold` with gold ones put among
    them, `retrieved` naming all in the order in which they were found.

    Raises CallError when a call failed for good.
    """
    passages = record["passages"] if given else None
    if run.top is None and run.gold is None:
        return await answer(
            record["question"],
            run.method_or_graph,
            context,
            given=passages,
            gold_answers=record["answers"],
            config=config,
        )
    from quorum.graphs.parts.retrieval import RetrievalInput, retrieval

    asked = RetrievalInput(question=record["question"], provided=passages)
    found: Any = await retrieval.ainvoke(cast(Any, asked), config, context=context)
    result = await answer(
        record["question"],
        run.method_or_graph,
        replace(context, reranker=None),
        given=to_read(found["passages"], record, run, context) or None,
        gold_answers=record["answers"],
        config=config,
    )
    result["retrieved"] = [passage["id"] for passage in found["passages"]]
    result["usage"] = merge_usage(found.get("usage"), result.get("usage"))
    result["malformed"] = merge_malformed(found.get("malformed"), result.get("malformed"))
    result["dropped"] = (found.get("dropped") or 0) + (result.get("dropped") or 0)
    if run.gold is not None:
        rank = gold_rank(found["passages"], record, context.answer_type)
        return cast(Result, {**result, "gold_rank": rank})
    return result


def to_read(found: list[Passage], record: Record, run: MethodRun, context: Context) -> list[Passage]:
    """Of the passages found those that the method gets, in the order in which it gets them."""
    if run.gold is not None:
        found = placed(found, record, context.answer_type, context, run.gold)
    return found[: run.top]
