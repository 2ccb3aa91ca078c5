"""What a watch asks itself is counted, and waits where the limits allow nothing."""

import asyncio
from typing import Any

from quorum.evaluation.metrics.prices import Prices
from quorum.serving.errors import BudgetSpentError
from quorum.serving.limits import Limits
from quorum.serving.metrics import Metrics
from quorum.serving.watch_account import WATCH, WatchAccount


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_watch_spends_within_the_limits_of_one_client_and_else_waits() -> None:
    limits, metrics, asked = Limits(dollars_per_day=1.0), Metrics(), []
    account = WatchAccount(limits, Prices(), metrics)

    async def ask(config: Any) -> str:
        asked.append(config["callbacks"])
        return "yes"

    async def run_out(config: Any) -> str:
        raise BudgetSpentError("no")

    async def ask_three_times() -> None:
        assert await account.spend(0.5, lambda usage: 0.9, ask) == "yes"
        tasks = [
            asyncio.create_task(account.spend(0.5, lambda usage: 0.5, ask)),
            asyncio.create_task(account.spend(0.05, lambda usage: 0.0, run_out)),
        ]
        await settle()
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(ask_three_times())
    assert len(asked) == 1
    assert limits.find_account(WATCH).dollars == 0.9
    assert limits.find_account("local").dollars == 0
    assert 'quorum_dollars_total{method="watch"} 0.9' in metrics.format_text()
