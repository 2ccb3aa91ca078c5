"""Counts what an evaluation spends: the calls that it really makes, without replies from the journal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from quorum.core.errors import SetupError
from quorum.evaluation.run.callbacks import is_reused, read_message, read_usage
from quorum.evaluation.run.shared_retrieval import CachingRetriever
from quorum.models.embedding_counts import EmbeddingCounts
from quorum.models.token_counts import get_cached_tokens

COUNT_KEYS = ("calls", "input_tokens", "output_tokens", "cached_tokens")


class LimitReachedError(SetupError):
    """The models have cost more than the limit (`--max-cost`); the answers so far are kept."""


@dataclass(frozen=True)
class SpendingCounts:
    """What one question cost in a worker process. The main process adds it to its own counts.

    usage_by_model: for each model, the number of its calls and of their tokens, under COUNT_KEYS. searches: how many
    searches the methods requested; searches_made: how many of them were made; the others shared a result. embeddings:
    the requests for embeddings and their tokens, by model (see `EmbeddingCounts`).
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usage_by_model: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    searches: int = 0
    searches_made: int = 0
    embeddings: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class ModelHandler(AsyncCallbackHandler):
    """Handles the events of models and searches only, inline in the calling task."""

    run_inline = True

    @property
    def ignore_chain(self) -> bool:
        return True


class ReusedCallCounter(ModelHandler):
    """Counts the replies that took no request to a server (see `is_reused`)."""

    def __init__(self) -> None:
        self.count = 0

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        self.count += is_reused(response)


class Spending(ModelHandler):
    """Counts the calls that were made, and their tokens. Replies that took no request (`is_reused`) are left out.

    Inside `quorum.models.embedding_requests.pay_for_embeddings` it counts the requests for embeddings, too.
    """

    def __init__(self) -> None:
        self.calls = self.input_tokens = self.output_tokens = 0
        self.embeddings = EmbeddingCounts()

    def begin_request(self, model: str, tokens: int) -> Callable[[int], None]:
        """Count a request for embeddings."""
        return self.embeddings.begin_request(model, tokens)

    def add_requests(self, usage: Mapping[str, Mapping[str, int]]) -> None:
        self.embeddings.add_requests(usage)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        if read_message(response) is None or is_reused(response):
            return
        usage = read_usage(response)
        self.calls += 1
        self.input_tokens += usage.get("input_tokens", 0)
        self.output_tokens += usage.get("output_tokens", 0)

    def merge(self, other: SpendingCounts) -> None:
        """Add what one question cost in a worker process."""
        self.calls += other.calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.add_requests(other.embeddings)


class ModelSpending(Spending):
    """Counts calls and tokens also by model, and counts searches."""

    def __init__(self) -> None:
        super().__init__()
        self.usage_by_model: dict[str, dict[str, int]] = {}
        self.searches = self.searches_made = 0
        self.model_of_open_call: dict[UUID, str] = {}
        self.open_searches: set[UUID] = set()

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        description = metadata or {}
        if not description.get("reused"):
            self.model_of_open_call[run_id] = read_model_name(description)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        calls_before = self.calls
        await super().on_llm_end(response, run_id=run_id, **kwargs)
        model = self.model_of_open_call.pop(run_id, "")
        if self.calls == calls_before or not model:  # the reply is reused, or the start of the call was not seen
            return
        usage = read_usage(response)
        counts = (1, usage.get("input_tokens", 0), usage.get("output_tokens", 0), get_cached_tokens(usage))
        self.add(model, dict(zip(COUNT_KEYS, counts, strict=True)))

    def add(self, model: str, counts: Mapping[str, int]) -> None:
        """Add the counts of new calls of a model."""
        counts_before = self.usage_by_model.get(model, dict.fromkeys(COUNT_KEYS, 0))
        self.usage_by_model[model] = {name: counts_before[name] + counts[name] for name in COUNT_KEYS}

    async def on_retriever_start(
        self, serialized: dict[str, Any], query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        if kwargs.get("name") == CachingRetriever.__name__:  # a method's request; the cache may hold the result
            self.searches += 1
        elif parent_run_id not in self.open_searches:  # not a part of a search in progress
            self.searches_made += 1
            self.open_searches.add(run_id)

    async def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any) -> None:
        self.open_searches.discard(run_id)

    def merge(self, other: SpendingCounts) -> None:
        super().merge(other)
        self.searches += other.searches
        self.searches_made += other.searches_made
        for name, counts in other.usage_by_model.items():
            self.add(name, counts)

    def export_counts(self) -> SpendingCounts:
        """The counts, which the main process merges into its own."""
        return SpendingCounts(
            self.calls,
            self.input_tokens,
            self.output_tokens,
            self.usage_by_model,
            self.searches,
            self.searches_made,
            self.embeddings.usage,
        )


def read_model_name(description: Mapping[str, Any]) -> str:
    """The spec of a call's model, such as "openai:gpt-4o-mini" or "embedded".

    If the metadata do not name the model, the spec is the provider with "unnamed": "openai:unnamed". If they do not
    name the provider, it is "model:unnamed". description: the metadata that LangChain gives to the callback.
    """
    provider, name = description.get("ls_provider") or "", description.get("ls_model_name") or ""
    if provider == "embeddedreader":
        return "embedded"
    return f"{provider}:{name}" if provider and name else f"{provider or 'model'}:unnamed"
