"""HTML pages."""

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document
from quorum.documents.html_blocks import Page, parse_html, read_tree
from quorum.documents.main_text import drop_boilerplate


def read(data: bytes, name: str) -> Document:
    """The main text of the page (see `quorum.documents.main_text`), with a note if its encoding was assumed.

    The title is that of the element <title>, or else a heading of level 1 that begins the page.
    """
    text, note = decode_text(data)
    root = parse_html(text)
    if root is not None:
        drop_boilerplate(root)
    page = Page() if root is None else read_tree(root)
    title, blocks = split_title(page)
    return Document(title, blocks, page.metadata, [note] if note else [])


def split_title(page: Page) -> tuple[str, list[Block]]:
    """(title, blocks). If the page begins with a heading of level 1, and its <title> is empty or equal to this heading,
    the heading is the title and is removed from the blocks. Otherwise the title is the text of <title>.
    """
    first = page.blocks[0] if page.blocks else None
    if first and first.kind == "heading" and first.level == 1 and page.title in ("", first.text):
        return first.text, page.blocks[1:]
    return page.title, page.blocks
