"""Starts LangGraph's own server as `make studio` does, with a clean environment and without a network."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from openai_server import OpenAIServer, Request

ROOT = Path(__file__).parents[1]
START_TIMEOUT_S = 180
OFFLINE_SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import conftest  # from here on, conftest refuses every connection to another machine
from langgraph_cli.cli import cli
cli()
"""


@dataclass(frozen=True)
class Server:
    """A running `langgraph dev`.

    log: the file of its output; model: the test server that replies in place of every model "openai:...".
    """

    url: str
    log: Path
    model: OpenAIServer


@contextmanager
def start_studio(
    folder: Path, config: Path = ROOT / "langgraph.json", python: str = sys.executable, **environment: str
) -> Iterator[Server]:
    """Run the server in `folder`.

    Of this process's environment variables it gets only PATH, HOME, LANG and TMPDIR. environment: more variables for
    the server; config: the file that lists the graphs; python: an interpreter with LangGraph's server.
    """
    model, port, log = OpenAIServer(), find_free_port(), folder / "server.log"
    model.reply(search_or_answer)
    inherited_variables = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    quiet_variables = {
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }
    command = ["dev", "--config", str(config), "--port", str(port), "--no-browser", "--no-reload"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [python, "-c", OFFLINE_SCRIPT, *command],
            cwd=folder,
            env=inherited_variables | quiet_variables | {"OPENAI_BASE_URL": model.url} | environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}", log, model)
    try:
        wait_until_up(server, process)
        yield server
    finally:
        process.terminate()
        process.wait(30)
        model.close()


def find_free_port() -> int:
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        port: int = free_socket.getsockname()[1]
        return port


def wait_until_up(server: Server, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(f"{server.url}/ok", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"The server did not start:\n{server.log.read_text()[-4000:]}")


def search_or_answer(request: Request) -> str:
    """The reply to any prompt: a search if the prompt offers this action, else an answer."""
    return "I need to look.\nAction: Search[tower]" if "Search[" in request.text else "So it is.\nAnswer: 1931"
