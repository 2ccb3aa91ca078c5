"""Files that a user names: pipes, devices and folders are refused at once, and reading is bounded."""

import gzip
import io
import os
from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.core.files import escape_name, expand_home, open_regular, open_unpacked, read_bounded_lines, read_regular


@pytest.fixture
def odd_files(tmp_path: Path) -> Path:
    """A folder that contains a pipe, links to two devices, and another folder."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "reason"),
    [("pipe", "a pipe"), ("zero", "a device"), ("null", "a device"), ("folder", "a folder"), ("gone", "No such file")],
)
def test_only_regular_files_are_opened(name: str, reason: str, odd_files: Path) -> None:
    for open_or_read in (open_regular, open_unpacked, read_regular):
        with pytest.raises(OSError, match=reason):
            open_or_read(odd_files / name)


def test_no_more_is_read_than_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert len(read_regular(tmp_path / "a", limit=100)) == 100
    with pytest.raises(OSError, match="larger than"):
        read_regular(tmp_path / "a", limit=99)


def test_lines_are_bounded() -> None:
    assert list(read_bounded_lines(io.BytesIO(b"ab\ncde"), limit=4)) == [b"ab\n", b"cde"]
    with pytest.raises(OSError, match="a line is longer"):
        list(read_bounded_lines(io.StringIO("ab\n" + "c" * 9), limit=4))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl"])
def test_gzipped_files_are_unpacked_and_closed(name: str, tmp_path: Path) -> None:
    # A file that stays open would fail the test: pytest turns Python's ResourceWarning into an error.
    (tmp_path / name).write_bytes(gzip.compress(b"text"))
    with open_unpacked(tmp_path / name) as file:
        assert file.read() == b"text"


@pytest.mark.parametrize(
    ("name", "escaped"),
    [("plan.md", "plan.md"), ("a\nb", "a\\nb"), ("exe\u202etxt.md", "exe\\u202etxt.md"), ("漢 é", "漢 é")],
)
def test_control_characters_in_names_are_shown_as_escapes(name: str, escaped: str) -> None:
    assert escape_name(name) == escaped


def test_a_path_may_begin_with_a_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expand_home("~/store") == tmp_path / "store"
    assert expand_home("store") == Path("store")
    with pytest.raises(SetupError, match="'~no-such-user/store' begins with a user that this machine does not have"):
        expand_home("~no-such-user/store")
