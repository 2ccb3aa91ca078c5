"""Weights of votes by how much their passages are like the question."""

import math
from collections.abc import Sequence
from typing import cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.algorithms.tfidf import cosines
from quorum.core.context import Context, settings
from quorum.core.state import State, Vote
from quorum.retrievers.passages import indexed_text
from quorum.retrievers.similarity import similarities

TEMPERATURE = 0.1


async def weigh_by_words(state: State) -> State:
    """question, passages, votes -> votes, weighted by TF-IDF cosine (Lazaridou et al. 2022)."""
    weights = cosines(state["question"], [indexed_text(passage) for passage in state["passages"]])
    return weighted(state.get("votes") or [], weights)


async def weigh_by_meaning(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, votes -> votes, weighted by softmax(cosine / 0.1) of the embeddings (Shi et al. 2023)."""
    likeness = await similarities(state["question"], state["passages"], settings(runtime).embeddings)
    return weighted(state.get("votes") or [], softmax(likeness, TEMPERATURE))


def softmax(scores: Sequence[float], temperature: float) -> list[float]:
    """Weights that sum to 1, in proportion to exp(score / temperature)."""
    highest = max(scores, default=0.0)
    raised = [math.exp((score - highest) / temperature) for score in scores]
    return [value / math.fsum(raised) for value in raised]


def weighted(votes: Sequence[Vote], weights: Sequence[float]) -> State:
    """Each vote with its passage's weight; where all votes that count would weigh nothing, they weigh the same."""
    nothing = not any(weights[vote["rank"]] for vote in votes if not vote["unknown"])
    made = [Vote(**{**vote, "weight": 1.0 if nothing else weights[vote["rank"]]}) for vote in votes]
    return cast(State, {"votes": Overwrite(made)})  # Overwrite stands for the value that it sets
