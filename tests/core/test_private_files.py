"""Only the owner can read new files of questions, answers and documents; existing files keep their permissions."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.core.private_files import make_private_file, make_private_folder, open_private_bytes, open_private_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")


@pytest.fixture(autouse=True)
def permissive_umask() -> Iterator[None]:
    """A umask with which new files are readable by everybody."""
    old_umask = os.umask(0)
    yield
    os.umask(old_umask)


def read_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    make_private_folder(folder)
    make_private_file(folder / "one")
    with open_private_text(folder / "two") as file:
        file.write("caf\ud800é")  # \ud800 cannot be encoded, so a "?" is written in its place
    with open_private_bytes(folder / "three", "a+b") as binary_file:
        binary_file.write(b"x\n")
    assert [read_mode(item) for item in (tmp_path / "a", folder)] == [0o700, 0o700]
    assert [read_mode(folder / name) for name in ("one", "two", "three")] == [0o600] * 3
    assert (folder / "two").read_text(encoding="utf-8") == "caf?é"


def test_existing_files_keep_their_permissions(tmp_path: Path) -> None:
    folder, file = tmp_path / "mine", tmp_path / "mine" / "one"
    folder.mkdir(mode=0o755)
    file.write_text("old", encoding="utf-8")
    file.chmod(0o644)
    make_private_folder(folder)
    make_private_file(file)
    with open_private_text(file, "a") as appended_file:
        appended_file.write("er")
    assert (read_mode(folder), read_mode(file), file.read_text(encoding="utf-8")) == (0o755, 0o644, "older")


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "file" / "folder")
