"""Small elements of a page. Content from people, documents and models is always text, never markup."""

from collections.abc import Iterable, Sequence
from typing import Any

from nicegui import html
from nicegui.elements.mixins.text_element import TextElement


def draw_text(tag: str, value: str = "") -> Any:
    """An element whose text can be changed through its attribute `text`."""
    return TextElement(tag=tag, text=value)


def draw_table(heads: Sequence[str], lines: Iterable[Sequence[Any]], kind: str = "") -> Any:
    """A table of texts. Columns with numbers are aligned to the right."""
    rows = [list(line) for line in lines]
    right = [any(isinstance(row[place], int | float) for row in rows) for place in range(len(heads))]
    with html.div().classes("wide"), html.table().classes(kind) as element:
        with html.thead(), html.tr():
            for head, number in zip(heads, right, strict=True):
                html.th(head).props("scope=col").classes("number" if number else "")
        with html.tbody():
            for row in rows:
                with html.tr():
                    for value, number in zip(row, right, strict=True):
                        html.td(format_cell(value)).classes("number" if number else "")
    return element


def format_cell(value: Any) -> str:
    """A cell's text: numbers with separators, None as a dash."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def draw_folded_section(title: str, note: str = "") -> Any:
    """A section that opens with a click on its title; use it with `with`."""
    section = html.details()
    with section, html.summary():
        html.span(title)
        html.small(note)
    return section
