"""A link with `run=1` asks its question when a browser opens the page, but not when another program fetches the link.

Such a program, for example a chat that shows previews of links, must not cause calls of a model, which may cost money.
"""

import asyncio
from pathlib import Path

from nicegui import Client
from starlette.testclient import TestClient

from quorum.core.context import Context
from quorum.ui.app import make_page_app

RUN_TASK_PREFIX = "run 2"  # the task of a run is named "run ID", and an ID begins with the year


def list_runs() -> list[str]:
    """The names of the tasks of the runs that are under way."""
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(RUN_TASK_PREFIX)]


async def remove_abandoned_pages() -> list[str]:
    """Remove the pages to which no browser has connected, as the server does after a while.

    Returns the tasks of the runs that are under way then.
    """
    Client.prune_instances(client_age_threshold=-1)
    for _ in range(20):
        await asyncio.sleep(0)  # lets tasks that were just created begin
    return list_runs()


def test_a_link_that_no_browser_opens_asks_nothing(tmp_path: Path) -> None:
    with TestClient(make_page_app(Context(store=str(tmp_path))), base_url="http://localhost") as client:
        assert client.get("/?q=Who&run=1").status_code == 200
        assert client.portal is not None
        assert client.portal.call(remove_abandoned_pages) == []
    assert not (tmp_path / "runs").exists()
