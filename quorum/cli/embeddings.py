"""Prints what the embeddings of servers took, and limits it."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from quorum.evaluation.metrics.prices import Prices


def print_embeddings(usage: "Mapping[str, Mapping[str, int]]", prices: "Prices") -> None:
    """Print on stderr what the embeddings of servers took, and their dollars; nothing if no server was asked."""
    if usage:
        from quorum.evaluation.compare.format_figures import describe_embeddings

        typer.echo(f"quorum: {describe_embeddings(usage, prices.compute_embedding_cost(usage))}", err=True)


def limit_embeddings(embeddings: Any, max_cost: float | None, prices: "Path | None") -> AbstractContextManager[None]:
    """A block whose embeddings may cost `max_cost` dollars. Raises `SetupError` if there is a limit, but no price, and
    for a file of prices that cannot be read.
    """
    if max_cost is None and prices is None:
        return nullcontext()
    from quorum.evaluation.compare.spending_limit import LimitedSpending
    from quorum.evaluation.metrics.prices import Prices, check_limit
    from quorum.models.embedding_requests import pay_for_embeddings

    table = Prices(prices)
    if max_cost is None:
        return nullcontext()
    check_limit(0.0 if table.find_embeddings_price(embeddings) else None, max_cost, instead="")
    return pay_for_embeddings(LimitedSpending(table, max_cost))
