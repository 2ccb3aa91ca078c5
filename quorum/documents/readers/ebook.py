"""EPUB books: their chapters in reading order."""

import posixpath
from typing import Any
from urllib.parse import unquote
from zipfile import ZipFile

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.html_blocks import read_html
from quorum.documents.zip_parts import open_archive

PACKAGE_NAMESPACE = "{http://www.idpf.org/2007/opf}"
DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
CONTAINER_NAMESPACE = "{urn:oasis:names:tc:opendocument:xmlns:container}"
PAGE_TYPES = ("application/xhtml+xml", "text/html")


def read(data: bytes, name: str) -> Document:
    """The title, author, date and chapters of a book, without tables of contents."""
    notes: dict[str, None] = {}  # each note once, in order
    with open_archive(data, "epub", allow_entities=True) as archive:
        package_path, package = read_package(archive)
        metadata = {
            key: get_metadata_text(package, tag)
            for key, tag in (("title", "title"), ("author", "creator"), ("date", "date"))
        }
        blocks: list[Block] = []
        for path in list_chapters(package, posixpath.dirname(package_path)):
            try:
                text, note = decode_text(archive.read(path))
            except KeyError:
                notes[f"{path} is listed in the book but missing"] = None
                continue
            notes |= {note: None} if note else {}
            blocks += read_html(text).blocks
    title = metadata.pop("title")
    if blocks and blocks[0].kind == "heading" and blocks[0].text == title:
        blocks = blocks[1:]
    return Document(title, blocks, {key: value for key, value in metadata.items() if value}, list(notes))


def parse_xml(data: bytes) -> Any:
    """The root element of an XML file. Raises `Unreadable` if the file is damaged."""
    from lxml import etree

    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"damaged, or not in the epub format ({str(error)[:60]})") from None


def read_package(archive: ZipFile) -> tuple[str, Any]:
    """The path and the root element of the package file, which lists the parts of the book."""
    root = parse_xml(archive.read("META-INF/container.xml")).find(f".//{CONTAINER_NAMESPACE}rootfile")
    package_path = "" if root is None else root.get("full-path") or ""
    return package_path, parse_xml(archive.read(package_path))


def get_metadata_text(package: Any, tag: str) -> str:
    return remove_unstorable(join_lines(package.findtext(f".//{DUBLIN_CORE}{tag}") or ""))


def list_chapters(package: Any, folder: str) -> list[str]:
    """The paths of the chapters in the archive, in reading order, without tables of contents.

    folder: the folder of the package file, from which the paths in this file start.
    """
    items = {item.get("id"): item for item in package.iter(f"{PACKAGE_NAMESPACE}item")}
    chapters = []
    for reference in package.iter(f"{PACKAGE_NAMESPACE}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in PAGE_TYPES or "nav" in (item.get("properties") or "").split():
            continue
        chapters.append(posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or ""))))
    return list(dict.fromkeys(chapters))
