"""Hangs up on clients that connect and then send no request, or only a part of one."""

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_SECONDS = 60.0  # for the head of a request; also the longest pause in its body


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc]  # uvicorn chooses one of two classes
    """uvicorn's protocol, which waits for a connection's first request, and for the rest of any request, only
    `request_seconds` seconds. Between two requests uvicorn itself waits 5 s.

    uvicorn has no option for this. The attribute `cycle` and the methods of its protocols are not public: a test names
    the version (docs/dependencies.md).
    """

    request_seconds = REQUEST_SECONDS
    patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_in_body():
            self.stop_watching()  # the pause begins anew
        self.watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self.stop_watching()
        super().connection_lost(exc)

    def is_in_body(self) -> bool:
        """Whether the head of the request has come, but not its whole body."""
        return self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete

    def watch(self) -> None:
        """Start the clock if the client has to send something; stop it while the server works."""
        if self.cycle is None or self.cycle.response_complete or self.is_in_body():
            if self.patience is None and not self.transport.is_closing():
                self.patience = self.loop.call_later(self.request_seconds, self.hang_up)
        else:
            self.stop_watching()

    def stop_watching(self) -> None:
        if self.patience is not None:
            self.patience.cancel()
            self.patience = None

    def hang_up(self) -> None:
        self.patience = None
        is_upgraded = self.transport.get_protocol() is not self  # another protocol, such as WebSocket, has taken over
        if not is_upgraded and not self.transport.is_closing():
            self.transport.close()
