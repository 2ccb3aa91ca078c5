"""Attacks by a server that Quorum asks, and by a user who leaves: each returns whether Quorum held, by attempt."""

import asyncio
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from time import perf_counter
from typing import Any

from hostile_server import Attack, HostileServer
from openai_bodies import Response
from openai_server import OpenAIServer

from quorum import Context, answer
from quorum.core.errors import QuorumError
from quorum.models.call import call
from quorum.models.embeddings import embeddings
from quorum.models.systems import read_system

SECRET = "the question that must not leave"
KINDS = ("chat", "embeddings", "system", "assistant")
CALLS = 10  # of the question that is left
PASSAGES: Any = [{"id": "1", "title": "Vell", "text": "The tower of Vell was built in 1874."}]


@contextmanager
def run_server(attack: Attack, target: str = "") -> Iterator[HostileServer]:
    server = HostileServer(attack, target)
    try:
        yield server
    finally:
        server.close()


async def ask(kind: str, server: HostileServer, timeout: float = 30.0) -> str:
    """Send SECRET to a server. Returns the error's message; "" if there is none."""
    os.environ.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
    context = Context(model="openai:test", journal="off", attempts=1, timeout=timeout)
    try:
        if kind == "chat":
            await call("answer", SECRET, context=context)
        elif kind == "embeddings":
            model: Any = embeddings("openai:test")
            model.client.request_seconds = timeout
            await asyncio.to_thread(model.embed_query, SECRET)
        else:
            spec = f"langgraph:{server.address}#agent" if kind == "assistant" else f"{server.url}#test"
            await read_system("mine", spec).ask(SECRET, None, context)
    except QuorumError as error:
        return str(error)
    return ""


async def attack_by_redirects(rng: random.Random) -> list[bool]:
    """Redirects of five statuses to another port, another host and addresses of odd forms."""
    held = []
    with run_server("redirect") as other:
        port = other.address.rsplit(":", 1)[1]
        forms = (
            *(f"{other.url}/x", f"//127.0.0.1:{port}/v1", f"http://localhost:{port}/v1/chat", "https://e.invalid/v1"),
            *(f"HTTP://user:pass@127.0.0.1:{port}/", "http://[", "ftp://127.0.0.1/x", f"http:\\\\127.0.0.1:{port}"),
        )
        cases = [("chat", status, form) for status in (301, 302, 303, 307, 308) for form in forms]
        cases += [(kind, status, form) for kind in KINDS[1:] for status in (307,) for form in forms]
        for kind, status, form in cases:
            with run_server("redirect", form) as server:
                server.status = status
                message = await ask(kind, server)
            held.append(bool(message) and not other.bodies and SECRET not in message)
    return held


async def attack_by_endless_replies(rng: random.Random) -> list[bool]:
    """Replies and headers without end, packed or slow. A reply is cut at 20 MB or after the timeout."""
    held = []
    quick: tuple[Attack, ...] = ("endless", "bomb", "headers")
    slow: tuple[Attack, ...] = ("drip", "dripping_head")
    cases: list[tuple[str, Attack]] = [(kind, attack) for kind in KINDS[:3] for attack in quick]
    cases += [("assistant", "endless_stream"), *((kind, attack) for kind in KINDS for attack in slow)]
    for kind, attack in cases:
        start = perf_counter()
        with run_server(attack) as server:
            message = await ask(kind, server, timeout=2.0 if attack in slow else 60.0)
            is_quick = perf_counter() - start < 20.0 or attack in quick  # a broken connection is tried again
            held.append(bool(message) and is_quick and server.sent < 60_000_000)
    return held


async def attack_by_leaving(rng: random.Random) -> list[bool]:
    """Cancel a question of ten calls, of which one or four are in flight at a time. No other call is then made.

    The server holds a random one of the calls and all after it, so the calls in flight when we leave are known.
    """
    held = []
    for _ in range(60):
        concurrency, answered = rng.choice([1, 4]), rng.randint(0, CALLS - 1)
        sent = min(answered + concurrency, CALLS)
        server = OpenAIServer()
        server.reply(hold_after(answered))
        os.environ.update(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
        context = Context(
            model="openai:test", journal="off", samples=CALLS, temperature=0.7, concurrency=concurrency, timeout=30
        )
        try:
            task = asyncio.ensure_future(answer("When was it built?", "concat", context, given=PASSAGES))
            await asyncio.to_thread(server.wait_for_requests, sent)
            for _ in range(rng.randint(0, 3)):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            server.release_held_replies()
            await asyncio.to_thread(server.wait_idle)
            # A question that is asked now gets its turn after all that the first one still had to ask.
            await answer("Who came?", "concat", replace(context, samples=1, temperature=0.0), given=PASSAGES)
            held.append(task.cancelled() and len(server.chats()) == sent + 1)
        finally:
            server.close()
    return held


def hold_after(answered: int) -> Callable[[Any], Response]:
    """Reply to the first `answered` calls at once, and hold the others."""
    numbers = count()
    return lambda request: Response("1874", hold=next(numbers) >= answered)


SERVER_ATTACKS = {
    "redirects": attack_by_redirects,
    "endless": attack_by_endless_replies,
    "leaving": attack_by_leaving,
}
