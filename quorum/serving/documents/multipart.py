"""Reads the files of a request in the form multipart/form-data (RFC 7578) while they arrive."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

LONGEST_HEAD = 16_384  # bytes of the headers of one part
BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;,]{1,70}))', re.IGNORECASE)
FILE_NAME = re.compile(rb'filename="((?:\\"|[^"])*)"', re.IGNORECASE)
EXTENDED_NAME = re.compile(rb"filename\*=utf-8''([^\s;]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """The head of a part. name: the file's name with its folders, as the client sent it; None for a part that is no
    file.
    """

    name: str | None


class PartEnd:
    """The end of a part."""


class MultipartParser:
    """Takes the bytes of a body in any pieces, and gives the heads of its parts, their bytes and their ends.

    >>> parser = MultipartParser("multipart/form-data; boundary=x")
    >>> head = b'--x\\r\\nContent-Disposition: form-data; name="f"; filename="a/b.txt"\\r\\n\\r\\n'
    >>> [type(item).__name__ for item in parser.feed(head + b"text\\r\\n--x--")], parser.is_whole
    (['Part', 'bytes', 'PartEnd'], True)
    """

    def __init__(self, content_type: str) -> None:
        """Raises ValueError unless the type is multipart/form-data with a boundary."""
        match = BOUNDARY.search(content_type)
        if match is None or not content_type.lower().startswith("multipart/form-data"):
            raise ValueError("it is not multipart/form-data")
        self.delimiter = b"\r\n--" + (match[1] or match[2]).encode("latin-1")
        self.buffer = bytearray(b"\r\n")  # so that the first delimiter is like the others
        self.state: Literal["before", "head", "body", "end"] = "before"

    @property
    def is_whole(self) -> bool:
        """Whether the last delimiter has come."""
        return self.state == "end"

    def feed(self, data: bytes) -> Iterator[Part | bytes | PartEnd]:
        """What the next bytes complete. Raises ValueError for a body that is not in this form."""
        self.buffer += data
        while self.state != "end":
            if self.state == "head":
                end = self.buffer.find(b"\r\n\r\n")
                if end < 0:
                    if len(self.buffer) > LONGEST_HEAD:
                        raise ValueError("the headers of a part are too long")
                    return
                head, self.state = bytes(self.buffer[:end]), "body"
                del self.buffer[: end + 4]
                yield Part(read_name(head))
                continue
            position = self.buffer.find(self.delimiter)
            end = position if position >= 0 else max(0, len(self.buffer) - len(self.delimiter))
            yield from self.take_body(end)
            after = bytes(self.buffer[len(self.delimiter) : len(self.delimiter) + 2])
            if position < 0 or len(after) < 2:
                return
            if self.state == "body":
                yield PartEnd()
            if after not in (b"--", b"\r\n"):
                raise ValueError("a delimiter is followed by something else than a part")
            self.state = "end" if after == b"--" else "head"
            # The line break after the delimiter stays, so that a part without headers is read, too.
            del self.buffer[: len(self.delimiter)]

    def take_body(self, end: int) -> Iterator[bytes]:
        """Remove the first `end` bytes from the buffer; they are the next bytes of a part's body, if one is open."""
        taken = bytes(self.buffer[:end])
        del self.buffer[:end]
        if self.state == "body" and taken:
            yield taken


def read_name(head: bytes) -> str | None:
    """The file's name in the headers of a part; None if it has none. Browsers write %22 for a quotation mark."""
    disposition = next((line for line in head.split(b"\r\n") if line.lower().startswith(b"content-disposition:")), b"")
    if match := EXTENDED_NAME.search(disposition):
        return unquote(match[1].decode("ascii", "replace"), errors="replace")
    if match := FILE_NAME.search(disposition):
        name = match[1].replace(b'\\"', b'"').decode("utf-8", "replace")
        return name.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
    return None
