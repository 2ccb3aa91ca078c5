"""Offline is offline: no command looks up a host name or sends anything to another machine.

`watch_addresses.c` is loaded into every process (LD_PRELOAD), so that threads of native libraries are seen, too.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

ROOT = Path(__file__).parents[2]
SERVED_SECONDS = 30  # ONNX Runtime, if allowed, reports every few seconds
LOOPBACK = re.compile(r"(?:look-up|connect|send) (?:|localhost|127\.[\d.]+|::1|::ffff:127\.[\d.]+|0\.0\.0\.0|::)")
# What a part of the project imports beyond the default installation, and the environment that has it.
NATIVE_LIBRARIES = {
    ".venv": "mcp, grpc, lxml.etree, pypdfium2, pdfplumber, Stemmer, tokenizers, chromadb, uvicorn, rich",
    ".venv-train": "torch, transformers, safetensors, onnx, peft, sentence_transformers, mauve",
    ".venv-ray": "ray, ray.data",
    ".venv-studio": "langgraph_api, langgraph_cli, langgraph_runtime_inmem",
}
USE_LIBRARIES = """
import time, quorum, importlib
{imports}
from quorum.models.embedded.encoder import get_encoder
get_encoder().embed(["a sentence"])
time.sleep(5)
"""

Watch = Callable[[], list[str]]


@pytest.fixture(scope="session")
def watcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled `watch_addresses.c`."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "this test needs a C compiler (on Debian: apt-get install gcc libc6-dev)"
    library = tmp_path_factory.mktemp("watcher") / "watch_addresses.so"
    source = Path(__file__).with_name("watch_addresses.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


@pytest.fixture
def environment(watcher: Path, tmp_path: Path) -> dict[str, str]:
    """The environment of a new user: none of this process's variables but PATH and LANG, and a home without caches.

    Libraries send no reports if a variable such as CI tells them that they are tested.
    """
    home = tmp_path / "home"
    home.mkdir()
    inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    watched = {"LD_PRELOAD": str(watcher), "WATCHED_ADDRESSES": str(tmp_path / "addresses")}
    return inherited | watched | {"HOME": str(home)}


def read_foreign_addresses(environment: Mapping[str, str]) -> list[str]:
    """The recorded lines that name another machine. This machine's own name may be looked up."""
    file = Path(environment["WATCHED_ADDRESSES"])
    lines = file.read_text().splitlines() if file.exists() else []
    own_names = {f"look-up {socket.gethostname()}", f"look-up {socket.getfqdn()}"}
    return [line for line in lines if not LOOPBACK.fullmatch(line) and line not in own_names]


def test_the_watcher_sees_look_ups_and_connections(environment: dict[str, str], tmp_path: Path) -> None:
    code = "import socket\ntry: socket.create_connection(('somewhere.invalid', 9))\nexcept OSError: pass\n"
    code += "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9))"
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True)
    assert {"look-up somewhere.invalid", "connect 192.0.2.1"} <= set(read_foreign_addresses(environment))


def test_onnx_runtime_alone_would_report(environment: dict[str, str], tmp_path: Path) -> None:
    """If this fails, ONNX Runtime no longer reports, and `quorum.core.telemetry` may not need its variable."""
    file = ROOT / "quorum/models/embedded/reader.onnx"
    code = f"import onnxruntime, time; onnxruntime.InferenceSession({str(file)!r}); time.sleep(15)"
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True)
    assert read_foreign_addresses(environment)


def test_the_demo_asks_nobody(environment: dict[str, str], tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "quorum", "demo"], env=environment, cwd=tmp_path, check=True)
    assert read_foreign_addresses(environment) == []


@pytest.mark.parametrize("options", [["--no-page"], []], ids=["without the page", "with the page"])
def test_a_server_asks_nobody(options: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "quorum", "serve", "--port", str(port), *options]
    process = subprocess.Popen(command, env=environment, cwd=tmp_path)
    try:
        ask_when_up(f"http://127.0.0.1:{port}", process)
        time.sleep(SERVED_SECONDS)
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(30)
    assert read_foreign_addresses(environment) == []


@pytest.mark.parametrize("venv", NATIVE_LIBRARIES)
def test_the_libraries_of_the_extras_ask_nobody(venv: str, environment: dict[str, str], tmp_path: Path) -> None:
    python = ROOT / venv / "bin/python"
    assert python.exists(), f"no {venv}: `make test-offline` installs it"
    code = USE_LIBRARIES.format(imports=f"import {NATIVE_LIBRARIES[venv]}")
    subprocess.run([str(python), "-c", code], env=environment, cwd=tmp_path, check=True)
    assert read_foreign_addresses(environment) == []


def ask_when_up(url: str, process: "subprocess.Popen[bytes]") -> None:
    """Wait for the server, and ask it a question over the sample collection."""
    body = b'{"model": "concat", "messages": [{"role": "user", "content": "How tall is the Eiffel Tower?"}]}'
    for _ in range(120):
        assert process.poll() is None, "the server ended"
        try:
            urlopen(f"{url}/v1/models", timeout=5).close()
            break
        except OSError:
            time.sleep(1)
    request = Request(f"{url}/v1/chat/completions", body, {"Content-Type": "application/json"})
    with urlopen(request, timeout=120) as response:
        assert response.status == 200
