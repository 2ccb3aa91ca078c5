"""The limits of the server (`quorum serve --dollars-per-day` and the like), applied to the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.run.columns import Column
from quorum.serving.cost_bounds import bound_request
from quorum.serving.errors import Refusal
from quorum.serving.limits import Reservation
from quorum.serving.service import Service


@dataclass(frozen=True)
class PageBudget:
    """What the page may ask: its visitors share the limits of one client, that of the key that opens the page."""

    service: Service
    client: str

    @property
    def prices(self) -> Prices:
        return self.service.prices

    def begin(self, question: str, columns: Sequence[Column]) -> Reservation:
        """Count the start of a run. Raises `SetupError` beyond the limits."""
        prices, is_limited = self.prices, self.service.limits.dollars_per_day is not None
        try:
            if is_limited and (unpriced := [c.name for c in columns if prices.find_price(c.context.model) is None]):
                raise SetupError(
                    f"The server limits dollars, and the model of {unpriced[0]} has no price; choose another model."
                )
            bounds = [bound_request(prices, column.method, column.context, question) for column in columns]
            return self.service.limits.begin(self.client, bound=sum(bounds) if is_limited else 0.0)
        except Refusal as refusal:
            raise SetupError(refusal.message) from None
