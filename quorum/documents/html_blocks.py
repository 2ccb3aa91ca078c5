"""Turns HTML into blocks: web pages, and formats that are converted to HTML (Markdown, Word, EPUB, mail)."""

import re
from dataclasses import dataclass, field, replace
from typing import Any

from quorum.core.sentences import make_word_set
from quorum.documents.document import Block, Unreadable, join_lines, remove_unstorable
from quorum.documents.formulas import format_mathml
from quorum.documents.tables import Cell, Grid, make_table_blocks, read_table

IGNORED_TAGS = make_word_set(
    """script style noscript template nav head svg iframe object embed canvas audio video button select option
    textarea datalist map area"""
)
BLOCK_TAGS = make_word_set(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
    footer form header hgroup hr html legend li main menu ol p pre search section
    summary table tbody td tfoot th thead tr ul
    h1 h2 h3 h4 h5 h6"""
)
INLINE_TAGS = make_word_set(
    """a abbr b bdi bdo big br cite code data del dfn em font i img input ins kbd mark math q rp rt ruby s samp small
    span strike strong sub sup time tt u var wbr"""
)
KNOWN_TAGS = (
    IGNORED_TAGS | BLOCK_TAGS | INLINE_TAGS | {"title", "meta", "link", "col", "colgroup", "source", "track", "param"}
)
FORMATTED_TAGS = ("sup", "img", "br", "math", "input")  # see `format_inline`
HEADING_LEVELS = {f"h{level}": level for level in range(1, 7)}
SUPERSCRIPTS = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
EXPONENT = re.compile(r"[+-]?\d{1,4}")
# Styles by which nobody sees an element: not drawn, of size zero, transparent, or far off the screen.
HIDDEN_STYLE = re.compile(
    r"\bdisplay\s*:\s*none|\bvisibility\s*:\s*(?:hidden|collapse)|\bopacity\s*:\s*0*(?:\.0+)?%?\s*(?:;|!|\Z)"
    r"|\bfont-size\s*:\s*(?:0+(?:\.0+)?(?:px|pt|r?em|%|ex|ch|vw|vh)?|0*\.\d+p[xt])\s*(?:;|!|\Z)"
    r"|(?<![\w-])(?:left|right|top|bottom|text-indent|margin-left|margin-top)\s*:\s*-\d{3,}(?:\.\d+)?(?:px|pt|r?em|%|vw|vh)"
    r"|\bclip\s*:\s*rect\(\s*(?:0|1px)\b|\bclip-path\s*:\s*inset\(\s*(?:50|100)%"
    r"|\btransform\s*:\s*scale\(\s*0\s*\)",
    re.IGNORECASE,
)
BULLET = "- "
CELL_LINE_END = "\v"  # white space that HTML itself does not have
MAX_CELL_SPAN = 200  # the most columns, or rows, that one cell may span


@dataclass
class Page:
    """The content of a page: its title, its metadata, and its blocks."""

    title: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)


def read_html(text: str) -> Page:
    """The title, author, date and blocks of an HTML text. The blocks hold no scripts, styles, templates, navigation,
    form controls or hidden elements. Two exceptions: hidden rows, cells and captions of a data table are kept; and if a
    table in a cell contains another table, all its text is kept, even that of scripts and hidden elements.

    >>> [block.text for block in read_html("<p>un<i>believ</i>able</p><table><tr><th>Height<td>87 m</table>").blocks]
    ['unbelievable', 'Height: 87 m']
    """
    root = parse_html(text)
    return Page() if root is None else read_tree(root)


def read_tree(root: Any) -> Page:
    """The same for an element tree."""
    result = Page(join_lines("".join(next(root.iter("title")).itertext())) if root.find(".//title") is not None else "")
    for name in ("author", "date"):
        for meta in root.iterfind(f'.//meta[@name="{name}"]'):
            result.metadata[name] = join_lines(meta.get("content") or "")
    result.blocks = [replace(block, text=remove_unstorable(block.text)) for block in BlockWalk().list_blocks(root)]
    return result


def parse_html(text: str) -> Any:
    """The element tree of a page; None for an empty text."""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(remove_unstorable(text).encode(), parser) if text.strip() else None
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"damaged HTML ({str(error)[:80]})") from None
    if any("depth" in str(entry.message).lower() for entry in parser.error_log):
        raise Unreadable("nested too deeply")
    return root


def is_hidden(element: Any) -> bool:
    role = (element.get("role") or "").lower()
    return (
        element.tag in IGNORED_TAGS
        or element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or role in ("navigation", "menu", "menubar", "search")
        or bool(HIDDEN_STYLE.search(element.get("style") or ""))
    )


class BlockWalk:
    """Collects the blocks of a tree in one pass, without recursion, because pages may be nested to any depth."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.inline_parts: list[str] = []
        self.item_numbers: list[int | None] = []  # of each open list: the number of its next item, None for bullets
        self.marks: list[str] = []  # of each open list item: its bullet or number; "" once it is written or dropped

    def list_blocks(self, root: Any) -> list[Block]:
        from lxml import etree

        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "start":
                if self.enter(element):
                    walk.skip_subtree()
            else:
                self.leave(element)
                if element is not root and element.tail:
                    self.inline_parts.append(element.tail)
        self.flush()
        return self.blocks

    def enter(self, element: Any) -> bool:
        """Process the start of an element. Returns True if its content needs no further processing."""
        tag = element.tag
        if is_hidden(element):
            return True
        if tag in HEADING_LEVELS:
            self.flush()
            self.write_number()
            self.add(Block(join_lines(get_inner_text(element)), "heading", HEADING_LEVELS[tag]))
            return True
        if tag == "pre":
            self.flush()
            self.write_number()
            self.add(Block(get_inner_text(element, line_end="").strip("\n").rstrip(), "code"))
            return True
        if tag == "table" and not is_layout(element):
            self.flush()
            self.write_number()
            self.add_table(element)
            return True
        if tag in FORMATTED_TAGS:
            self.inline_parts.append(format_inline(element))
            return True
        if tag in ("ol", "ul", "menu"):
            self.flush()
            self.write_number()
            self.item_numbers.append(get_first_number(element) if tag == "ol" else None)
        if tag in BLOCK_TAGS and tag != "dd":  # the definition in <dd> joins the term in the <dt> before it
            self.flush()
        if tag == "li":
            self.marks.append(self.make_mark())
        self.inline_parts.append(element.text or "")
        return False

    def leave(self, element: Any) -> None:
        """Process the end of an element."""
        if is_hidden(element):
            return
        if element.tag == "dt":
            self.inline_parts.append(": ")
        elif element.tag in BLOCK_TAGS:
            self.flush()
            if element.tag == "li":
                self.marks.pop()
            if element.tag in ("ol", "ul", "menu") and self.item_numbers:
                self.item_numbers.pop()

    def make_mark(self) -> str:
        """The mark of a list item: a bullet or its number."""
        if not self.item_numbers or self.item_numbers[-1] is None:
            return BULLET
        number = self.item_numbers[-1]
        self.item_numbers[-1] = number + 1
        return f"{number}. "

    def flush(self) -> None:
        """Make a block of the inline text that was collected since the last block.

        The mark of a list item precedes the item's first text. But if a block element, such as <p>, begins the item
        before any text, a bullet is dropped, while a number is kept for the next text.
        """
        text = join_lines("".join(self.inline_parts))
        self.inline_parts.clear()
        mark = self.marks[-1] if self.marks else ""
        if text and (mark or text not in ("-", ":")):  # ":" remains of an empty term
            self.blocks.append(Block(mark + text))
        if mark and (text or mark == BULLET):
            self.marks[-1] = ""

    def write_number(self) -> None:
        """Make a block of the list item's number if no text has followed it: a list, heading, table or code follows."""
        if self.marks and self.marks[-1]:
            self.blocks.append(Block(self.marks[-1].strip()))
            self.marks[-1] = ""

    def add(self, block: Block) -> None:
        if block.text.strip():
            self.blocks.append(block)

    def add_table(self, element: Any) -> None:
        for caption in element.iterchildren("caption"):
            self.add(Block(join_lines(get_inner_text(caption))))
        self.blocks += make_table_blocks(read_grid(element), name_rows=count_marked_names(element))


def get_first_number(element: Any) -> int:
    start = element.get("start") or "1"
    return int(start) if start.isdecimal() and len(start) < 7 else 1


def format_inline(element: Any) -> str:
    """The text of <br>, <img> (its alternative text), <math>, <input> (whether a box is ticked) or <sup> (10⁶).

    A footnote number is dropped: a <sup> that contains a link, or that is the only content of a link to a place on the
    page.
    """
    if element.tag == "br":
        return "\n"
    if element.tag == "img":
        return str(element.get("alt") or "")
    if element.tag == "math":
        return format_mathml(element)
    if element.tag == "input":
        is_box = (element.get("type") or "").lower() in ("checkbox", "radio")
        return "" if not is_box else "[ ] " if element.get("checked") is None else "[x] "
    text = join_lines(get_inner_text(element))
    if element.find(".//a") is not None or is_whole_footnote_link(element):
        return ""
    return text.translate(SUPERSCRIPTS) if EXPONENT.fullmatch(text) else text


def is_whole_footnote_link(element: Any) -> bool:
    """Whether the element is the only content of a link to a place on the same page."""
    parent = element.getparent()
    if parent is None or parent.tag != "a" or not (parent.get("href") or "").startswith("#"):
        return False
    is_only_child = element.getprevious() is None and element.getnext() is None
    return is_only_child and not f"{parent.text or ''}{element.tail or ''}".strip()


def get_inner_text(element: Any, *, line_end: str = "\n") -> str:
    """The text inside an element, with its white space. A table inside it becomes one line.

    line_end: what is added before and after the text of each block element (BLOCK_TAGS), and for <br> if not empty.
    """
    from lxml import etree

    parts: list[str] = []
    walk = etree.iterwalk(element, events=("start", "end"))
    for event, inner in walk:
        if event == "end":
            parts.append(line_end if inner.tag in BLOCK_TAGS else "")
            parts.append(inner.tail or "" if inner is not element else "")
            continue
        if inner is not element and (is_hidden(inner) or inner.tag in ("table", *FORMATTED_TAGS)):
            text = "" if is_hidden(inner) else flatten_table(inner) if inner.tag == "table" else format_inline(inner)
            parts.append(line_end or text if inner.tag == "br" else text)
            walk.skip_subtree()
            continue
        parts.append(line_end if inner.tag in BLOCK_TAGS else "")
        parts.append(inner.text or "")
    return "".join(parts)


def flatten_table(table: Any) -> str:
    """A table inside a cell, on one line. If it contains another table, all of it becomes plain text."""
    has_inner_table = table.find(".//table") is not None
    if has_inner_table:
        return f" {join_lines(' '.join(table.itertext()))} "
    inner = read_table(read_grid(table), name_rows=count_marked_names(table))
    return f" {', '.join([*inner.above, *inner.rows])} "


def list_own_rows(table: Any) -> list[Any]:
    """The rows of a table, without those of tables in its cells."""
    rows: list[Any] = []
    for child in table:
        if child.tag in ("thead", "tbody", "tfoot"):
            rows += [row for row in child if row.tag == "tr"]
        elif child.tag == "tr":
            rows.append(child)
    return rows


def list_cells(row: Any) -> list[Any]:
    return [cell for cell in row if cell.tag in ("td", "th")]


def is_layout(table: Any) -> bool:
    """Whether a table is only used for layout.

    Its role says so, or it contains headings, or no row has two cells, or it has only one row and no cell that is
    marked as a name (<th>).
    """
    rows = list_own_rows(table)
    if (table.get("role") or "") in ("presentation", "none"):
        return True
    if any(table.find(f".//{tag}") is not None for tag in HEADING_LEVELS):
        return True
    return (len(rows) < 2 and not any(cell.tag == "th" for row in rows for cell in row)) or all(
        len(list_cells(row)) < 2 for row in rows
    )


def count_marked_names(table: Any) -> int | None:
    """How many rows at the top are marked as names of the columns: those in <thead>, and those that have only <th>.

    0 if every row begins with a <th>, which names the row; None if nothing is marked.
    """
    rows = list_own_rows(table)
    count = 0
    while count < len(rows) and (
        rows[count].getparent().tag == "thead"
        or (list_cells(rows[count]) and all(cell.tag == "th" for cell in list_cells(rows[count])))
    ):
        count += 1
    if 0 < count < len(rows):
        return count
    if count:  # all are marked alike, which says nothing of names
        return 1
    begins_with_name = [bool(list_cells(row)) and list_cells(row)[0].tag == "th" for row in rows]
    return 0 if rows and all(begins_with_name) else None


def read_grid(table: Any) -> Grid:
    """The cells of a table, row by row."""
    return [[read_cell(cell) for cell in list_cells(row)] for row in list_own_rows(table)]


def read_cell(cell: Any) -> str | Cell:
    lines = map(join_lines, get_inner_text(cell, line_end=CELL_LINE_END).split(CELL_LINE_END))
    text = "\n".join(filter(None, lines))
    columns, rows = read_span(cell, "colspan"), read_span(cell, "rowspan")
    return Cell(text, columns, rows) if columns > 1 or rows > 1 else text


def read_span(cell: Any, name: str) -> int:
    number = (cell.get(name) or "1").strip()
    return max(1, min(int(number), MAX_CELL_SPAN)) if number.isdecimal() and len(number) < 9 else 1
