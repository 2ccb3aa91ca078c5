"""A loopback server that speaks the OpenAI protocol: chat completions (also streamed), completions that echo the
prompt with log-probabilities, embeddings, models; and reranking, as vLLM does beside it.

`server.reply(...)` sets its replies, `server.requests` records the requests. It runs in threads of its own, and the
code under test talks to it through real sockets.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import islice
from typing import Any

from loopback_server import LoopbackServer
from openai_bodies import (
    Response,
    make_chunks,
    make_completion,
    make_echo,
    make_embeddings,
    make_error,
    rank_by_length,
)

CHAT_PATH, EMBEDDINGS_PATH, MODELS_PATH = "/v1/chat/completions", "/v1/embeddings", "/v1/models"
COMPLETIONS_PATH, RERANK_PATH = "/v1/completions", "/v1/rerank"
LONGEST_WAIT = 300.0  # seconds until a test gives up: no test fails because the machine is busy


@dataclass(frozen=True)
class Request:
    """A request that the server received. Header names are lower-case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """The last message of a chat request."""
        return str(self.body["messages"][-1]["content"])


Answer = str | Response
Script = Answer | list[Answer] | Callable[[Request], Answer]


class OpenAIServer:
    """The server, which runs until `close`. Until `reply` is called, it answers every chat request with "unknown" and
    every completion request with an echo of the prompt.

    has_tls: whether it speaks HTTPS, with the certificate that all tests trust. url: its address, which ends in /v1.
    most_open_requests: the highest number of requests that were being answered at the same time. models: the names that
    GET /v1/models lists.
    """

    def __init__(self, port: int = 0, *, has_tls: bool = False) -> None:
        self.requests: list[Request] = []
        self.most_open_requests = 0
        self.models = ["test"]
        self.make_embeddings: Callable[[dict[str, Any]], Any] = make_embeddings  # the body of a reply, or a response
        self.rerank: Callable[[dict[str, Any]], Any] = rank_by_length  # the body of a reply, or a response
        # Guards the fields that several threads change; notified when a request begins or ends.
        self.state_changed = threading.Condition()
        self.release_event = threading.Event()
        self.script: Script = "unknown"
        self.open_requests = 0
        self.connections: set[socket.socket] = set()
        self.http = LoopbackServer(make_handler(self), port, has_tls=has_tls)
        self.port: int = self.http.server_address[1]
        self.url = f"http{'s' if has_tls else ''}://127.0.0.1:{self.port}/v1"

    def reply(self, script: Script) -> None:
        """Set the reply to chat and completion requests: one reply for all requests, a list with a reply for each
        request in turn, or a function from a request to its reply.

        A completion request gets an echo of its prompt; the reply's text, finish_reason, usage, message and headers are
        ignored. A reply with a status or a body is sent in place of the echo; `hold`, `drop` and `truncate` work as for
        chat requests (see `Response`).
        """
        with self.state_changed:
            self.script = list(script) if isinstance(script, list) else script

    def release_held_replies(self) -> None:
        """Send every reply that waits because of `hold` (see `Response`), and hold no later one."""
        self.release_event.set()

    def chats(self) -> list[Request]:
        """The chat requests so far."""
        return [request for request in self.requests if request.path == CHAT_PATH]

    def wait_for_requests(self, count: int, seconds: float = LONGEST_WAIT) -> None:
        """Block until `count` requests have arrived (call it through asyncio.to_thread)."""
        with self.state_changed:
            if not self.state_changed.wait_for(lambda: len(self.requests) >= count, seconds):
                raise TimeoutError(f"{len(self.requests)} of {count} requests arrived")

    def wait_idle(self, seconds: float = LONGEST_WAIT) -> None:
        """Block until no request is being answered."""
        with self.state_changed:
            if not self.state_changed.wait_for(lambda: self.open_requests == 0, seconds):
                raise TimeoutError(f"{self.open_requests} requests are still being answered")

    @contextmanager
    def record_open_request(self, request: Request) -> Iterator[Answer]:
        """Record the request, count it as open until the `with` block ends, and yield the script's answer to it."""
        with self.state_changed:
            self.requests.append(request)
            self.open_requests += 1
            self.most_open_requests = max(self.most_open_requests, self.open_requests)
            script = self.script
            if isinstance(script, list) and request.path in (CHAT_PATH, COMPLETIONS_PATH):
                script = (
                    script.pop(0) if script else make_error(418, "The script of the test server has no more replies")
                )
            self.state_changed.notify_all()
        try:
            yield script(request) if callable(script) and request.path in (CHAT_PATH, COMPLETIONS_PATH) else script  # type: ignore[misc]
        finally:
            with self.state_changed:
                self.open_requests -= 1
                self.state_changed.notify_all()

    def close(self) -> None:
        self.release_held_replies()
        self.http.stop()
        self.close_connections()

    def close_connections(self) -> None:
        """Close every open connection, as a server does that restarts."""
        with self.state_changed:
            for connection in self.connections:
                hang_up(connection)


def hang_up(connection: socket.socket) -> None:
    """Close the connection in both directions, without sending anything more."""
    with suppress(OSError):  # the client closed it first
        connection.shutdown(socket.SHUT_RDWR)


def make_handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    """The request handler of one server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:
            """Write no log."""

        def setup(self) -> None:
            super().setup()
            with server.state_changed:
                server.connections.add(self.connection)

        def finish(self) -> None:
            with server.state_changed:
                server.connections.discard(self.connection)
            with suppress(OSError):  # the client has gone
                super().finish()

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # the client has gone
                self.close_connection = True

        def do_GET(self) -> None:
            self.answer({})

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(size)
            if len(body) < size:  # the client has gone before it had sent everything
                self.close_connection = True
                return
            self.answer(json.loads(body or b"{}"))

        def answer(self, body: dict[str, Any]) -> None:
            request = Request(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            with server.record_open_request(request) as scripted_reply:
                if self.path == EMBEDDINGS_PATH:
                    answer = server.make_embeddings(body)
                    return self.send(answer if isinstance(answer, Response) else Response(body=answer))
                if self.path == RERANK_PATH:
                    answer = server.rerank(body)
                    if isinstance(answer, Response) and answer.drop:
                        return hang_up(self.connection)
                    return self.send(answer if isinstance(answer, Response) else Response(body=answer))
                if self.path == MODELS_PATH:
                    models = [
                        {"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in server.models
                    ]
                    return self.send(Response(body={"object": "list", "data": models}))
                if self.path not in (CHAT_PATH, COMPLETIONS_PATH):
                    return self.send(make_error(404, f"There is nothing at {self.path}"))
                response = Response(scripted_reply) if isinstance(scripted_reply, str) else scripted_reply
                if response.hold:
                    server.release_event.wait(LONGEST_WAIT)
                if response.drop:
                    self.close_connection = True
                    return hang_up(self.connection)
                if response.status != 200 or response.body is not None:
                    return self.send(response)
                if self.path == COMPLETIONS_PATH:
                    return self.send(Response(body=make_echo(body), truncate=response.truncate))
                return self.stream(response, body) if body.get("stream") else self.send(make_completion(response, body))

        def send(self, response: Response) -> None:
            data = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
            self.send_response(response.status)
            for name, value in ({"Content-Type": "application/json"} | response.headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if response.truncate else data)
            if response.truncate:
                self.cut_connection()

        def stream(self, response: Response, body: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            events = list(make_chunks(response, body))
            for event in islice(events, len(events) // 2 if response.truncate else None):
                line = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
                self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            if response.truncate:
                self.cut_connection()
            else:
                self.wfile.write(b"0\r\n\r\n")

        def cut_connection(self) -> None:
            """Send what is written so far, then close the connection."""
            self.wfile.flush()
            self.close_connection = True
            hang_up(self.connection)

    return Handler
