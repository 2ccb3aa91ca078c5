"""Kills a server again and again while clients upload files, and counts lost, repeated and half indexed ones:
python -m benchmarks.killed_uploads

Clients upload files to a real server process (`quorum serve --no-page`), read the events of their uploads, leave after
a random number of them and come back. Meanwhile the process is killed (SIGKILL) at random moments and started again.
What was interrupted is sent again, until it is told as indexed. In the end every file that was told as indexed must be
in the collection once, with all its passages and its original, and nothing else may be there. Every client must have
got the numbers 1, 2, 3, ... of its uploads, each once, as the server still tells them. The server keeps the events of
the newest uploads only (MOST_UPLOADS); it may have forgotten no other.

`--uploads N` (200), `--clients N` (10), `--kills N` at most (60), `--seed N`. Most of the time the server takes to
start.
"""

import argparse
import json
import os
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks.harness import judge_targets, report
from benchmarks.killed_server import KilledServer
from quorum.retrievers.manage_documents import list_documents
from quorum.serving.documents.upload_folder import MOST_UPLOADS

LONGEST_LIFE = 6.0  # seconds from the server's first answer to the next kill, at most
COLLECTION = "mine"
PASSAGES = 3  # of each file
SECONDS_BETWEEN_TRIES = 0.5  # of a client whose server is gone: shorter ones keep a busy machine from starting it


def write_text(path: str) -> str:
    """The content of a file: three paragraphs, each a passage of its own, which say the file's name."""
    filler = " ".join(f"word{number}" for number in range(80))
    return "\n\n".join(f"Paragraph {number} of {path}. {filler}." for number in range(PASSAGES)) + "\n"


@dataclass
class Uploader:
    """A client that uploads a few files and reads all events of its uploads. files: {path: whether it is indexed};
    events: of each of its uploads.
    """

    url: str
    number: int
    rng: random.Random
    counts: Counter[str]
    files: dict[str, bool] = field(default_factory=dict)
    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def upload(self) -> None:
        """Send the files, and those that were interrupted again, until all are indexed."""
        self.files = {f"{self.number}/{name}.txt": False for name in range(self.rng.randint(1, 4))}
        while not all(self.files.values()):
            paths = [path for path, is_indexed in self.files.items() if not is_indexed]
            upload = self.send(paths)
            for event in self.read(upload):
                if event["type"] == "file_finished" and event["outcome"] == "indexed":
                    self.files[event["path"]] = True
            self.counts["sent again"] += not all(self.files.values())

    def send(self, paths: list[str]) -> str:
        """Start an upload. If no answer came, the files are sent again: nobody knows whether the first ones arrived."""
        parts = [("files", (path, write_text(path))) for path in paths]
        while True:
            try:
                address = f"{self.url}/v1/collections/{COLLECTION}/documents"
                response = httpx.post(address, files=parts, timeout=60)
            except httpx.HTTPError:
                self.counts["cut uploads"] += 1
                time.sleep(SECONDS_BETWEEN_TRIES)
                continue
            if response.status_code == 202:
                return str(response.json()["id"])
            if response.status_code not in (409, 503):
                raise RuntimeError(f"{response.status_code} {response.text[:300]}")
            time.sleep(0.2)

    def read(self, upload: str) -> list[dict[str, Any]]:
        """Read an upload's events until it has ended; the stream is left and opened again at random."""
        events = self.events.setdefault(upload, [])
        while not events or events[-1]["type"] != "upload_finished":
            after, most = (events[-1]["n"] if events else 0), self.rng.choice([1, 3, 1000])
            try:
                with closing(iterate_events(self.url, upload, after)) as stream:
                    for event in stream:
                        events.append(event)
                        most -= 1
                        if most == 0:
                            break
                self.counts["streams"] += 1
            except httpx.HTTPError:
                self.counts["cut streams"] += 1
                time.sleep(SECONDS_BETWEEN_TRIES)
        return events

    def check_events(self, kept: Collection[str]) -> None:
        """Compare what came with what the server tells now of the uploads that it keeps."""
        for upload, events in self.events.items():
            numbers = [event["n"] for event in events]
            self.counts["events"] += len(numbers)
            self.counts["events lost"] += len(set(range(1, numbers[-1] + 1)) - set(numbers))
            self.counts["events twice"] += len(numbers) - len(set(numbers))
            if upload in kept:
                self.counts["events different"] += events != list(iterate_events(self.url, upload, 0))
            else:
                self.counts["uploads forgotten"] += 1
                self.counts["forgotten too early"] += len(kept) < MOST_UPLOADS or upload > min(kept)  # ids are times


def iterate_events(url: str, upload: str, after: int) -> Iterator[dict[str, Any]]:
    """The events of an upload after a number, as they come."""
    headers = {"last-event-id": str(after)}
    with httpx.stream("GET", f"{url}/v1/uploads/{upload}/events", headers=headers, timeout=60) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith("data: "):
                yield json.loads(line[6:])


def check_collection(uploaders: list[Uploader], store: Path, counts: Counter[str]) -> None:
    """Count what the collection lacks, has twice or has in part."""
    documents = Counter[str]()
    for document in list_documents(COLLECTION, store):
        original = Path(document.name)
        path = "/".join(original.parts[-2:])
        documents[path] += 1
        counts["half indexed"] += document.passages != PASSAGES
        counts["originals wrong"] += not original.is_file() or original.read_text() != write_text(path)
    sent = {path for uploader in uploaders for path in uploader.files}
    counts["files"] = len(sent)
    counts["files lost"] = len(sent - set(documents))
    counts["files twice"] = sum(number - 1 for number in documents.values())
    counts["files nobody sent"] = len(set(documents) - sent)


def measure(uploads: int, clients: int, most_kills: int, seed: int, folder: Path) -> Counter[str]:
    """Upload so many times and kill the server meanwhile. Returns counts of what happened."""
    rng, counts, is_over = random.Random(seed), Counter[str](), threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = int(free.getsockname()[1])
    store = folder / "store"
    server = KilledServer(store, "http://127.0.0.1:9/v1", port, ("--collections", "all"))
    server.start()

    def kill_again_and_again() -> None:
        longest = LONGEST_LIFE
        while server.kills < most_kills and not is_over.wait(rng.uniform(0.1, longest)):
            server.kill()
            started_at = time.monotonic()
            try:
                server.start()
            except RuntimeError as error:  # the clients would wait for ever
                print(f"killed_uploads: {error}", file=sys.stderr, flush=True)
                os._exit(1)
            longest = max(LONGEST_LIFE, 2 * (time.monotonic() - started_at))  # a busy machine must get on

    uploaders = [Uploader(server.url, n, random.Random(seed + 10 + n), Counter()) for n in range(uploads)]
    killer = threading.Thread(target=kill_again_and_again)
    killer.start()
    try:
        with ThreadPoolExecutor(clients) as pool:
            list(pool.map(Uploader.upload, uploaders))
        is_over.set()
        killer.join()
        kept = {upload["id"] for upload in httpx.get(f"{server.url}/v1/uploads", timeout=60).json()["data"]}
        for uploader in uploaders:
            uploader.check_events(kept)
            counts.update(uploader.counts)
    finally:
        is_over.set()
        killer.join()
        server.kill()
        server.kills -= 1  # this one only ends the process
    check_collection(uploaders, store, counts)
    counts["kills"], counts["uploads"] = server.kills, sum(len(one.events) for one in uploaders)
    return counts


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 if nothing was lost, came twice or is there in part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.killed_uploads")
    for name, default in (("uploads", 200), ("clients", 10), ("kills", 60), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args(arguments)
    started_at = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        counts = measure(options.uploads, options.clients, options.kills, options.seed, Path(folder))
    told = ("uploads", "files", "kills", "cut uploads", "sent again", "streams", "cut streams", "events")
    told += ("uploads forgotten",)
    wrong = ("files lost", "files twice", "files nobody sent", "half indexed", "originals wrong")
    wrong += ("events lost", "events twice", "events different", "forgotten too early")
    rows = [(name, counts[name]) for name in (*told, *wrong)] + [("seconds", round(time.perf_counter() - started_at))]
    targets = {name: counts[name] == 0 for name in wrong}
    report("killed_uploads", ("what", "count"), rows, parts=dict(rows), **judge_targets(targets))
    return 0 if all(targets.values()) and counts["kills"] else 1


if __name__ == "__main__":
    sys.exit(main())
