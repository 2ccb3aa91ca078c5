"""Reading files: documents (txt, md, html, pdf, docx) and passages (JSON lines)."""

import gzip
import io
import logging
import re
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from quorum.core.json_text import parse_json, replace_half_characters
from quorum.core.state import Passage
from quorum.datasets.records import content_hash

TEXT = {".txt", ".text", ".md", ".markdown"}
CONVERTED = {".html", ".htm", ".pdf", ".docx"}
LINES = (".jsonl", ".jsonl.gz")
FIRST_HEADING = re.compile(r"\A\s*#[ \t]+([^\n]+)\n?")
LINK = re.compile(r"!?\[([^\][]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
BOLD = re.compile(r"\*\*(\S(?:[^*\n]*\S)?)\*\*")
BROKEN_WORD = re.compile(r"(?<=[a-z])-\n(?=[a-z])")


class Unreadable(Exception):  # noqa: N818  (a reason, not a bug)
    """Why a file or line is skipped."""


class Document(NamedTuple):
    """A title and a text."""

    title: str
    text: str


def is_lines(path: Path) -> bool:
    """Whether each line of the file is a passage."""
    return path.name.lower().endswith(LINES)


def read_document(path: Path) -> Document:
    """A document of a known type; its title is the first heading, HTML's <title>, else the file's name."""
    kind = path.suffix.lower()
    if kind not in TEXT | CONVERTED:
        raise Unreadable(f"files of type {kind!r} are not read" if kind else "a file without a type is not read")
    data = read_bytes(path)
    title, text = plain(data, kind) if kind in TEXT else converted(data, kind)
    if not text.strip():
        raise Unreadable("no text in it (scanned pages?)" if kind == ".pdf" else "no text in it")
    return Document(clean(title or path.stem), clean(text))


def read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    if not data.strip():
        raise Unreadable("empty")
    return data


def plain(data: bytes, kind: str) -> tuple[str, str]:
    """(title, text) of text or Markdown in UTF-8."""
    text = decoded(data)
    return headed(text) if kind in (".md", ".markdown") else ("", text)


def decoded(data: bytes) -> str:
    if b"\0" in data:
        raise Unreadable("NUL bytes in it: not a text file in UTF-8")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 (byte {error.start})") from None


def headed(markdown: str) -> tuple[str, str]:
    """(first heading, the rest) of Markdown; links and bold type become their text."""
    found = FIRST_HEADING.match(markdown)
    title, text = (found[1].rstrip(), markdown[found.end() :]) if found else ("", markdown)
    bare = title.rstrip("#")
    return unmarked(bare.rstrip() if bare.endswith((" ", "\t")) else title), unmarked(text)


def unmarked(markdown: str) -> str:
    return BOLD.sub(r"\1", LINK.sub(r"\1", markdown))


def converted(data: bytes, kind: str) -> tuple[str, str]:
    """(title, text) by markitdown."""
    from markitdown import StreamInfo
    from markitdown.converters import DocxConverter, HtmlConverter, PdfConverter

    charset = None
    if kind in (".html", ".htm"):
        charset, data = "utf-8", html_text(data).encode()
    maker: Any = {".pdf": PdfConverter, ".docx": DocxConverter}.get(kind, HtmlConverter)
    level = logging.getLogger("pdfminer").level
    logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # converters warn about what they repair
            result = maker().convert(io.BytesIO(data), StreamInfo(extension=kind, charset=charset))
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except Exception as error:  # noqa: BLE001  (converters raise whatever their parsers raise)
        raise Unreadable(f"damaged or not a {kind[1:]} file ({type(error).__name__})") from None
    finally:
        logging.getLogger("pdfminer").setLevel(level)
    text = result.markdown or ""
    if kind == ".pdf":
        return "", BROKEN_WORD.sub("", text.replace("\f", "\n\n"))
    title, rest = headed(text)
    own = " ".join((result.title or "").split())
    return own or title, rest if not own or title in ("", own) else unmarked(text)


def html_text(data: bytes) -> str:
    """HTML as text: UTF-8, or the encoding that the page declares."""
    declared = re.search(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", data[:2048])
    try:
        return decoded(data)
    except Unreadable as reason:
        if b"\0" in data or not declared:
            raise
        try:
            return data.decode(declared[1].decode())
        except (LookupError, UnicodeDecodeError):
            raise reason from None


def clean(text: str) -> str:
    """Without what cannot be stored: NUL and lone surrogates."""
    return replace_half_characters(text.replace("\0", ""))


def open_lines(path: Path) -> Any:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")


def count_lines(path: Path) -> int:
    """Lines of a file of passages; 1 for a file that cannot be read."""
    count = 0
    try:
        with open_lines(path) as file:
            count = sum(1 for line in file if line.strip())
    except (OSError, EOFError, zlib.error):
        pass
    return max(count, 1)


def read_lines(path: Path) -> Iterator[tuple[int, Passage | str]]:
    """(line number from 1, passage, or why the line is skipped). A file that breaks off is `Unreadable` there."""
    number = 0
    try:
        with open_lines(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line_passage(line)
    except (OSError, EOFError, zlib.error) as error:
        reason = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
        raise Unreadable(f"cannot be read after line {number} ({reason})") from None
    if number == 0:
        raise Unreadable("empty")


def line_passage(line: bytes) -> Passage | str:
    """The passage of a line {"id", "title", "text"}, or why it is none. `title` may be missing, `id` too."""
    try:
        value = parse_json(line)
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError:
        return "not JSON"
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return 'not a passage {"id", "title", "text"}'
    title, text = clean(str(value.get("title") or "")), clean(value["text"])
    if "\0" in value["text"]:
        return "NUL characters in it"
    if not text.strip():
        return "empty text"
    id_ = clean(str(value.get("id") if value.get("id") is not None else "")).strip() or content_hash(title, text)
    return Passage(id=id_, title=title, text=text)
