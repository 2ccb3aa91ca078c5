"""What a client is told whose label cannot be read or kept."""

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from quorum import Context
from quorum.serving.app import respond_to_refusals
from quorum.serving.client import LOCAL
from quorum.serving.label_routes import make_label_routes

TASK: Any = SimpleNamespace(id="1", question="Finished when?", answers=("1931",))


class FullDisk:
    """A list whose labels cannot be kept."""

    def list_tasks(self) -> list[Any]:
        return [TASK]

    def save(self, *label: Any) -> None:
        raise OSError(28, "No space left on device")


@pytest.fixture
def client() -> TestClient:
    routes = Starlette(routes=make_label_routes({"mine": FullDisk()}, lambda one: respond_to_refusals(one, Context())))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await routes({**scope, "state": {"client": LOCAL, "request_id": "req_1"}}, receive, send)

    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("body", ["[1]", "null", '"x"'])
def test_a_body_that_is_no_object_is_refused(body: str, client: TestClient) -> None:
    response = client.post("/v1/labels/mine", content=body)
    assert (response.status_code, response.json()["error"]["param"]) == (400, "task")


def test_a_label_that_cannot_be_kept_is_refused(client: TestClient) -> None:
    response = client.post("/v1/labels/mine", json={"task": "1", "right": [True]})
    assert (response.status_code, response.json()["error"]["code"]) == (507, "not_saved")
    assert "No space left on device" in response.json()["error"]["message"]
