"""Word documents (docx)."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quorum.documents.document import Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.html_blocks import read_html
from quorum.documents.readers.web_page import split_title
from quorum.documents.zip_parts import open_archive

# in mammoth's notation: the paragraph style, then the HTML element that it becomes
STYLE_MAP = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
TERMS_NAMESPACE = "{http://purl.org/dc/terms/}"


def read(data: bytes, name: str) -> Document:
    """Headings (paragraphs with a heading style), paragraphs, lists and tables; pictures and comments are left out.

    The title is a heading of level 1 that begins the document, else the title among the file's properties.
    """
    with open_archive(data, "docx") as archive:
        metadata = read_core_properties(archive)
    with convert_parser_errors("docx"):
        import mammoth

        drop_image = mammoth.images.img_element(lambda image: {"src": ""})
        converted_page = mammoth.convert_to_html(io.BytesIO(data), style_map=STYLE_MAP, convert_image=drop_image)
    page = read_html(converted_page.value)
    title, blocks = split_title(page)
    return Document(title or metadata.pop("title", ""), blocks, {k: v for k, v in metadata.items() if k != "title"})


@contextmanager
def convert_parser_errors(kind: str) -> Iterator[None]:
    """Turn any exception of a parser into `Unreadable`. kind: the type of file, for the message."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parsers warn about what they repair
            yield
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except Exception as error:  # noqa: BLE001  (parsers raise whatever they like)
        raise Unreadable(f"damaged, or not in the {kind} format ({type(error).__name__})") from None


def read_core_properties(archive: Any) -> dict[str, str]:
    """Title, author and date of the last change (YYYY-MM-DD) of an Office file; those that it lacks are left out."""
    from lxml import etree

    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.fromstring(archive.read("docProps/core.xml"), parser)
    except (KeyError, etree.XMLSyntaxError):
        return {}
    names = {"title": f"{DUBLIN_CORE}title", "author": f"{DUBLIN_CORE}creator", "date": f"{TERMS_NAMESPACE}modified"}
    properties = {key: remove_unstorable(join_lines(root.findtext(tag) or "")) for key, tag in names.items()}
    return {key: value[:10] if key == "date" else value for key, value in properties.items() if value}
