"""What the benchmarks share: the process of the model server (`benchmarks.server`), the questions, and the report as a
table and a JSON line.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quorum.core.state import Passage
from quorum.datasets.questions import write_questions
from quorum.documents.pieces import read_file_passages

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "data" / "sample"
MODEL = "openai:bench"


class ServerControl:
    """A running `benchmarks.server`. `url` ends in /v1."""

    def __init__(self, url: str, process: "subprocess.Popen[str]") -> None:
        self.url, self.process = url, process

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def set_behaviour(self, **behaviour: Any) -> None:
        """Set the behaviour and reset the counts."""
        self.post("/control", behaviour)

    def fetch_counts(self) -> dict[str, Any]:
        """The counts since the last `set_behaviour`."""
        return self.post("/stats", None)

    def post(self, path: str, body: Any) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.removesuffix("/v1") + path, data)
        with urllib.request.urlopen(request, timeout=30) as response:
            reply: dict[str, Any] = json.load(response)
        return reply


def start_server(port: int = 0, **behaviour: Any) -> ServerControl:
    """Start `benchmarks.server` in a process of its own, at a port."""
    command = [sys.executable, "-m", "benchmarks.server", "--port", str(port), "--behaviour", json.dumps(behaviour)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        raise RuntimeError(f"The server ended with code {process.wait()}.")
    return ServerControl(url, process)


def stop_server(server: ServerControl) -> None:
    server.process.kill()
    server.process.wait()
    if server.process.stdout is not None:
        server.process.stdout.close()


@contextmanager
def run_server(**behaviour: Any) -> Iterator[ServerControl]:
    """Run `benchmarks.server` and point OPENAI_BASE_URL to it; tracing is off."""
    server = start_server(**behaviour)
    os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "LANGSMITH_TRACING": "false"}
    try:
        yield server
    finally:
        stop_server(server)


def read_sample_passages() -> list[Passage]:
    """The passages of the sample's documents."""
    return [passage for path in sorted((SAMPLE / "corpus").glob("*.md")) for passage in read_file_passages(path)]


def make_questions(count: int, k: int) -> Iterator[dict[str, Any]]:
    """The sample's questions, repeated, each with a unique number and k passages of the sample."""
    texts = [json.loads(line)["question"] for line in (SAMPLE / "questions.jsonl").read_text("utf-8").splitlines()]
    passages = read_sample_passages()
    for number in range(count):
        chosen_passages = [passages[(number * 7 + step * 13) % len(passages)] for step in range(k)]
        yield {
            "id": f"q{number}",
            "question": f"{texts[number % len(texts)]} (number {number})",
            "answers": [f"Fact {number % 4 + 1}"],
            "passages": chosen_passages,
            "gold": [],
            "source": "benchmark",
            "meta": {},
        }


def write_question_file(folder: Path, count: int, k: int) -> Path:
    """Write the questions of `make_questions` as a data set."""
    path = folder / "questions.jsonl"
    write_questions(path, make_questions(count, k))  # type: ignore[arg-type]
    return path


def format_share(value: float) -> str:
    return f"{100 * value:.1f}%"


def report(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], **figures: Any) -> None:
    """Print a table and a JSON line. The figures hold the measurements, the targets and whether they were met."""
    lines = [tuple(header), *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    load = os.getloadavg()[0]
    print(f"\n{name} (load average {load:.1f}, {os.cpu_count()} cores)")
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print(json.dumps({"benchmark": name, "load": round(load, 2), "cores": os.cpu_count(), **figures}), flush=True)


def print_findings(name: str, findings: Mapping[str, Any]) -> None:
    """Print a part's findings as soon as it ends, for long runs."""
    print(json.dumps({name: findings}), file=sys.stderr, flush=True)


def report_parts(
    name: str, findings: Mapping[str, dict[str, Any]], is_target_met: Callable[[str, dict[str, Any]], bool]
) -> None:
    """Report a benchmark that has parts, each with a verdict on its findings."""
    verdicts = {part: is_target_met(part, item) for part, item in findings.items()}
    rows = [
        (part if not number else "", ("yes" if verdicts[part] else "no") if not number else "", key, value)
        for part, item in findings.items()
        for number, (key, value) in enumerate(item.items())
    ]
    report(name, ("part", "target met", "what", ""), rows, parts=findings, **judge_targets(verdicts))


def judge_targets(conditions: Mapping[str, bool]) -> dict[str, Any]:
    """For the JSON line: whether all targets were met ("met"), and the names of those that were not ("missed")."""
    return {"met": all(conditions.values()), "missed": [name for name, value in conditions.items() if not value]}
