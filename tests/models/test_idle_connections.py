"""The next call uses an idle connection again, unless the server has closed it."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.models.http_clients import make_http_clients
from quorum.models.loops import get_loop_cache


@pytest.fixture(params=[False, True], ids=["http", "https"])
def server(request: pytest.FixtureRequest) -> Iterator[OpenAIServer]:
    server = OpenAIServer(has_tls=request.param)
    yield server
    server.close()


def make_client(server: OpenAIServer) -> openai.AsyncOpenAI:
    """OpenAI's client over our HTTP client, without retries."""
    http_client = make_http_clients(30, get_loop_cache())["http_async_client"]
    return openai.AsyncOpenAI(base_url=server.url, api_key="none", http_client=http_client, max_retries=0)


async def ask(client: openai.AsyncOpenAI) -> str | None:
    completion = await client.chat.completions.create(model="test", messages=[{"role": "user", "content": "Who?"}])
    return completion.choices[0].message.content


async def test_an_idle_connection_is_used_again(server: OpenAIServer) -> None:
    client = make_client(server)
    for _ in range(3):
        assert await ask(client) == "unknown"
        assert len(server.connections) == 1


async def test_a_connection_that_the_server_closed_is_not_used_again(server: OpenAIServer) -> None:
    client = make_client(server)
    await asyncio.gather(*(ask(client) for _ in range(4)))
    old_connections = set(server.connections)
    server.close_connections()
    server.wait_idle()
    for _ in range(100):  # until the server has removed its closed connections
        if not server.connections:
            break
        await asyncio.sleep(0.01)
    assert await ask(client) == "unknown"
    assert len(server.connections - old_connections) == 1


async def test_calls_at_once_use_several_connections_and_later_calls_use_them_again(server: OpenAIServer) -> None:
    client = make_client(server)
    assert await asyncio.gather(*(ask(client) for _ in range(16))) == ["unknown"] * 16
    assert await asyncio.gather(*(ask(client) for _ in range(16))) == ["unknown"] * 16
    assert 1 < len(server.connections) <= 16


class CountedConnections(set[socket.socket]):
    """The open connections. total: how many were ever opened."""

    total = 0

    def add(self, connection: socket.socket) -> None:
        self.total += 1
        super().add(connection)


async def test_an_evaluation_that_asks_one_question_at_a_time_opens_one_connection(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    data = tmp_path / "data.jsonl"
    passages = [{"id": "p", "title": "", "text": "x"}]
    records = [{"question": f"Who is {n}?", "answers": ["x"], "passages": passages} for n in range(3)]
    data.write_text("".join(json.dumps({"id": f"q{n}"} | record) + "\n" for n, record in enumerate(records)))
    openai_server.connections = connections = CountedConnections()
    columns = parse_columns("concat", Context(model="openai:test", attempts=1))
    report = await evaluate(Options(data=data, concurrency=1), columns)
    assert (report.spending.calls, connections.total) == (3, 1)
