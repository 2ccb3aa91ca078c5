"""Kills a server again and again while clients read its runs, and counts lost and repeated events:
python -m benchmarks.killed_server

Clients ask a real server process (`quorum serve --no-page`), read the events of their runs, leave after a random number
of them and come back. Meanwhile the process is killed (SIGKILL) at random moments and started again. A method that was
interrupted is asked again, until it answers. In the end every client must have got the numbers 1, 2, 3, ... of its
runs, each once, and the same events as the run's file.

`--runs N` (200), `--clients N` (10), `--kills N` at most (60), `--seed N`. Most of the time the server takes to start.
"""

import argparse
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the loopback server of the tests

import httpx
from openai_bodies import Response
from openai_server import OpenAIServer
from run_client import iterate_events

from benchmarks.harness import ROOT, judge_targets, report
from quorum import Context, index
from quorum.serving.runs.run_file import RunFile

TEXT = "The Lumen Tower was finished in 1931. It stands in the harbour of Vell."
ANSWER = "The Lumen Tower was finished in 1931, after nine years of work in the harbour of the town of Vell [1]. "
METHODS = ("concat", "post_fusion", "sure")
LONGEST_LIFE = 6.0  # seconds from the start of the server's answers to the next kill, at most
LONGEST_REPLY = 0.3  # seconds that the model takes for a reply, at most
READY_SECONDS = 120.0


@dataclass
class KilledServer:
    """A server process that is killed and started again, always at the same port. options: further ones of `quorum
    serve`; kills: how often it was killed.
    """

    store: Path
    model_url: str
    port: int
    options: tuple[str, ...] = ("--collection", "towers", "--model", "openai:test", "--retriever", "bm25")
    process: "subprocess.Popen[str] | None" = None
    kills: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        started_at = time.monotonic()
        arguments = ["serve", "--no-page", "--port", str(self.port), "--store", str(self.store)]
        arguments += self.options
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENAI_BASE_URL": self.model_url, "OPENAI_API_KEY": "x"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from quorum.cli.main import main; main()", *arguments],
            env=environment | {"LANGSMITH_TRACING": "false"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        while time.monotonic() < started_at + READY_SECONDS:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended by itself, with code {self.process.returncode}")
            try:
                if httpx.get(f"{self.url}/health", timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.05)
        raise RuntimeError("the server does not answer")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.kills += 1


@dataclass
class Reader:
    """A client that asks one question and reads all its events. retries: how often it asked a method again."""

    url: str
    rng: random.Random
    counts: Counter[str]
    run: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)

    def ask(self) -> None:
        """Start the run, and read until each of its methods has answered."""
        methods = self.rng.sample(METHODS, self.rng.randint(1, len(METHODS)))
        body = {"question": "When was the Lumen Tower finished?", "methods": methods}
        body["settings"] = {"answer_type": self.rng.choice(["long", "short"])}
        self.run = self.insist("POST", "/v1/runs", body).json()["id"]
        while True:
            self.read()
            interrupted = self.find_interrupted()
            if not interrupted:
                return
            answer = self.insist("POST", f"/v1/runs/{self.run}/retry", {"method": interrupted[0]}, (202, 409))
            self.counts["retries"] += answer.status_code == 202

    def insist(self, method: str, path: str, body: Any, statuses: tuple[int, ...] = (201,)) -> httpx.Response:
        """Send a request until the server answers."""
        while True:
            try:
                response = httpx.request(method, self.url + path, json=body, timeout=30)
            except httpx.HTTPError:
                time.sleep(0.05)
                continue
            if response.status_code not in statuses:
                raise RuntimeError(f"{method} {path}: {response.status_code} {response.text[:300]}")
            return response

    def read(self) -> None:
        """Read events until the run has ended; the stream is left and opened again at random."""
        while True:
            after = self.events[-1]["n"] if self.events else 0
            most = self.rng.choice([1, 3, 10, 1000])
            try:
                with closing(iterate_events(self.url, self.run, after)) as stream:
                    for event in stream:
                        self.events.append(event)
                        most -= 1
                        if most == 0:
                            break
            except httpx.HTTPError:
                self.counts["cut or refused streams"] += 1
                time.sleep(0.05)
                continue
            self.counts["streams"] += 1
            if self.events and self.events[-1]["type"] == "run_finished" and most:
                return

    def find_interrupted(self) -> list[str]:
        """The methods whose last end is an error."""
        ends = {event["method"]: event for event in self.events if event["type"] in ("method_finished", "error")}
        failed = {name: event for name, event in ends.items() if event["type"] == "error"}
        wrong = [event for event in failed.values() if event["code"] != "interrupted"]
        if wrong:
            raise RuntimeError(f"a method failed otherwise: {wrong[0]}")
        return list(failed)

    def check(self, folder: Path) -> None:
        """Compare what came with the run's file."""
        numbers = [event["n"] for event in self.events]
        kept = list(RunFile(folder / f"{self.run}.jsonl").read_events())
        last = numbers[-1] if numbers else 0
        self.counts["events"] += len(numbers)
        self.counts["lost"] += len(set(range(1, last + 1)) - set(numbers)) + max(0, len(kept) - last)
        self.counts["twice"] += len(numbers) - len(set(numbers))
        self.counts["different"] += self.events != kept
        answered = {event["method"] for event in self.events if event["type"] == "method_finished"}
        self.counts["unanswered"] += len(set(self.events[0]["methods"]) - answered)


def measure(runs: int, clients: int, most_kills: int, seed: int, folder: Path) -> Counter[str]:
    """Ask so many runs and kill the server meanwhile. Returns counts of what happened."""
    rng, counts, is_over = random.Random(seed), Counter[str](), threading.Event()
    (folder / "towers.txt").write_text(TEXT)
    index(folder / "towers.txt", collection="towers", context=Context(store=str(folder / "store")))
    model = OpenAIServer()
    delays = random.Random(seed + 1)

    def reply(request: Any) -> Response:
        time.sleep(delays.uniform(0, LONGEST_REPLY))
        return Response(ANSWER * delays.randint(1, 4))

    model.reply(reply)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = int(free.getsockname()[1])
    server = KilledServer(folder / "store", model.url, port)
    server.start()

    def kill_again_and_again() -> None:
        while server.kills < most_kills and not is_over.wait(rng.uniform(0.1, LONGEST_LIFE)):
            server.kill()
            server.start()

    readers = [Reader(server.url, random.Random(seed + 10 + number), Counter()) for number in range(runs)]
    killer = threading.Thread(target=kill_again_and_again)
    killer.start()
    try:
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(Reader.ask, readers))
    finally:
        is_over.set()
        killer.join()
        server.kill()
        server.kills -= 1  # this one only ends the process
        model.close()
    for reader in readers:
        reader.check(folder / "store" / "runs")
        counts.update(reader.counts)
    counts["kills"] = server.kills
    counts["runs"] = len(readers)
    return counts


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 if no event was lost or came twice."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.killed_server")
    for name, default in (("runs", 200), ("clients", 10), ("kills", 60), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args(arguments)
    started_at = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        counts = measure(options.runs, options.clients, options.kills, options.seed, Path(folder))
    names = (
        "runs",
        "kills",
        "streams",
        "cut or refused streams",
        "retries",
        "events",
        "lost",
        "twice",
        "different",
        "unanswered",
    )
    rows = [(name, counts[name]) for name in names] + [("seconds", round(time.perf_counter() - started_at))]
    targets = {name: counts[name] == 0 for name in ("lost", "twice", "different", "unanswered")}
    report("killed_server", ("what", "count"), rows, parts=dict(rows), **judge_targets(targets))
    return 0 if all(targets.values()) and counts["kills"] else 1


if __name__ == "__main__":
    sys.exit(main())
