"""Every test runs without a network beyond this machine, without keys, in a working directory of its own."""

import fcntl
import gc
import ipaddress
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from loopback_server import CERTIFICATE
from openai_server import OpenAIServer
from quorum_command import CommandOutcome, Quorum

# A test must not fail because the machine is busy, so no profile has a deadline; and it must fail for everybody or for
# nobody, so `make test` and `make test-long` draw the same examples every time. `make fuzz` draws others each time.
settings.register_profile("quick", deadline=None, max_examples=30, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=200, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile("quick")
# Two test processes use both cores of a machine with two; threads of one that wait for each other would only take the
# other's time (the encoder's take half of it). Set before numpy is imported, and for the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
gc.set_threshold(100_000, 20, 50)  # collect seldom: saves a tenth of the processor time, as most objects stay

# Environment variables with these prefixes, and those of proxies, are removed for every test.
ISOLATED_PREFIXES = (
    "OPENAI_",
    "AZURE_OPENAI_",
    "ANTHROPIC_",
    "LANGSMITH_",
    "LANGCHAIN_",
    "QUORUM_",
    "CHROMA_",
    "OTEL_",
)
ROOM_FOR_TEST_FOLDERS = 1_000_000_000  # bytes; a test run needs about a tenth of them
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def pytest_configure() -> None:
    """Keep the tests' folders in memory where there is room: stores wait for the disk after every write."""
    memory = Path("/dev/shm")
    if memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM_FOR_TEST_FOLDERS:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_unconfigure() -> None:
    """Collect garbage once and freeze the remaining objects: pytest's own five collections are then quick."""
    gc.collect()
    gc.freeze()


def is_loopback(host: Any) -> bool:
    if host in (None, "", b"", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else host).is_loopback
    except ValueError:
        return False


def refuse_network(event: str, args: tuple[Any, ...]) -> None:
    """Audit hook that raises when any library opens a socket to another machine."""
    if event == "socket.getaddrinfo":
        host = args[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if not is_loopback(host):
        raise RuntimeError(f"A test tried to reach {host!r}: tests talk to this machine only")


sys.addaudithook(refuse_network)
os.environ["QUORUM_JOURNAL"] = "off"  # also for a Context made while a test module is imported
# HTTP clients trust the test servers, and read one certificate in place of 140: 1 ms, not 30.
os.environ["SSL_CERT_FILE"] = str(CERTIFICATE)
os.environ.pop("SSL_CERT_DIR", None)


@pytest.fixture(autouse=True)
def isolate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Remove settings from the environment, switch the journal off and change to a fresh folder."""
    for name in list(os.environ):
        if name.upper().startswith(ISOLATED_PREFIXES) or name.upper() in PROXY_VARIABLES:
            monkeypatch.delenv(name)
    monkeypatch.delenv("COLUMNS", raising=False)  # the terminal's width, which test runners pass on
    monkeypatch.setenv("QUORUM_JOURNAL", "off")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))  # where the user's file of settings would be
    monkeypatch.chdir(tmp_path)
    yield
    if "quorum.models.journal" in sys.modules:
        sys.modules["quorum.models.journal"].close_journals()
    if "quorum.models.parameters" in sys.modules:
        sys.modules["quorum.models.parameters"].REFUSED_PARAMETERS.clear()  # a later test server may get the same port
    if "quorum.models.send_request" in sys.modules:
        sys.modules["quorum.models.send_request"].ANSWERING_MODELS.clear()
    if "quorum.models.limits" in sys.modules:
        sys.modules["quorum.models.limits"].MODEL_LIMITS.get().by_model.clear()
    if "quorum.models.embedding_batches" in sys.modules:
        sys.modules["quorum.models.embedding_batches"].SIZES.clear()
    if "quorum.models.server_troubles" in sys.modules:
        sys.modules["quorum.models.server_troubles"].forget_troubles()
    if "quorum.models.chat" in sys.modules:
        sys.modules["quorum.models.chat"].get_scripted_model.cache_clear()  # the next test scripts its own replies


@pytest.fixture(scope="session")
def copy_sample_vectors(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """A function that copies the vectors of the sample's passages to where a store keeps its sample: the test then
    indexes the sample without embedding it, and saves three seconds. The vectors are computed once for all processes of
    a test run.
    """
    from quorum.core.context import Context
    from quorum.retrievers.collection_names import SAMPLE
    from quorum.retrievers.embedding_cache import CACHE_FILE
    from quorum.retrievers.sample import ensure_sample

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "sample.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ensure_sample(Context(store=str(folder / "sample"), embeddings="embedded"))

    def copy(store: Path) -> None:
        (store / SAMPLE).mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "sample" / CACHE_FILE, store / SAMPLE / CACHE_FILE)

    return copy


@pytest.fixture
def sample_vectors(copy_sample_vectors: Callable[[Path], None], isolate: None) -> None:
    """The default store of the test holds the vectors of the sample's passages."""
    copy_sample_vectors(Path(".quorum"))


@pytest.fixture
def ctrl_c_raises() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt, also where the tests run in the background."""
    earlier_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, earlier_handler)


@pytest.fixture
def openai_server(monkeypatch: pytest.MonkeyPatch, isolate: None) -> Iterator[OpenAIServer]:
    """A loopback OpenAI-compatible server; OPENAI_BASE_URL points to it, and there is no key."""
    server = OpenAIServer()
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    yield server
    server.close()


@pytest.fixture
def quorum(capsys: pytest.CaptureFixture[str]) -> Quorum:
    """A function that runs a command line in this process and returns its exit code and output."""
    from quorum.cli.main import main

    def run(*args: str) -> CommandOutcome:
        try:
            main([str(arg) for arg in args])
            code = 0
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
        out, err = capsys.readouterr()
        return CommandOutcome(code, out, err)

    return run
