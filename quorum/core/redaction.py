"""Removes keys, tokens, passwords and logins from a text before it is shown, logged or stored.

A server's error message may repeat what it was sent: the `Authorization` header, or an address with a password in it.
"""

import base64
import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urlsplit

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
SHORTEST_SECRET = 8  # characters; shorter values, such as "none", are placeholders
SHORTEST_PASSWORD = 4  # characters; a shorter password of a URL would be found in ordinary text
URL_LOGIN = re.compile(r"(\b[a-z][\w+.-]*://)[^/\s@\"'<>]+@", re.IGNORECASE)
CREDENTIAL_PATTERNS = (
    re.compile(r"(\bauthorization\b[\"']?\s*[:=]\s*[\"']?)(?:(?:bearer|basic|token|digest)\s+)?[^\s\"',;}]+", re.I),
    re.compile(r"(\bbearer\s+)(?=[^\s\"',;}]*\d|[^\s\"',;}]{20})[^\s\"',;}]+", re.I),
    re.compile(r"(\b(?:x-)?api[-_]?key\b[\"']?\s*[:=]\s*[\"']?)[^\s\"',;}&]+", re.I),
    re.compile(r"([?&](?:key|token|access_token|password|sig)=)[^&\s\"']+", re.I),
    re.compile(r"()\b(?:sk|pk|rk|gsk|hf|ghp)[-_](?=[\w*-]{0,200}[\d*])[\w*-]{6,}"),
)


def find_environment_secrets() -> tuple[str, ...]:
    """The keys, tokens and passwords in environment variables, and the logins in addresses there."""
    secrets = {
        value for name, value in os.environ.items() if SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET
    }
    for value in os.environ.values():
        if "://" in value and "@" in value:
            secrets.update(find_login_secrets(value))
    return tuple(sorted(secrets, key=len, reverse=True))


def find_login_secrets(address: str) -> Iterator[str]:
    """The password in an address, as written, decoded, and as HTTP's basic authentication sends it."""
    try:
        parts = urlsplit(address.strip())
        user, password = parts.username, parts.password
    except ValueError:  # no address
        return
    if user is None and password is None:
        return
    decoded_login = (unquote(user or ""), unquote(password or ""))
    yield base64.b64encode(":".join(decoded_login).encode()).decode()
    secret = password if password else user  # https://TOKEN@host
    for spelling in {secret or "", unquote(secret or "")}:
        if len(spelling) >= SHORTEST_PASSWORD:
            yield spelling


def remove_secrets(text: str, secrets: Iterable[str], mark: str) -> str:
    """The text without these secrets and without logins in addresses."""
    for secret in secrets:
        text = text.replace(secret, mark)
    return URL_LOGIN.sub(r"\1", text) if "://" in text else text


def redact_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """A server's message without the environment's secrets, without `secrets`, and without anything like a credential.

    >>> redact_secrets("Incorrect API key provided: sk-proj-12345678. Sent: Authorization: Bearer abcdef123")
    'Incorrect API key provided: ***. Sent: Authorization: ***'
    """
    text = remove_secrets(text, [*(secret for secret in secrets if secret), *find_environment_secrets()], "***")
    for pattern in CREDENTIAL_PATTERNS:
        text = pattern.sub(r"\1***", text)
    return text
