"""Counts the actual spending of a comparison by model, over all its runs, and enforces a limit in dollars."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NotRequired, Self, cast
from uuid import UUID

from langchain_core.messages import BaseMessage
from typing_extensions import TypedDict

from quorum.core.errors import SetupError
from quorum.evaluation.compare.format_figures import format_dollars
from quorum.evaluation.metrics.prices import FREE_PRICE, Prices, add_costs
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.judge import Judge
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.run.run_plan import lock_folder
from quorum.evaluation.run.spending import LimitReachedError, ModelSpending, SpendingCounts
from quorum.models.embedding_counts import merge_embeddings


class TotalSpent(TypedDict):
    """What all runs in a folder have spent together.

    models: for each model, the number of its calls and of their tokens. searches: how many searches the methods
    requested; searches_made: how many of them were made; the others shared a result. cost: dollars, None if a model has
    no price. embeddings: for each model of embeddings, its requests and their tokens, which `cost` includes. judge: the
    judge's spending, which the other keys do not include.
    """

    models: dict[str, dict[str, int]]
    searches: int
    searches_made: int
    cost: float | None
    embeddings: NotRequired[dict[str, dict[str, int]]]
    judge: NotRequired["TotalSpent"]


class LimitedSpending(ModelSpending):
    """Counts spending by model, on top of earlier runs of the same comparison. Once this run has spent more than
    `limit` dollars, the next call is refused.

    rehearsal_usage: by model, the calls and tokens that the estimate has used (see `quorum.evaluation.run.plan.Plan`).
    They count in the total, but not against the limit. planned_dollars: what the plan of this run has cost already. The
    attribute `cost` holds the dollars of this run.
    """

    raise_error = True  # a refused call ends the run
    run_inline = False  # with True, LangChain would not await the other handlers after a refused call

    def __init__(
        self,
        prices: Prices,
        limit: float | None = None,
        earlier_spending: TotalSpent | None = None,
        rehearsal_usage: Mapping[str, Mapping[str, int]] | None = None,
        planned_dollars: float = 0.0,
    ) -> None:
        super().__init__()
        self.prices, self.limit, self.cost = prices, limit, 0.0
        self.open_dollars, self.dollars_lock = 0.0, threading.Lock()  # of the requests for embeddings in progress
        self.earlier_embeddings = earlier_spending.get("embeddings", {}) if earlier_spending else {}
        self.usage_by_model = dict(earlier_spending["models"]) if earlier_spending else {}
        self.searches = earlier_spending["searches"] if earlier_spending else 0
        self.searches_made = earlier_spending["searches_made"] if earlier_spending else 0
        for name, counts in (rehearsal_usage or {}).items():
            self.add(name, counts)
        self.cost = planned_dollars  # what the rehearsal has used does not count against the limit

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not (metadata or {}).get("reused"):
            self.check_limit()
        await super().on_chat_model_start(serialized, messages, run_id=run_id, metadata=metadata, **kwargs)

    def check_limit(self) -> None:
        """Raises `LimitReachedError` once this run has spent more than the limit."""
        if self.limit is not None and self.count_dollars() > self.limit:
            raise LimitReachedError(
                f"In this run the models have cost ${self.count_dollars():.4f}, the limit is ${self.limit:g}; the "
                "answers so far are kept. Run the same command again to continue: each run may spend --max-cost."
            )

    def count_dollars(self) -> float:
        """The dollars that count against the limit: those that this run has spent."""
        return self.cost + self.open_dollars

    def begin_request(self, model: str, tokens: int) -> Callable[[int], None]:
        """Count a request for embeddings. Raises `LimitReachedError` if it may cost more than is left of the limit."""
        dollars = self.compute_embedding_cost(model, tokens)
        with self.dollars_lock:
            spent = self.count_dollars()
            if self.limit is not None and spent + dollars > self.limit:
                raise LimitReachedError(
                    f"In this run {format_dollars(spent)} are spent, and the next request for embeddings ({model}, "
                    f"about {tokens:,} tokens) would cost {format_dollars(dollars)}, more than is left of --max-cost "
                    f"{self.limit:g}; what is done is kept: raise --max-cost, then run the same command again to "
                    "continue."
                )
            self.open_dollars += dollars

        def correct(taken: int) -> None:
            with self.dollars_lock:
                self.open_dollars -= dollars
            if taken:
                self.count_requests({model: {"requests": 1, "tokens": taken}})

        return correct

    def add_requests(self, usage: Mapping[str, Mapping[str, int]]) -> None:
        self.count_requests(usage)
        self.check_limit()

    def count_requests(self, usage: Mapping[str, Mapping[str, int]]) -> None:
        """Count requests for embeddings that were made."""
        super().add_requests(usage)
        with self.dollars_lock:
            self.cost += sum(self.compute_embedding_cost(model, counts["tokens"]) for model, counts in usage.items())

    def compute_embedding_cost(self, model: str, tokens: int) -> float:
        """Dollars for tokens of embeddings; 0 for those without a price."""
        return self.prices.compute_embedding_cost({model: {"tokens": tokens}}) or 0.0

    def add(self, model: str, counts: Mapping[str, int]) -> None:
        super().add(model, counts)
        price = self.prices.find_price(model) or FREE_PRICE
        self.cost += price.compute_cost(
            counts["input_tokens"], counts["output_tokens"], counts["cached_tokens"], counts["calls"]
        )

    def merge(self, other: SpendingCounts) -> None:
        super().merge(other)
        self.check_limit()

    def total(self) -> TotalSpent:
        """The spending of this run and the earlier runs together."""
        costs = [compute_cost_of_usage(name, counts, self.prices) for name, counts in self.usage_by_model.items()]
        embeddings = merge_embeddings(self.earlier_embeddings, self.embeddings.usage)
        costs.append(self.prices.compute_embedding_cost(embeddings))
        spent = TotalSpent(
            models=self.usage_by_model, searches=self.searches, searches_made=self.searches_made, cost=add_costs(costs)
        )
        return {**spent, "embeddings": embeddings} if embeddings else spent


class JudgeSpending(LimitedSpending):
    """Counts the judge's spending separately. The dollars of the judge and of the methods count against one limit."""

    def __init__(self, methods_spending: LimitedSpending, earlier_spending: TotalSpent | None = None) -> None:
        super().__init__(methods_spending.prices, methods_spending.limit, earlier_spending)
        self.methods_spending = methods_spending

    def count_dollars(self) -> float:
        return super().count_dollars() + self.methods_spending.count_dollars()


def compute_cost_of_usage(model: str, counts: Mapping[str, int], prices: Prices) -> float | None:
    """Dollars for the tokens that one model used; None if the model has no price."""
    price = prices.find_price(model)
    return (
        None
        if price is None
        else price.compute_cost(
            counts["input_tokens"], counts["output_tokens"], counts["cached_tokens"], counts["calls"]
        )
    )


class FolderSpending:
    """What all runs in a folder of results have spent together, as a context manager: the end of its block writes it to
    spent.json, also if the run ends early.

    methods: counts the methods' calls of this run, and ends the run at the limit. The judge's calls count separately.
    """

    def __init__(
        self,
        folder: Path,
        prices: Prices,
        limit: float | None = None,
        rehearsal_usage: Mapping[str, Mapping[str, int]] | None = None,
        planned_dollars: float = 0.0,
    ) -> None:
        earlier_spending = read_spent(folder)
        self.folder, self.judge = folder, None if earlier_spending is None else earlier_spending.get("judge")
        self.methods = LimitedSpending(prices, limit, earlier_spending, rehearsal_usage, planned_dollars)
        self.judge_spending: JudgeSpending | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        write_spent(self.folder, self.total())

    def limit_judge(self, judge: Judge | None) -> Judge | None:
        """The judge, whose calls now count here. The dollars of judge and methods count against one limit."""
        if judge is None:
            return None
        self.judge_spending = JudgeSpending(self.methods, self.judge)
        return replace(judge, spending=self.judge_spending)

    def total(self) -> TotalSpent:
        """The spending of this run and of earlier ones. The key "judge" holds what the judge has spent in all of them;
        it is there if this run or an earlier one had a judge. The other keys do not include it.
        """
        judge = self.judge if self.judge_spending is None else self.judge_spending.total()
        spent = self.methods.total()
        return {**spent, "judge": judge} if judge else spent


def read_spent(folder: Path) -> TotalSpent | None:
    """The content of spent.json: what earlier runs in this folder spent; None if there is no such file."""
    path = folder / "spent.json"
    if not path.exists():
        return None
    return cast(TotalSpent, read_json_file(path))


def write_spent(folder: Path, spent: TotalSpent) -> None:
    """Write spent.json, if the folder exists."""
    if folder.is_dir():
        write_json(folder / "spent.json", spent)


def record_embeddings(folder: Path, spending: LimitedSpending) -> None:
    """Add the embeddings that the plan of a run has paid to spent.json. The folder is made if it is missing.

    Nothing is written if there are none, or if the folder cannot be written or another run is writing to it.
    """
    if not spending.embeddings.usage:
        return
    with suppress(SetupError), lock_folder(folder):
        total = LimitedSpending(spending.prices, earlier_spending=(earlier := read_spent(folder)))
        total.add_requests(spending.embeddings.usage)
        judge = None if earlier is None else earlier.get("judge")
        write_spent(folder, {**total.total(), "judge": judge} if judge else total.total())
