"""Nodes for rerankers that score each passage with the question, and the last node of all rerankers."""

import json
from collections.abc import Sequence

from langgraph.runtime import Runtime

from quorum.algorithms.pair_order import order_by_scores
from quorum.core.context import Context, get_context
from quorum.core.counters import merge_usage
from quorum.core.errors import TooLong
from quorum.core.state import CountedReplies, Passage, State, Usage
from quorum.models.call import call
from quorum.models.rerankers import (
    CROSS_ENCODER,
    RERANK_USAGE,
    is_server_reranker,
    make_pair_text,
    score_by_cross_encoder,
    score_by_reader,
)
from quorum.parsing.rerank_results import parse_rerank_results

PASSAGES_PER_REQUEST = 100  # of a server; what Cohere, for example, bills as one search


async def score_pairs(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> passages, by falling score of the pair of question and passage, and with this score."""
    context, question, passages = get_context(runtime), state["question"], state["passages"]
    reranker, update = str(context.reranker), State()
    usage: Usage
    if is_server_reranker(reranker):
        scores, update = await score_by_server(question, passages, context)
    elif reranker.startswith(f"{CROSS_ENCODER}:"):
        scores, usage = await score_by_cross_encoder(reranker.partition(":")[2], question, passages, context)
        update = {"usage": {RERANK_USAGE: usage}}
    else:
        scores, usage = await score_by_reader(question, passages)
        update = {"usage": {RERANK_USAGE: usage}}
    return {"passages": [set_score(passages[index], scores[index]) for index in order_by_scores(scores)], **update}


async def score_by_server(
    question: str, passages: Sequence[Passage], context: Context
) -> tuple[list[float | None], State]:
    """The scores of the server's reranker api:MODEL, and a state update with its usage and its malformed responses."""
    scores: list[float | None] = []
    usage: dict[str, Usage] = {}
    malformed: list[str] = []
    dropped = 0
    for start in range(0, len(passages), PASSAGES_PER_REQUEST):
        texts = [make_pair_text(passage) for passage in passages[start : start + PASSAGES_PER_REQUEST]]
        request = json.dumps({"query": question, "documents": texts, "top_n": len(texts)}, ensure_ascii=False)
        try:
            [reply] = await call(RERANK_USAGE, request, context=context, model=context.reranker, temperature=0.0)
        except TooLong:  # these passages keep the retriever's order
            scores += [None] * len(texts)
            dropped += len(texts)
            continue
        results = parse_rerank_results(reply.raw, len(texts))
        scores += results.scores
        usage = merge_usage(usage, {RERANK_USAGE: reply.usage})
        malformed += [reply.raw] if results.malformed else []
    counted = {RERANK_USAGE: CountedReplies(count=len(malformed), replies=malformed)}
    return scores, {"usage": usage, "malformed": counted if malformed else {}, "dropped": dropped}


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
