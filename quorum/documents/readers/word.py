"""Word documents (docx)."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quorum.documents.document import Document, Unreadable, clean, one_line
from quorum.documents.html_blocks import read_html
from quorum.documents.readers.web_page import titled
from quorum.documents.zip_parts import opened

STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
TERMS = "{http://purl.org/dc/terms/}"


def read(data: bytes, name: str) -> Document:
    """Headings by style, paragraphs, lists and tables; pictures and comments are left out."""
    with opened(data, "docx") as archive:
        said = core_properties(archive)
    with parsing("docx"):
        import mammoth

        silent = mammoth.images.img_element(lambda image: {"src": ""})
        found = mammoth.convert_to_html(io.BytesIO(data), style_map=STYLES, convert_image=silent)
    page = read_html(found.value)
    title, blocks = titled(page)
    return Document(title or said.pop("title", ""), blocks, {k: v for k, v in said.items() if k != "title"})


@contextmanager
def parsing(kind: str) -> Iterator[None]:
    """What a parser raises over a damaged file, as `Unreadable`."""
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
        raise Unreadable(f"damaged or not a {kind} file ({type(error).__name__})") from None


def core_properties(archive: Any) -> dict[str, str]:
    """Title, author and date of an Office file, where it has them."""
    from lxml import etree

    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.fromstring(archive.read("docProps/core.xml"), parser)
    except (KeyError, etree.XMLSyntaxError):
        return {}
    names = {"title": f"{DUBLIN_CORE}title", "author": f"{DUBLIN_CORE}creator", "date": f"{TERMS}modified"}
    said = {key: clean(one_line(root.findtext(tag) or "")) for key, tag in names.items()}
    return {key: value[:10] if key == "date" else value for key, value in said.items() if value}
