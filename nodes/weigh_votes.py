"""Nodes that weigh each vote by the similarity of its passage to the question."""

import math
from collections.abc import Sequence
from typing import cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.algorithms.tfidf import compute_cosines
from quorum.core.context import Context, get_context
from quorum.core.state import State, Vote
from quorum.retrievers.passages import make_indexed_text
from quorum.retrievers.similarity import compute_similarities

TEMPERATURE = 0.1


async def weigh_by_words(state: State) -> State:
    """question, passages, votes -> votes, weighted by TF-IDF cosine (Lazaridou et al. 2022)."""
    weights = compute_cosines(state["question"], [make_indexed_text(passage) for passage in state["passages"]])
    return set_weights(state.get("votes") or [], weights)


async def weigh_by_meaning(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, votes -> votes, weighted by softmax(cosine / 0.1) of the embeddings (Shi et al. 2023)."""
    context = get_context(runtime)
    similarities = await compute_similarities(
        state["question"], state["passages"], context.embeddings, context.embedding_batch
    )
    return set_weights(state.get("votes") or [], compute_softmax(similarities, TEMPERATURE))


def compute_softmax(scores: Sequence[float], temperature: float) -> list[float]:
    """Weights that sum to 1, in proportion to exp(score / temperature)."""
    highest = max(scores, default=0.0)
    exponentials = [math.exp((score - highest) / temperature) for score in scores]
    return [value / math.fsum(exponentials) for value in exponentials]


def set_weights(votes: Sequence[Vote], weights: Sequence[float]) -> State:
    """Give each vote its passage's weight; all votes weigh 1 if every vote for a known answer would weigh 0."""
    no_weight = not any(weights[vote["rank"]] for vote in votes if not vote["unknown"])
    weighted_votes = [Vote(**{**vote, "weight": 1.0 if no_weight else weights[vote["rank"]]}) for vote in votes]
    return cast(State, {"votes": Overwrite(weighted_votes)})  # the type checker does not know Overwrite
