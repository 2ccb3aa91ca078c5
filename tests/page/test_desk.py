"""What the visitors of the page share."""

import asyncio
from pathlib import Path

import pytest
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.ui.app import MOST_UNDER_WAY, Desk
from quorum.ui.asking import Asking


async def test_no_more_runs_at_once_than_the_machine_bears(
    tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = Context(model="openai:test", store=str(tmp_path / "store"), collection="none", attempts=1)
    desk = Desk(base)
    asked = Asking("Why?")
    runs = [desk.ask(asked) for _ in range(MOST_UNDER_WAY)]
    with pytest.raises(SetupError, match=f"{MOST_UNDER_WAY} questions are under way already; ask again"):
        desk.ask(asked)
    await asyncio.gather(*(run.task for run in runs if run.task is not None))
    assert ({run.running for run in runs}, desk.under_way) == ({False}, {})
    last = desk.ask(asked)
    assert last.task is not None
    await last.task
