"""No reply is paid for that the journal's disk cannot keep."""

from dataclasses import replace
from pathlib import Path

import pytest
from full_files import limit_file_sizes
from openai_server import OpenAIServer

from quorum import Context
from quorum.core.errors import SetupError
from quorum.models.call import call
from quorum.models.journal import Journal, close_journals
from quorum.models.journal_database import ROOM, Record, check_room

RECORD = Record("1889", "stop", 1, 1, 0, 0.1)
MUCH = 1 << 62  # bytes that no disk has


async def ask(path: Path, question: str) -> str:
    [reply] = await call("answer", question, context=Context(model="openai:test", journal=str(path)))
    return reply.text


async def test_a_disk_without_room_is_told_before_the_first_reply(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "journal.sqlite"), room=MUCH)
    with pytest.raises(SetupError, match=r"No space left on device.*make room on the disk"):
        await journal.get("key")
    await journal.put("key", RECORD)
    assert await journal.get("key") == RECORD  # what is there is still read
    journal.close()


@pytest.mark.parametrize(("room", "advice"), [(MUCH, "make room on the disk"), (0, "move that file away")])
async def test_a_file_that_cannot_be_opened_on_a_full_disk_brings_the_advice_to_make_room(
    room: int, advice: str, tmp_path: Path
) -> None:
    journal = Journal(str(tmp_path), room)  # a folder, which SQLite cannot open
    with pytest.raises(SetupError, match=advice):
        await journal.get("key")
    journal.close()


async def test_a_used_up_quota_is_told_before_a_reply_is_paid(tmp_path: Path, openai_server: OpenAIServer) -> None:
    """The limit lets SQLite open its file, but not grow it by a reply; the disk itself has room."""
    assert await ask(tmp_path / "journal.sqlite", "Which?") == "unknown"
    close_journals()
    with limit_file_sizes(ROOM - 1):
        for _ in range(2):
            with pytest.raises(SetupError, match="File too large"):
                await ask(tmp_path / "journal.sqlite", "Who?")
    assert len(openai_server.chats()) == 1
    assert await ask(tmp_path / "journal.sqlite", "Who?") == "unknown"


async def test_a_reply_that_did_not_fit_is_not_paid_again(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply("a long reply " * 20_000)
    with limit_file_sizes(3 * ROOM):
        for _ in range(2):
            with pytest.raises(SetupError, match=r"journal\.sqlite cannot be used"):
                await ask(tmp_path / "journal.sqlite", "Which?")
    assert len(openai_server.chats()) == 1
    assert len(await ask(tmp_path / "journal.sqlite", "Which?")) > 3 * ROOM


def test_the_file_that_shows_whether_there_is_room_is_removed(tmp_path: Path) -> None:
    check_room(str(tmp_path / "journal.sqlite"), by_writing=True)
    with limit_file_sizes(100), pytest.raises(OSError, match="File too large"):
        check_room(str(tmp_path / "journal.sqlite"), by_writing=True)
    assert list(tmp_path.iterdir()) == []


def test_the_size_of_a_record_counts_its_bytes_twice() -> None:
    assert replace(RECORD, text="é" * 10, reasoning="ab").size == ROOM + 2 * 22
