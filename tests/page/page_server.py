"""`quorum serve` as a process of its own, with a clean environment and no network beyond this machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openai_server import OpenAIServer

ROOT = Path(__file__).parents[2]
START_TIMEOUT_S = 180
OFFLINE_SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import conftest  # from here on, a connection to another machine raises an error
from quorum.cli.main import main
main()
"""


@dataclass(frozen=True)
class ServedPage:
    """A running page. `folder`: its working directory; `log`: its output; `model`: the server behind "openai:..."."""

    url: str
    folder: Path
    log: Path
    model: OpenAIServer


@contextmanager
def serve_page(folder: Path, *args: str) -> Iterator[ServedPage]:
    """Serve the page at a free port, with its store in `folder`. Ctrl-C must end it with code 0 and no traceback."""
    model, log = OpenAIServer(), folder / "serve.log"
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    environment |= {"OPENAI_BASE_URL": model.url, "PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false"}
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", OFFLINE_SCRIPT, "serve", "--port", "0", *args],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield ServedPage(wait_for_address(log, process), folder, log, model)
    finally:
        model.release_held_replies()
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
        model.close()
    message = f"exit code {code}\n{log.read_text()}"
    assert message.startswith("exit code 0\n"), message
    assert "Traceback" not in message, message


def wait_for_address(log: Path, process: "subprocess.Popen[bytes]") -> str:
    """Wait until the server prints the address of the page, and return it."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while "Quorum is at " not in (log_text := log.read_text()):
        assert process.poll() is None, log_text
        assert time.monotonic() < deadline, log_text
        time.sleep(0.05)
    return log_text.split("Quorum is at ")[1].split()[0]
