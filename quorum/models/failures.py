"""Classifies the exceptions of any provider's client by their shape: status, headers, class names."""

import asyncio
import errno
import re
import socket
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage

from quorum.models.error_bodies import get_codes, get_message, get_stated_wait
from quorum.models.refused_access import is_access_refused
from quorum.models.requested_waits import get_limit_end, get_retry_after

FailureKind = Literal[
    "retryable",  # may succeed on another try: timeouts, 408/409/429/5xx, dropped connections, replies cut in transit
    "unreachable",  # no server answers at that address
    "denied",  # a refused key, 429 with insufficient_quota, an untrusted certificate: every call fails in the same way
    "too_long",  # the prompt does not fit the window
    "refused",  # any other 4xx
    "other",  # not a failure of the call: a bug, or an exception of the caller
]
TOO_LONG = re.compile(
    r"context[ _](length|window|size)|maximum (model|context|input) length|max_model_len|prompt is too long"
    r"|too many (input )?tokens|reduce the length of the (messages|prompt|input)|context overflow"
    r"|exceed\w* the (maximum|max|limit|available|configured|model).{0,40}(token|context|length|limit)"
    r"|ContextWindowExceeded|input is too large"
    r"|input (token count|tokens|length).{0,60}exceed|`inputs` tokens \+ `max_new_tokens`",
    re.IGNORECASE,
)
TOO_LARGE = re.compile(r"request (?:is )?too large", re.IGNORECASE)
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
# A request that cannot be sent as it is: each try fails in the same way.
UNSENDABLE_ERRORS = {"InvalidURL", "UnsupportedProtocol", "TooManyRedirects"}
UNREACHABLE_NUMBERS = {errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}
DROPPED_NUMBERS = {errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE, errno.ETIMEDOUT, errno.EMFILE, errno.ENFILE}
UNSENDABLE_HEADER = "the request cannot be sent: a key or another header holds a character that is not ASCII"
# Words of TLS errors that no other try mends, as a server that speaks no TLS causes them.
LASTING_TLS_FAULTS = re.compile(r"WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|UNKNOWN_PROTOCOL|HANDSHAKE_FAILURE", re.I)
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
    then repeated; is_passing: whether such a failure mostly happens once, so that one of them is no news; check: what
    the user has to check, if the kind alone does not say it.
    """

    kind: FailureKind
    message: str
    status: int | None = None
    retry_after: float | None = None
    parameter: str | None = None
    is_passing: bool = False
    check: str = ""


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
    codes = set[str]().union(*map(get_codes, causes))
    says_too_long = TOO_LONG_CODE in codes or bool(TOO_LONG.search(message))
    # A request that is larger than a limit per minute never succeeds, so that it is too long, too.
    is_too_large = status == 429 and bool(TOO_LARGE.search(message))
    if "ContextOverflowError" in names or is_too_large or (status in (400, 413, 422, 500) and says_too_long):
        return Failure("too_long", message, status)
    if "ReplyTooLarge" in names:
        return Failure("refused", message)
    if (address := next((found for cause in causes if (found := get_refused_address(cause))), "")) or (
        status is not None and 300 <= status < 400
    ):
        return Failure("denied", describe_redirect(address))
    if status is not None and status >= 400:
        return classify_status(status, message, codes, causes, unix_time)
    if (lasting_failure := find_lasting_failure(causes, names, message)) is not None:
        return lasting_failure
    if names & TIMEOUT_ERRORS or isinstance(error, asyncio.TimeoutError):
        return Failure("retryable", message if message != "TimeoutError" else "it took too long")
    numbers = {cause.errno for cause in causes if isinstance(cause, OSError)}
    if names & UNREACHABLE_ERRORS or numbers & UNREACHABLE_NUMBERS:
        return Failure("unreachable", describe_unreachable(causes) or message)
    if names & DROPPED_CONNECTION_ERRORS or numbers & DROPPED_NUMBERS:
        return Failure("retryable", f"the connection broke ({message})", is_passing=True)
    if names & (CUT_REPLY_ERRORS | {"GarbledReply"}) or is_garbled(error, provider_package):
        return Failure("retryable", f"the reply could not be read ({message})", is_passing=True)
    if names & {"HTTPError", "RequestError"}:  # of httpx, where nothing more is known
        return Failure("retryable", message)
    if "APIError" in names or "ModelAPIError" in names:  # an error event in the middle of a stream
        return Failure("retryable", message)
    return Failure("other", message)


def find_lasting_failure(causes: list[BaseException], names: set[str], message: str) -> Failure | None:
    """The failure of a request that could not be sent, or was stopped before the server, for a reason that lasts."""
    if "SSLCertVerificationError" in names:
        return Failure("denied", message)
    if "SSLError" in names and LASTING_TLS_FAULTS.search(" ".join(map(str, causes))):
        check = "the base URL: the server may speak http, not https"
        return Failure("denied", f"it does not speak TLS as we do: {message}", check=check)
    encoding_errors = [cause for cause in causes if isinstance(cause, UnicodeEncodeError)]
    if any(cause.encoding.lower().replace("_", "-") in ("ascii", "latin-1", "iso-8859-1") for cause in encoding_errors):
        return Failure("denied", UNSENDABLE_HEADER, check="the key: it may be pasted with typographic quotes")
    if "LocalProtocolError" in names and "header" in " ".join(map(str, causes)).lower():
        return Failure("denied", UNSENDABLE_HEADER, check="the key, which may hold a line break")
    if "ProxyError" in names and re.search(r"\b(4\d\d|SOCKS|auth)", message, re.IGNORECASE):
        return Failure("denied", f"the proxy refuses the connection: {message}", check="HTTPS_PROXY and ALL_PROXY")
    if names & UNSENDABLE_ERRORS:
        return Failure("denied", message, check="the base URL")
    return None


def classify_status(
    status: int, message: str, codes: set[str], causes: list[BaseException], unix_time: float
) -> Failure:
    """Classify a failure with an HTTP status. codes: the server's error codes, such as insufficient_quota."""
    if is_access_refused(status, message, codes):
        return Failure("denied", message, status)
    if status in (408, 409, 429) or status >= 500:
        return Failure("retryable", message, status, find_requested_wait(status, message, causes, unix_time))
    is_parameter_refused = status in (400, 422) and (
        PARAMETER_REFUSAL_WORDS.search(message) or codes & PARAMETER_REFUSAL_CODES
    )
    return Failure(
        "refused", message, status, parameter=find_parameter(message, causes) if is_parameter_refused else None
    )


def find_requested_wait(status: int, message: str, causes: list[BaseException], unix_time: float) -> float | None:
    """The seconds that the server asks to wait: in its header Retry-After, in its body, or in headers of its limits."""
    waits = [get_retry_after(cause, unix_time) for cause in causes]
    if status in (429, 503):
        waits += [get_stated_wait(cause, message) for cause in causes]
    if status == 429:
        waits += [get_limit_end(cause, unix_time) for cause in causes]
    return next((wait for wait in waits if wait is not None), None)


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
