"""A table of numbers for the terminal, whose numbers are never broken."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP = 2  # spaces between two columns
WIDEST_NAME = 40  # characters of the first column that other columns leave room for; a longer name is broken
SHORTEST_NAME = 8  # characters that a broken name has at least


class NumberTable:
    """A table without lines. The first column is aligned left, all others right.

    Where the columns are too wide for the terminal, the table goes on below with those that are left, and repeats the
    first column: a broken "82.0 [73.1, 89.0]" can hardly be read.

    >>> table = NumberTable("method", "EM", "F1")
    >>> table.add_row("concat", "42.0 [32.2, 52.3]", "47.6 [37.8, 57.4]")
    >>> Console(width=28).print(table)
    method                 EM
    concat  42.0 [32.2, 52.3]
    <BLANKLINE>
    method                 F1
    concat  47.6 [37.8, 57.4]
    """

    def __init__(self, *titles: str) -> None:
        self.titles = titles
        self.rows: list[tuple[str | Text, ...]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, with one cell for each title."""
        self.rows.append(cells)

    def list_widths(self) -> list[int]:
        """The width of each column in characters."""
        texts = [self.titles, *([str(cell) for cell in row] for row in self.rows)]
        columns = zip(*texts, strict=True)
        return [max(cell_len(line) for text in column for line in text.split("\n")) for column in columns]

    def list_parts(self, width: int) -> Iterator[Sequence[int]]:
        """The columns of each part of the table that is at most `width` characters wide, without the first column."""
        first, *others = self.list_widths()
        left = first = min(first, WIDEST_NAME)
        part: list[int] = []
        for number, column in enumerate(others, start=1):
            if part and left + GAP + column > width:
                yield part
                part, left = [], first
            part.append(number)
            left += GAP + column
        yield part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self.list_widths()
        for number, part in enumerate(self.list_parts(options.max_width)):
            table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, GAP, 0, 0))
            # A name gives way to the numbers; only where not even a short one fits beside them, they are broken, too.
            room = options.max_width - sum(GAP + widths[column] for column in part)
            table.add_column(self.titles[0], overflow="fold", max_width=max(room, SHORTEST_NAME))
            for column in part:
                table.add_column(self.titles[column], justify="right", overflow="fold")
            for row in self.rows:
                table.add_row(row[0], *(row[column] for column in part))
            if number:
                yield Text()
            yield table
