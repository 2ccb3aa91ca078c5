"""Removes keys, tokens, passwords and logins from a text before it is shown, logged or stored.

A server's error message may repeat what the server was sent: the `Authorization` header, or a URL with a password.
"""

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote, quote_plus, unquote, urlsplit

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
SHORTEST_SECRET = 8  # characters; shorter values, such as "none", are placeholders
# Characters. A shorter password is removed only from its URL, because ordinary words may contain it, too.
SHORTEST_PASSWORD = 4
PERCENT_CODE = re.compile("%[0-9A-F]{2}")
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


@lru_cache(256)
def spell_secret(secret: str) -> tuple[str, ...]:
    """The ways in which a text may hold a secret, longest first: as it is; within JSON, HTML or a URL; in hexadecimal
    digits; in base64, alone or inside a longer text such as "user:password", so that three alignments are possible.

    >>> spell_secret("sk-12345678")[:2]
    ('736B2D3132333435363738', '736b2d3132333435363738')
    """
    data = secret.encode("utf-8", "replace")
    escaped = json.dumps(secret)[1:-1]
    percent = quote(secret, safe="")
    spellings = {secret, escaped, json.dumps(secret, ensure_ascii=False)[1:-1], escaped.replace("/", "\\/")}
    spellings |= {json.dumps(escaped)[1:-1], html.escape(secret), percent, quote(secret), quote_plus(secret)}
    spellings |= {PERCENT_CODE.sub(lambda code: code[0].lower(), percent), quote(percent, safe="")}
    if len(secret) < SHORTEST_SECRET:  # the codes of a short one may stand in any text
        return sort_spellings(spellings)
    spellings |= {data.hex(), data.hex().upper()}
    for offset in range(3):  # the bytes before the secret, as far as they share a character of base64 with it
        first, last = (8 * offset + 5) // 6, 8 * (offset + len(data)) // 6
        code = base64.b64encode(b"\0" * offset + data).decode()[first:last]
        spellings |= {code, code.replace("+", "-").replace("/", "_")}
    return sort_spellings(spellings)


def sort_spellings(spellings: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(spellings, key=lambda one: (-len(one), one)))


def remove_secrets(text: str, secrets: Iterable[str], mark: str) -> str:
    """The text with `mark` in place of each secret, however it is encoded (see `spell_secret`), and without the logins
    in URLs.
    """
    for secret in secrets:
        for spelling in spell_secret(secret):
            text = text.replace(spelling, mark)
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
