"""Removes keys, tokens, passwords and logins from a text before it is shown, logged or stored.

A server's error message may repeat what the server was sent: the `Authorization` header, or a URL with a password.
"""

import base64
import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urlsplit

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
SHORTEST_SECRET = 8  # characters; shorter values, such as "none", are placeholders
# Characters. A shorter password is removed only from its URL, because ordinary words may contain it, too.
SHORTEST_PASSWORD = 4
URL_LOGIN = re.compile(r"(\b[a-z][\w+.-]*://)[^/\s@\"'<>]+@", re.IGNORECASE)
# Each pattern matches a label, in group 1 (empty in the last pattern), and the credential after it. The label stays.
CREDENTIAL_PATTERNS = (
    re.compile(r"(\bauthorization\b[\"']?\s*[:=]\s*[\"']?)(?:(?:bearer|basic|token|digest)\s+)?[^\s\"',;}]+", re.I),
    re.compile(r"(\bbearer\s+)(?=[^\s\"',;}]*\d|[^\s\"',;}]{20})[^\s\"',;}]+", re.I),
    re.compile(r"(\b(?:x-)?api[-_]?key\b[\"']?\s*[:=]\s*[\"']?)[^\s\"',;}&]+", re.I),
    re.compile(r"([?&](?:key|token|access_token|password|sig)=)[^&\s\"']+", re.I),
    re.compile(r"()\b(?:sk|pk|rk|gsk|hf|ghp)[-_](?=[\w*-]{0,200}[\d*])[\w*-]{6,}"),
)


def find_environment_secrets() -> tuple[str, ...]:
    """The keys, tokens and passwords in environment variables, and the logins of URLs there; the longest is first."""
    secrets = {
        value for name, value in os.environ.items() if SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET
    }
    for value in os.environ.values():
        if "://" in value and "@" in value:
            secrets.update(find_login_secrets(value))
    return tuple(sorted(secrets, key=len, reverse=True))


def find_login_secrets(url: str) -> Iterator[str]:
    """The secrets in a URL's login: its password, as written and decoded, and the text in base64 that HTTP's basic
    authentication sends. The user name is the secret if there is no password.
    """
    try:
        parts = urlsplit(url.strip())
        user, password = parts.username, parts.password
    except ValueError:  # not a URL
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
    """The text with `mark` in place of each secret, and without the logins in URLs."""
    for secret in secrets:
        text = text.replace(secret, mark)
    return URL_LOGIN.sub(r"\1", text) if "://" in text else text


def redact_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with *** in place of `secrets`, secrets in environment variables, and whatever looks like a credential.

    >>> redact_secrets("Incorrect API key provided: sk-proj-12345678. Sent: Authorization: Bearer abcdef123")
    'Incorrect API key provided: ***. Sent: Authorization: ***'
    """
    text = remove_secrets(text, [*(secret for secret in secrets if secret), *find_environment_secrets()], "***")
    for pattern in CREDENTIAL_PATTERNS:
        text = pattern.sub(r"\1***", text)
    return text
