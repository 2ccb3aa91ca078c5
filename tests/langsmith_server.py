"""Loopback servers for LangSmith's client: a collector of traces, and a workspace that also keeps datasets,
experiments and feedback.
"""

import json
import threading
from dataclasses import dataclass, field
from datetime import datetime
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

from loopback_server import LoopbackServer

# What LangSmith tells its client about uploads of runs: a plain JSON batch (not multipart) of at most 100 runs, which
# one thread sends.
BATCH_CONFIG = {
    "use_multipart_endpoint": False,
    "scale_up_qsize_trigger": 1000,
    "scale_up_nthreads_limit": 1,
    "scale_down_nempty_trigger": 4,
    "size_limit": 100,
    "size_limit_bytes": 20_000_000,
}
SERVER_INFO = {"version": "0.13.0", "batch_ingest_config": BATCH_CONFIG}


@dataclass
class Run:
    """A run as LangSmith means it: one step of a trace. fields: all that the client sent about it, at its start and at
    its end. children: the steps that it started.
    """

    fields: dict[str, Any]
    children: list["Run"] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.fields["name"])

    @property
    def kind(self) -> str:
        return str(self.fields["run_type"])

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = self.fields["extra"]["metadata"]
        return metadata

    def get_name_tree(self) -> tuple[str, list[Any]]:
        """(name, the children's name trees in the order in which the children began)."""
        return self.name, [child.get_name_tree() for child in self.children]

    def get_child(self, name: str) -> "Run":
        """The only child of that name."""
        (child,) = [child for child in self.children if child.name == name]
        return child

    def list_subtree(self) -> list["Run"]:
        """This run and all its descendants."""
        return [self, *(run for child in self.children for run in child.list_subtree())]


class Collector:
    """Collects traces. url: the value for LANGSMITH_ENDPOINT; runs: by id, the fields that were sent about each run;
    text: the joined bodies of all requests.
    """

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, Any]] = {}
        self.text = ""
        self.lock = threading.Lock()
        self.http = LoopbackServer(make_handler(self))
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def store_batch(self, path: str, body: bytes) -> None:
        """Add the body to `text`, and store the runs in it if it is a batch of runs."""
        with self.lock:
            self.text += body.decode()
            if path.endswith("/runs/batch"):
                batch = json.loads(body)
                for run in [*(batch.get("post") or []), *(batch.get("patch") or [])]:
                    self.merge_run(run["id"], run)

    def merge_run(self, id_: str, run: dict[str, Any]) -> None:
        """Merge new fields of a run into those that arrived before."""
        self.runs.setdefault(id_, {}).update({name: value for name, value in run.items() if value is not None})

    def answer(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, Any]:
        """Answer a request with (status, JSON)."""
        if method == "GET":
            return 200, SERVER_INFO
        self.store_batch(path, body)
        return 200, {}

    def list_traces(self) -> list[Run]:
        """The root run of each trace, in the order in which the traces began."""
        with self.lock:
            runs = {
                id_: Run(fields) for id_, fields in sorted(self.runs.items(), key=lambda item: item[1]["dotted_order"])
            }
        for run in runs.values():
            if run.fields.get("parent_run_id"):
                runs[run.fields["parent_run_id"]].children.append(run)
        return [run for run in runs.values() if not run.fields.get("parent_run_id")]

    def close(self) -> None:
        self.http.stop()


class Workspace(Collector):
    """A LangSmith account. It stores an item once, even if it arrives twice. `sessions` are its experiments, which
    LangSmith's API calls sessions.

    multipart: accept multipart requests, as LangSmith does; older servers take runs in batches and feedback one by one.
    refused_paths: a request gets 403 if its path ends in one of these.
    """

    ANY_ID = str(uuid5(NAMESPACE_URL, "any"))
    TIME = "2026-01-02T03:04:05+00:00"

    def __init__(self, multipart: bool = True) -> None:
        self.datasets: dict[str, dict[str, Any]] = {}
        self.examples: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.feedback: dict[str, dict[str, Any]] = {}
        self.versions: list[dict[str, Any]] = []
        self.refused_paths: set[str] = set()
        self.requests: list[tuple[str, str]] = []
        self.multipart = multipart
        super().__init__()

    def answer(self, method: str, path: str, body: bytes, content_type: str) -> tuple[int, Any]:
        url = urlsplit(path)
        with self.lock:
            self.requests.append((method, url.path))
            self.text += body.decode()
            if any(url.path.endswith(end) for end in self.refused_paths):
                return 403, {"detail": "no room"}
            if method == "GET" and url.path.endswith("/version"):
                version = self.find_version(url.path.split("/")[2], parse_qs(url.query))
                return (404, {"detail": "Dataset version not found"}) if version is None else (200, version)
            if method == "GET":
                return 200, self.find_items(url.path, parse_qs(url.query))
            return 200, self.store(url.path, body, content_type)

    def find_items(self, path: str, filters: dict[str, list[str]]) -> Any:
        """Answer a GET: the server's information, or the stored items with the wanted ids or names."""
        if path == "/info":
            batch_config = BATCH_CONFIG | {"use_multipart_endpoint": self.multipart}
            flags = {"dataset_examples_multipart_enabled": self.multipart}
            return {"version": "0.13.0", "batch_ingest_config": batch_config, "instance_flags": flags}
        items = {"/datasets": self.datasets, "/sessions": self.sessions, "/examples": self.examples}[path]
        for name, values in filters.items():
            if name in ("id", "name"):
                items = {id_: item for id_, item in items.items() if item[name] in values}
        found = list(items.values())
        if "dataset" in filters:
            found = [item for item in found if item["dataset_id"] in filters["dataset"]]
        if "as_of" in filters:
            found = [item for item in found if parse_time(item["created_at"]) <= parse_time(filters["as_of"][0])]
        if "id" in filters:  # LangSmith gives such items in one page
            return found
        begin, count = int(filters.get("offset", ["0"])[0]), int(filters.get("limit", ["100"])[0])
        return found[begin : begin + min(count, 100)]

    def find_version(self, dataset_id: str, filters: dict[str, list[str]]) -> dict[str, Any] | None:
        """The version of a dataset with a tag, or the last one until a time; None without one."""
        versions = [version for version in self.versions if version["dataset_id"] == dataset_id]
        if tags := filters.get("tag"):
            newest = [versions[-1]] if versions and tags == ["latest"] else []
            found = newest or [version for version in versions if tags[0] in version["tags"]]
        else:
            found = [v for v in versions if parse_time(v["as_of"]) <= parse_time(filters["as_of"][0])]
        return found[-1] if found else None

    def put_examples(self, name: str, *examples: dict[str, Any], at: str, tag: str = "") -> str:
        """Add examples to a dataset, as its next version. Returns the dataset's id."""
        dataset = self.datasets.setdefault(name, self.make_dataset(name) | {"name": name})
        for example in examples:
            id_ = str(uuid5(NAMESPACE_URL, f"{name} {len(self.examples)}"))
            own_fields = {"id": id_, "dataset_id": dataset["id"], "created_at": at, "modified_at": at, "metadata": {}}
            self.examples[id_] = own_fields | example
        self.versions.append({"dataset_id": dataset["id"], "as_of": at, "tags": [tag] if tag else []})
        return str(dataset["id"])

    def store(self, path: str, body: bytes, content_type: str) -> Any:
        """Store what a POST or PATCH sent; returns the reply's JSON."""
        if path.endswith("/multipart") or content_type.startswith("multipart"):
            return self.store_parts(path, split_form(body, content_type))
        payload = json.loads(body)
        if path == "/datasets":
            return self.datasets.setdefault(payload["name"], self.make_dataset(payload["name"]) | payload)
        if path == "/sessions":
            return self.sessions.setdefault(
                payload["id"], {"start_time": self.TIME, "tenant_id": self.ANY_ID} | payload
            )
        if path.startswith("/sessions/"):
            self.sessions[path.split("/")[2]].update({name: value for name, value in payload.items() if value})
            return self.sessions[path.split("/")[2]]
        if path == "/runs/batch":
            for run in payload.get("post") or []:
                self.merge_run(run["id"], run)
        if path == "/feedback":
            self.feedback[payload["id"]] = payload
        if path == "/examples/bulk":
            self.examples |= {item["id"]: item | {"dataset_id": self.ANY_ID} for item in payload}
        return {}

    def make_dataset(self, name: str) -> dict[str, Any]:
        return {"id": str(uuid5(NAMESPACE_URL, name)), "created_at": self.TIME, "tenant_id": self.ANY_ID}

    def store_parts(self, path: str, parts: dict[str, Any]) -> Any:
        """Store the parts of a form, whose names say what they are: a run ("post.ID" or "patch.ID") or one field of it
        ("post.ID.outputs"), feedback ("feedback.ID"), an example ("ID") or one field of it ("ID.inputs").
        """
        for name, value in parts.items():
            kind_or_id, *rest_of_name = name.split(".")
            if kind_or_id == "feedback":
                self.feedback[rest_of_name[0]] = value
            elif kind_or_id in ("post", "patch"):
                self.merge_run(rest_of_name[0], {rest_of_name[1]: value} if rest_of_name[1:] else value)
            else:
                example = self.examples.setdefault(kind_or_id, {"id": kind_or_id, "dataset_id": path.split("/")[-2]})
                example.update({rest_of_name[0]: value} if rest_of_name else value)
        return {"count": len(parts), "example_ids": []}


def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace(" ", "+"))  # a plus sign that a client did not quote arrives as a space


def split_form(body: bytes, content_type: str) -> dict[str, Any]:
    """{name of a part: its value, parsed as JSON} for the parts of a multipart form."""
    form: Any = message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    parts_by_name = {part.get_param("name", header="content-disposition"): part for part in form.get_payload()}
    return {str(name): json.loads(part.get_payload(decode=True)) for name, part in parts_by_name.items()}


def make_handler(collector: Collector) -> type[BaseHTTPRequestHandler]:
    """The request handler of one collector."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Write no log."""

        def do_GET(self) -> None:
            self.reply("GET")

        def do_POST(self) -> None:
            self.reply("POST")

        def do_PATCH(self) -> None:
            self.reply("PATCH")

        def reply(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, reply_value = collector.answer(method, self.path, body, self.headers.get("Content-Type", ""))
            data = json.dumps(reply_value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
