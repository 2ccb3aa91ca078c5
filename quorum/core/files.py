"""Opens and reads files that a user names: only regular ones, and never more bytes than a limit. Finds home folders."""

import errno
import gzip
import os
import re
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, BinaryIO, TypeVar, cast

from quorum.core.errors import SetupError

LARGEST_FILE = 200_000_000  # bytes; the largest file that `read_regular` reads by default
LONGEST_LINE = 64_000_000  # bytes, or characters in a text file; the longest line that is read by default
SPECIAL_FILES = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
INVISIBLE_CHARACTERS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
Line = TypeVar("Line", str, bytes)
# Numbers of errors -> what to do.
ADVICE = (
    ((errno.ENOSPC, errno.EDQUOT), "make room on the disk, then try again"),
    ((errno.EACCES, errno.EPERM, errno.EROFS), "make it yours or writable, or give another path"),
    ((errno.EMFILE, errno.ENFILE), "allow more open files (ulimit -n), then try again"),
    ((errno.ENAMETOOLONG,), "give a shorter name"),
    ((errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL), "check the path"),
    ((errno.EIO, errno.ESTALE), "check the disk, or the network that it is on"),
)


def open_regular(path: str | Path) -> BufferedReader:
    """A regular file, opened to read bytes.

    Raises an OSError for a folder, a pipe or a device, without reading it or waiting for it. `strerror` says what it
    is.

    >>> open_regular("/dev/zero")
    Traceback (most recent call last):
    OSError: [Errno 22] a device, not a regular file: '/dev/zero'
    """
    check_regular(os.stat(path).st_mode, path)  # before it is opened, because even opening a device may have an effect
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        check_regular(os.fstat(descriptor).st_mode, path)  # another file may have taken the first one's place
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


class UnpackedFile(gzip.GzipFile):
    """The unpacked content of a gzipped file. Closing it closes the gzipped file, too."""

    def __init__(self, gzipped_file: BinaryIO) -> None:
        super().__init__(fileobj=gzipped_file, mode="rb")
        self.gzipped_file = gzipped_file

    def close(self) -> None:
        super().close()
        self.gzipped_file.close()


def open_unpacked(path: str | Path) -> BinaryIO:
    """A regular file, opened to read bytes; it is unpacked if its name or its first bytes say that it is gzipped."""
    file = open_regular(path)
    try:
        is_gzipped = str(path).lower().endswith(".gz") or file.read(2) == b"\x1f\x8b"
        file.seek(0)
        return cast(BinaryIO, UnpackedFile(file)) if is_gzipped else file
    except BaseException:
        file.close()
        raise


def check_regular(mode: int, path: str | Path) -> None:
    """Raise an OSError unless the mode, which `os.stat` returned, is that of a regular file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file", str(path))
    if not stat.S_ISREG(mode):
        kind = SPECIAL_FILES.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"{kind}, not a regular file", str(path))


def read_regular(path: str | Path, limit: int = LARGEST_FILE) -> bytes:
    """The bytes of a regular file. Raises OSError for anything else, and for more than `limit` bytes."""
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {format_megabytes(limit)}", str(path))
    return data


def read_bounded_lines(file: IO[Line], limit: int = LONGEST_LINE) -> Iterator[Line]:
    """The lines of an open file. Raises OSError for a line longer than `limit`, so that no file fills the memory."""
    while line := file.readline(limit + 1):
        if len(line) > limit:
            raise OSError(errno.EFBIG, f"a line is longer than {format_megabytes(limit)}")
        yield line


def explain_os_error(error: OSError, subject: str = "") -> SetupError:
    """The sentence for an error of the operating system. subject: what cannot be used; by default the error's file.

    >>> print(explain_os_error(OSError(errno.ENOSPC, "No space left on device", "rows.jsonl")))
    rows.jsonl cannot be used (No space left on device); make room on the disk, then try again.
    """
    advice = next((text for numbers, text in ADVICE if error.errno in numbers), "check it, then try again")
    names = " and ".join(escape_name(name) for name in (error.filename, error.filename2) if name is not None)
    reason = error.strerror or " ".join(str(error).split()) or type(error).__name__
    return SetupError(f"{subject or names or 'A file'} cannot be used ({reason}); {advice}.")


def format_megabytes(count: int) -> str:
    """A number of bytes in megabytes: '200 MB'."""
    return f"{count / 1_000_000:,.0f} MB"


def escape_name(name: object) -> str:
    r"""A file's name for a terminal or a page, with invisible and direction-changing characters as escapes.

    >>> print(escape_name("a\nb.txt"))
    a\nb.txt
    """
    return INVISIBLE_CHARACTERS.sub(lambda match: match[0].encode("unicode_escape").decode(), str(name))


def expand_home(path: str | Path) -> Path:
    """The path with "~" or "~USER" at its beginning replaced by the home folder.

    Raises `SetupError` if this machine has no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise SetupError(
            f"{str(path)!r} begins with a user that this machine does not have; give the whole path."
        ) from None
