"""Notes how every HTTP request ends, also those that are refused: an ASGI wrapper around the whole server."""

import asyncio
import json
from contextlib import suppress

from quorum.serving.access_control import PUBLIC_PATH, App, Message, Receive, Scope, Send
from quorum.serving.log.log_file import LogFile
from quorum.serving.log.record import CLIENT_LEFT, CURRENT_RECORD, NO_NAME, RequestRecord, clean_path, clean_verb
from quorum.serving.log.server_span import trace_request
from quorum.serving.metrics import ClientMetrics

FORBIDDEN = (401, 403)  # the client is unknown: its address is noted
LARGEST_ERROR = 10_000  # bytes of a refusal in which its code is looked for


class RequestLog:
    """Where the records of requests go: to the counters by client and, if there is one, to the log file.

    with_texts: the lines hold questions and answers.
    """

    def __init__(self, file: LogFile | None = None, *, with_texts: bool = False) -> None:
        self.file, self.with_texts, self.metrics = file, with_texts, ClientMetrics()

    def add(self, record: RequestRecord) -> None:
        """Count a request, or an answer of a run, that has ended, and log it."""
        self.metrics.record(record)
        if self.file is not None:
            self.file.write(record.to_json(with_texts=self.with_texts))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


class LoggedApp:
    """An application whose requests are noted. A successful request of /health is not: monitoring sends many."""

    def __init__(self, app: App, log: RequestLog) -> None:
        self.app, self.log = app, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        record = RequestRecord(self.log.add, http=clean_verb(scope["method"]), path=clean_path(scope["path"]))
        response = NotedResponse(record, send)
        scope["state"] = {**scope.get("state", {}), "record": record}
        token = CURRENT_RECORD.set(record)
        try:
            with trace_request(scope, record):
                await self.watch(scope, receive, response)
        finally:
            CURRENT_RECORD.reset(token)
            if record.final_status in FORBIDDEN and record.client == NO_NAME and scope.get("client"):
                record.address = str(scope["client"][0])
            if not record.collection:
                record.collection = clean_path(str(scope.get("path_params", {}).get("collection", "")))
            if scope["path"] != PUBLIC_PATH or record.final_status != 200:
                record.end_response()

    async def watch(self, scope: Scope, receive: Receive, response: "NotedResponse") -> None:
        """Let the application answer, and note if the response does not come to its end."""
        try:
            await self.app(scope, receive, response.send)
        except asyncio.CancelledError:  # the server ends
            response.record.fail(503, "server_stopped")
            raise
        except Exception:
            response.record.fail(500, "internal_error")
            raise
        if not response.has_ended:
            response.record.fail(CLIENT_LEFT, "client_left")


class NotedResponse:
    """Notes the status and error code of a response, and whether it was sent to its end."""

    def __init__(self, record: RequestRecord, send: Send) -> None:
        self.record, self.send_on, self.error, self.has_ended = record, send, b"", False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.record.sent = message["status"]
        elif self.record.sent >= 400 and len(self.error) < LARGEST_ERROR:
            self.error += message.get("body", b"")
        await self.send_on(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.has_ended = True
            if self.error and not self.record.code:
                self.record.code = read_error_code(self.error)


def read_error_code(body: bytes) -> str:
    """The code of a refusal in OpenAI's format; empty for any other body."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        return str(json.loads(body)["error"].get("code") or "")
    return ""
