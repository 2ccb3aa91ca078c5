"""A loopback collector that speaks as much of LangSmith's protocol as its client needs to hand in a trace."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BATCHES = {
    "use_multipart_endpoint": False,
    "scale_up_qsize_trigger": 1000,
    "scale_up_nthreads_limit": 1,
    "scale_down_nempty_trigger": 4,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
}
INFO = {"version": "0.13.0", "batch_ingest_config": BATCHES}


@dataclass
class Run:
    """What arrived of one run, begin and end together."""

    sent: dict[str, Any]
    children: list["Run"] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.sent["name"])

    @property
    def kind(self) -> str:
        return str(self.sent["run_type"])

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = self.sent["extra"]["metadata"]
        return found

    def tree(self) -> tuple[str, list[Any]]:
        """(name, children's trees in the order in which they began)."""
        return self.name, [child.tree() for child in self.children]

    def below(self, name: str) -> "Run":
        """The child of that name."""
        (found,) = [child for child in self.children if child.name == name]
        return found

    def all(self) -> list["Run"]:
        """This run and all below it."""
        return [self, *(run for child in self.children for run in child.all())]


class Collector:
    """`url` is for LANGSMITH_ENDPOINT; `text` is every byte of every request, headers included."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.text = ""
        self.guard = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def take(self, path: str, body: bytes) -> None:
        with self.guard:
            self.text += body.decode()
            if path.endswith("/runs/batch"):
                batch = json.loads(body)
                for run in [*(batch.get("post") or []), *(batch.get("patch") or [])]:
                    kept = self.runs.setdefault(run["id"], {})
                    kept.update({name: value for name, value in run.items() if value is not None})

    def roots(self) -> list[Run]:
        """The traces, whole, in the order in which they began."""
        with self.guard:
            runs = {id_: Run(sent) for id_, sent in sorted(self.runs.items(), key=lambda item: item[1]["dotted_order"])}
        for run in runs.values():
            if run.sent.get("parent_run_id"):
                runs[run.sent["parent_run_id"]].children.append(run)
        return [run for run in runs.values() if not run.sent.get("parent_run_id")]

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    """The request handler of one collector."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self.answer(INFO)

        def do_POST(self) -> None:
            collector.take(self.path, self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.answer({})

        def answer(self, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
