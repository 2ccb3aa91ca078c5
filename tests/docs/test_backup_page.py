"""The commands of docs/backup.md run as they stand there: a store copied while it is served answers elsewhere."""

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from fnmatch import fnmatch
from pathlib import Path

import pytest
from page_shell import DOCS, Shell, read_blocks

OLDER_STORE = Path(__file__).with_name("older_store.tar.xz")  # written by the commit 6aa5192a of 21 November 2026
QUESTION = 'quorum ask "Where are new laptops ordered?"'


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "it.md").write_text(
        "# IT\n\nNew laptops are ordered in Halden Street.\n\nPasswords are changed *every 90 days*.\n",
        encoding="utf-8",
    )
    (tmp_path / "handbook" / "travel.md").write_text(
        "# Travel\n\nTrips are booked by the travel desk in Aldgate.\n", encoding="utf-8"
    )
    with ExitStack() as servers:
        yield Shell(tmp_path, "", servers)


def read_commands() -> list[str]:
    return [commands for commands, _ in read_blocks("backup.md")]


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("flock"), reason="flock is a program of Linux")
def test_a_store_is_copied_while_it_is_served_and_answers_elsewhere(shell: Shell, tmp_path: Path) -> None:
    *backup_and_restore, upgrade = read_commands()
    outputs = [shell.run(commands) for commands in backup_and_restore]
    asked = [output for commands, output in zip(backup_and_restore, outputs, strict=True) if "quorum ask" in commands]
    assert len(asked) == 3  # before the copy, from the restored store, from the imported collection
    assert all(output.count("[[Halden Street]]") for output in asked)
    with closing(sqlite3.connect(tmp_path / "backup" / "store" / "journal.sqlite")) as journal:
        assert journal.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert "quorum index handbook" in upgrade


@pytest.mark.long
def test_what_may_be_deleted_may_be_deleted(shell: Shell, tmp_path: Path) -> None:
    rows = re.findall(r"^\| (`.*`) \|.*\| (yes|no)\b", (DOCS / "backup.md").read_text(encoding="utf-8"), re.MULTILINE)
    deletable = {name for names, answer in rows if answer == "yes" for name in re.findall(r"`(.*?)/?`", names)}
    shell.run(f"quorum index handbook\n{QUESTION}")
    paths = sorted((tmp_path / ".quorum").iterdir())
    kept = [path for path in paths if not any(fnmatch(path.name, name) for name in deletable)]
    assert [path.name for path in kept] == ["chroma"]
    assert len(paths) > 4
    for path in {*paths} - {*kept}:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "[[Halden Street]]" in shell.run(QUESTION)


@pytest.mark.long
def test_a_store_of_an_older_version_is_asked_and_indexed_again(shell: Shell, tmp_path: Path) -> None:
    shutil.unpack_archive(OLDER_STORE, tmp_path, filter="data")
    (tmp_path / "saved").rename(tmp_path / ".quorum")
    output = shell.run(read_commands()[-1])
    assert "[[Halden Street]]" in output
    # The files lie at another path than those that were indexed then: other documents of the same passages.
    assert "handbook: 2 added; 2 passages in all; 2 duplicate passages left out." in output
