"""Serves the HTTP API of `quorum serve` by a real uvicorn on a free loopback port, in a thread of this process."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import openai

from quorum import Context
from quorum.evaluation.metrics.prices import Prices
from quorum.serving.address import open_listening_socket
from quorum.serving.serve import MakeOtherApp, Options, make_server_app


@dataclass(frozen=True)
class Api:
    """A running server.

    url: without a slash at its end; clients: those that `make_client` made; `close` closes them.
    """

    url: str
    clients: list[openai.OpenAI] = field(default_factory=list)

    def make_client(self, key: str = "none") -> openai.OpenAI:
        """Return a client of OpenAI's package that never retries."""
        openai_client = openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=60)
        self.clients.append(openai_client)
        return openai_client

    def close(self) -> None:
        """Close the clients of OpenAI's package; the server goes on."""
        while self.clients:
            self.clients.pop().close()

    def ask(self, question: str = "When was the Lumen Tower finished?", model: str = "concat", **options: Any) -> Any:
        """Send a question through OpenAI's client and return the completion.

        model: a method's name; options: the client's `key`, and further options of the request.
        """
        key = options.pop("key", "none")
        messages: Any = [{"role": "user", "content": question}]
        return self.make_client(key).chat.completions.create(**{"model": model, "messages": messages, **options})

    def post(self, body: Any, **headers: str) -> httpx.Response:
        """Send any body to the chat path: text, bytes or JSON."""
        content = {"content": body} if isinstance(body, str | bytes) else {"json": body}
        return httpx.post(f"{self.url}/v1/chat/completions", headers=headers, timeout=60, **content)

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(self.url + path, headers=headers, timeout=60)


Serve = Callable[..., Api]  # the fixture `serve` in tests/serving/conftest.py: starts a server and returns its Api


async def wait_for_exit(server: Any) -> None:
    """Like uvicorn's main loop, but it looks every 5 ms, and not every 0.1 s, whether the server should exit."""
    ticks = 0
    while not await server.on_tick(ticks):
        ticks += 1
        await asyncio.sleep(0.005)


@contextmanager
def serve_api(server_context: Context, *, make_other_app: MakeOtherApp | None = None, **options: Any) -> Iterator[Api]:
    """Serve the API while the `with` block runs.

    server_context: the server's settings; make_other_app: makes the app that serves all paths outside the API; options:
    fields of `Options`.
    """
    import uvicorn

    server_socket = open_listening_socket("127.0.0.1", 0)  # clients can connect before the server runs
    server_options = Options(**options)
    config = uvicorn.Config(
        make_server_app(server_context, server_options, Prices(server_options.prices), make_other_app),
        log_level="warning",
        access_log=False,
        lifespan="off" if make_other_app is None else "on",
        ws="none",  # older versions of uvicorn import a deprecated part of websockets
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    server.main_loop = lambda: wait_for_exit(server)  # type: ignore[method-assign]
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[server_socket])), daemon=True)
    thread.start()
    api = Api(f"http://127.0.0.1:{server_socket.getsockname()[1]}")
    try:
        yield api
    finally:
        api.close()
        server.should_exit = True
        thread.join(30)
        server_socket.close()
        assert not thread.is_alive()
