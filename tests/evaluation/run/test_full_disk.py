"""A full disk is reported in one sentence, and earlier data are kept."""

import errno
import os
from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.evaluation.run.result_files import explain_write_errors, write_json
from quorum.evaluation.run.results import Results

FULL_DISK = Path("/dev/full")  # Linux: a file on a disk that is always full
needs_full_disk = pytest.mark.skipif(not FULL_DISK.exists(), reason="no /dev/full here")


@needs_full_disk
def test_a_full_disk_is_a_setup_error() -> None:
    message = r"x\.json cannot be written \(No space left on device\); make room"
    with pytest.raises(SetupError, match=message), explain_write_errors(Path("x.json")):
        FULL_DISK.write_bytes(b"x")


@needs_full_disk
def test_rows_before_a_full_disk_are_kept(tmp_path: Path) -> None:
    path, row = tmp_path / "results.jsonl", {"method": "concat", "id": "1", "error": "lost"}
    with Results(path, ["concat"]) as results:
        results.append(row)  # type: ignore[arg-type]
        results.file.close()
        results.file = FULL_DISK.open("a+b")
        with pytest.raises(SetupError, match="make room"):
            results.append(row)  # type: ignore[arg-type]
    assert len(path.read_bytes().splitlines()) == 1


def test_a_file_is_not_half_written(tmp_path: Path) -> None:
    (tmp_path / "a.json.tmp").mkdir()  # a folder in the temporary file's place, which makes writing it fail
    with pytest.raises(SetupError, match=rf"a\.json cannot be written \({os.strerror(errno.EISDIR)}\)"):
        write_json(tmp_path / "a.json", {})
    assert not (tmp_path / "a.json").exists()
