"""Decodes bytes by their byte order mark, as UTF-8, by the declared encoding, or by a detector, in this order.

Data with NUL bytes but without a byte order mark are read as UTF-16 or refused.
"""

import codecs
from typing import NamedTuple


class Unreadable(Exception):  # noqa: N818  the name describes the error without "Error"
    """Raised for a file or line that cannot be read; the message is the reason."""


BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because this mark begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The encodings that the detector may choose. If several fit equally well, it takes the one that stands first here.
LIKELY_ENCODINGS = (
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "shift_jis", "euc_jp", "gb18030",
    "big5", "euc_kr",
)  # fmt: skip
# How Python's name of an encoding begins -> how the name that the user sees begins: "cp1252" -> "Windows-1252".
USUAL_BEGINNINGS = {"cp125": "Windows-125", "koi8_r": "KOI8-R", "utf-16": "UTF-16"}
DETECTED_BYTES = 200_000  # bytes that the detector reads
SAMPLE_END_BYTES = 20_000  # the detector's sample ends at a line end or a space among the last of these bytes
MAX_NON_ASCII_SHARE = 0.25  # if at most this share of its letters is not ASCII, a text counts as Latin script


class DecodedText(NamedTuple):
    """A text with "\\n" as line end, and a note for the user if its encoding was assumed."""

    text: str
    note: str = ""


def decode_text(data: bytes, declared_encoding: str = "") -> DecodedText:
    """The text of a file, or of a part of one. declared_encoding: the one that the file itself names; it is tried after
    UTF-8.

    Raises `Unreadable` if the bytes are not text.

    >>> decode_text("Köln liegt am Rhein.".encode("cp1252")).note
    'read as Windows-1252, which was assumed: the text is not UTF-8 and names no encoding'
    >>> decode_text("Köln liegt am Rhein.".encode("cp1252"), "ascii").note.partition(": ")[2]
    "the text is not UTF-8, and the encoding that it names, 'ascii', does not fit"
    """
    if marked_encoding := find_marked_encoding(data):
        return DecodedText(unify_line_ends(decode_strictly(data, marked_encoding)))
    if b"\0" in data:
        return decode_without_mark(data)
    try:
        return DecodedText(unify_line_ends(data.decode("utf-8")))
    except UnicodeDecodeError:
        pass
    reason = "the text is not UTF-8 and names no encoding"
    if declared_encoding:
        try:
            return DecodedText(unify_line_ends(data.decode(declared_encoding)))
        except LookupError:
            reason = f"the text is not UTF-8, and the encoding that it names, {declared_encoding!r}, is unknown"
        except ValueError:  # UnicodeDecodeError; Python's codec "undefined" raises UnicodeError
            reason = f"the text is not UTF-8, and the encoding that it names, {declared_encoding!r}, does not fit"
    encoding = detect_encoding(data)
    return DecodedText(unify_line_ends(data.decode(encoding, "replace")), describe_assumption(encoding, reason))


def find_marked_encoding(beginning: bytes) -> str:
    """The encoding that a byte order mark at the beginning of a file says; "" without a mark.

    >>> find_marked_encoding("Köln".encode("utf-16")), find_marked_encoding(b"Bonn")
    ('utf-16', '')
    """
    return next((encoding for mark, encoding in BYTE_ORDER_MARKS if beginning.startswith(mark)), "")


def unify_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_strictly(data: bytes, encoding: str) -> str:
    """Decode by the encoding that the byte order mark says. Raises `Unreadable` if the bytes do not fit it."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        shown_name = encoding.upper()
        raise Unreadable(
            f"its byte order mark says {shown_name}, but the bytes from {error.start} on are not {shown_name}"
        ) from None


def decode_without_mark(data: bytes) -> DecodedText:
    """Decode UTF-16 that has no byte order mark. Raises `Unreadable` for other data with NUL bytes.

    In UTF-16, the high byte of every ASCII or Latin-1 character is NUL. Data are decoded only if more than 70% of the
    high bytes are NUL.
    """
    encoding = "utf-16-le" if data[1::2].count(0) >= data[::2].count(0) else "utf-16-be"
    high_bytes = data[1::2] if encoding == "utf-16-le" else data[::2]
    if len(data) % 2 == 0 and high_bytes.count(0) > len(high_bytes) * 0.7:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            text = "\0"  # so that it is refused below
        if "\0" not in text:
            note = describe_assumption(encoding, "the text has NUL bytes but no byte order mark")
            return DecodedText(unify_line_ends(text), note)
    raise Unreadable("NUL bytes in it: not a text file")


def detect_encoding(data: bytes) -> str:
    """The likeliest encoding of a text that is not UTF-8.

    It is Windows-1252 for a text of fewer than 100 bytes in Latin script, and also if the detector finds none. Raises
    `Unreadable` if the text has control bytes.
    """
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in data[:DETECTED_BYTES]):
        raise Unreadable("control bytes in it: not a text file")
    from charset_normalizer import from_bytes

    sample = take_beginning(data)
    letter_count = sum(byte > 127 or chr(byte).isalpha() for byte in sample)
    non_ascii_count = sum(byte > 127 for byte in sample)
    is_latin_script = non_ascii_count <= MAX_NON_ASCII_SHARE * letter_count
    if is_latin_script and len(data) < 100:
        return "cp1252"
    likely_encodings = ["cp1252", "cp1250"] if is_latin_script else list(LIKELY_ENCODINGS)
    best = from_bytes(sample, cp_isolation=likely_encodings, enable_fallback=False).best()
    if best is None or str(best) == sample.decode("cp1252", "replace"):
        return "cp1252"
    return best.encoding


def take_beginning(data: bytes) -> bytes:
    """The first DETECTED_BYTES of the data, up to the last line end or space among the last SAMPLE_END_BYTES of them.

    So the sample does not end inside a character of several bytes: in no encoding is a line end or a space the last
    byte of such a character.
    """
    beginning = data[:DETECTED_BYTES]
    if len(beginning) == len(data):
        return data
    break_position = max(beginning.rfind(mark, DETECTED_BYTES - SAMPLE_END_BYTES) for mark in (b"\n", b" "))
    return beginning[: break_position + 1] if break_position >= 0 else beginning


def describe_assumption(encoding: str, reason: str) -> str:
    """The note for the user that this encoding was assumed, and why."""
    for python_beginning, usual_beginning in USUAL_BEGINNINGS.items():
        if encoding.startswith(python_beginning):
            encoding = encoding.replace(python_beginning, usual_beginning)
    return f"read as {encoding}, which was assumed: {reason}"
