"""Decodes bytes by their byte order mark, as UTF-8, by the declared encoding, or by a detector, in this order."""

import codecs
from typing import NamedTuple

from quorum.documents.document import Unreadable

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because it begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The encodings that the detector may choose. If several fit equally well, it takes the first.
LIKELY_ENCODINGS = (
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "shift_jis", "euc_jp", "gb18030",
    "big5", "euc_kr",
)  # fmt: skip
# How Python's name of an encoding begins -> how the name that the user sees begins: "cp1252" -> "Windows-1252".
USUAL_BEGINNINGS = {"cp125": "Windows-125", "koi8_r": "KOI8-R", "utf-16": "UTF-16"}
DETECTED_BYTES = 200_000  # bytes that the detector reads
MAX_NON_ASCII_SHARE = 0.25  # share of non-ASCII letters up to which a text is in Latin script


class DecodedText(NamedTuple):
    """A text with "\\n" as line end, and a note for the user if its encoding was assumed."""

    text: str
    note: str = ""


def decode_text(data: bytes, declared_encoding: str = "") -> DecodedText:
    """The text of a file. declared_encoding: the one that the file itself names; it is tried after UTF-8.

    Raises `Unreadable` if the bytes are not text.

    >>> decode_text("Köln liegt am Rhein.".encode("cp1252")).note
    'read as Windows-1252, which was assumed: it is not UTF-8 and names no encoding'
    >>> decode_text("Köln liegt am Rhein.".encode("cp1252"), "ascii").note
    "read as Windows-1252, which was assumed: it is not UTF-8, and the encoding that it names, 'ascii', does not fit"
    """
    for mark, name in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return DecodedText(unify_line_ends(decode_strictly(data, name)))
    if b"\0" in data:
        return decode_without_mark(data)
    try:
        return DecodedText(unify_line_ends(data.decode("utf-8")))
    except UnicodeDecodeError:
        pass
    reason = "it is not UTF-8 and names no encoding"
    if declared_encoding:
        try:
            return DecodedText(unify_line_ends(data.decode(declared_encoding)))
        except LookupError:
            reason = f"it is not UTF-8, and the encoding that it names, {declared_encoding!r}, is unknown"
        except UnicodeDecodeError:
            reason = f"it is not UTF-8, and the encoding that it names, {declared_encoding!r}, does not fit"
    name = detect_encoding(data)
    return DecodedText(unify_line_ends(data.decode(name, "replace")), describe_assumption(name, reason))


def unify_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def decode_strictly(data: bytes, name: str) -> str:
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"its byte order mark says {name.upper()}, but the bytes from {error.start} on are not {name.upper()}"
        ) from None


def decode_without_mark(data: bytes) -> DecodedText:
    """Decode UTF-16 without its mark. Raises `Unreadable` for other data with NUL bytes."""
    name = "utf-16-le" if data[1::2].count(0) >= data[::2].count(0) else "utf-16-be"
    high_bytes = data[1::2] if name == "utf-16-le" else data[::2]
    if len(data) % 2 == 0 and high_bytes.count(0) > len(high_bytes) * 0.7:
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            text = "\0"
        if "\0" not in text:
            note = describe_assumption(name, "it has NUL bytes but no byte order mark")
            return DecodedText(unify_line_ends(text), note)
    raise Unreadable("NUL bytes in it: not a text file")


def detect_encoding(data: bytes) -> str:
    """The likeliest encoding of a text that is not UTF-8; Windows-1252 for short texts in Latin script."""
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in data[:DETECTED_BYTES]):
        raise Unreadable("control bytes in it: not a text file")
    from charset_normalizer import from_bytes

    letters = sum(byte > 127 or chr(byte).isalpha() for byte in data[:DETECTED_BYTES])
    non_ascii = sum(byte > 127 for byte in data[:DETECTED_BYTES])
    likely_encodings = ["cp1252", "cp1250"] if non_ascii <= MAX_NON_ASCII_SHARE * letters else list(LIKELY_ENCODINGS)
    if likely_encodings[:2] == ["cp1252", "cp1250"] and len(likely_encodings) == 2 and len(data) < 100:
        return "cp1252"
    best = from_bytes(data[:DETECTED_BYTES], cp_isolation=likely_encodings, enable_fallback=False).best()
    if best is None or str(best) == data[:DETECTED_BYTES].decode("cp1252", "replace"):
        return "cp1252"
    return best.encoding


def describe_assumption(name: str, reason: str) -> str:
    """The note for the user about an encoding that was assumed for this reason."""
    for begin, shown in USUAL_BEGINNINGS.items():
        name = name.replace(begin, shown) if name.startswith(begin) else name
    return f"read as {name}, which was assumed: {reason}"
