"""What went wrong in a model call, read from any provider's exception by its shape: status, headers, class names."""

import asyncio
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Literal

Kind = Literal[
    "again",  # may succeed when tried again: timeouts, 408/409/429/5xx, dropped connections, replies cut in transit
    "unreachable",  # no server answers at that address
    "denied",  # 401, 403, nothing left to spend, a certificate that is not trusted: the same for every call
    "too_long",  # the prompt does not fit the window
    "refused",  # any other 4xx
    "other",  # not a failure of the call: a bug, or an exception of the caller
]
TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum (model|context|input) length|max_model_len|prompt is too long"
    r"|too many (input )?tokens|reduce the length of the (messages|prompt|input)|context overflow"
    r"|exceed\w* the (maximum|max|limit|available|configured|model).{0,40}(token|context|length|limit)"
    r"|input (token count|tokens|length).{0,60}exceed|`inputs` tokens \+ `max_new_tokens`",
    re.IGNORECASE,
)
GARBLED = (ValueError, TypeError, KeyError, AttributeError, IndexError)
UNREACHABLE = {"ConnectError", "ClientConnectorError", "EndpointConnectionError", "gaierror", "ConnectionRefusedError"}
DROPPED = {"TransportError", "APIConnectionError", "ModelConnectionError", "ClientConnectionError", "ConnectionError"}
CUT = {"JSONDecodeError", "APIResponseValidationError", "IncompleteRead", "ClientPayloadError", "DecodingError"}
TIMEOUT = {"TimeoutError", "TimeoutException", "APITimeoutError", "ModelTimeoutError", "ReadTimeoutError"}


@dataclass(frozen=True)
class Failure:
    """One failure. `said`: the server's own words; `retry_after`: seconds the server asked for;
    `parameter`: a decoding parameter that the model does not take (tried again without it)."""

    kind: Kind
    said: str
    status: int | None = None
    retry_after: float | None = None
    parameter: str | None = None


def classify(error: BaseException, date: float, provider_package: str = "") -> Failure:
    """What a call's exception means. `date`: now, in seconds since 1970, for a Retry-After that is a date."""
    causes = list(chain(error))
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    status = next((code for cause in causes if (code := status_of(cause)) is not None), None)
    said = next((text for cause in causes if (text := words_of(cause))), "") or type(error).__name__
    if "ContextOverflowError" in names or (status in (400, 413, 422, 500) and TOO_LONG.search(said)):
        return Failure("too_long", said, status)
    if status is not None and status >= 400:
        return of_status(status, said, causes, date)
    if "SSLCertVerificationError" in names:
        return Failure("denied", said)
    if names & TIMEOUT or isinstance(error, asyncio.TimeoutError):
        return Failure("again", said if said != "TimeoutError" else "it took too long")
    if names & UNREACHABLE:
        return Failure("unreachable", said)
    if names & DROPPED:
        return Failure("again", f"the connection broke ({said})")
    if names & CUT or is_garbled(error, provider_package):
        return Failure("again", f"the reply could not be read ({said})")
    if "APIError" in names or "ModelAPIError" in names:  # an error event in the middle of a stream
        return Failure("again", said)
    return Failure("other", said)


def of_status(status: int, said: str, causes: list[BaseException], date: float) -> Failure:
    """A failure with an HTTP status."""
    codes = {str(getattr(cause, "code", "")) for cause in causes}
    if status in (401, 403) or (status == 429 and "insufficient_quota" in codes):
        return Failure("denied", said, status)
    if status in (408, 409, 429) or status >= 500:
        return Failure(
            "again", said, status, next((s for c in causes if (s := retry_after(c, date)) is not None), None)
        )
    parameter = None
    if status in (400, 422) and re.search(
        r"unsupported|not support|only the default|unknown parameter", said, re.IGNORECASE
    ):
        parameter = next((name for name in ("temperature", "top_p", "seed") if re.search(rf"\b{name}\b", said)), None)
    return Failure("refused", said, status, parameter=parameter)


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what caused it, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def status_of(error: BaseException) -> int | None:
    """An HTTP status of any client library: status_code, its response's, or botocore's."""
    response = getattr(error, "response", None)
    candidates = [
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "status", None),
    ]
    if isinstance(response, dict):
        candidates.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((int(code) for code in candidates if isinstance(code, int) and 100 <= code < 600), None)


def words_of(error: BaseException) -> str:
    """What the server said, in one line of at most 500 characters."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        said = inner.get("message") if isinstance(inner, dict) else inner
        if not isinstance(said, str):
            said = json.dumps(body, default=str)
    else:
        said = body if isinstance(body, str) and body else getattr(error, "message", None) or str(error)
    return without_keys(" ".join(str(said).split()))[:500]


def without_keys(text: str) -> str:
    """The text without the keys of this environment, should a server have repeated one."""
    for variable, key in os.environ.items():
        if variable.upper().endswith(("_KEY", "_TOKEN", "_SECRET")) and len(key) > 7:
            text = text.replace(key, "***")
    return text


def retry_after(error: BaseException, date: float) -> float | None:
    """Seconds to wait as the server asks: Retry-After in seconds or as an HTTP date, or retry-after-ms."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    if headers is None or not hasattr(headers, "get"):
        return None
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(milliseconds) / 1000)
        if (given := headers.get("retry-after") or headers.get("Retry-After")) is None:
            return None
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", given):
            return float(given)
        return max(0.0, parsedate_to_datetime(given).timestamp() - date)
    except (TypeError, ValueError):
        return None  # not a form that HTTP knows: as if there were none


def is_garbled(error: BaseException, provider_package: str) -> bool:
    """Whether the provider's own code stumbled over what the server sent (an HTML page, a reply without choices)."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "") if trace is not None else ""
    return isinstance(error, GARBLED) and bool(provider_package) and module.split(".")[0] == provider_package
