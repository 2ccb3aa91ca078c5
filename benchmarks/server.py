"""A loopback server that speaks the OpenAI protocol, in a process of its own: python -m benchmarks.server --port 8000

It serves chat completions (also streamed), completions that return the prompt with its log-probabilities, embeddings
and models. A `Behaviour` controls it: latency, slots, the probability of faults, and whether a prefix cache is
simulated (`benchmarks.prefixes`). `benchmarks.replies` writes the reply to each prompt. POST /control sets the
behaviour and resets the counts; GET /stats returns the counts. The first line on stdout is the address.
"""

import argparse
import asyncio
import json
import math
import random
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from benchmarks.prefixes import PrefixCache
from benchmarks.replies import GARBAGE, REFUSAL, recognise_prompt, write_reply
from benchmarks.server_bodies import make_completion, make_echo, make_embeddings, make_error, make_events

# A number is the HTTP status of the reply. "drop" closes the connection without a reply, "truncated" sends only the
# first half of the reply's JSON. `Behaviour` explains "hang" and "slow".
TRANSPORT_FAULTS = ("429", "500", "502", "drop", "hang", "slow", "truncated")
CONTENT_FAULTS = ("empty", "refusal", "malformed")
STATUS_TEXTS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True)
class Behaviour:
    """How the server behaves.

    latency: seconds for a chat reply, the median if `spread` (sigma of a log-normal) is not 0; slots: how many
    replies the server makes at once, 0 for no limit. transport: the share of calls with a fault from
    transport_kinds; content: the share with a fault from content_kinds. Which calls have a fault depends on `seed` and
    on the request's own seed and last message; for a transport fault, also on how often this message came. retry_after:
    the seconds that a 429 names in its Retry-After header; hang_seconds: how long `hang` keeps the client waiting;
    slow_seconds: how long `slow` takes to send the reply. key: the only accepted API key; if it is empty, every key is
    accepted. share_unknown_from_several_passages, share_unknown_from_one_passage: the share of "Unknown" among the
    answers from several passages, and among those from one or none. prefix: simulate a prefix cache and report its
    cached_tokens. foreign: {words: name}; a prompt of another tool that contains the words gets the reply to Quorum's
    prompt of that name. echo: a pattern; the last piece of a message that it matches is the reply, so that an answer
    shows which question it belongs to.
    """

    latency: float = 0.0
    spread: float = 0.0
    slots: int = 0
    transport: float = 0.0
    transport_kinds: tuple[str, ...] = TRANSPORT_FAULTS
    content: float = 0.0
    content_kinds: tuple[str, ...] = CONTENT_FAULTS
    retry_after: float = 1.0
    hang_seconds: float = 30.0
    slow_seconds: float = 0.5
    key: str = ""
    share_unknown_from_several_passages: float = 0.0
    share_unknown_from_one_passage: float = 0.0
    prefix: bool = False
    foreign: Mapping[str, str] = field(default_factory=dict)
    echo: str = ""
    seed: int = 0


@dataclass
class Counts:
    """What was counted since the behaviour was set. calls: chat calls by prompt; transport: faults by kind; content:
    faults by the prompt's name and the fault's kind, with a space between them ("answer empty"); tokens: how many
    tokens all prompts have ("prompt"), how many of them the simulated cache served ("cached"), and how many it could
    have served at most ("cacheable"), all three only if a cache is simulated; denied: calls with a
    wrong key; at_once, most_at_once: chat calls received and not yet answered, now and at most; those that wait for a
    slot count as well.
    """

    calls: Counter[str] = field(default_factory=Counter)
    transport: Counter[str] = field(default_factory=Counter)
    content: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    denied: int = 0
    at_once: int = 0
    most_at_once: int = 0


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Server:
    """The server, on one event loop."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.set_behaviour(behaviour)

    def set_behaviour(self, behaviour: Behaviour) -> None:
        """Set the behaviour; reset the counts and the cache."""
        self.behaviour, self.counts, self.cache = behaviour, Counts(), PrefixCache()
        self.request_counts: Counter[str] = Counter()
        self.slots: AbstractAsyncContextManager[Any] = (
            asyncio.Semaphore(behaviour.slots) if behaviour.slots else nullcontext()
        )

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client's requests in order, until the client leaves or a fault closes the connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self.answer(await read_request(reader), reader, writer):
                await writer.drain()
        writer.close()

    async def answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. Returns whether the connection stays open."""
        if request.path == "/control":
            self.set_behaviour(Behaviour(**(request.body or {})))
            return send_response(writer, 200, {})
        if request.path == "/stats":
            return send_response(writer, 200, vars(self.counts))
        if self.behaviour.key and request.headers.get("authorization") != f"Bearer {self.behaviour.key}":
            self.counts.denied += 1
            return send_response(writer, 401, make_error("Incorrect API key provided.", "invalid_api_key"))
        if request.path == "/v1/chat/completions":
            return await self.serve_chat(request.body, reader, writer)
        if request.path == "/v1/completions":
            return send_response(writer, 200, make_echo(request.body))
        if request.path == "/v1/embeddings":
            return send_response(writer, 200, make_embeddings(request.body))
        if request.path == "/v1/models":
            return send_response(writer, 200, {"object": "list", "data": [{"id": "bench", "object": "model"}]})
        return send_response(writer, 404, make_error(f"There is nothing at {request.path}."))

    async def serve_chat(
        self, body: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Serve one chat completion, or a fault. Returns whether the connection stays open."""
        counts, behaviour = self.counts, self.behaviour
        text, seed = str(body["messages"][-1]["content"]), body.get("seed") or 0
        message_hash = sha256(f"{behaviour.seed} {seed} {text}".encode("utf-8", "replace")).hexdigest()
        self.request_counts[message_hash] += 1
        prompt, variables = recognise_prompt(text)
        if not prompt and behaviour.foreign:
            prompt, variables = recognise_foreign(text, behaviour.foreign)
        counts.calls[prompt] += 1
        counts.at_once += 1
        counts.most_at_once = max(counts.most_at_once, counts.at_once)
        try:
            fault = draw_fault(
                f"transport {message_hash} {self.request_counts[message_hash]}",
                behaviour.transport,
                behaviour.transport_kinds,
            )
            if fault:
                counts.transport[fault] += 1
            async with self.slots:
                await asyncio.sleep(self.draw_delay(message_hash))
            echoes = re.findall(behaviour.echo, text) if behaviour.echo else []
            reply = echoes[-1] if echoes else self.make_content(prompt, variables, message_hash)
            usage = self.count_usage(text, reply, prompt, variables)
            if fault:
                return await self.send_fault(fault, make_completion(body, reply, usage), reader, writer)
            if body.get("stream"):
                return send_stream(writer, body, reply, usage)
            return send_response(writer, 200, make_completion(body, reply, usage))
        finally:
            counts.at_once -= 1

    def draw_delay(self, message_hash: str) -> float:
        """Seconds that this reply takes."""
        if not self.behaviour.spread:
            return self.behaviour.latency
        return self.behaviour.latency * math.exp(
            random.Random(f"latency {message_hash}").gauss(0, self.behaviour.spread)
        )

    def make_content(self, prompt: str, variables: dict[str, str], message_hash: str) -> str:
        """The reply's text. A repeated request gets the same text, and so the same fault, if it has one."""
        fault = draw_fault(f"content {message_hash}", self.behaviour.content, self.behaviour.content_kinds)
        if fault:
            self.counts.content[f"{prompt} {fault}"] += 1
            return {"empty": "", "refusal": REFUSAL, "malformed": GARBAGE}[fault]
        return write_reply(
            prompt,
            variables,
            int(message_hash[:12], 16),
            share_unknown_from_several_passages=self.behaviour.share_unknown_from_several_passages,
            share_unknown_from_one_passage=self.behaviour.share_unknown_from_one_passage,
        )

    def count_usage(self, text: str, reply: str, prompt: str, variables: dict[str, str]) -> dict[str, Any]:
        """The token counts of a reply, with the cached tokens if a prefix cache is simulated."""
        if not self.behaviour.prefix:
            prompt_tokens, cached_tokens = len(text) // 4, 0
        else:
            prompt_tokens, cached_tokens, cacheable_tokens = self.cache.add_prompt(text, prompt, variables)
            self.counts.tokens.update({"prompt": prompt_tokens, "cached": cached_tokens, "cacheable": cacheable_tokens})
        completion_tokens = len(reply) // 4 + 1
        details = {"cached_tokens": cached_tokens}
        return {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": details,
        }

    async def send_fault(
        self, fault: str, completion: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Serve a transport fault. Returns whether the connection stays open.

        `hang` ends early when the client leaves; `slow` sends the completion in pieces.
        """
        if fault == "429":
            headers = {"Retry-After": f"{self.behaviour.retry_after:g}"}
            return send_response(writer, 429, make_error("Rate limit reached.", "rate_limit_exceeded"), headers)
        if fault == "500":
            return send_response(writer, 500, make_error("The server had an error while processing your request."))
        if fault == "502":
            return send_response(writer, 502, b"<html><body><h1>502 Bad Gateway</h1></body></html>")
        if fault == "truncated":
            return send_response(writer, 200, json.dumps(completion).encode()[: len(json.dumps(completion)) // 2])
        if fault == "slow":
            return await send_slowly(writer, json.dumps(completion).encode(), self.behaviour.slow_seconds)
        if fault == "hang":
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1), self.behaviour.hang_seconds)
        return False


def recognise_foreign(text: str, foreign: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Like `recognise_prompt`, for a prompt of another tool, whose whole text stands for the passages."""
    name = next((prompt for words, prompt in foreign.items() if words in text), "")
    # The key '' holds the prompt's fixed head, which is empty here. The reply to the prompt
    # "conditional_summary" begins with a candidate, `prediction`. It is unknown here; the text "It" takes its place.
    return name, {"": "", "passages": text, "prediction": "It"} if name else {}


def draw_fault(seed_text: str, share: float, kinds: tuple[str, ...]) -> str:
    """A fault of these kinds with the probability `share`, else ''. The same `seed_text` gives the same result."""
    if not share:
        return ""
    draw = random.Random(seed_text)
    return draw.choice(kinds) if draw.random() < share else ""


async def read_request(reader: asyncio.StreamReader) -> Request:
    """One HTTP/1.1 request with a Content-Length. Raises IncompleteReadError when the client has gone."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.readexactly(int(headers.get("content-length") or 0))
    return Request(method, path, headers, json.loads(body) if body else None)


def send_response(writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str] | None = None) -> bool:
    """Write one response. Returns True: the connection stays open."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    content_type = "text/html" if data.startswith(b"<") else "application/json"
    more_headers = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = f"HTTP/1.1 {status} {STATUS_TEXTS.get(status, 'Error')}\r\nContent-Type: {content_type}\r\n"
    head += f"Content-Length: {len(data)}\r\n"
    writer.write(f"{head}{more_headers}\r\n".encode() + data)
    return True


async def send_slowly(writer: asyncio.StreamWriter, data: bytes, seconds: float) -> bool:
    """Send the body in ten pieces over `seconds`. Returns True: the connection stays open."""
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode())
    size = len(data) // 10 + 1
    for start in range(0, len(data), size):
        await asyncio.sleep(seconds / 10)
        writer.write(data[start : start + size])
        await writer.drain()
    return True


def send_stream(writer: asyncio.StreamWriter, body: dict[str, Any], reply: str, usage: dict[str, Any]) -> bool:
    """Write the reply as server-sent events, one for each word. Returns True: the connection stays open."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    for event in make_events(body, reply, usage):
        line = f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()
        writer.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
    writer.write(b"0\r\n\r\n")
    return True


async def serve(port: int, behaviour: Behaviour) -> None:
    server = Server(behaviour)
    listening = await asyncio.start_server(server.serve_connection, "127.0.0.1", port, limit=2**24, backlog=1024)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
    async with listening:
        await listening.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--behaviour", type=json.loads, default={}, help="JSON of the fields of Behaviour")
    options = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(options.port, replace(Behaviour(), **options.behaviour)))


if __name__ == "__main__":
    main()
