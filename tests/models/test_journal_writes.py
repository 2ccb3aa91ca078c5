"""Writes to the journal are queued and stored together. If one reply cannot be stored, the others still are."""

import asyncio
import threading
from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.models.journal import open_journal
from quorum.models.journal_database import Record


async def test_queued_writes_share_one_transaction(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    record = Record("text", "stop", 3, 1, 0, 0.5)
    await journal.put("known", record)
    statements: list[str] = []
    assert journal.connection is not None
    journal.connection.set_trace_callback(statements.append)
    resume = threading.Event()
    journal.thread.submit(resume.wait)
    puts = [asyncio.create_task(journal.put(f"key {number}", record)) for number in range(9)]
    gets = [asyncio.create_task(journal.get(key)) for key in ("known", "key 8", "missing")]
    await asyncio.sleep(0)
    puts[0].cancel()  # a queued reply is stored even if its caller is cancelled
    resume.set()
    await asyncio.gather(*puts[1:])
    assert await asyncio.gather(*gets) == [record, record, None]
    assert statements.count("BEGIN IMMEDIATE") == statements.count("COMMIT") == 1
    assert await journal.get("key 0") == record


async def test_a_reply_that_cannot_be_stored_fails_only_its_own_call(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    record = Record("text", "stop", 3, 1, 0, 0.5)
    await journal.put("known", record)
    assert journal.connection is not None
    journal.connection.execute("PRAGMA query_only=ON")
    put, get = await asyncio.gather(journal.put("new", record), journal.get("known"), return_exceptions=True)
    assert isinstance(put, SetupError)
    assert "journal.sqlite cannot be used" in str(put)
    assert get == record
    journal.connection.execute("PRAGMA query_only=OFF")
    await journal.put("new", record)
    assert await journal.get("new") == record


async def test_only_a_full_disk_brings_the_advice_to_make_room(tmp_path: Path) -> None:
    record = Record("text" * 10_000, "stop", 3, 1, 0, 0.5)
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    await journal.get("key")
    assert journal.connection is not None
    journal.connection.execute("PRAGMA max_page_count=1")  # no page can be added
    with pytest.raises(SetupError, match=r"journal\.sqlite cannot be used .*; make room"):
        await journal.put("key", record)
    folder = tmp_path / "fulltext"
    folder.mkdir()
    with pytest.raises(SetupError, match=r"fulltext cannot be used .*; move that file away"):
        await open_journal(str(folder)).put("key", record)


async def test_a_reply_that_sqlite_refuses_loses_no_other_reply(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    record = Record("text", "stop", 3, 1, 0, 0.5)
    resume = threading.Event()
    journal.thread.submit(resume.wait)
    unstorable = Record("text", "stop", 2**70, 1, 0, 0.5)
    puts = [
        asyncio.create_task(journal.put(key, item)) for key, item in (("a", record), ("b", unstorable), ("c", record))
    ]
    await asyncio.sleep(0)
    resume.set()
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), OverflowError, type(None)]
    assert await journal.get("a") == await journal.get("c") == record
