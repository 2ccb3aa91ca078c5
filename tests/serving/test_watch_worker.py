"""Answers are sampled although the judge cannot be asked now, and too many are counted as not sampled."""

import asyncio
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.watch.folder import ANSWERS, WatchFolder
from quorum.evaluation.watch.promise import read_promise
from quorum.evaluation.watch.sampling import Sampler
from quorum.evaluation.watch.watch_judge import make_watch_judge
from quorum.serving.limits import Limits
from quorum.serving.metrics import Metrics
from quorum.serving.watch_account import WATCH, WatchAccount
from quorum.serving.watch_worker import MOST_GIVEN, GivenAnswer, Watched, WatchWorker

RESULT: dict[str, Any] = {"answer": "1931", "unknown": False, "passages": [], "confidence": 0.9}


def make_watched(folder: Path) -> Watched:
    promise = read_promise("concat", 0.9)
    watch_folder = WatchFolder(folder / "watch" / promise.name)
    watch_folder.begin(promise)
    return Watched(promise, Sampler(watch_folder, 1.0))


def make_worker(folder: Path) -> WatchWorker:
    """A worker whose judge may not be asked now, since the limits allow no further question."""
    context = Context(store=str(folder))
    limits = Limits(questions_per_minute=1)
    limits.begin(WATCH)
    account = WatchAccount(limits, Prices(), Metrics())
    judge = make_watch_judge("openai:other", context)
    return WatchWorker(account, judge, flags=True, server_context=context, verdict_seconds=0.0)


async def test_an_answer_is_sampled_without_a_verdict_that_does_not_come(tmp_path: Path) -> None:
    worker, watched = make_worker(tmp_path), make_watched(tmp_path)
    worker.add(GivenAnswer([watched], Context(), "Finished when?", RESULT, ""))
    await asyncio.wait_for(worker.sample(watched, worker.given.get_nowait()), 60)
    assert [line["question"] for line in watched.folder.read(ANSWERS) if "id" in line] == ["Finished when?"]


async def test_answers_beyond_the_bound_are_counted_as_not_sampled(tmp_path: Path) -> None:
    worker, watched = make_worker(tmp_path), make_watched(tmp_path)
    worker.flags = False
    given = GivenAnswer([watched], Context(), "Finished when?", RESULT, "")
    for _ in range(MOST_GIVEN + 3):
        worker.add(given)
    assert worker.given.qsize() == MOST_GIVEN
    await worker.sample(watched, worker.given.get_nowait())
    [count] = [line["unsampled"] for line in watched.folder.read(ANSWERS) if "unsampled" in line]
    assert count == [3, 0]
