"""Classifies the exceptions of any provider's client by their shape: status, headers, class names."""

import asyncio
import json
import re
import socket
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from types import FrameType
from typing import Any, Literal
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage

from quorum.core.redaction import redact_secrets

FailureKind = Literal[
    "retryable",  # may succeed on another try: timeouts, 408/409/429/5xx, dropped connections, replies cut in transit
    "unreachable",  # no server answers at that address
    "denied",  # 401, 403, 429 with insufficient_quota, an untrusted certificate: every call fails in the same way
    "too_long",  # the prompt does not fit the window
    "refused",  # any other 4xx
    "other",  # not a failure of the call: a bug, or an exception of the caller
]
TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum (model|context|input) length|max_model_len|prompt is too long"
    r"|too many (input )?tokens|reduce the length of the (messages|prompt|input)|context overflow"
    r"|exceed\w* the (maximum|max|limit|available|configured|model).{0,40}(token|context|length|limit)"
    r"|ContextWindowExceeded|input (token count|tokens|length).{0,60}exceed|`inputs` tokens \+ `max_new_tokens`",
    re.IGNORECASE,
)
# What a provider's client may raise when it reads a garbled reply.
GARBLED_REPLY_ERRORS = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError)
# The folders in which libraries are installed.
LIBRARY_FOLDERS = tuple(sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib"))
PARAMETER_REFUSAL_WORDS = re.compile(
    r"unsupported|not support|only the default|unknown|unrecogni[sz]ed|unexpected|not (?:permitted|allowed|accepted)"
    r"|extra (?:inputs|fields)|(?:does not|doesn't) (?:accept|take|allow)|deprecated|cannot (?:both )?be",
    re.IGNORECASE,
)
TOO_LONG_CODE = "context_length_exceeded"
PARAMETER_REFUSAL_CODES = {"unsupported_value", "unsupported_parameter", "unknown_parameter"}
PARAMETER_NAME = re.compile(r"\b(?:temperature|top_p|seed|max_tokens|max_completion_tokens)\b")
LONGEST_READ = 5000  # how many characters of a server's error message are read
# Names of exception classes of many client libraries, by what went wrong.
UNREACHABLE_ERRORS = {
    "ConnectError",
    "ClientConnectorError",
    "EndpointConnectionError",
    "gaierror",
    "ConnectionRefusedError",
}
DROPPED_CONNECTION_ERRORS = {
    "TransportError",
    "APIConnectionError",
    "ModelConnectionError",
    "ClientConnectionError",
    "ConnectionError",
}
CUT_REPLY_ERRORS = {
    "JSONDecodeError",
    "APIResponseValidationError",
    "IncompleteRead",
    "ClientPayloadError",
    "DecodingError",
}
TIMEOUT_ERRORS = {"TimeoutError", "TimeoutException", "APITimeoutError", "ModelTimeoutError", "ReadTimeoutError"}


class GarbledReply(ValueError):  # noqa: N818  the name says it without "Error"
    """A reply with status 200 but without readable content; the message says what is wrong with it."""


class UnreadableMessage(GarbledReply):
    """A whole reply whose message cannot be read. A greedy model would write it again."""


class CutStream(GarbledReply):
    """A stream that ended before it said that the reply is whole. reply: the text that came, as a message."""

    def __init__(self, reply: AIMessage) -> None:
        super().__init__("its stream ended with neither a finish reason nor [DONE]")
        self.reply = reply


@dataclass(frozen=True)
class Failure:
    """One failure of a call.

    message: what went wrong, in the server's own words if it sent any; status: the HTTP status; retry_after: how many
    seconds the server asks to wait; parameter: the decoding parameter that the model refuses, without which the call is
    then repeated; is_passing: whether such a failure mostly happens once, so that one of them is no news.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    parameter: str | None = None
    is_passing: bool = False


def classify_error(
    error: BaseException, unix_time: float, provider_package: str = "", secrets: Iterable[str] = ()
) -> Failure:
    """Classify the exception of a call.

    unix_time: the current time in seconds since 1970, needed if Retry-After gives a date. provider_package: the package
    of the model's class; an exception in its code means a garbled reply. secrets: texts that `message` must not repeat,
    in addition to the environment's keys.
    """
    causes = list(iterate_causes(error))
    names = {base.__name__ for cause in causes for base in type(cause).__mro__}  # of exception classes
    status = next((code for cause in causes if (code := get_status(cause)) is not None), None)
    message = next((text for cause in causes if (text := get_message(cause, secrets))), "") or type(error).__name__
    codes = {str(getattr(cause, "code", "")) for cause in causes}
    is_too_long = TOO_LONG_CODE in codes or TOO_LONG.search(message)
    if "ContextOverflowError" in names or (status in (400, 413, 422, 500) and is_too_long):
        return Failure("too_long", message, status)
    if "ReplyTooLarge" in names:
        return Failure("refused", message)
    if (address := next((found for cause in causes if (found := get_refused_address(cause))), "")) or (
        status is not None and 300 <= status < 400
    ):
        return Failure("denied", describe_redirect(address))
    if status is not None and status >= 400:
        return classify_status(status, message, codes, causes, unix_time)
    if "SSLCertVerificationError" in names:
        return Failure("denied", message)
    if names & TIMEOUT_ERRORS or isinstance(error, asyncio.TimeoutError):
        return Failure("retryable", message if message != "TimeoutError" else "it took too long")
    if names & UNREACHABLE_ERRORS:
        return Failure("unreachable", describe_unreachable(causes) or message)
    if names & DROPPED_CONNECTION_ERRORS:
        return Failure("retryable", f"the connection broke ({message})", is_passing=True)
    if names & (CUT_REPLY_ERRORS | {"GarbledReply"}) or is_garbled(error, provider_package):
        return Failure("retryable", f"the reply could not be read ({message})", is_passing=True)
    if "APIError" in names or "ModelAPIError" in names:  # an error event in the middle of a stream
        return Failure("retryable", message)
    return Failure("other", message)


def classify_status(
    status: int, message: str, codes: set[str], causes: list[BaseException], unix_time: float
) -> Failure:
    """Classify a failure with an HTTP status. codes: the server's error codes, such as insufficient_quota."""
    if status in (401, 403) or (status == 429 and "insufficient_quota" in codes):
        return Failure("denied", message, status)
    if status in (408, 409, 429) or status >= 500:
        waits = (get_retry_after(cause, unix_time) for cause in causes)
        return Failure("retryable", message, status, next((wait for wait in waits if wait is not None), None))
    is_parameter_refused = status in (400, 422) and (
        PARAMETER_REFUSAL_WORDS.search(message) or codes & PARAMETER_REFUSAL_CODES
    )
    return Failure(
        "refused", message, status, parameter=find_parameter(message, causes) if is_parameter_refused else None
    )


def describe_failure(failure: Failure) -> str:
    """The status and the server's message."""
    return f"{failure.status}: {failure.message}" if failure.status else failure.message


def describe_fault(failure: Failure) -> str:
    """What a server did, after its name: "does not answer (connection refused ...)" or "failed (503: busy)"."""
    return f"{'does not answer' if failure.kind == 'unreachable' else 'failed'} ({describe_failure(failure)})"


def describe_unreachable(causes: list[BaseException]) -> str:
    """Why no connection was made, in words; "" if the causes do not say it. Clients say only "Connection error."."""
    for cause in reversed(causes):
        if isinstance(cause, ConnectionRefusedError):
            return "connection refused: no program listens on this port"
        if isinstance(cause, socket.gaierror):
            return "no machine of this name is known"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    return ""


def find_parameter(message: str, causes: list[BaseException]) -> str | None:
    """The refused decoding parameter: the one that the error's field `param` names, else the first one in its message.

    None if neither names one that PARAMETER_NAME matches.
    """
    parameter_name = next((str(name) for cause in causes if (name := getattr(cause, "param", None))), "")
    match = PARAMETER_NAME.search(parameter_name) or PARAMETER_NAME.search(message)
    return match[0] if match else None


def iterate_causes(error: BaseException) -> Iterator[BaseException]:
    """The exception and its causes, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def get_status(error: BaseException) -> int | None:
    """The HTTP status in any client library's exception; None if it holds none.

    It is the exception's `status_code`, its response's `status_code`, the exception's `status`, or the status in a
    response of botocore.
    """
    response = getattr(error, "response", None)
    candidates = [
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "status", None),
    ]
    if isinstance(response, dict):
        candidates.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((int(code) for code in candidates if isinstance(code, int) and 100 <= code < 600), None)


def get_refused_address(error: BaseException) -> str:
    """The address of another server to which a response wanted to send the request on; "" if there is none."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return str(headers.get("quorum-refused-redirect", "")) if hasattr(headers, "get") else ""


def describe_redirect(address: str) -> str:
    """What happened with a response that redirects. The address is shown without its path, which may hold secrets."""
    try:
        parts = urlsplit(address)
        server = f"{parts.scheme or 'http'}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    except ValueError:
        server = "an address that cannot be read"
    if not address:
        return "it redirects the request without saying where to"
    return f"it redirects to another server, {server}, to which nothing was sent"


def get_message(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """The server's message, or else the exception's own, which may be empty. It is one line of at most 500 characters,
    without keys, tokens and passwords.
    """
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error", body)
        message = inner.get("message") if isinstance(inner, dict) else inner
        if not isinstance(message, str):
            message = json.dumps(body, default=str)
    else:
        message = body if isinstance(body, str) and body else getattr(error, "message", None) or str(error)
    return redact_secrets(" ".join(str(message)[:LONGEST_READ].split()), secrets)[:500]


def get_retry_after(error: BaseException, unix_time: float) -> float | None:
    """The seconds that the server asks to wait, from the header retry-after-ms, or from Retry-After in seconds or as an
    HTTP date; None without a valid header.
    """
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    if headers is None or not hasattr(headers, "get"):
        return None
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(milliseconds) / 1000)
        if (retry_after := headers.get("retry-after") or headers.get("Retry-After")) is None:
            return None
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", retry_after):
            return float(retry_after)
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - unix_time)
    except (TypeError, ValueError):
        return None  # not a valid HTTP date: ignored


def is_garbled(error: BaseException, provider_package: str) -> bool:
    """Whether the provider's package failed on the server's response: an HTML page, a reply without choices, bytes that
    are not text. Only library code may lie between our call and the error; otherwise the error is a bug.
    """
    if not isinstance(error, GARBLED_REPLY_ERRORS) or not provider_package:
        return False
    frames = [(get_package(frame), frame.f_code.co_filename) for frame in iterate_frames(error)]
    last_own_frame = max((place for place, (package, _) in enumerate(frames) if package == "quorum"), default=-1)
    library_frames = frames[last_own_frame + 1 :]
    return bool(library_frames) and all(
        package == provider_package or file.startswith(LIBRARY_FOLDERS) for package, file in library_frames
    )


def get_package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def iterate_frames(error: BaseException) -> Iterator[FrameType]:
    """The frames of the exception's traceback; the last one raised it."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next
