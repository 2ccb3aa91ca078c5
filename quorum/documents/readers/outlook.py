"""Outlook's messages (msg), by Microsoft's descriptions [MS-OXMSG] and [MS-OXPROPS]."""

import io
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.html_blocks import read_html
from quorum.documents.readers import rich_text
from quorum.documents.readers.word import convert_parser_errors

MAX_SHOWN = 50  # names of attachments
MAX_MESSAGES = 100  # a message with those that it has attached, and those attached to them
LARGEST_READ = 200_000_000  # bytes of all properties that are read
PROPERTIES = "__properties_version1.0"
HEADER_SIZES = {"": 32, "message": 24, "attachment": 8}  # of the stream of properties with a fixed size
SUBJECT, BODY, HTML, RTF = "0037", "1000", "1013", "1009"
SENDER_NAME, SENDER_ADDRESSES, SENT_FOR = "0C1A", ("5D01", "0C1F"), "0042"
TO, CC, FILE_NAMES, ATTACHED_MESSAGE = "0E04", "0E03", ("3707", "3704", "3001"), "__substg1.0_3701000D"
SENT, RECEIVED, PAGE_OF_HTML, PAGE_OF_TEXT = 0x0039, 0x0E06, 0x3FDE, 0x3FFD
FIRST_DAY = datetime(1601, 1, 1, tzinfo=UTC)
# Windows' numbers of encodings that Python does not call "cp" and the number.
ENCODINGS = {65001: "utf-8", 20127: "ascii", 20866: "koi8-r", 50220: "iso2022_jp", 51949: "euc_kr", 54936: "gb18030"}
Path = tuple[str, ...]


def read(data: bytes, name: str) -> Document:
    """As mail: the subject is the title. The first block has sender, recipients, date and attachment names; the text
    follows, then the messages that are attached, each under its subject.
    """
    with convert_parser_errors("msg"):
        import olefile

        if not olefile.isOleFile(data=data):
            raise Unreadable("damaged, or not in the msg format")
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            message = Message(file, ())
            if PROPERTIES not in message.names:
                raise Unreadable("damaged, or no message of Outlook")
            notes: list[str] = []
            blocks = [*make_header(message), *message.read_body(notes)]
            for inner in list_attached_messages(message):
                heading = Block(inner.get_text(SUBJECT) or "Forwarded message", "heading", 2)
                blocks += [heading, *make_header(inner), *inner.read_body(notes)]
            date = message.find_date()
            metadata = {"author": message.find_sender(), "date": date.date().isoformat() if date else ""}
            title = message.get_text(SUBJECT)
    return Document(title, blocks, {key: value for key, value in metadata.items() if value}, notes)


class Message:
    """A message of a file: the streams in one of its storages.

    file: olefile's. path: of the storage, empty for the file's own message. kind: what the storage holds.
    """

    def __init__(self, file: Any, path: Path, kind: str = "", budget: list[int] | None = None) -> None:
        self.file, self.path, self.kind = file, path, kind
        self.budget = [LARGEST_READ] if budget is None else budget  # bytes that may still be read
        depth = len(path)
        listed = file.listdir(streams=True, storages=True)
        self.names = dict.fromkeys(entry[depth] for entry in map(tuple, listed) if entry[:depth] == path != entry)
        self.fixed = self.read_fixed()

    def get_bytes(self, stream: str) -> bytes:
        """A stream's bytes; empty if there is none."""
        if stream not in self.names:
            return b""
        data: bytes = self.file.openstream([*self.path, stream]).read()
        self.budget[0] -= len(data)
        if self.budget[0] < 0:
            raise Unreadable("its properties take too much memory")
        return data

    def read_fixed(self) -> dict[int, bytes]:
        """The number of each property with a fixed size -> its eight bytes."""
        data = self.get_bytes(PROPERTIES)
        begin = HEADER_SIZES[self.kind]
        whole = len(data) - (len(data) - begin) % 16
        entries = (data[place : place + 16] for place in range(begin, whole, 16))
        return {struct.unpack_from("<H", entry, 2)[0]: entry[8:] for entry in entries}

    def get_raw_text(self, number: str) -> str:
        """A property's text, empty if there is none."""
        if data := self.get_bytes(f"__substg1.0_{number}001F"):
            return data.decode("utf-16-le", "replace")
        data = self.get_bytes(f"__substg1.0_{number}001E").rstrip(b"\0")
        return decode_text(data, self.name_encoding(PAGE_OF_TEXT)).text

    def get_text(self, *numbers: str) -> str:
        """The text of the first of these properties that there is, on one line."""
        texts = (remove_unstorable(join_lines(self.get_raw_text(number))) for number in numbers)
        return next(filter(None, texts), "")

    def name_encoding(self, number: int) -> str:
        """The encoding that a property names by Windows' number; empty if none does."""
        page = struct.unpack("<I4x", self.fixed[number])[0] if number in self.fixed else 0
        if 28591 <= page <= 28606:
            return f"iso8859-{page - 28590}"
        return ENCODINGS.get(page, f"cp{page}") if page else ""

    def find_sender(self) -> str:
        name, address = self.get_text(SENDER_NAME, SENT_FOR), self.get_text(*SENDER_ADDRESSES)
        if "@" not in address or address == name:
            return name or address
        return f"{name} <{address}>" if name else address

    def find_date(self) -> datetime | None:
        """When the message was sent, or else received."""
        for number in (SENT, RECEIVED):
            ticks = struct.unpack("<Q", self.fixed[number])[0] if number in self.fixed else 0
            if 0 < ticks < 1 << 60:  # tenths of a microsecond
                return FIRST_DAY + timedelta(microseconds=ticks // 10)
        return None

    def read_body(self, notes: list[str]) -> list[Block]:
        """The blocks of the text: of HTML if there is some, from which Outlook makes the others. Adds to `notes`."""
        if html := self.get_bytes(f"__substg1.0_{HTML}0102"):
            decoded = decode_text(html.rstrip(b"\0"), self.name_encoding(PAGE_OF_HTML))
            notes += [decoded.note] if decoded.note and decoded.note not in notes else []
            return read_html(decoded.text).blocks
        if text := self.get_raw_text(HTML):
            return read_html(text).blocks
        if text := self.get_raw_text(BODY):
            return [Block(text.replace("\r\n", "\n"))]
        if data := self.get_bytes(f"__substg1.0_{RTF}0102"):
            from compressed_rtf import decompress

            return list(rich_text.read(decompress(data), "").blocks)
        return []


def make_header(message: Message) -> list[Block]:
    """Sender, recipients, date and attachment names, as one block."""
    date = message.find_date()
    names = [part.get_text(*FILE_NAMES) for part in list_attachments(message)]
    values = {
        "From": message.find_sender(),
        "To": message.get_text(TO),
        "Cc": message.get_text(CC),
        "Date": f"{date:%Y-%m-%d %H:%M} UTC" if date else "",
        "Attached": ", ".join(list(filter(None, names))[:MAX_SHOWN]),
    }
    line = "; ".join(f"{key}: {value}" for key, value in values.items() if value)
    return [Block(line, "row")] if line else []


def list_attachments(message: Message) -> Iterator[Message]:
    """The storages of a message's attachments."""
    for name in message.names:
        if name.startswith("__attach_version1.0_#"):
            yield Message(message.file, (*message.path, name), "attachment", message.budget)


def list_attached_messages(message: Message) -> list[Message]:
    """The messages that a message has attached, and those attached to them, in order."""
    found: list[Message] = []
    waiting = [message]
    while waiting:
        outer = waiting.pop(0)
        for part in list_attachments(outer):
            if ATTACHED_MESSAGE in part.names:
                inner = Message(part.file, (*part.path, ATTACHED_MESSAGE), "message", part.budget)
                found.append(inner)
                waiting.append(inner)
        if len(found) > MAX_MESSAGES:
            raise Unreadable(f"more than {MAX_MESSAGES:,} messages in it")
    return found
