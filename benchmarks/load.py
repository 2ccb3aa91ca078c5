"""Many clients of one server at once: python -m benchmarks.load [--clients N] [--seconds S] [--faults SHARE]

`quorum serve` runs in a process of its own. 200 clients ask one question after the other for three minutes: whole
answers, streams, and runs of two methods whose events they read; some leave while they wait. A tenth of the model
server's replies are faults: 429, 500, 502, connections that are dropped, that hang or are slow, truncated replies.
Every question has a number of its own (a nonce), which the model repeats, so that an answer shows to which question it
belongs. The collection lists these numbers, so that the answers stand in the passages, as real ones do.

Targets: no question without an answer of its own or an error that says so (lost), no answer with the number of
another question (mixed up), at most one of 1,000 questions failed, a line of the request log for every request, with
the status that the client saw; memory that grows by at most 5% from the end of the warm-up (a third of the time) to the
end; after the end as many open files as after the first questions, and at most 32 connections more: the server keeps
those to the model server, of which it uses 32 at once.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import quorum
from benchmarks.harness import MODEL, ServerControl, judge_targets, report, run_server
from benchmarks.serving import read_processor_seconds, run_quorum
from quorum.core.context import Context
from quorum.serving.service import MAX_RUNNING

NONCE = r"\b1\d{7}\b"
KINDS = {"whole": 5, "stream": 3, "run": 1, "leave": 1}  # what a client does, and how often
COLLECTION, NUMBERS_OF_A_CLIENT, NUMBERS_OF_A_PASSAGE = "register", 150, 50
METHODS = ("concat", "concat", "post_fusion", "no_retrieval")
LATENCY = 0.05  # seconds of a model call, the median of a log-normal
MOST_FAILED, MOST_GROWTH = 0.001, 0.05
SETTLE_SECONDS = 15.0  # after the end, until connections are closed (uvicorn keeps an idle one for 5 s)
PATIENCE = 600.0  # seconds that a client waits for a piece of an answer; a busy machine has few answers a second
MOST_FILES_LEFT = 3  # open files more than at the beginning


@dataclass(frozen=True)
class Sample:
    """The state of the server's process. at, processor: in seconds; memory: resident, in MB; connections: open sockets;
    files: all other open files.
    """

    at: float
    processor: float
    memory: float
    files: int
    connections: int
    threads: int


@dataclass
class Tally:
    """What became of the questions. seconds: of each answer; statuses: by request id, what the client saw; wrong:
    examples of what was lost or mixed up.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def judge(self, nonce: str, text: str | None, error: str) -> None:
        """Count a question. text: its answer, None if there is none; error: what the server said instead."""
        found = set() if text is None else set(re.findall(NONCE, text))
        if found - {nonce}:
            outcome = "mixed up"
        elif nonce in found:
            outcome = "answered"
        else:
            outcome = "failed" if error else "lost"
        self.outcomes[outcome] += 1
        if outcome != "answered" and len(self.wrong) < 20:
            self.wrong.append(f"{outcome}: {nonce}: {error or text}"[:300])


def write_register(folder: Path, clients: int) -> None:
    """Index passages that list the numbers of the questions. The model server makes their embeddings."""
    file = folder / "register.jsonl"
    with file.open("w") as lines:
        for client in [*range(clients), 999]:
            for first in range(0, NUMBERS_OF_A_CLIENT, NUMBERS_OF_A_PASSAGE):
                numbers = [make_nonce(client, first + number) for number in range(NUMBERS_OF_A_PASSAGE)]
                record = {
                    "id": f"{client}-{first}",
                    "title": "Register",
                    "text": "In the register: " + ", ".join(numbers),
                }
                lines.write(json.dumps(record) + "\n")
    quorum.index(file, collection=COLLECTION, context=Context(store=str(folder / "served"), embeddings=MODEL))


def make_nonce(client: int, number: int) -> str:
    return f"1{client:03}{number:04}"


class Client:
    """A client that asks one question after the other."""

    def __init__(self, number: int, http: httpx.AsyncClient, tally: Tally) -> None:
        self.http, self.tally = http, tally
        self.number, self.asked, self.draw = number, 0, random.Random(number)

    async def ask_until(self, end: float) -> None:
        while time.monotonic() < end:
            self.asked += 1
            nonce = make_nonce(self.number, self.asked)
            [kind] = self.draw.choices(list(KINDS), list(KINDS.values()))
            begin = time.monotonic()
            await getattr(self, f"ask_{kind}")(nonce)
            if kind in ("whole", "stream"):
                self.tally.seconds.append(time.monotonic() - begin)

    def make_body(self, nonce: str, *, is_streamed: bool) -> dict[str, Any]:
        question = f"What is written about the number {nonce}?"
        messages = [{"role": "user", "content": question}]
        model, own = self.draw.choice(METHODS), {"sources": False}
        return {"model": model, "messages": messages, "stream": is_streamed, "quorum": own}

    async def ask_whole(self, nonce: str) -> None:
        try:
            response = await self.post("/v1/chat/completions", self.make_body(nonce, is_streamed=False), nonce)
        except httpx.HTTPError as error:
            self.tally.judge(nonce, None, "")
            self.tally.wrong.append(repr(error))
            return
        body = response.json()
        text = body["choices"][0]["message"]["content"] if response.status_code == 200 else None
        self.tally.judge(nonce, text, "" if response.status_code == 200 else f"{response.status_code} {body}")

    async def ask_stream(self, nonce: str) -> None:
        text, error = "", ""
        with suppress(httpx.HTTPError):
            body = self.make_body(nonce, is_streamed=True)
            async for event in self.read_stream("POST", "/v1/chat/completions", f"n-{nonce}", body):
                if event == "[DONE]":
                    break
                chunk = json.loads(event)
                error = str(chunk["error"]) if "error" in chunk else error
                text += "".join(choice["delta"].get("content") or "" for choice in chunk.get("choices", ()))
        self.tally.judge(nonce, None if error else text, error)

    async def ask_run(self, nonce: str) -> None:
        """Start a run of two methods, and read its events, in two connections."""
        answers, errors, last = {}, {}, 0
        with suppress(httpx.HTTPError):
            body = {"question": f"What is written about the number {nonce}?", "methods": ["concat", "no_retrieval"]}
            response = await self.post("/v1/runs", body, nonce)
            if response.status_code != 201:
                self.tally.judge(nonce, None, response.text)
                return
            events = f"/v1/runs/{response.json()['id']}/events"
            for part in ("a", "b"):
                async for data in self.read_stream("GET", f"{events}?after={last}", f"n-{nonce}-{part}"):
                    event = json.loads(data)
                    last = event["n"]
                    if event["type"] == "method_finished":
                        answers[event["method"]] = str(event["result"]["answer"])
                    elif event["type"] == "error":
                        errors[event["method"]] = event["sentence"]
                    if part == "a" and last >= 3:
                        break
        missing = {"concat", "no_retrieval"} - answers.keys() - errors.keys()
        text = None if missing or errors else " ".join(answers.values())
        self.tally.judge(nonce, text, "" if missing else str(errors or ""))

    async def ask_leave(self, nonce: str) -> None:
        """Leave while the answer is made."""
        body = self.make_body(nonce, is_streamed=self.draw.random() < 0.5)
        task = asyncio.create_task(self.http.post("/v1/chat/completions", json=body))
        await asyncio.sleep(self.draw.uniform(0, 0.2))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self.tally.outcomes["left"] += 1

    async def post(self, path: str, body: Any, nonce: str) -> httpx.Response:
        response = await self.http.post(path, json=body, headers={"x-request-id": f"n-{nonce}"})
        self.tally.statuses[f"n-{nonce}"] = response.status_code
        return response

    async def read_stream(self, method: str, path: str, request_id: str, body: Any = None) -> AsyncIterator[str]:
        """The data of the events."""
        headers = {"x-request-id": request_id}
        async with self.http.stream(method, path, json=body, headers=headers) as response:
            self.tally.statuses[request_id] = response.status_code
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    yield line.removeprefix("data: ")


def measure(pid: int, begin: float) -> Sample:
    """The state of the server's process, from Linux's /proc."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident, threads = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) for name in ("VmRSS", "Threads"))
    names = [read_link(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
    connections = sum(name.startswith("socket:") for name in names)
    now, processor = time.monotonic() - begin, read_processor_seconds(pid)
    return Sample(now, processor, resident / 1024, len(names) - connections, connections, threads)


def read_link(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


async def ask_all(url: str, pid: int, options: argparse.Namespace) -> tuple[Tally, list[Sample]]:
    """Let all clients ask. The samples: one before, one a second meanwhile, and one when all have gone."""
    tally = Tally()
    limits = httpx.Limits(max_connections=2 * options.clients, max_keepalive_connections=options.clients)

    async def sample(samples: list[Sample], begin: float) -> None:
        while True:
            await asyncio.sleep(1)
            samples.append(measure(pid, begin))

    async with httpx.AsyncClient(base_url=url.rstrip("/"), timeout=PATIENCE, limits=limits) as http:
        first = Client(999, http, tally)
        for number in range(5):  # what is loaded with the first questions
            await first.ask_whole(make_nonce(999, 2 * number))
            await first.ask_run(make_nonce(999, 2 * number + 1))
    await asyncio.sleep(options.settle)
    begin = time.monotonic()
    samples = [measure(pid, begin)]
    async with httpx.AsyncClient(base_url=url.rstrip("/"), timeout=PATIENCE, limits=limits) as http:
        clients = [Client(number, http, tally) for number in range(options.clients)]
        sampling = asyncio.create_task(sample(samples, begin))
        await asyncio.gather(*(client.ask_until(begin + options.seconds) for client in clients))
        sampling.cancel()
    await asyncio.sleep(options.settle)
    return tally, [*samples, measure(pid, begin)]


def check_log(path: Path, statuses: dict[str, int]) -> Counter[str]:
    """How many requests have no line of the log, more than one, or one with another status than the client saw."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    sent: dict[str, list[int]] = {}
    for line in lines:
        if line["event"] == "request":
            sent.setdefault(line.get("id", ""), []).append(line.get("sent", line["status"]))
    found: Counter[str] = Counter(lines=len(lines))
    for id_, status in statuses.items():
        logged = sent.get(id_, [])
        found["without a line"] += not logged
        found["with several"] += len(logged) > 1
        found["with another status"] += bool(logged) and status not in logged
    return found


def measure_load(options: argparse.Namespace) -> dict[str, Any]:
    """All figures of a run."""
    behaviour = {"latency": LATENCY, "spread": 0.5, "transport": options.faults, "echo": NONCE}
    faults = {"retry_after": 0.2, "hang_seconds": 2.0, "slow_seconds": 0.3}
    with run_server(**behaviour, **faults) as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "requests.jsonl"
        write_register(folder, options.clients)
        settings = ["--model", MODEL, "--embeddings", MODEL, "--collection", COLLECTION, "--retriever", "bm25"]
        settings += ["--log-file", str(log)]
        with run_quorum(folder, settings) as (url, pid):
            tally, samples = asyncio.run(ask_all(url, pid, options))
        logged = check_log(log, tally.statuses)
        return {**summarize(tally, samples), "faults": count_faults(server), **logged}


def count_faults(server: ServerControl) -> dict[str, int]:
    counts = server.fetch_counts()
    return {"calls": sum(counts["calls"].values()), **counts["transport"]}


def summarize(tally: Tally, samples: list[Sample]) -> dict[str, Any]:
    """The figures of the questions, and of the server's process."""
    first, *loaded, after = samples
    warm = [sample.memory for sample in loaded if sample.at > loaded[-1].at / 3]
    size = max(1, len(warm) // 6)
    begin_mb, end_mb = statistics.median(warm[:size]), statistics.median(warm[-size:])
    seconds = sorted(tally.seconds) or [0.0]
    questions = sum(tally.outcomes.values())
    return {
        **{name: tally.outcomes[name] for name in ("answered", "left", "failed", "lost", "mixed up")},
        "questions a second": round(questions / loaded[-1].at, 1),
        "seconds of an answer: median, 99%": [round(seconds[int(share * len(seconds))], 2) for share in (0.5, 0.99)],
        "processor ms a question": round(1000 * (loaded[-1].processor - first.processor) / questions, 1),
        "MB at first, warm, at the end": [round(value) for value in (first.memory, begin_mb, end_mb)],
        "growth": round(end_mb / begin_mb - 1, 4),
        **{
            f"{name} at first, at most, after": [getattr(first, name), highest(loaded, name), getattr(after, name)]
            for name in ("files", "connections", "threads")
        },
        "wrong": tally.wrong,
    }


def highest(samples: list[Sample], name: str) -> int:
    return max(getattr(sample, name) for sample in samples)


def judge(figures: dict[str, Any]) -> dict[str, bool]:
    """{target: whether it was met}."""
    first, _, after = figures["files at first, at most, after"]
    first_connections, _, connections = figures["connections at first, at most, after"]
    asked = figures["answered"] + figures["failed"]
    return {
        "none lost": figures["lost"] == 0,
        "none mixed up": figures["mixed up"] == 0,
        "failed": figures["failed"] <= max(1, MOST_FAILED * asked),
        "memory flat": figures["growth"] <= MOST_GROWTH,
        "files flat": after <= first + MOST_FILES_LEFT and connections <= first_connections + MAX_RUNNING,
        "each request logged": not (
            figures["without a line"] or figures["with several"] or figures["with another status"]
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--faults", type=float, default=0.1, help="the share of the model's replies that are faults")
    parser.add_argument("--settle", type=float, default=SETTLE_SECONDS, help="seconds until idle connections close")
    options = parser.parse_args()
    figures = measure_load(options)
    report("load", ("measured", "value"), list(figures.items()), **figures, **judge_targets(judge(figures)))


if __name__ == "__main__":
    main()
