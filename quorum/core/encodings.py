"""Decodes bytes by their byte order mark, as UTF-8, by the declared encoding, or by a detector, in this order.

Data with NUL bytes but without a byte order mark are read as UTF-16 or refused.
"""

import codecs
import re
from contextlib import suppress
from typing import NamedTuple

from quorum.core.latin_encodings import choose_latin_encoding


class Unreadable(Exception):  # noqa: N818  the name describes the error without "Error"
    """Raised for a file or line that cannot be read; the message is the reason."""


BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because this mark begins with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The encodings that the detector may choose for a text in other than Latin letters. If several fit equally well, it
# takes the one that stands first here.
LIKELY_ENCODINGS = (
    "cp1252", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "shift_jis", "euc_jp", "gb18030",
    "big5", "euc_kr",
)  # fmt: skip
# How Python's name of an encoding begins -> how the name that the user sees begins: "cp1252" -> "Windows-1252".
USUAL_BEGINNINGS = {"cp125": "Windows-125", "koi8_r": "KOI8-R", "utf-16": "UTF-16", "iso8859_": "ISO-8859-"}
DETECTED_BYTES = 200_000  # bytes that the detector reads
SAMPLE_END_BYTES = 20_000  # the detector's sample ends at a line end or a space among the last of these bytes
MAX_NON_ASCII_SHARE = 0.25  # if at most this share of its letters is not ASCII, a text counts as Latin script
TWO_LETTERS = re.compile(rb"[\x80-\xff]{2}")
THREE_LETTERS = re.compile(rb"[\xc0-\xff]{3}|[\x80-\xff]{5}")
# Names of encodings that mean another encoding, of which they are a part, or that Python does not know: what browsers
# and mail programs read for them (WHATWG, Encoding Standard, section 4.2).
MEANT_ENCODINGS = {
    "iso88591": "cp1252", "latin1": "cp1252", "l1": "cp1252", "iso88599": "cp1254", "latin5": "cp1254",
    "gb2312": "gb18030", "gbk": "gb18030", "xgbk": "gb18030", "euccn": "gb18030", "shiftjis": "cp932", "sjis": "cp932",
    "xsjis": "cp932", "windows31j": "cp932", "euckr": "cp949", "ksc56011987": "cp949", "ksc5601": "cp949",
    "windows949": "cp949", "xeucjp": "euc_jp", "big5": "big5hkscs", "xxbig5": "big5hkscs", "tis620": "cp874",
    "iso885911": "cp874", "windows874": "cp874", "dos874": "cp874", "macintosh": "mac_roman", "xmacroman": "mac_roman",
    "xmaccyrillic": "mac_cyrillic", "xcp1250": "cp1250", "xcp1251": "cp1251", "xcp1252": "cp1252",
    "iso88598i": "cp1255", "iso88598e": "cp1255", "unicode11utf7": "utf_7",
}  # fmt: skip
# Encodings whose bytes are all ASCII, so that their text would also be read as UTF-8.
SEVEN_BIT_ENCODINGS = ("iso2022", "hz", "utf7", "unicode11utf7")
WIDE_ENCODINGS = {"utf16le": "utf-16-le", "utf16be": "utf-16-be", "utf32le": "utf-32-le", "utf32be": "utf-32-be"}
# Where a file names its encoding: XML, HTML, CSS, and Python's and Emacs' first lines.
XML_DECLARATION = re.compile(rb"""\A\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9_.:-]+)""")
META_CHARSET = re.compile(rb"""<meta\s[^>]{0,400}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
CSS_CHARSET = re.compile(rb"""\A@charset\s+["']([A-Za-z0-9_.:-]+)""")
CODING_LINE = re.compile(
    rb"\A(?:[^\n]*\n)?[ \t]*(?:#|//|%|;|\.\.|/\*|\"\")[^\n]{0,200}?coding[:=][ \t]*([A-Za-z0-9_.-]+)"
)
DECLARATION_BYTES = 4096  # a declaration stands among the first bytes of a file


class DecodedText(NamedTuple):
    """A text with "\\n" as line end, and a note for the user if its encoding was assumed."""

    text: str
    note: str = ""


def decode_text(data: bytes, declared_encoding: str = "") -> DecodedText:
    """The text of a file, or of a part of one.

    declared_encoding: the one that a mail's header names; if it is empty, the one that the text itself names (see
    `find_declared_encoding`). It is used for all that is not UTF-8.

    Raises `Unreadable` if the bytes are not text.

    >>> decode_text("Köln liegt am Rhein.".encode("cp1252")).note
    'read as Windows-1252, which was assumed: the text is not UTF-8 and names no encoding'
    >>> decode_text("Köln liegt am Rhein.".encode("cp1252"), "ascii").note.partition(": ")[2]
    "the text is not UTF-8, and the encoding that it names, 'ascii', does not fit"
    >>> decode_text('<?xml version="1.0" encoding="windows-1251"?><b>Река</b>'.encode("cp1251")).text[-11:]
    '<b>Река</b>'
    """
    if marked_encoding := find_marked_encoding(data):
        return DecodedText(unify_line_ends(decode_strictly(data, marked_encoding)))
    declared_encoding = declared_encoding or find_declared_encoding(data)
    plain_name = re.sub(r"[^a-z0-9]", "", declared_encoding.lower())
    if b"\0" in data:
        return decode_without_mark(data, WIDE_ENCODINGS.get(plain_name, ""))
    encodings = ["utf-8", *([declared_encoding] if declared_encoding else [])]
    reason = "the text is not UTF-8 and names no encoding"
    if plain_name.startswith(("utf16", "utf32", "ucs")):  # without NUL bytes, so that it cannot be
        encodings, reason = ["utf-8"], describe_misfit(declared_encoding)
    for encoding in reversed(encodings) if plain_name.startswith(SEVEN_BIT_ENCODINGS) else encodings:
        try:
            return DecodedText(unify_line_ends(decode_as_named(data, encoding)))
        except LookupError:
            reason = f"the text is not UTF-8, and the encoding that it names, {declared_encoding!r}, is unknown"
        except ValueError:  # UnicodeDecodeError; Python's codec "undefined" raises UnicodeError
            if encoding != "utf-8":
                reason = describe_misfit(declared_encoding)
    encoding = detect_encoding(data)
    return DecodedText(unify_line_ends(data.decode(encoding, "replace")), describe_assumption(encoding, reason))


def describe_misfit(declared_encoding: str) -> str:
    return f"the text is not UTF-8, and the encoding that it names, {declared_encoding!r}, does not fit"


def find_declared_encoding(data: bytes) -> str:
    """The encoding that a file names at its beginning, as XML, HTML, CSS and source code do; "" if it names none.

    >>> find_declared_encoding(b'<html><head><meta charset="koi8-r">'), find_declared_encoding(b"# coding: latin-1")
    ('koi8-r', 'latin-1')
    """
    beginning = data[:DECLARATION_BYTES]
    for pattern in (XML_DECLARATION, META_CHARSET, CSS_CHARSET, CODING_LINE):
        if match := pattern.search(beginning):
            return match[1].decode()
    return ""


def decode_as_named(data: bytes, name: str) -> str:
    """Decode by the encoding that a file names, as browsers and mail programs read this name."""
    meant = MEANT_ENCODINGS.get(re.sub(r"[^a-z0-9]", "", name.lower()), name)
    try:
        return data.decode(meant)
    except UnicodeDecodeError:
        return data.decode(name)


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


def decode_without_mark(data: bytes, declared_encoding: str = "") -> DecodedText:
    """Decode UTF-16, or the wide encoding that is declared, without a byte order mark. Raises `Unreadable` for other
    data with NUL bytes.

    In UTF-16, the high byte of every ASCII or Latin-1 character is NUL. Data that declare nothing are decoded only if
    more than 70% of the high bytes are NUL.
    """
    if declared_encoding:
        with suppress(UnicodeDecodeError):
            return DecodedText(unify_line_ends(data.decode(declared_encoding)))
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

    A text in Latin letters has one of `latin_encodings`, any other text the one that the detector finds, or
    Windows-1252 if it finds none. Raises `Unreadable` if the text has control bytes.
    """
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in data[:DETECTED_BYTES]):
        raise Unreadable("control bytes in it: not a text file")
    sample = take_beginning(data)
    if is_latin_script(sample):
        return choose_latin_encoding(sample)
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=list(LIKELY_ENCODINGS), enable_fallback=False).best()
    if best is None or str(best) == sample.decode("cp1252", "replace"):
        return "cp1252"
    return best.encoding


def is_latin_script(data: bytes) -> bool:
    """Whether a text that is not UTF-8 seems to be in Latin letters: few of its letters are not ASCII, or at least no
    two, or hardly ever three, in a row.
    """
    if not TWO_LETTERS.search(data):
        return True
    letter_count = sum(byte > 127 or chr(byte).isalpha() for byte in data)
    non_ascii_share = sum(byte > 127 for byte in data) / max(letter_count, 1)
    return non_ascii_share <= MAX_NON_ASCII_SHARE or (non_ascii_share <= 0.5 and not THREE_LETTERS.search(data))


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
