"""What is known of a request when it has ended: the line of the request log."""

import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from quorum.cascades.written_cascade import drop_settings
from quorum.core.redaction import redact_secrets
from quorum.core.state import Usage
from quorum.models.tracing import copy_without_secrets, hides_passages

NO_NAME = "-"  # of a client without access, and of a visitor of the page
CLIENT_LEFT = 499  # the status that nginx logs when a client has left
PLAIN_PART = re.compile(r"[\w.@:=;,>~-]{0,100}", re.ASCII)  # of a path; anything else may be a question
LONGEST_PATH = 300  # characters
VERBS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"))
OTHER_VERB = "HTTP"  # what OpenTelemetry calls a request with another verb


@dataclass
class RequestRecord:
    """A request, or a method of a run, which goes on after its request has ended.

    write: called with the record when it has ended. event: "request" or "answer" (of a run). id: the request's id;
    client: the name of its token; address: the client's, only if it has no access. sent: the HTTP status with which
    the response began; status: the status that says how it really ended, if that is another one; code: the error's.
    outcome: answered, unknown, withheld, failed or stopped; usage: by prompt name; dollars: None if a price is unknown.
    trace: OpenTelemetry's context in the request, if spans are made.
    """

    write: Callable[["RequestRecord"], None] = lambda _: None
    event: str = "request"
    id: str = ""
    client: str = NO_NAME
    address: str = ""
    http: str = ""
    path: str = ""
    sent: int = 0
    status: int = 0
    code: str = ""
    tool: str = ""
    run: str = ""
    outcome: str = ""
    method: str = ""
    collection: str = ""
    model: str = ""
    usage: Mapping[str, Usage] | None = None
    dollars: float | None = None
    question: str = ""
    answer: str = ""
    trace: Any = None
    is_answering: bool = False  # an answer has begun, and has not ended
    has_response: bool = False  # the response has ended
    began_at: float = field(default_factory=time.time)
    began: float = field(default_factory=time.perf_counter)

    @property
    def final_status(self) -> int:
        return self.status or self.sent or 200

    def begin_answer(self, method: str, collection: str, model: str, question: str) -> None:
        """Note what is asked, also if it is refused."""
        self.method, self.collection = drop_settings(method), collection
        self.model, self.question = model, question

    def end_answer(self, outcome: str, usage: Mapping[str, Usage], dollars: float | None, answer: str) -> None:
        """Note the outcome of a question or side task, and what it took."""
        self.outcome, self.usage, self.dollars, self.answer = outcome, usage, dollars, answer
        self.is_answering = False
        if outcome == "stopped" and not self.status:
            self.fail(CLIENT_LEFT, "stopped")
        if self.event == "answer" or self.has_response:  # no response ends after it
            self.write(self)

    def end_response(self) -> None:
        """Write the record. That of an MCP tool whose client has left is written when its answer has ended, too."""
        self.has_response = True
        if not self.is_answering:
            self.write(self)

    def fail(self, status: int, code: str | None) -> None:
        """Note that a response that may have begun well did not end so."""
        self.status, self.code = status, code or ""

    def branch(self, run: str) -> "RequestRecord":
        """The record of a method of a run that this request starts."""
        return RequestRecord(self.write, "answer", self.id, self.client, run=run)

    def to_json(self, *, with_texts: bool = False) -> dict[str, Any]:
        """The fields of the line; those that say nothing are left out. with_texts: question and answer, too."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(self.began_at, UTC).isoformat(timespec="milliseconds"),
            "event": self.event,
            "client": self.client,
        }
        self.model = redact_secrets(self.model)
        names = ("id", "address", "http", "path", "run", "tool", "method", "collection", "model", "outcome")
        fields |= {name: getattr(self, name) for name in names if getattr(self, name)}
        fields["status"] = self.final_status
        if self.sent and self.sent != self.final_status:
            fields["sent"] = self.sent
        if self.code:
            fields["code"] = self.code
        if self.usage is not None:
            fields |= {
                "calls": sum(item["calls"] for item in self.usage.values()),
                "input_tokens": sum(item["input_tokens"] for item in self.usage.values()),
                "output_tokens": sum(item["output_tokens"] for item in self.usage.values()),
                "dollars": None if self.dollars is None else float(f"{self.dollars:.6g}"),
            }
        fields["ms"] = round(1000 * (time.perf_counter() - self.began), 1)
        if with_texts and self.question:
            texts = {"question": self.question} | ({"answer": self.answer} if self.answer else {})
            fields |= copy_without_secrets(texts, hides_passages())
        return fields


# The record of the HTTP request that the current code answers. A task that the request starts keeps it.
CURRENT_RECORD: ContextVar[RequestRecord | None] = ContextVar("quorum_request", default=None)


def get_record() -> RequestRecord:
    """The record of the request that the current code answers; one that nobody reads if there is no request."""
    return CURRENT_RECORD.get() or RequestRecord()


def clean_verb(verb: str) -> str:
    """The verb of a request; OTHER_VERB for what may be any text."""
    return verb if verb in VERBS else OTHER_VERB


def clean_path(path: str) -> str:
    """A path without the parts that may be a question or other text of a person.

    >>> clean_path("/v1/models/concat@handbook"), clean_path("/v1/Who books train tickets?")
    ('/v1/models/concat@handbook', '/v1/…')
    """
    return "/".join(part if PLAIN_PART.fullmatch(part) else "…" for part in path.split("/"))[:LONGEST_PATH]
