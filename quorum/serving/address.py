"""Checks a server's address and tokens, and opens the socket at which the server listens."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address

from quorum.core.errors import SetupError
from quorum.models.model_spec import check_key

LARGEST_PORT = 65_535
SHORTEST_TOKEN = 16  # characters; long enough that nobody can guess it


def is_loopback(host: str) -> bool:
    """Whether a name or address is a loopback address of this machine."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def check_address(host: str, token: str | None, *, has_token_file: bool = False) -> str | None:
    """Return the token. Raises `SetupError` if it is too short, or if there is neither a token nor a token file, and
    others can reach the host.
    """
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise SetupError(
            f"The token has {len(token)} characters; give one of {SHORTEST_TOKEN} or more, for example the output of: "
            "openssl rand -hex 16"
        )
    if token is None and not has_token_file and not is_loopback(host):
        raise SetupError(
            f"--host {host} lets others reach the server, and no token is given; set QUORUM_TOKEN, or give the "
            "token file that quorum token add made (--tokens FILE), or leave out --host to stay on this machine."
        )
    return token


def check_tokens(host: str, tokens: Sequence[str], *, has_token_file: bool = False) -> tuple[str, ...]:
    """The distinct non-empty tokens. Raises `SetupError` if `check_address` refuses one of them or, if there are none,
    refuses the host without a token.
    """
    distinct_tokens = tuple(dict.fromkeys(check_key(token, "The token") for token in tokens if token.strip()))
    for token in distinct_tokens or (None,):
        check_address(host, token, has_token_file=has_token_file)
    return distinct_tokens


def check_port(port: int) -> None:
    """Raise `SetupError` if the number is not that of a port."""
    if not 0 <= port <= LARGEST_PORT:
        raise SetupError(f"--port {port} is not a port; give one from 1 to {LARGEST_PORT}, or 0 for any free port.")


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Open a socket that listens at the address. Raises `SetupError` if the address is invalid, is already taken by
    another program, or does not belong to this machine.
    """
    check_port(port)
    server_socket = None
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        server_socket = socket.socket(family)
        server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server_socket.bind(address)
        server_socket.listen(1024)  # listen now: clients can connect at once, and no other server can take the address
    except (OSError, UnicodeError) as error:  # UnicodeError: the host is not a valid name, for example a..b
        if server_socket is not None:
            server_socket.close()
        reason = getattr(error, "strerror", None) or error
        raise SetupError(
            f"The server cannot listen at {host}:{port} ({reason}); give another --port or --host."
        ) from None
    return server_socket
