"""Mail messages (RFC 5322)."""

from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime
from typing import Any

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.html_blocks import read_html

MAX_PARTS = 1000


def read(data: bytes, name: str) -> Document:
    """The subject is the title. The first block has sender, recipients, date and attachment names; the text follows,
    then the messages that are attached, as in a digest, each under its subject.
    """
    try:
        message = message_from_bytes(decode_header(data), policy=policy.default)
        if not message.keys():
            raise Unreadable("not a mail message: it has no header")
        headers = {key: get_header(message, key) for key in ("From", "To", "Cc", "Date", "Subject")}
        blocks, notes = read_body(message)
        forwarded_blocks = [block for part in list_forwarded(message) for block in read_forwarded(part, notes)]
        attachment_names = [join_lines(part.get_filename() or "") for part in message.walk() if part.get_filename()]
    except (ValueError, LookupError, AttributeError, RecursionError) as error:
        raise Unreadable(f"damaged mail ({type(error).__name__})") from None
    header_lines = [f"{key}: {value}" for key, value in headers.items() if value and key != "Subject"]
    if attachment_names:
        header_lines.append(f"Attached: {', '.join(attachment_names[:50])}")
    title = headers["Subject"]
    metadata = {"author": headers["From"], "date": format_date(headers["Date"])}
    header_blocks = [Block("; ".join(header_lines), "row")] if header_lines else []
    return Document(
        title,
        [*header_blocks, *blocks, *forwarded_blocks],
        {key: value for key, value in metadata.items() if value},
        notes,
    )


def list_forwarded(message: EmailMessage) -> list[EmailMessage]:
    """The messages that a message has attached, and those attached to them, in order."""
    return [
        inner
        for part in message.walk()
        if part.get_content_type() == "message/rfc822" and part.is_multipart()
        for inner in part.iter_parts()
        if isinstance(inner, EmailMessage)
    ]


def read_forwarded(message: EmailMessage, notes: list[str]) -> list[Block]:
    """An attached message: its subject as a heading, its header, its text. Adds to `notes`."""
    headers = {key: get_header(message, key) for key in ("From", "To", "Date")}
    blocks, inner_notes = read_body(message)
    notes += [note for note in inner_notes if note not in notes]
    line = "; ".join(f"{key}: {value}" for key, value in headers.items() if value)
    heading = Block(get_header(message, "Subject") or "Forwarded message", "heading", 2)
    return [heading, *([Block(line, "row")] if line else []), *blocks]


def decode_header(data: bytes) -> bytes:
    """The message with its header in UTF-8. Some programs write other encodings there, without saying which."""
    end = min((place for end in (b"\r\n\r\n", b"\n\n") if (place := data.find(end)) >= 0), default=len(data))
    header = data[:end]
    return data if header.isascii() else decode_text(header).text.encode() + data[end:]


def get_header(message: EmailMessage, name: str) -> str:
    return remove_unstorable(join_lines(str(message.get(name) or "")))


def format_date(date: str) -> str:
    """A mail's date in ISO 8601; empty if it is not a valid date."""
    try:
        return parsedate_to_datetime(date).date().isoformat()
    except (ValueError, TypeError):
        return ""


def read_body(message: EmailMessage) -> tuple[list[Block], list[str]]:
    """(blocks, notes) of the message's text: the plain version if there is one, else HTML."""
    if sum(1 for _ in message.walk()) > MAX_PARTS:
        raise Unreadable(f"more than {MAX_PARTS:,} parts")
    part: Message[Any, Any] | None = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return [], []
    data = part.get_payload(decode=True)
    text, note = decode_text(data if isinstance(data, bytes) else b"", part.get_content_charset() or "")
    notes = [note] if note else []
    if part.get_content_subtype() == "html":
        return read_html(text).blocks, notes
    lines = [line.lstrip("> ") if line.startswith(">") else line for line in text.split("\n")]  # without quote marks
    return [Block("\n".join(lines))], notes
