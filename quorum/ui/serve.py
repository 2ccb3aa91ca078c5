"""The server of the page."""

import socket
from collections.abc import Callable
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.ui.guard import Guard, check_address

SPARE = 10_000_000  # bytes of a request beside the files in it


def serve(base: Context, host: str, port: int, token: str | None, ready: Callable[[str], None]) -> None:
    """Serve the page until it is stopped. `ready` is told the address. Blocks.

    An address that cannot be had, or that others reach without a token, is a `SetupError`.
    """
    check_address(host, token)
    listening = listen(host, port)
    import uvicorn

    from quorum.ui.app import build
    from quorum.ui.files import LARGEST_UPLOAD

    port = int(listening.getsockname()[1])
    app: Any = Guard(build(base), token, port=port, largest=LARGEST_UPLOAD + SPARE)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=3, server_header=False
    )
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        return


def listen(host: str, port: int) -> socket.socket:
    """A socket at the address; one that is taken, or is not this machine's, is a `SetupError`."""
    made = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen()  # who is told the address may come at once, and no other server can take it any more
    except OSError as error:
        if made is not None:
            made.close()
        raise SetupError(
            f"The page cannot be served at {host}:{port} ({error.strerror or error}); give another --port or --host."
        ) from None
    return made
