"""Nodes for rerankers that score each passage with the question, and the last node of all rerankers."""

from langgraph.runtime import Runtime

from quorum.algorithms.pair_order import order_by_scores
from quorum.core.context import Context, get_context
from quorum.core.state import Passage, State
from quorum.models.rerankers import RERANK_USAGE, get_pair_scorer


async def score_pairs(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> passages, by falling score of the pair of question and passage, and with this score."""
    passages = state["passages"]
    scored = await get_pair_scorer(str(get_context(runtime).reranker)).score(state["question"], passages)
    return {
        "passages": [set_score(passages[index], scored.scores[index]) for index in order_by_scores(scored.scores)],
        "usage": {RERANK_USAGE: scored.usage},
    }


async def keep_best(state: State, runtime: Runtime[Context]) -> State:
    """passages -> passages (the first k)."""
    return {"passages": state["passages"][: get_context(runtime).k]}


def set_score(passage: Passage, score: float | None) -> Passage:
    """The passage with this score; the retriever's is kept as `retriever_score`."""
    passage = Passage(**passage)
    if "score" in passage:
        passage["retriever_score"] = passage.pop("score")
    if score is not None:
        passage["score"] = score
    return passage
