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
    """A running `benchmarks.server`: reads its counts and changes its behaviour. `url` ends in /v1."""

    def __init__(self, url: str, process: "subprocess.Popen[str]") -> None:
        self.url, self.process = url, process

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].split("/")[0])

    def set_behaviour(self, **behaviour: Any) -> None:
        """Set how the server behaves (the fields of `benchmarks.server.Behaviour`), and reset its counts."""
        self.post("/control", behaviour)

    def fetch_counts(self) -> dict[str, Any]:
        """What the server counted since the last `set_behaviour` (the fields of `benchmarks.server.Counts`)."""
        return self.post("/stats", None)

    def post(self, path: str, body: Any) -> dict[str, Any]:
        """Send `body` as JSON (None: a GET request), and return the JSON reply."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url.removesuffix("/v1") + path, data)
        with urllib.request.urlopen(request, timeout=30) as response:
            reply: dict[str, Any] = json.load(response)
        return reply


def start_server(port: int = 0, **behaviour: Any) -> ServerControl:
    """Start `benchmarks.server` in a process of its own. port 0: any free port."""
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
    """Run `benchmarks.server` until the `with` block ends. OPENAI_BASE_URL points to it; LangSmith tracing is off."""
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
    """`count` questions: those of the sample, repeated, each with a unique number and k passages of the sample.

    Each has one accepted answer: "Fact 1", "Fact 2", "Fact 3" or "Fact 4", the short answers of `benchmarks.server`.
    """
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
    """Write `count` questions, each with k passages (see `make_questions`), as a data set."""
    path = folder / "questions.jsonl"
    write_questions(path, make_questions(count, k))  # type: ignore[arg-type]
    return path


def format_share(value: float) -> str:
    return f"{100 * value:.1f}%"


def report(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], **figures: Any) -> None:
    """Print a table and a JSON line.

    name: the benchmark's name; figures: what the JSON line holds besides the name and the machine's load and cores: the
    measurements, the targets, and whether they were met.
    """
    lines = [tuple(header), *(tuple(str(cell) for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    load = os.getloadavg()[0]
    print(f"\n{name} (load average {load:.1f}, {os.cpu_count()} cores)")
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print(json.dumps({"benchmark": name, "load": round(load, 2), "cores": os.cpu_count(), **figures}), flush=True)


def print_findings(part: str, findings: Mapping[str, Any]) -> None:
    """Print the measurements of one part of a benchmark as soon as the part ends, because the whole run is long."""
    print(json.dumps({part: findings}), file=sys.stderr, flush=True)


def report_parts(
    name: str, findings: Mapping[str, dict[str, Any]], is_target_met: Callable[[str, dict[str, Any]], bool]
) -> None:
    """Report a benchmark that has parts, each with its own targets.

    findings: {part: {what was measured: value}}; is_target_met: (part, its findings) -> whether it met its targets.
    """
    verdicts = {part: is_target_met(part, part_findings) for part, part_findings in findings.items()}
    rows = [
        (part if not number else "", ("yes" if verdicts[part] else "no") if not number else "", key, value)
        for part, part_findings in findings.items()
        for number, (key, value) in enumerate(part_findings.items())
    ]
    report(name, ("part", "target met", "measured", "value"), rows, parts=findings, **judge_targets(verdicts))


def judge_targets(verdicts: Mapping[str, bool]) -> dict[str, Any]:
    """For the JSON line: whether all targets were met ("met"), and the names of those that were not ("missed").

    verdicts: {name of the target: whether it was met}.
    """
    return {"met": all(verdicts.values()), "missed": [name for name, is_met in verdicts.items() if not is_met]}
