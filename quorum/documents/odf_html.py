"""Turns the XML of OpenDocument (ODF 1.3) into HTML, which `read_html` reads as it reads that of other formats."""

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from quorum.documents.document import Unreadable
from quorum.documents.word_numbering import LEVELS, Level, count

NAMESPACES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "fo": "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "presentation": "urn:oasis:names:tc:opendocument:xmlns:presentation:1.0",
    "meta": "urn:oasis:names:tc:opendocument:xmlns:meta:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
    "dc": "http://purl.org/dc/elements/1.1/",
    "math": "http://www.w3.org/1998/Math/MathML",
}
PREFIXES = {address: prefix for prefix, address in NAMESPACES.items()}
# What is no text of the document: deleted text, comments, indexes (which repeat headings), settings, hidden text.
LEFT_OUT = {
    *("text:tracked-changes", "office:annotation", "text:table-of-content", "text:illustration-index"),
    *("text:table-index", "text:alphabetical-index", "text:object-index", "text:user-index", "text:sequence-decls"),
    *("text:variable-decls", "text:user-field-decls", "office:forms", "text:hidden-text", "table:shapes"),
    *("text:note-citation", "office:settings", "table:table-columns", "text:ruby-text", "draw:image-map"),
    *("office:binary-data", "office:event-listeners", "presentation:notes"),
}
NUMBER_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
MAX_CELLS = 1_000_000  # of all tables of a text, with repeated ones
TINY_LETTERS = 1.0  # points: letters of at most one point are no letters to read


def odf(prefixed: str) -> str:
    """An element's or attribute's name as lxml writes it.

    >>> odf("text:p")
    '{urn:oasis:names:tc:opendocument:xmlns:text:1.0}p'
    """
    prefix, _, local = prefixed.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


def get_tag(element: Any) -> str:
    """The name of an element with its usual prefix; empty for comments and other namespaces."""
    if not isinstance(element.tag, str):
        return ""
    address, _, local = element.tag.rpartition("}")
    prefix = PREFIXES.get(address[1:])
    return f"{prefix}:{local}" if prefix else ""


@dataclass
class Converter:
    """Writes the HTML of a document's elements.

    hidden_styles: names of the styles whose text nobody sees. heading_numbers: gives the number of the next heading of
    a level, or an empty text. get_object: the root of an embedded formula or chart, None if it is neither.
    """

    hidden_styles: set[str]
    heading_numbers: Callable[[int], str]
    get_object: Callable[[str], Any]
    notes: list[str] = field(default_factory=list)
    cells_left: int = MAX_CELLS

    def convert(self, element: Any) -> str:
        """An element as HTML, without the text that follows it."""
        tag = get_tag(element)
        if not tag or tag in LEFT_OUT or self.is_hidden(element):
            return ""
        if tag in ("text:p", "text:h"):
            return self.convert_paragraph(element, tag)
        if tag == "table:table":
            return self.convert_table(element)
        if tag == "text:note":
            bodies = element.findall(odf("text:note-body"))
            self.notes += [self.convert_children(body) for body in bodies]
            return ""
        if tag == "draw:object":
            return self.convert_object(element)
        if tag == "draw:frame":
            return self.convert_frame(element)
        simple = {"text:line-break": "<br>", "text:tab": "\t", "text:s": " ", "text:soft-page-break": ""}
        if tag in simple:
            return simple[tag]
        inner = self.convert_children(element)
        if tag == "text:list":
            return f"<ul>{inner}</ul>"
        if tag in ("text:list-item", "text:list-header"):
            return f"<li>{inner}</li>"
        return inner

    def convert_children(self, element: Any) -> str:
        """The text and elements within an element."""
        parts = [escape(element.text or "", quote=False)]
        for child in element:
            parts += [self.convert(child), escape(child.tail or "", quote=False)]
        return "".join(parts)

    def convert_paragraph(self, element: Any, tag: str) -> str:
        """A paragraph or heading, then the notes and text boxes that stand in it."""
        outer_notes, self.notes = self.notes, []
        inner = self.convert_children(element)
        after, self.notes = "".join(self.notes), outer_notes
        if tag == "text:p":
            is_item = get_tag(element.getparent()) == "text:list-item" and element.getprevious() is None
            return f"{inner}{after}" if is_item else f"<p>{inner}</p>{after}"
        level = element.get(odf("text:outline-level"), "1")
        level = min(6, max(1, int(level) if level.isdecimal() else 1))
        number = "" if element.get(odf("text:is-list-header")) == "true" else self.heading_numbers(level)
        return f"<h{level}>{escape(number)}{inner}</h{level}>{after}"

    def convert_frame(self, element: Any) -> str:
        """A text box after the paragraph in which it stands, a formula within it; of a picture its own description."""
        contents = "".join(self.convert(child) for child in element if get_tag(child) not in ("svg:title", "svg:desc"))
        if element.find(odf("draw:object")) is not None and contents.startswith("<math"):
            return contents
        if contents.strip():
            self.notes.append(contents)
        return ""

    def convert_object(self, element: Any) -> str:
        """An embedded formula, or the data of a chart."""
        root = element.find(odf("math:math"))
        root = self.get_object(element.get(odf("xlink:href"), "")) if root is None else root
        if root is None:
            return ""
        if get_tag(root) == "math:math":
            from lxml import etree

            return str(etree.tostring(strip_namespaces(root), encoding="unicode", with_tail=False))
        return "".join(self.convert_table(table) for table in root.iter(odf("table:table")))

    def convert_table(self, table: Any) -> str:
        """A table; rows that the file marks as names are its head."""
        head: list[str] = []
        body: list[str] = []
        for row in table.iter(odf("table:table-row")):
            if find_table(row) is not table:  # a row of a table within a cell
                continue
            is_head = any(
                get_tag(outer) == "table:table-header-rows" for outer in row.iterancestors() if outer is not table
            )
            times = min(read_count(row, "table:number-rows-repeated"), 100)
            html = "".join(self.convert_cell(cell) for cell in row)
            (head if is_head else body).extend([f"<tr>{html}</tr>"] * times)
        head_html = f"<thead>{''.join(head)}</thead>" if head else ""
        return f"<table>{head_html}<tbody>{''.join(body)}</tbody></table>"

    def convert_cell(self, cell: Any) -> str:
        if get_tag(cell) != "table:table-cell":  # one that another covers
            return ""
        times = min(read_count(cell, "table:number-columns-repeated"), 100)
        self.cells_left -= times
        if self.cells_left < 0:
            raise Unreadable(f"more than {MAX_CELLS:,} cells")
        columns, rows = (read_count(cell, f"table:number-{kind}-spanned") for kind in ("columns", "rows"))
        outer_notes, self.notes = self.notes, []
        inner = self.convert_children(cell)
        inner, self.notes = inner + "".join(self.notes), outer_notes
        return f'<td colspan="{columns}" rowspan="{rows}">{inner}</td>' * times

    def is_hidden(self, element: Any) -> bool:
        if element.get(odf("text:display")) == "none" or element.get(odf("text:is-hidden")) == "true":
            return True
        style = element.get(odf("text:style-name"))
        return style is not None and style in self.hidden_styles


def find_table(row: Any) -> Any:
    """The table to which a row belongs."""
    return next((outer for outer in row.iterancestors() if get_tag(outer) == "table:table"), None)


def read_count(element: Any, attribute: str) -> int:
    """A count that an attribute gives, 1 if it gives none."""
    text = element.get(odf(attribute), "1")
    return max(1, int(text)) if text.isdecimal() and len(text) < 10 else 1


def strip_namespaces(root: Any) -> Any:
    """MathML with the names that HTML gives it."""
    for element in root.iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.rpartition("}")[2]
    return root


def list_hidden_styles(roots: list[Any]) -> set[str]:
    """The names of the styles whose text nobody sees: hidden, or in letters of no size."""
    hidden = set()
    for root in roots:
        for style in root.iter(odf("style:style")):
            properties = style.find(odf("style:text-properties"))
            if properties is None:
                continue
            size = properties.get(odf("fo:font-size"), "")
            is_tiny = size.endswith("pt") and is_at_most(size.removesuffix("pt"), TINY_LETTERS)
            if is_tiny or properties.get(odf("text:display")) == "none":
                hidden.add(style.get(odf("style:name"), ""))
    return hidden


def is_at_most(text: str, bound: float) -> bool:
    try:
        return float(text) <= bound
    except ValueError:
        return False


def count_headings(styles: Any) -> Callable[[int], str]:
    """A function that gives each heading, called with its level, its number as the document's outline style says."""
    outline = None if styles is None else next(styles.iter(odf("text:outline-style")), None)
    found = [] if outline is None else list(outline.iter(odf("text:outline-level-style")))
    by_level = {read_count(style, "text:level"): style for style in found}
    forms = {
        level: NUMBER_FORMS.get(style.get(odf("style:num-format"), ""), "none") for level, style in by_level.items()
    }
    levels: dict[int, Level] = {}
    for level, style in by_level.items():
        first = level - read_count(style, "text:display-levels") + 1
        shown = [f"%{upper}" for upper in range(max(1, first), level + 1) if forms.get(upper, "none") != "none"]
        prefix, suffix = (style.get(odf(f"style:num-{place}"), "") for place in ("prefix", "suffix"))
        text = f"{prefix}{'.'.join(shown)}{suffix}"
        levels[level - 1] = Level(read_count(style, "text:start-value"), forms[level], text)
    counter: list[int | None] = [None] * LEVELS

    def number(level: int) -> str:
        text = count(counter, levels, min(level, LEVELS) - 1)
        return f"{text} " if text else ""

    return number
