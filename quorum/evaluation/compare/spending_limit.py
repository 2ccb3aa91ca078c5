"""The actual spending by model over all runs of a comparison, with a limit, and the savings from shared calls."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NotRequired
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult
from typing_extensions import TypedDict

from quorum.core.errors import SetupError
from quorum.evaluation.callbacks import usage_of
from quorum.evaluation.compare.prices import FREE, Prices
from quorum.evaluation.run.results import read_config, write_json
from quorum.evaluation.run.shared_retrieval import OncePerQuery
from quorum.evaluation.run.spending import Spending

COUNTS = ("calls", "input_tokens", "output_tokens", "cached_tokens")


class TotalSpent(TypedDict):
    """Calls and searches. Methods requested `searches`; `searched` were really made. cost: dollars, null if a model has
    no price. judge: the spending of the judge, not included in the rest.
    """

    models: dict[str, dict[str, int]]
    searches: int
    searched: int
    cost: float | None
    judge: NotRequired["TotalSpent"]


class LimitedSpending(Spending):
    """Counts spending by model, on top of earlier runs of the same comparison. Once this run has spent more than
    `limit` dollars, the next call is refused.
    """

    raise_error = True  # a refused call ends the run

    def __init__(
        self,
        prices: Prices,
        limit: float | None = None,
        before: TotalSpent | None = None,
        rehearsed: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        super().__init__()
        self.prices, self.limit = prices, limit
        self.models: dict[str, dict[str, int]] = dict(before["models"]) if before else {}
        for name, used in (rehearsed or {}).items():
            self.add(name, used)
        self.searches = before["searches"] if before else 0
        self.searched = before["searched"] if before else 0
        self.cost = 0.0
        self.asking: dict[UUID, str] = {}
        self.looking: set[UUID] = set()

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        about = metadata or {}
        if about.get("stored"):
            return
        if self.limit is not None and self.paid() > self.limit:
            raise SetupError(
                f"The models have cost ${self.paid():.4f}, the limit is ${self.limit:g}; what was answered is kept: "
                "give a higher --max-cost to go on."
            )
        self.asking[run_id] = model_name(about)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        before = self.calls
        await super().on_llm_end(response, run_id=run_id, **kwargs)
        model = self.asking.pop(run_id, "")
        if self.calls == before or not model:
            return
        usage = usage_of(response)
        cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
        used = (1, usage.get("input_tokens", 0), usage.get("output_tokens", 0), cached)
        self.add(model, dict(zip(COUNTS, used, strict=True)))
        price = self.prices.of(model) or FREE
        self.cost += price.of(*used[1:])

    def paid(self) -> float:
        """Dollars in this run, against the limit."""
        return self.cost

    def add(self, model: str, used: Mapping[str, int]) -> None:
        old = self.models.get(model, dict.fromkeys(COUNTS, 0))
        self.models[model] = {name: old[name] + used[name] for name in COUNTS}

    async def on_retriever_start(
        self, serialized: dict[str, Any], query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        if kwargs.get("name") == OncePerQuery.__name__:
            self.searches += 1
        elif parent_run_id not in self.looking:  # not a part of a search under way
            self.searched += 1
            self.looking.add(run_id)

    async def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any) -> None:
        self.looking.discard(run_id)

    def total(self) -> TotalSpent:
        """Total spending, of this run and earlier runs."""
        costs = [cost_of(name, used, self.prices) for name, used in self.models.items()]
        known = [one for one in costs if one is not None]
        cost = sum(known) if len(known) == len(costs) else None
        return TotalSpent(models=self.models, searches=self.searches, searched=self.searched, cost=cost)


class JudgeSpending(LimitedSpending):
    """Counts the judge's spending separately; judge and methods share one limit."""

    def __init__(self, methods: LimitedSpending, before: TotalSpent | None = None) -> None:
        super().__init__(methods.prices, methods.limit, before)
        self.methods = methods

    def paid(self) -> float:
        return self.cost + self.methods.cost


def cost_of(model: str, used: Mapping[str, int], prices: Prices) -> float | None:
    """Dollars for the tokens that one model used."""
    price = prices.of(model)
    return None if price is None else price.of(used["input_tokens"], used["output_tokens"], used["cached_tokens"])


def model_name(about: Mapping[str, Any]) -> str:
    """The model of a call as it is written in settings, from LangChain's description of it."""
    provider, name = about.get("ls_provider") or "", about.get("ls_model_name") or ""
    if provider == "embeddedreader":
        return "embedded"
    return f"{provider}:{name}" if provider and name else f"{provider or 'model'}:unnamed"


def read_spent(folder: Path) -> TotalSpent | None:
    """What earlier runs in this folder spent."""
    path = folder / "spent.json"
    return read_config(path) if path.exists() else None


def write_spent(folder: Path, spent: TotalSpent) -> None:
    """Write spent.json."""
    if folder.is_dir():
        write_json(folder / "spent.json", spent)
