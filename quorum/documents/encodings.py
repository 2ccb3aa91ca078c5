"""Decodes bytes: by the byte order mark, as UTF-8, as declared, else by a detector."""

import codecs
from typing import NamedTuple

from quorum.documents.document import Unreadable

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because it begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What the detector may choose from; of several that fit equally it takes the first.
LIKELY = (
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "shift_jis", "euc_jp", "gb18030",
    "big5", "euc_kr",
)  # fmt: skip
NAMES = {"cp125": "Windows-125", "koi8_r": "KOI8-R", "utf-16": "UTF-16"}
SEEN = 200_000  # bytes that the detector looks at
FEW_ODD = 0.25  # of the letters: a text in Latin script


class Decoded(NamedTuple):
    """A text with "\\n" as line end, and a note if its encoding was assumed."""

    text: str
    note: str = ""


def decode_text(data: bytes, declared: str = "") -> Decoded:
    """The text of a file. declared: the encoding that the file itself names; it is tried after UTF-8.

    Raises `Unreadable` for what is no text.

    >>> decode_text("Köln liegt am Rhein.".encode("cp1252")).note
    'read as Windows-1252, which was assumed: it is not UTF-8 and names no encoding'
    """
    for mark, name in MARKS:
        if data.startswith(mark):
            return Decoded(lines(strictly(data, name)))
    if b"\0" in data:
        return without_mark(data)
    try:
        return Decoded(lines(data.decode("utf-8")))
    except UnicodeDecodeError:
        pass
    if declared:
        try:
            return Decoded(lines(data.decode(declared)))
        except (LookupError, UnicodeDecodeError):
            pass
    name = detected(data)
    return Decoded(lines(data.decode(name, "replace")), assumed(name))


def lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def strictly(data: bytes, name: str) -> str:
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        raise Unreadable(f"its mark says {name.upper()}, which breaks off at byte {error.start}") from None


def without_mark(data: bytes) -> Decoded:
    """Text with NUL bytes is UTF-16 that lost its mark, or no text."""
    name = "utf-16-le" if data[1::2].count(0) >= data[::2].count(0) else "utf-16-be"
    zeros = data[1::2] if name == "utf-16-le" else data[::2]
    if len(data) % 2 == 0 and zeros.count(0) > len(zeros) * 0.7:
        try:
            text = data.decode(name)
        except UnicodeDecodeError:
            text = "\0"
        if "\0" not in text:
            return Decoded(lines(text), assumed(name))
    raise Unreadable("NUL bytes in it: not a text file")


def detected(data: bytes) -> str:
    """The likeliest encoding of a text that is not UTF-8. Short texts in Latin script are taken for Windows-1252."""
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in data[:SEEN]):
        raise Unreadable("control bytes in it: not a text file")
    from charset_normalizer import from_bytes

    letters = sum(byte > 127 or chr(byte).isalpha() for byte in data[:SEEN])
    odd = sum(byte > 127 for byte in data[:SEEN])
    choice = ["cp1252", "cp1250"] if odd <= FEW_ODD * letters else list(LIKELY)
    if choice[:2] == ["cp1252", "cp1250"] and len(choice) == 2 and len(data) < 100:
        return "cp1252"
    best = from_bytes(data[:SEEN], cp_isolation=choice, enable_fallback=False).best()
    if best is None or str(best) == data[:SEEN].decode("cp1252", "replace"):
        return "cp1252"
    return best.encoding


def assumed(name: str) -> str:
    for begin, shown in NAMES.items():
        name = name.replace(begin, shown) if name.startswith(begin) else name
    return f"read as {name}, which was assumed: it is not UTF-8 and names no encoding"
