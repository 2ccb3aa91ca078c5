"""What the environment can throw, at each edge where Quorum meets it: one sentence that says what is wrong.

The edges are the HTTP client of a model, Chroma and its server, locks, and files. Exceptions enter by a transport or a
lock that is given as an argument, or in a block that an edge guards.
"""

import errno
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import chromadb.errors
import filelock
import httpx
import pytest
from fake_clock import FakeClock
from langchain_openai import ChatOpenAI
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.errors import CallError, QuorumError, SetupError
from quorum.core.files import explain_os_error
from quorum.models.call import call
from quorum.models.http_library import OPENAI_HTTP
from quorum.retrievers.store_failures import explain_failures
from quorum.retrievers.store_locks import hold_access_lock, hold_lock

FILE_ERRORS = ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EMFILE", "EIO", "ESTALE", "ENAMETOOLONG", "ENOTDIR")
NETWORK_ERRORS = ("ECONNREFUSED", "ECONNRESET", "ENETUNREACH", "EHOSTUNREACH", "ETIMEDOUT", "EPIPE", "EMFILE")


def make_os_error(name: str) -> OSError:
    number = getattr(errno, name)
    return OSError(number, os.strerror(number), "some/file")


def list_subclasses(base: type[Exception]) -> Iterator[type[Exception]]:
    """The class and all below it that the same package defines."""
    yield base
    for child in base.__subclasses__():
        if child.__module__.split(".")[0] == base.__module__.split(".")[0]:
            yield from list_subclasses(child)


def make_http_error(kind: type[Exception], library: object) -> Exception:
    if kind.__name__ == "HTTPStatusError":
        request = library.Request("POST", "http://server/v1")  # type: ignore[attr-defined]
        response = library.Response(503, request=request)  # type: ignore[attr-defined]
        return kind("503: busy", request=request, response=response)  # type: ignore[call-arg]
    return kind("it broke")


HTTP_ERRORS: dict[str, Callable[[], Exception]] = {
    **{
        kind.__name__: lambda kind=kind: make_http_error(kind, OPENAI_HTTP)  # type: ignore[misc]
        for kind in [*list_subclasses(OPENAI_HTTP.HTTPError), OPENAI_HTTP.InvalidURL]
    },
    **{name: lambda name=name: make_os_error(name) for name in NETWORK_ERRORS},  # type: ignore[misc]
}
CHROMA_ERRORS: dict[str, Callable[[], Exception]] = {
    **{
        kind.__name__: lambda kind=kind: kind("it broke")  # type: ignore[misc]
        for kind in list_subclasses(chromadb.errors.ChromaError)
        if not getattr(kind, "__abstractmethods__", None) or kind is chromadb.errors.ChromaError
    },
    **{
        f"http-{kind.__name__}": lambda kind=kind: make_http_error(kind, httpx)  # type: ignore[misc]
        for kind in (
            httpx.ConnectError,
            httpx.ReadTimeout,
            httpx.RemoteProtocolError,
            httpx.ProxyError,
            httpx.InvalidURL,
        )
    },
    **{name: lambda name=name: make_os_error(name) for name in FILE_ERRORS[:5]},  # type: ignore[misc]
}
LOCK_ERRORS: dict[str, Callable[[], Exception]] = {
    "Timeout": lambda: filelock.Timeout("store/access.lock"),
    "NotImplementedError": lambda: NotImplementedError("no flock here"),
    **{name: lambda name=name: make_os_error(name) for name in ("EACCES", "EROFS", "ENOSPC", "ENOLCK")},  # type: ignore[misc]
}


class BrokenTransport(OPENAI_HTTP.AsyncBaseTransport):
    """Raises the exception that `make` makes in place of each response."""

    def __init__(self, make: Callable[[], Exception]) -> None:
        self.make = make

    async def handle_async_request(self, request: OPENAI_HTTP.Request) -> OPENAI_HTTP.Response:
        raise self.make()


class BrokenLock(filelock.FileLock):
    """Raises an exception in place of being taken."""

    error: Exception

    def acquire(self, *args: object, **options: object) -> object:  # type: ignore[override]
        raise self.error


def is_one_sentence(error: QuorumError) -> bool:
    return "\n" not in str(error) and len(str(error)) > 20


@pytest.mark.parametrize("name", HTTP_ERRORS)
async def test_what_an_http_client_throws_fails_the_call_with_a_sentence(name: str) -> None:
    client = OPENAI_HTTP.AsyncClient(transport=BrokenTransport(HTTP_ERRORS[name]))
    model = ChatOpenAI(model="m", base_url="http://127.0.0.1:1/v1", api_key="none", http_async_client=client)
    with pytest.raises((CallError, SetupError)) as failure:
        await call("answer", "Which?", context=Context(model=model, attempts=2), clock=FakeClock())
    assert is_one_sentence(failure.value)
    await client.aclose()


@pytest.mark.parametrize("name", CHROMA_ERRORS)
def test_what_chroma_throws_is_a_sentence(name: str) -> None:
    for store in ("some/store", "http://127.0.0.1:8000"):
        with pytest.raises(SetupError) as failure, explain_failures(store):
            raise CHROMA_ERRORS[name]()
        assert is_one_sentence(failure.value)
        assert store in str(failure.value)


@pytest.mark.parametrize("name", LOCK_ERRORS)
def test_what_a_lock_throws_is_a_sentence(name: str, tmp_path: Path) -> None:
    lock = BrokenLock(tmp_path / "access.lock")
    lock.error = LOCK_ERRORS[name]()
    guards = [hold_access_lock(lock, "some/store"), *([hold_lock(lock)] if name != "Timeout" else [])]
    for guard in guards:
        with pytest.raises(SetupError) as failure, guard:
            pass
        assert is_one_sentence(failure.value)


@pytest.mark.parametrize("name", FILE_ERRORS)
def test_what_a_file_throws_is_a_sentence(name: str) -> None:
    sentence = str(explain_os_error(make_os_error(name)))
    assert sentence.startswith("some/file cannot be used (")
    assert "check it" not in sentence  # each has an advice of its own


def test_a_file_that_the_system_refuses_ends_a_command_with_a_sentence(quorum: Quorum) -> None:
    outcome = quorum("show", "a" * 300)
    assert outcome.code == 2
    assert "File name too long" in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning"
)  # Chroma leaves the connection of a client it cannot make
def test_a_server_that_is_no_chroma_of_this_version_is_told(openai_server: OpenAIServer, quorum: Quorum) -> None:
    """An older Chroma answers to the present addresses with 404, and so does any other server."""
    outcome = quorum("collections", "--store", openai_server.url.removesuffix("/v1"))
    assert outcome.code == 2
    gc.collect()
    assert "answers, but not as Chroma" in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_an_error_of_our_own_code_passes_the_edge_of_chroma() -> None:
    with pytest.raises(KeyError), explain_failures("some/store"):
        raise KeyError("ours")
