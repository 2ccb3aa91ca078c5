"""The journal: a stored reply is never paid for again, neither after a crash nor by another process."""

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from fake_clock import FakeClock
from openai_bodies import Response
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.models import get_model_identity
from quorum.models.call import call
from quorum.models.journal import close_journals, find_journal_path, make_key
from quorum.models.scripted import ScriptedModel

CLIENT_SCRIPT = Path(__file__).parents[1] / "journal_client.py"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(model="openai:test", journal=str(tmp_path / "folder" / "journal.sqlite"))


def read_rows(context: Context) -> list[tuple[str, ...]]:
    """(prompt, the prompt's version, number of the sample, text) of every stored reply."""
    close_journals()
    connection = sqlite3.connect(str(context.journal))
    try:
        return connection.execute("SELECT prompt, version, sample, text FROM replies ORDER BY sample, text").fetchall()
    finally:
        connection.close()


def start_client(context: Context, *questions: str) -> "subprocess.Popen[str]":
    """Start another process that uses the same journal and sends each question as a prompt.

    For each question it prints: the question, the reply, whether the reply came from the journal.
    """
    path = os.pathsep.join([str(CLIENT_SCRIPT.parent.parent), str(CLIENT_SCRIPT.parent)])
    return subprocess.Popen(
        [sys.executable, str(CLIENT_SCRIPT), str(context.journal), *questions],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_a_stored_reply_keeps_its_tokens_and_time(openai_server: OpenAIServer, context: Context) -> None:
    clock = FakeClock()

    def reply_slowly(request: Request) -> Response:
        clock.time += 2.5
        usage = {
            "prompt_tokens": 9,
            "completion_tokens": 4,
            "total_tokens": 13,
            "prompt_tokens_details": {"cached_tokens": 5},
        }
        return Response("<think>x</think>Lima", usage=usage, finish_reason="length")

    openai_server.reply(reply_slowly)
    (first,) = await call("answer", "Which?", context=context, prompt_version="abc", clock=clock)
    (again,) = await call("answer", "Which?", context=context, prompt_version="abc", clock=clock)
    assert len(openai_server.chats()) == 1
    assert (first.is_reused, again.is_reused) == (False, True)
    assert (again.text, again.raw, again.finish) == ("Lima", "<think>x</think>Lima", "length")
    assert again.usage == first.usage == {"calls": 1, "input_tokens": 9, "output_tokens": 4, "cached_tokens": 5}
    assert again.seconds == first.seconds == 2.5
    assert read_rows(context) == [("answer", "abc", 0, "<think>x</think>Lima")]


async def test_calls_that_may_get_different_replies_have_different_journal_keys(
    openai_server: OpenAIServer, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def count_requests(text: str = "Which?", **options: object) -> int:
        before = len(openai_server.chats())
        await call("answer", text, context=context, **options)  # type: ignore[arg-type]
        return len(openai_server.chats()) - before

    assert await count_requests() == 1
    assert await count_requests("Which? ") == 1
    assert await count_requests(model="openai:other") == 1
    assert await count_requests(temperature=0.5, n=2) == 2
    assert await count_requests(temperature=0.5, n=3) == 1  # two of the three samples are known
    assert await count_requests(temperature=0.6) == 1
    assert await count_requests(call_subject="passage 2") == 0  # the same request under another name
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    assert await count_requests() == 0
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url.replace("127.0.0.1", "localhost"))
    assert await count_requests() == 1
    assert len(read_rows(context)) == 8
    assert "another-key" not in Path(str(context.journal)).read_bytes().decode("latin-1")


async def test_failures_are_not_stored(openai_server: OpenAIServer, context: Context) -> None:
    openai_server.reply([Response(status=404, body={"error": {"message": "not yet"}}), "here"])
    with pytest.raises(CallError, match="not yet"):
        await call("answer", "Which?", context=context)
    assert [reply.text for reply in await call("answer", "Which?", context=context)] == ["here"]


async def test_replies_of_models_without_identity_are_not_stored(context: Context) -> None:
    model = ScriptedModel().enqueue("a", "b")
    replies = [await call("answer", "Which?", context=context, model=model) for _ in range(2)]
    assert [reply.text for (reply,) in replies] == ["a", "b"]
    assert get_model_identity(model) is None
    assert get_model_identity("scripted") is None
    assert not Path(str(context.journal)).exists()


async def test_the_journal_is_in_the_stores_folder(openai_server: OpenAIServer, tmp_path: Path) -> None:
    await call("answer", "Which?", context=Context(model="openai:test", store=str(tmp_path / "mine"), journal=None))
    assert (tmp_path / "mine" / "journal.sqlite").exists()
    remote = Context(store="http://localhost:8000", journal=None)
    assert find_journal_path(remote) == str(Path(".quorum") / "journal.sqlite")
    assert find_journal_path(Context()) is None  # tests/conftest.py sets QUORUM_JOURNAL=off


async def test_a_file_that_is_no_journal_is_named_and_not_touched(
    openai_server: OpenAIServer, context: Context, tmp_path: Path
) -> None:
    path = Path(str(context.journal))
    path.parent.mkdir()
    path.write_bytes(b"notes of mine, not a data base " * 200)
    with pytest.raises(
        SetupError, match=r"journal\.sqlite cannot be used \(file is not a database\); move that file away"
    ):
        await call("answer", "Which?", context=context)
    assert path.read_bytes().startswith(b"notes of mine")
    connection = sqlite3.connect(tmp_path / "newer.sqlite")
    connection.execute("PRAGMA user_version=99")  # the layout of a later version of Quorum
    connection.close()
    with pytest.raises(SetupError, match="layout 99"):
        await call("answer", "Which?", context=Context(model="openai:test", journal=str(tmp_path / "newer.sqlite")))
    with pytest.raises(SetupError, match="cannot be used"):
        await call("answer", "Which?", context=Context(model="openai:test", journal=str(path / "below")))
    assert openai_server.chats() == []


@pytest.mark.long
async def test_a_killed_process_loses_no_reply(openai_server: OpenAIServer, context: Context) -> None:
    openai_server.reply(["one", "two", Response("three", hold=True)])
    with start_client(context, "a", "b", "c") as process:
        openai_server.wait_for_requests(3)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    openai_server.reply("after")
    replies = [(await call("answer", question, context=context))[0] for question in "abc"]
    assert [(reply.text, reply.is_reused) for reply in replies] == [("one", True), ("two", True), ("after", False)]
    assert len(openai_server.chats()) == 4


@pytest.mark.long
async def test_two_processes_share_a_journal(openai_server: OpenAIServer, context: Context) -> None:
    questions = [f"question-{i}" for i in range(20)]
    openai_server.reply(lambda request: f"answer-to-{request.text}")
    processes = [start_client(context, *order) for order in (questions, questions[::-1])]
    for process in processes:
        lines = process.communicate()[0].splitlines()
        assert process.returncode == 0
        assert sorted(line.split()[1] for line in lines) == sorted(f"answer-to-{question}" for question in questions)
    assert sorted(row[3] for row in read_rows(context)) == sorted(f"answer-to-{question}" for question in questions)
    request_count = len(openai_server.chats())
    assert all([(await call("answer", question, context=context))[0].is_reused for question in questions])
    assert len(openai_server.chats()) == request_count


# For the audit hook below, which cannot be removed again: the journal to watch (one or none), and what the hook noted.
WATCHED_JOURNALS: list[str] = []
SQLITE_THREADS: list[int] = []


def record_sqlite_thread(event: str, args: tuple[object, ...]) -> None:
    """An audit hook of Python: note which thread opens a connection to the watched journal."""
    if event == "sqlite3.connect" and WATCHED_JOURNALS and str(args[0]) == WATCHED_JOURNALS[0]:
        SQLITE_THREADS.append(threading.get_ident())


async def test_the_journal_does_not_block_the_event_loop(openai_server: OpenAIServer, context: Context) -> None:
    sys.addaudithook(record_sqlite_thread)
    WATCHED_JOURNALS.append(str(Path(str(context.journal)).resolve()))
    replies = await asyncio.gather(*(call("answer", f"question {i}", context=context) for i in range(10)))
    WATCHED_JOURNALS.clear()
    assert all(not reply.is_reused for (reply,) in replies)
    assert len(SQLITE_THREADS) == 1
    assert threading.get_ident() not in SQLITE_THREADS


def test_journal_keys_depend_on_every_part_of_a_request() -> None:
    model, decoding = {"provider": "openai", "base_url": "u", "model": "m"}, {"temperature": 0.0}
    keys = {
        make_key(model, decoding, "text", None, 0),
        make_key(model | {"model": "n"}, decoding, "text", None, 0),
        make_key(model | {"base_url": "v"}, decoding, "text", None, 0),
        make_key(model, {"temperature": 0.5}, "text", None, 0),
        make_key(model, decoding, "texts", None, 0),
        make_key(model, decoding, "text", inputs=[{"question": "q"}, "answer"], sample=0),
        make_key(model, decoding, "text", None, 1),
    }
    assert len(keys) == 7


async def test_stored_replies_with_invalid_token_counts_are_requested_again(
    openai_server: OpenAIServer, context: Context
) -> None:
    openai_server.reply("Oslo")
    await call("answer", "Which?", context=context)
    close_journals()
    for invalid_count in (3.5, "many", -1, 10**12):
        with sqlite3.connect(str(context.journal)) as connection:
            connection.execute("UPDATE replies SET input_tokens = ?, text = 'old'", (invalid_count,))
        connection.close()
        before = len(openai_server.chats())
        first, second = [(await call("answer", "Which?", context=context))[0] for _ in range(2)]
        assert (first.text, first.is_reused, second.text, second.is_reused) == ("Oslo", False, "Oslo", True)
        assert len(openai_server.chats()) == before + 1
        assert len(read_rows(context)) == 1


async def test_only_the_owner_can_read_the_journal(openai_server: OpenAIServer, context: Context) -> None:
    earlier_umask = os.umask(0)
    try:
        await call("answer", "Which?", context=context)
    finally:
        os.umask(earlier_umask)
    folder = Path(str(context.journal)).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == ["journal.sqlite", "journal.sqlite-shm", "journal.sqlite-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


async def test_a_journal_of_an_older_version_is_read_and_extended(
    openai_server: OpenAIServer, context: Context
) -> None:
    """Older journals have no table `details`, so their replies have no reasoning."""
    openai_server.reply(Response("Oslo", message={"reasoning_content": "hm"}))
    await call("answer", "Which?", context=context)
    close_journals()
    with sqlite3.connect(str(context.journal)) as connection:
        connection.execute("DROP TABLE details")
    connection.close()
    (reply,) = await call("answer", "Which?", context=context)
    assert (reply.text, reply.is_reused, reply.reasoning) == ("Oslo", True, "")


async def test_reasoning_is_stored_with_its_reply(openai_server: OpenAIServer, context: Context) -> None:
    openai_server.reply(Response("Oslo", message={"reasoning_content": "Norway's capital"}))
    replies = [(await call("answer", "Which?", context=context))[0] for _ in range(2)]
    assert [(reply.text, reply.is_reused, reply.reasoning) for reply in replies] == [
        ("Oslo", False, "Norway's capital"),
        ("Oslo", True, "Norway's capital"),
    ]
