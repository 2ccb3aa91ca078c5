"""Small pieces of a page. All that comes from people, documents and models is set as text, never as markup."""

from collections.abc import Iterable, Sequence
from typing import Any

from nicegui import html
from nicegui.elements.mixins.text_element import TextElement


def text(tag: str, value: str = "") -> Any:
    """An element whose text changes: set its `text`."""
    return TextElement(tag=tag, text=value)


def table(heads: Sequence[str], lines: Iterable[Sequence[Any]], kind: str = "") -> Any:
    """A table of texts; a number is set to the right."""
    with html.div().classes("wide"), html.table().classes(kind) as made:
        with html.thead(), html.tr():
            for head in heads:
                html.th(head).props("scope=col")
        with html.tbody():
            for line in lines:
                with html.tr():
                    for value in line:
                        cell = html.td(said(value))
                        if isinstance(value, int | float):
                            cell.classes("number")
    return made


def said(value: Any) -> str:
    """A cell's text: numbers with separators, none as a dash."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def counted(count: int, one: str, many: str | None = None) -> str:
    """'1 call', '6 calls'."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def folded(title: str, *, opened: bool = False) -> Any:
    """A part that opens on its title; use it with `with`."""
    made = html.details()
    if opened:
        made.props("open")
    with made:
        html.summary(title)
    return made
