"""A loopback server in place of a model's: its replies never end, unpack to far more, or send requests elsewhere."""

import gzip
import json
import threading
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal

from loopback_server import LoopbackServer

Attack = Literal["endless", "endless_stream", "drip", "dripping_head", "bomb", "redirect", "headers"]
STREAM_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "test", "choices": []}


class HostileServer:
    """Answers every request by one attack, until `close`.

    endless: a JSON text without end; endless_stream: events without end; drip: such events, ten in a second;
    dripping_head: a header that grows ten times in a second; bomb: a small gzipped body of 60 MB; redirect (with
    `status`): the request is to be sent again to `target`; headers: headers without end.
    bodies: what was sent to it. sent: bytes of bodies that it has sent.
    """

    def __init__(self, attack: Attack, target: str = "") -> None:
        self.attack, self.target, self.status = attack, target, 307
        self.bodies: list[bytes] = []
        self.sent = 0
        self.is_closed = threading.Event()
        self.http = LoopbackServer(make_handler(self))
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.url = f"{self.address}/v1"

    def close(self) -> None:
        self.is_closed.set()
        self.http.stop()


@cache
def make_bomb() -> bytes:
    """60 MB of JSON in about 60 KB."""
    return gzip.compress(b'{"choices": [{"message": {"content": "' + b"a" * 60_000_000 + b'"}}]}')


def make_event(text: str) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}
    return f"data: {json.dumps({**STREAM_CHUNK, 'choices': [choice]})}\n\n".encode()


def make_handler(server: HostileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Write no log."""

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            server.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.close_connection = True
            with suppress(OSError):  # the client has gone
                getattr(self, f"send_{server.attack}")()

        def send_head(self, kind: str, **headers: str) -> None:
            self.send_response(200)
            for name, value in {"Content-Type": kind, "Connection": "close", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()

        def write(self, data: bytes) -> None:
            self.wfile.write(data)
            server.sent += len(data)

        def send_endless(self) -> None:
            self.send_head("application/json")
            self.write(b'{"choices": [{"message": {"content": "')
            while not server.is_closed.is_set():
                self.write(b"a" * 100_000)

        def send_endless_stream(self) -> None:
            self.send_head("text/event-stream")
            event = make_event("word " * 100_000)
            while not server.is_closed.is_set():
                self.write(event)

        def send_drip(self) -> None:
            self.send_head("text/event-stream")
            while not server.is_closed.wait(0.1):
                self.write(make_event("word "))

        def send_dripping_head(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-More: ")
            while not server.is_closed.wait(0.1):
                self.wfile.write(b"a")

        def send_bomb(self) -> None:
            data = make_bomb()
            self.send_head("application/json", Content_Encoding="gzip", Content_Length=str(len(data)))
            self.write(data)

        def send_redirect(self) -> None:
            self.send_response(server.status)
            self.send_header("Location", server.target)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def send_headers(self) -> None:
            self.send_response(200)
            while not server.is_closed.is_set():
                self.send_header("X-More", "a" * 1000)
                self.flush_headers()

    return Handler
