"""The most that a call and a request of the server may cost."""

import math
from typing import get_args

from quorum.core.context import Context, count_passages_to_find
from quorum.evaluation.compare.call_bounds import compute_call_bounds
from quorum.evaluation.metrics.prices import FREE_PRICE, Prices, find_model
from quorum.evaluation.run.columns import Column
from quorum.models.rerankers import get_reranking_model
from quorum.models.token_estimate import estimate_tokens
from quorum.prompts.prompt import ModelRole

# Tokens. A reply is counted as this long until its real length is known; chat models seldom write more to our prompts.
LONGEST_REPLY = 2000
TOKENS_OF_PASSAGE, TOKENS_OF_INSTRUCTIONS = 300, 1200  # in a prompt, at most, with passages of the usual length


def bound_call(prices: Prices, model: str, text: str) -> float:
    """The most dollars that a call may cost. model: its spec; text: the prompt."""
    price = prices.find_price(model) or FREE_PRICE
    return price.compute_cost(estimate_tokens(text), LONGEST_REPLY)


def bound_request(prices: Prices, method: str, context: Context, question: str) -> float:
    """The most dollars that a question may cost: those of one call, times the calls that the method may make,
    and those of its reranker.

    For a method whose calls have no bound, it is the price of one call, and each later call is checked by itself.
    """
    models = {find_model(role, context) for role in get_args(ModelRole)}
    prompt_tokens = (
        estimate_tokens(question) + TOKENS_OF_INSTRUCTIONS + count_passages_to_find(context) * TOKENS_OF_PASSAGE
    )
    dearest_call = max(
        (prices.find_price(model) or FREE_PRICE).compute_cost(prompt_tokens, LONGEST_REPLY) for model in models
    )
    rerank_price = prices.find_price(get_reranking_model(context)) or FREE_PRICE
    reranking = rerank_price.compute_cost(count_passages_to_find(context) * TOKENS_OF_PASSAGE, 0, calls=1)
    _, most_calls = compute_call_bounds(Column(method, method, {}, context))
    return reranking + dearest_call * (most_calls if math.isfinite(most_calls) else 1)
