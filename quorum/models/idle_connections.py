"""Asks an idle connection quickly whether the server has closed it.

httpcore2 asks this of every idle connection before and after each request. Each time it asks anyio for the socket, and
anyio also reads the address of the other end. Then it makes a poll object. When sixteen calls run at once, this takes
8% of a call's processor time. Here the socket and the poll object are kept with the connection.
"""

import select
import ssl
from typing import Any

import httpcore2
import httpx2


def check_idle_connections_quickly(client: httpx2.AsyncClient) -> None:
    """Let a new client's direct connections (not those through a proxy) be `StreamWithPoll`s.

    httpx2 has no option for httpcore2's network backend, so we set it in the client's connection pool. Where that pool
    is not found, or the system has no `poll` (Windows), the client stays as it is.
    """
    pool: Any = getattr(getattr(client, "_transport", None), "_pool", None)
    if hasattr(pool, "_network_backend") and hasattr(select, "poll"):
        pool._network_backend = BackendWithPoll()


class StreamWithPoll(httpcore2.AsyncNetworkStream):
    """A connection that keeps its socket and a poll object."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self.stream = stream
        self.read, self.write, self.aclose = stream.read, stream.write, stream.aclose  # type: ignore[method-assign]
        self.socket = stream.get_extra_info("socket")
        self.poll = select.poll()
        self.poll.register(self.socket.fileno(), select.POLLIN)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return StreamWithPoll(await self.stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """What httpcore2 asks by name. An idle connection is readable once the server has closed it."""
        if info == "is_readable":
            return self.socket.fileno() < 0 or bool(self.poll.poll(0))
        return self.stream.get_extra_info(info)


class BackendWithPoll(httpcore2.AnyIOBackend):
    """httpcore2's backend for asyncio, with `StreamWithPoll`s."""

    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return StreamWithPoll(await super().connect_tcp(*args, **options))
