"""Reads the bodies of servers' error responses: the message, the error codes, and the wait that they state.

Servers write {"error": {"message": ...}}, {"error": "..."}, {"detail": ...}, or a list that holds one of these.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from quorum.core.redaction import redact_secrets
from quorum.models.requested_waits import find_stated_wait, read_duration

LONGEST_READ = 5000  # how many characters of a server's error message are read
LONGEST_MESSAGE = 500  # characters of the message that is shown
MOST_PARTS = 100  # of a body that are looked at
CODE_KEYS = ("code", "type", "status", "error_type", "Code")
# Keys of a body that hold a wait in seconds: Google's RetryInfo, Hugging Face's loading models, and other servers.
WAIT_KEYS = ("retryDelay", "retry_delay", "retry_after", "retryAfter", "retry_after_seconds", "estimated_time")


def get_body(error: BaseException) -> Any:
    """The body that a client's exception holds, without the list or the key "error" around it; None without one.

    >>> error = ValueError()
    >>> error.body = [{"error": {"code": 429, "message": "Quota exceeded."}}]
    >>> get_body(error)
    {'code': 429, 'message': 'Quota exceeded.'}
    """
    body = getattr(error, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], Mapping):
        body = body[0]
    if isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str):
        return body["error"]
    return body


def get_message(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """The server's message, or else the exception's own, which may be empty. It is one line of at most 500 characters,
    without keys, tokens and passwords.
    """
    body = get_body(error)
    if isinstance(body, Mapping):
        message = body.get("message")
        if not isinstance(message, str):
            message = json.dumps(body, default=str)
    elif isinstance(body, list) and body:
        message = json.dumps(body, default=str)
    else:
        message = body if isinstance(body, str) and body else getattr(error, "message", None) or str(error)
    return redact_secrets(" ".join(str(message)[:LONGEST_READ].split()), secrets)[:LONGEST_MESSAGE]


def get_codes(error: BaseException) -> set[str]:
    """The error codes of an exception and of its body, such as "insufficient_quota"."""
    body = get_body(error)
    codes = [getattr(error, "code", None)]
    if isinstance(body, Mapping):
        codes += [body.get(key) for key in CODE_KEYS]
    return {str(code) for code in codes if isinstance(code, str | int)}


def is_web_page(error: BaseException) -> bool:
    """Whether a client could not read a reply as JSON because it is a web page: another kind of server answers."""
    causes = (error, error.__cause__, error.__context__)
    documents = (cause.doc for cause in causes if isinstance(cause, json.JSONDecodeError))
    return any(str(document).lstrip().startswith("<") for document in documents)


def get_stated_wait(error: BaseException, message: str) -> float | None:
    """The seconds that the body or its message asks to wait; None if it states none."""
    for key, value in iterate_parts(read_response(error)):
        if key in WAIT_KEYS and (wait := read_duration(value)) is not None:
            return wait
    return find_stated_wait(message)


def read_response(error: BaseException) -> Any:
    """The whole body of the response in an exception, of which openai's exceptions keep a part, or else that part."""
    try:
        return getattr(error, "response", None).json()  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001  no response, no JSON, or a response that was not read
        return getattr(error, "body", None)


def iterate_parts(body: Any) -> Iterator[tuple[str, Any]]:
    """The (key, value) pairs of a body and of the objects and lists in it, MOST_PARTS at most."""
    waiting, count = [body], 0
    while waiting and count < MOST_PARTS:
        part, count = waiting.pop(), count + 1
        if isinstance(part, Mapping):
            yield from part.items()
        if isinstance(part, Mapping | list):
            inner_parts = list(part.values() if isinstance(part, Mapping) else part)[:MOST_PARTS]
            waiting += [inner for inner in inner_parts if isinstance(inner, Mapping | list)]
