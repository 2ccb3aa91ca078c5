"""What the visitors of the page share."""

import asyncio
from pathlib import Path

import pytest
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.ui.app import MAX_UNDER_WAY, SharedState
from quorum.ui.query import Query


async def test_no_more_runs_at_once_than_the_machine_can_serve(
    tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = Context(model="openai:test", store=str(tmp_path / "store"), collection="none", attempts=1)
    shared = SharedState(base)
    query = Query("Why?")
    runs = [shared.ask(query) for _ in range(MAX_UNDER_WAY)]
    with pytest.raises(SetupError, match=f"{MAX_UNDER_WAY} questions are under way already; ask again"):
        shared.ask(query)
    await asyncio.gather(*(run.task for run in runs if run.task is not None))
    assert ({run.is_running for run in runs}, shared.under_way) == ({False}, {})
    last = shared.ask(query)
    assert last.task is not None
    await last.task
