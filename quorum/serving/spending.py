"""Counts the model calls that a run has made so far, also if the run fails or is stopped."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from quorum.core.state import Usage, merge_usage
from quorum.evaluation.metrics.prices import FREE_PRICE, Prices, add_costs
from quorum.evaluation.run.callbacks import read_usage
from quorum.evaluation.run.spending import read_model_name
from quorum.models.embedding_counts import EmbeddingCounts
from quorum.models.failures import get_status, iterate_causes
from quorum.models.messages import write_messages
from quorum.models.token_counts import get_cached_tokens
from quorum.serving.cost_bounds import bound_call
from quorum.serving.limits import Charge, Reservation


class Spending(AsyncCallbackHandler):
    """Adds up the usage of the calls that have ended, by prompt name. Stored replies cost nothing and are left out.

    reservation, prices: what the request may spend; each call is charged before it is sent (BudgetSpentError if nothing
    is left for it), and corrected when its reply comes. A call that is abandoned stays charged: the server may go on.
    embeddings: what its requests for embeddings took, inside `pay_for_embeddings`; they are charged likewise.
    """

    raise_error = True  # a call that is refused is not sent
    run_inline = False  # with True, LangChain would not await the other handlers after a refused call

    def __init__(self, reservation: Reservation | None = None, prices: Prices | None = None) -> None:
        self.usage: dict[str, Usage] = {}
        self.prompt_of_call: dict[UUID, str] = {}
        self.reservation, self.prices = reservation, prices or Prices()
        self.charges: dict[UUID, tuple[str, Charge]] = {}  # of the calls in flight, with their models
        self.embeddings = EmbeddingCounts()

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        call_metadata = metadata or {}
        if call_metadata.get("reused"):
            return
        if self.reservation is not None:
            model = read_model_name(call_metadata)
            tools = (kwargs.get("invocation_params") or {}).get("tools")
            text = "\n".join(write_messages(batch) for batch in messages) + (json.dumps(tools) if tools else "")
            bound = bound_call(self.prices, model, text)
            self.charges[run_id] = model, self.reservation.charge(bound)
        self.prompt_of_call[run_id] = str(call_metadata.get("prompt") or "call")

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        prompt = self.prompt_of_call.pop(run_id, None)
        if prompt is None:
            return
        token_counts = read_usage(response)
        call_usage = Usage(
            calls=1,
            input_tokens=token_counts.get("input_tokens", 0),
            output_tokens=token_counts.get("output_tokens", 0),
            cached_tokens=get_cached_tokens(token_counts),
        )
        self.usage = merge_usage(self.usage, {prompt: call_usage})
        price = self.prices.find_price(self.charges[run_id][0]) if run_id in self.charges else None
        if price is not None:
            self.correct_charge(
                run_id, price.compute_cost(call_usage["input_tokens"], call_usage["output_tokens"], calls=1)
            )

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A call that the server refused costs nothing; one whose reply did not come may have been answered."""
        self.prompt_of_call.pop(run_id, None)
        if any((get_status(cause) or 0) >= 400 for cause in iterate_causes(error)):
            self.correct_charge(run_id, 0.0)

    def begin_request(self, model: str, tokens: int) -> Callable[[int], None]:
        """Charge a request for embeddings. Raises BudgetSpentError if nothing is left for it."""
        price = self.prices.find_price(model) or FREE_PRICE
        bound = price.compute_cost(tokens, 0)
        charge = self.reservation.charge(bound) if self.reservation is not None and bound else None
        count = self.embeddings.begin_request(model, tokens)

        def correct(taken: int) -> None:
            count(taken)
            if self.reservation is not None and charge is not None:
                self.reservation.correct(charge, price.compute_cost(taken, 0))

        return correct

    def add_requests(self, usage: Mapping[str, Mapping[str, int]]) -> None:
        self.embeddings.add_requests(usage)

    def compute_dollars(self, dollars_of_calls: float | None) -> float | None:
        """The dollars of calls and embeddings; None if a price is missing."""
        return add_costs([dollars_of_calls, self.prices.compute_embedding_cost(self.embeddings.usage)])

    def correct_charge(self, run_id: UUID, dollars: float) -> None:
        if run_id in self.charges and self.reservation is not None:
            self.reservation.correct(self.charges.pop(run_id)[1], dollars)
