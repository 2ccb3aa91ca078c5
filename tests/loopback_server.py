"""The HTTP server on which the tests' loopback servers (openai_server.py, langsmith_server.py) are built."""

import socket
import ssl
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE, KEY = (Path(__file__).with_name(f"loopback_{name}.pem") for name in ("certificate", "key"))


class LoopbackServer(ThreadingHTTPServer):
    """A threading HTTP server for many clients at once, which serves as soon as it is made. port: 0 for any free port.

    It differs from Python's ThreadingHTTPServer in two ways. That server queues only five waiting connections, and a
    client that finds the queue full tries again only a second later; this one queues 1000. That server looks only twice
    a second whether it should stop, so its `shutdown` may take half a second; `stop` of this one stops at once.
    """

    daemon_threads = True
    request_queue_size = 1000

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0, *, has_tls: bool = False) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.is_stopping = False
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) if has_tls else None
        if self.tls is not None:
            self.tls.load_cert_chain(CERTIFICATE, KEY)
        self.thread = threading.Thread(target=self.accept_connections, daemon=True)
        self.thread.start()

    def accept_connections(self) -> None:
        while True:
            connection, address = self.get_request()
            if self.is_stopping:
                connection.close()
                return
            self.process_request(connection, address)

    def get_request(self) -> tuple[Any, Any]:
        """The next connection. With TLS, the handshake is made later, by the thread that answers the connection's
        requests, so that a slow client does not keep others waiting.
        """
        connection, address = super().get_request()
        if self.tls is not None:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def stop(self) -> None:
        """Accept no more connections. Those that are open stay open."""
        self.is_stopping = True
        with suppress(OSError):
            socket.create_connection(self.server_address[:2]).close()  # ends the wait for the next connection
        self.thread.join()
        self.server_close()
