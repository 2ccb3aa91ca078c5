"""Responses of models' servers are bounded in size and time, and no request follows a redirect to another server."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hostile_server import Attack, HostileServer, make_bomb
from openai_bodies import Response
from openai_server import OpenAIServer

from quorum import Context
from quorum.core.errors import CallError, QuorumError
from quorum.models.bounded_responses import LARGEST_REPLY, PIECE, ReplyBounds, ReplyTimeoutError, ReplyTooLarge
from quorum.models.call import call
from quorum.models.embeddings import embeddings
from quorum.models.logprobs_completions import CompletionsScorer
from quorum.models.openai_embeddings import OpenAIEmbeddings
from quorum.models.systems import read_system

SECRET = "the question that must not leave"


@contextmanager
def run_server(attack: Attack, target: str = "") -> Iterator[HostileServer]:
    server = HostileServer(attack, target)
    try:
        yield server
    finally:
        server.close()


async def ask(kind: str, server: HostileServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Send SECRET to a server in one of four ways. Returns the error's message."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    context = Context(model="openai:test", journal="off", attempts=1)
    with pytest.raises(QuorumError) as failure:  # noqa: PT012  one of four calls
        if kind == "chat":
            await call("answer", SECRET, context=context)
        elif kind == "embeddings":
            embeddings("openai:test").embed_query(SECRET)
        elif kind == "scorer":
            await CompletionsScorer("test", context).log_probabilities([(SECRET, "no")])
        else:
            spec = f"langgraph:{server.address}#agent" if kind == "assistant" else f"{server.url}#test"
            await read_system("mine", spec).ask(SECRET, None, context)
    return str(failure.value)


@pytest.mark.parametrize(
    ("kind", "attack"),
    [(kind, attack) for kind in ("chat", "embeddings", "scorer", "system") for attack in ("endless", "bomb")]
    + [("assistant", "endless_stream")],
)
async def test_a_reply_without_end_is_refused(kind: str, attack: Attack, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server(attack) as server:
        message = await ask(kind, server, monkeypatch)
        assert "the reply is larger than 20 MB" in message
        assert len(server.bodies) == 1  # not asked again


@pytest.mark.parametrize("kind", ["chat", "embeddings", "scorer", "system", "assistant"])
async def test_no_request_follows_a_redirect_to_another_server(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with run_server("endless") as other, run_server("redirect", f"{other.url}/take?key=abc") as server:
        message = await ask(kind, server, monkeypatch)
        assert (len(server.bodies), other.bodies) == (1, [])
        assert SECRET not in message
        assert "key=abc" not in message
        if kind != "assistant":
            assert f"redirects to another server, {other.address}, to which nothing was sent" in message


async def test_a_redirect_on_the_same_server_is_followed(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = Response(status=307, body={}, headers={"Location": "/v1/chat/completions"})
    openai_server.reply([moved, "yes"])
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    [reply] = await call("answer", "Which?", context=Context(model="openai:test", journal="off"))
    assert reply.text == "yes"


@pytest.mark.parametrize("attack", ["drip", "dripping_head"])
async def test_embeddings_that_drip_are_refused_in_time(attack: Attack) -> None:
    with run_server(attack) as server:
        model = OpenAIEmbeddings("test", server.url, "none", request_seconds=0.3)
        with pytest.raises(ReplyTimeoutError):
            await model.aembed_query(SECRET)
        assert len(server.bodies) == 1  # not asked again


async def test_a_streamed_reply_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from quorum import stream

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with run_server("endless_stream") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        context = Context(model="openai:test", journal="off", attempts=1, answer_type="short")
        with pytest.raises(CallError, match="larger than 20 MB"):
            async for _ in stream("Which?", "concat", context, given=[{"id": "1", "title": "", "text": "A text."}]):
                pass


def test_a_packed_reply_is_unpacked_in_small_pieces_up_to_the_bound() -> None:
    sizes = []
    with pytest.raises(ReplyTooLarge):
        sizes += [len(piece) for piece in ReplyBounds("gzip", 600).unpack(make_bomb())]
    for piece in ReplyBounds("gzip", 600).unpack(zlib.compress(b"a" * LARGEST_REPLY)):
        sizes.append(len(piece))
    assert (sum(sizes), max(sizes) <= PIECE) == (LARGEST_REPLY, True)


def test_a_reply_that_takes_too_long_is_refused() -> None:
    with pytest.raises(ReplyTimeoutError, match="still coming"):
        list(ReplyBounds("", seconds=-1).unpack(b"one more piece"))
