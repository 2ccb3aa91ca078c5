"""What the visitors of the page share."""

import asyncio
from pathlib import Path

import pytest
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.ui.app import MAX_RUNS_IN_PROGRESS, SharedState
from quorum.ui.query import AskRequest


async def test_more_runs_at_once_than_the_limit_are_refused(
    tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = Context(model="openai:test", store=str(tmp_path / "store"), collection="none", attempts=1)
    state = SharedState(base)  # its store has no collection "none", so every run ends soon, with an error
    query = AskRequest("Why?")
    runs = [state.ask(query) for _ in range(MAX_RUNS_IN_PROGRESS)]
    with pytest.raises(SetupError, match=f"{MAX_RUNS_IN_PROGRESS} questions are under way already; ask again"):
        state.ask(query)
    await asyncio.gather(*(run.task for run in runs if run.task is not None))
    assert ({run.is_running for run in runs}, state.runs_in_progress) == ({False}, {})
    next_run = state.ask(query)
    assert next_run.task is not None
    await next_run.task
