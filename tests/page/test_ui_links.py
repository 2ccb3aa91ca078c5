"""A link that asks at once must not ask if a program other than a browser opens it: asking may cost money."""

import asyncio
from pathlib import Path

from nicegui import Client
from starlette.testclient import TestClient

from quorum.core.context import Context
from quorum.ui.app import make_page_app

RUN_TASK_PREFIX = "run 2"  # the task of a run is named "run ID", and an ID begins with the year


def list_runs() -> list[str]:
    """The runs that are under way."""
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(RUN_TASK_PREFIX)]


async def remove_abandoned_pages() -> list[str]:
    """Remove the pages to which no browser has connected, as the server does after a while; return the open runs."""
    Client.prune_instances(client_age_threshold=-1)
    for _ in range(20):
        await asyncio.sleep(0)
    return list_runs()


def test_a_link_that_no_browser_opens_asks_nothing(tmp_path: Path) -> None:
    with TestClient(make_page_app(Context(store=str(tmp_path))), base_url="http://localhost") as visitor:
        assert visitor.get("/?q=Who&run=1").status_code == 200
        assert visitor.portal is not None
        assert visitor.portal.call(remove_abandoned_pages) == []
    assert not (tmp_path / "runs").exists()
