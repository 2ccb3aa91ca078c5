"""Writes to the journal are queued and stored together. If one reply cannot be stored, the others still are."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.models.journal import open_journal
from quorum.models.journal_database import Record

RECORD = Record("text", "stop", input_tokens=3, output_tokens=1, cached_tokens=0, seconds=0.5)


async def test_queued_writes_share_one_transaction(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    await journal.put("known", RECORD)
    statements: list[str] = []
    assert journal.connection is not None
    journal.connection.set_trace_callback(statements.append)
    resume = threading.Event()
    journal.thread.submit(resume.wait)  # the journal's thread waits, so that the calls below are queued
    puts = [asyncio.create_task(journal.put(f"key {number}", RECORD)) for number in range(9)]
    gets = [asyncio.create_task(journal.get(key)) for key in ("known", "key 8", "missing")]
    await asyncio.sleep(0)
    puts[0].cancel()  # a queued reply is stored even if its caller is cancelled
    resume.set()
    await asyncio.gather(*puts[1:])
    assert await asyncio.gather(*gets) == [RECORD, RECORD, None]
    assert statements.count("BEGIN IMMEDIATE") == statements.count("COMMIT") == 1
    assert await journal.get("key 0") == RECORD


async def test_a_reply_that_cannot_be_stored_fails_only_its_own_call(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    await journal.put("known", RECORD)
    assert journal.connection is not None
    journal.connection.execute("PRAGMA query_only=ON")
    put, get = await asyncio.gather(journal.put("new", RECORD), journal.get("known"), return_exceptions=True)
    assert isinstance(put, SetupError)
    assert "journal.sqlite cannot be used" in str(put)
    assert get == RECORD
    journal.connection.execute("PRAGMA query_only=OFF")
    await journal.put("new", RECORD)
    assert await journal.get("new") == RECORD


async def test_only_a_full_disk_brings_the_advice_to_make_room(tmp_path: Path) -> None:
    large_record = replace(RECORD, text="text" * 10_000)
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    await journal.get("key")  # creates the file and opens the connection
    assert journal.connection is not None
    journal.connection.execute("PRAGMA max_page_count=1")  # no page can be added
    with pytest.raises(SetupError, match=r"journal\.sqlite cannot be used .*; make room"):
        await journal.put("key", large_record)
    folder = tmp_path / "fulltext"  # the word "full" in a path must not bring the advice
    folder.mkdir()
    with pytest.raises(SetupError, match=r"fulltext cannot be used .*; move that file away"):
        await open_journal(str(folder)).put("key", large_record)


async def test_a_reply_that_sqlite_refuses_loses_no_other_reply(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    resume = threading.Event()
    journal.thread.submit(resume.wait)  # the journal's thread waits, so that the three replies are queued together
    unstorable_record = replace(RECORD, input_tokens=2**70)  # SQLite's integers have 64 bits
    puts = [
        asyncio.create_task(journal.put(key, record))
        for key, record in (("a", RECORD), ("b", unstorable_record), ("c", RECORD))
    ]
    await asyncio.sleep(0)
    resume.set()
    outcomes = await asyncio.gather(*puts, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), OverflowError, type(None)]
    assert await journal.get("a") == await journal.get("c") == RECORD


async def test_a_reply_with_invalid_token_counts_is_replaced_together_with_its_details(tmp_path: Path) -> None:
    journal = open_journal(str(tmp_path / "journal.sqlite"))
    await journal.put("key", replace(RECORD, left_out="temperature", reasoning="old"))
    assert journal.connection is not None
    journal.connection.execute("UPDATE replies SET input_tokens = 'many'")
    await journal.put("key", RECORD)
    assert await journal.get("key") == RECORD
