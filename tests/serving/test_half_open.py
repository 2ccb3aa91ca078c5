"""A client that connects and sends no whole request is hung up on; one that waits for an answer is not."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from quorum.serving.patient_protocol import PatientProtocol

HEAD = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\n"


class HastyProtocol(PatientProtocol):
    request_seconds = 0.01


@pytest.mark.parametrize("sent", [b"", b"POST / HTT", HEAD, HEAD + b"12"])
async def test_a_half_open_connection_is_closed(sent: bytes) -> None:
    async with await start_server(answer, protocol_class=HastyProtocol) as server:
        reader, writer = await connect(server)
        writer.write(sent)
        with suppress(ConnectionResetError):
            assert b"200" not in await reader.read()
        writer.close()


async def test_a_slow_answer_and_a_second_request_are_waited_for() -> None:
    async with await start_server(answer) as server:
        reader, writer = await connect(server)
        for _ in range(2):
            writer.write(HEAD + b"1234")
            assert b"200" in await reader.readuntil(b"done")
        writer.close()


async def test_the_clock_stands_still_while_the_server_works() -> None:
    protocols: list[PatientProtocol] = []
    async with await start_server(answer, protocols) as server:
        reader, writer = await connect(server)
        writer.write(HEAD + b"1234")
        await reader.readuntil(b"done")
        [protocol] = protocols
        assert WAS_WATCHED == [False]
        assert protocol.patience is not None  # for the next request
        writer.close()


WAS_WATCHED: list[bool] = []
PROTOCOLS: list[PatientProtocol] = []


async def answer(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    WAS_WATCHED[:] = [any(protocol.patience is not None for protocol in PROTOCOLS)]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"done"})


async def start_server(
    app: Any, protocols: list[PatientProtocol] | None = None, protocol_class: type[PatientProtocol] = PatientProtocol
) -> asyncio.Server:
    config = Config(app, log_level="critical", lifespan="off", ws="none")
    config.load()
    made = PROTOCOLS if protocols is None else protocols
    PROTOCOLS.clear()

    def make() -> PatientProtocol:
        protocol = protocol_class(config=config, server_state=ServerState(), app_state={})
        made.append(protocol)
        PROTOCOLS.append(protocol) if made is not PROTOCOLS else None
        return protocol

    return await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)


async def connect(server: asyncio.Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
