"""Tells those who pay for embeddings what each request takes: before it is sent, and when it is answered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from quorum.models.token_counts import is_count
from quorum.models.token_estimate import estimate_tokens


class EmbeddingPayer(Protocol):
    """Pays for the requests that are sent inside `pay_for_embeddings`, on any thread."""

    def begin_request(self, model: str, tokens: int) -> Callable[[int], None]:
        """Raises an error if the request must not be sent. Returns what is called with the tokens that it took, 0 if it
        failed. model: the spec of the embeddings; tokens: an upper estimate.
        """

    def add_requests(self, usage: Mapping[str, Mapping[str, int]]) -> None:
        """Pay for requests that another process has sent. usage: as `EmbeddingCounts.usage`."""


PAYERS: ContextVar[tuple[EmbeddingPayer, ...]] = ContextVar("PAYERS", default=())


@dataclass
class EmbeddingRequest:
    """A request in progress. tokens: those that it took; None: the server has not told."""

    tokens: int | None = None


@contextmanager
def pay_for_embeddings(payer: EmbeddingPayer) -> Iterator[None]:
    """Let `payer`, too, pay for the requests that the block sends."""
    token = PAYERS.set((*PAYERS.get(), payer))
    try:
        yield
    finally:
        PAYERS.reset(token)


@contextmanager
def tell_request(model: str, texts: Sequence[str]) -> Iterator[EmbeddingRequest]:
    """Tell all payers of a request, which the block sends. If it succeeds and sets no tokens, they are estimated."""
    request, estimate = EmbeddingRequest(), sum(map(estimate_tokens, texts))
    with ExitStack() as corrections:
        for payer in PAYERS.get():
            correct = payer.begin_request(model, estimate)
            corrections.callback(lambda end: end(request.tokens or 0), correct)
        yield request
        if request.tokens is None:
            request.tokens = estimate


def tell_finished_requests(usage: Mapping[str, Mapping[str, int]]) -> None:
    """Tell all payers of requests that another process has sent."""
    for payer in PAYERS.get():
        payer.add_requests(usage)


def read_tokens(response: Any) -> int | None:
    """The tokens that a server's response counts; None if it counts none."""
    usage = getattr(response, "usage", None)
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "total_tokens"))
    return next((count for count in counts if is_count(count)), None)
