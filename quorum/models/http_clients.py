"""HTTP clients for OpenAI's protocol: their responses are bounded (see `quorum.models.bounded_responses`), and they
share their certificates, whose reading takes 20 to 40 ms.
"""

from __future__ import annotations

import asyncio
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from quorum.models.network_settings import explain_network_settings, needs_no_proxy

if TYPE_CHECKING:
    import ssl

    import openai

    from quorum.models.loops import LoopCache


def make_http_clients(timeout: float | None, loop_cache: LoopCache | None, url: str | None = None) -> dict[str, Any]:
    """A new asynchronous client and the shared synchronous client, by the names of the options of langchain-openai that
    take them. timeout: in seconds; None: the default of the package openai. url: the address of the server; one on this
    machine, or one that NO_PROXY names, is reached without a proxy. Raises `SetupError` for a proxy or certificates in
    the environment that cannot be used.

    The asynchronous client serves one event loop. `loop_cache` closes it with the loop; without a cache nothing closes
    it. The client that langchain-openai would make is shared between loops, and fails once one of them is closed.
    """
    import openai

    from quorum.models.bounded_responses import make_async_bounding_hook
    from quorum.models.done_mark import watch_response

    hooks = {"response": [make_async_bounding_hook(timeout), watch_response]}
    with explain_network_settings():
        client = openai.DefaultAsyncHttpxClient(**make_options(timeout, url), event_hooks=hooks)
    if loop_cache is not None:
        loop_cache.closers.append(client.aclose)
    return {"http_async_client": client, "http_client": get_sync_client(timeout, needs_no_proxy(url))}


def make_timed_client(loop_cache: LoopCache, url: str | None) -> openai.DefaultAsyncHttpxClient:
    """A client for requests whose whole response, head and body, must come within the request's timeout. `loop_cache`
    closes it. url: as in `make_http_clients`.

    A timeout of the HTTP library alone begins anew with every byte.
    """
    import openai

    from quorum.models.bounded_responses import ReplyTimeoutError, make_async_bounding_hook

    class TimedClient(openai.DefaultAsyncHttpxClient):
        async def send(self, request: Any, **options: Any) -> Any:
            seconds = request.extensions["timeout"]["read"]
            try:
                async with asyncio.timeout(seconds):
                    return await super().send(request, **options)
            except TimeoutError as error:
                raise ReplyTimeoutError(f"it had not sent its whole reply after {seconds:,.0f} s") from error

    with explain_network_settings():
        client = TimedClient(**make_options(None, url), event_hooks={"response": [make_async_bounding_hook(None)]})
    loop_cache.closers.append(client.aclose)
    return client


@lru_cache(8)
def get_sync_client(timeout: float | None, without_proxy: bool) -> openai.DefaultHttpxClient:
    """The synchronous client: one for each timeout, with the proxies of the environment and without, shared by all
    models. timeout: as in `make_http_clients`.
    """
    import openai

    from quorum.models.bounded_responses import make_bounding_hook

    options = make_options(timeout) | {"trust_env": not without_proxy}
    with explain_network_settings():
        return openai.DefaultHttpxClient(**options, event_hooks={"response": [make_bounding_hook(timeout)]})


def make_options(timeout: float | None, url: str | None = None) -> dict[str, Any]:
    from quorum.models.bounded_responses import ACCEPTED_ENCODINGS

    options: dict[str, Any] = {"verify": find_ssl_context(), "headers": {"accept-encoding": ACCEPTED_ENCODINGS}}
    options |= {"trust_env": not needs_no_proxy(url)}  # of the environment only the proxies are left to read
    return options | ({} if timeout is None else {"timeout": timeout})


def find_ssl_context() -> ssl.SSLContext:
    """The SSL context with this machine's certificates, or with those that SSL_CERT_FILE or SSL_CERT_DIR names."""
    with explain_network_settings():
        return read_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(2)
def read_certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """The SSL context that the HTTP library makes. file, folder: the values of SSL_CERT_FILE and SSL_CERT_DIR, which it
    reads itself; here they are only the key of the cache.
    """
    from quorum.models.http_library import OPENAI_HTTP

    context: ssl.SSLContext = OPENAI_HTTP.create_ssl_context()
    return context
