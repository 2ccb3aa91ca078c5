"""For the tests of LangGraph Studio: one server for all of them, and a client for each."""

from collections.abc import AsyncIterator, Iterator

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from studio_server import Server, start_studio


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with start_studio(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url, api_key=None) as client:
        yield client
