"""Small elements of a page. Content from people, documents and models is always text, never markup."""

from collections.abc import Iterable, Sequence
from typing import Any

from nicegui import html
from nicegui.elements.mixins.text_element import TextElement


def draw_text(tag: str, value: str = "") -> Any:
    """An element whose text can be changed through its attribute `text`."""
    return TextElement(tag=tag, text=value)


def draw_table(headers: Sequence[str], lines: Iterable[Sequence[Any]], css_class: str = "") -> Any:
    """A table of texts. Columns with numbers are aligned to the right."""
    rows = [list(line) for line in lines]
    is_number_column = [any(isinstance(row[column], int | float) for row in rows) for column in range(len(headers))]
    with html.div().classes("table-scroller"), html.table().classes(css_class) as element:
        with html.thead(), html.tr():
            for header, is_number in zip(headers, is_number_column, strict=True):
                html.th(header).props("scope=col").classes("number" if is_number else "")
        with html.tbody():
            for row in rows:
                with html.tr():
                    for value, is_number in zip(row, is_number_column, strict=True):
                        html.td(format_cell(value)).classes("number" if is_number else "")
    return element


def format_cell(value: Any) -> str:
    """A cell's text: numbers with separators, a boolean as yes or no, None and the empty string as a dash."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def draw_folded_section(title: str, note: str = "") -> Any:
    """A section that opens with a click on its title. note: small text after the title.

    Use it as a context manager: elements that are made in a `with` block become its content.
    """
    section = html.details()
    with section, html.summary():
        html.span(title)
        html.small(note)
    return section
