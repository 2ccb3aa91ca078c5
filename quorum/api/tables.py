"""Tables of texts for a terminal and for a notebook."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns, and rows of texts. The first column is left-aligned, the others right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.header))]
        return "\n".join([*([self.title] if self.title else []), *(align_row(line, widths) for line in lines)])

    def _repr_html_(self) -> str:
        caption = f"<caption>{escape(self.title)}</caption>" if self.title else ""
        head = render_html_row(self.header, "th")
        body = "".join(render_html_row(row, "td") for row in self.rows)
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def align_row(line: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def render_html_row(cells: Sequence[str], tag: str) -> str:
    html_cells = "".join(
        f'<{tag} style="text-align: {"right" if column else "left"}">{escape(cell)}</{tag}>'
        for column, cell in enumerate(cells)
    )
    return f"<tr>{html_cells}</tr>"
