"""What the environment says about the network: proxies and certificates. A mistake in it is one sentence.

httpx reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (large or small letters), SSL_CERT_FILE and SSL_CERT_DIR
while a client is made, and raises exceptions that name none of them.
"""

import ipaddress
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from quorum.core.errors import SetupError
from quorum.core.redaction import redact_secrets

PROXY_VARIABLES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def needs_no_proxy(url: str | None) -> bool:
    """Whether a server is reached without a proxy: it is on this machine, or NO_PROXY names it.

    >>> needs_no_proxy("http://127.0.0.1:8000/v1"), needs_no_proxy("http://localhost:8000"), needs_no_proxy(None)
    (True, True, False)
    """
    try:
        host = urlsplit(url or "").hostname or ""
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback or bool(proxy_bypass(host))
    except ValueError:
        return bool(host) and bool(proxy_bypass(host))


@contextmanager
def explain_network_settings() -> Iterator[None]:
    """Turn an exception of an HTTP client that is being made into a `SetupError`, if a variable is its cause."""
    try:
        yield
    except SetupError:
        raise
    except Exception as error:
        problem = find_problem(error)
        if problem is None:
            raise
        raise SetupError(problem) from error


def find_problem(error: Exception) -> str | None:
    """What is wrong with the environment, if that may have raised this exception; None if nothing is."""
    if isinstance(error, ImportError):
        return find_proxy_problem() if "socks" in str(error).lower() else None
    if isinstance(error, OSError):  # also of ssl.SSLError
        return find_certificate_problem()
    if isinstance(error, ValueError | TypeError) or type(error).__name__ == "InvalidURL":
        return find_proxy_problem()
    return None


def find_proxy_problem() -> str | None:
    """What is wrong with the first proxy that cannot be used; None if each can."""
    for name in (spelling for variable in PROXY_VARIABLES for spelling in (variable.lower(), variable)):
        url = os.environ.get(name, "").strip()
        if not url:
            continue
        shown = redact_secrets(url)
        scheme, is_readable = read_proxy(url)
        if not is_readable or scheme not in PROXY_SCHEMES:
            return (
                f"{name}={shown} is no address of a proxy that can be used; write it like http://HOST:PORT or "
                f"socks5://HOST:PORT, or unset {name}."
            )
        if scheme.startswith("socks") and not has_socks():
            return (
                f"{name}={shown} names a SOCKS proxy, for which the package socksio is missing; run: pip install "
                f"socksio, or unset {name}."
            )
    return None


def read_proxy(url: str) -> tuple[str, bool]:
    """(the scheme of a proxy's address, whether the address can be read)."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        is_readable = bool(parts.hostname) and (parts.port or 1) > 0 and url.isascii() and not set(url) & set(" \t\r\n")
    except ValueError:
        return "", False
    return parts.scheme.lower(), is_readable


def has_socks() -> bool:
    """Whether the package for SOCKS proxies is installed."""
    return find_spec("socksio") is not None


def find_certificate_problem() -> str | None:
    """What is wrong with SSL_CERT_FILE or SSL_CERT_DIR; None if nothing is."""
    for name in CERTIFICATE_VARIABLES:
        value = os.environ.get(name)
        if value and (reason := find_certificate_fault(name, Path(value))):
            return f"{name}={value} {reason}; name a file of PEM certificates, or unset {name}."
    return None


def find_certificate_fault(name: str, path: Path) -> str:
    """Why the certificates of a variable cannot be read; empty if they can."""
    if name == "SSL_CERT_DIR":
        return "" if path.is_dir() else "names no folder"
    if not path.exists():
        return "names a file that does not exist"
    try:
        ssl.create_default_context(cafile=str(path))
    except OSError as error:  # also ssl.SSLError
        return f"cannot be read as certificates ({error.strerror or error})"
    return ""
