"""Tables: which rows are names, and that no value is lost, in every type of file."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_files import TABLE_TYPES, make_html, write_table

from quorum.documents.html_blocks import read_html
from quorum.documents.read import read_document
from quorum.documents.readers.delimited_text import read as read_csv
from quorum.documents.tables import Cell, read_table

Grid = Sequence[Sequence[str | Cell]]

NAMES_WITH_DIGITS = [["Mill", "Q1", "CO2", "Q3"], ["Orl", "40", "40", "55"], ["Tam", "12", "", "31"]]
REPEATED_NAMES = [["Mill", "Score", "Score"], ["Orl", "3", "3"], ["Tam", "4", "5"]]
NAMES_IN_TWO_ROWS = [
    [Cell("Mill", rows=2), Cell("2022", columns=2), Cell("2023", columns=2)],
    ["Sales", "Costs", "Sales", "Costs"],
    ["Orl", "90", "71", "95", "95"],
    ["Tam", "40", "33", "42", "39"],
]
TITLE_ABOVE = [["Flour in tonnes"], ["Mill", "2020", "2021"], ["Orl", "3", "3"], ["Tam", "", "4"]]
ROWS_OF_TYPES = [
    (NAMES_WITH_DIGITS, ["Mill: Orl; Q1: 40; CO2: 40; Q3: 55", "Mill: Tam; Q1: 12; Q3: 31"]),
    (REPEATED_NAMES, ["Mill: Orl; Score: 3; Score: 3", "Mill: Tam; Score: 4; Score: 5"]),
    (
        NAMES_IN_TWO_ROWS,
        [
            "Mill: Orl; 2022 Sales: 90; 2022 Costs: 71; 2023 Sales: 95; 2023 Costs: 95",
            "Mill: Tam; 2022 Sales: 40; 2022 Costs: 33; 2023 Sales: 42; 2023 Costs: 39",
        ],
    ),
    (TITLE_ABOVE, ["Flour in tonnes", "Mill: Orl; 2020: 3; 2021: 3", "Mill: Tam; 2021: 4"]),
]


@pytest.mark.parametrize("file_type", TABLE_TYPES)
def test_a_table_reads_alike_in_every_type_of_file(file_type: str, tmp_path: Path) -> None:
    for grid, rows in ROWS_OF_TYPES:
        if file_type == "md" and grid in (NAMES_IN_TWO_ROWS, TITLE_ABOVE):  # Markdown's tables have one row of names
            continue
        document = read_document(write_table(tmp_path / f"table.{file_type}", grid))
        texts = [block.text for block in document.blocks if block.kind != "heading"]
        assert [text for text in texts if not text.startswith("From:")] == rows


@pytest.mark.parametrize(
    ("grid", "rows"),
    [
        (
            [["Dam", "Height"], ["Vell", "87 m"], ["Brack", "61 m"]],
            ["Dam: Vell; Height: 87 m", "Dam: Brack; Height: 61 m"],
        ),
        ([["Height", "87 m"], ["Owner", "Orla AG"]], ["Height: 87 m", "Owner: Orla AG"]),
        ([["a", "b", "c"], ["1", "", "3"]], ["a: 1; c: 3"]),
        ([["7", "7", "9"], ["4", "4", "4"]], ["7; 7; 9", "4; 4; 4"]),
        ([["Vell", "yes", "yes"], ["Brack", "yes", "no"]], ["Vell; yes; yes", "Brack; yes; no"]),
        ([["RX-200", "iron", "4"], ["RX-300", "steel", "4"]], ["RX-200; iron; 4", "RX-300; steel; 4"]),
        ([["", "1", "2", "3"], ["Vell", "a", "a", "b"]], ["Vell; 1: a; 2: a; 3: b"]),
        ([["Dam", "Height", "Flow"], ["", "m", "l/s"], ["Vell", "8", "8"]], ["Dam: Vell; Height m: 8; Flow l/s: 8"]),
        ([["alone"]], ["alone"]),
        ([["", ""], []], []),
        ([["Dam", "Year", "Owner"], ["Vell", Cell("none", columns=2)]], ["Dam: Vell; Year, Owner: none"]),
        ([["Dam", "Year", "Owner"], ["Vell", "1931", "Orla"], [Cell("In the north", columns=3)]],
         ["Dam: Vell; Year: 1931; Owner: Orla", "In the north"]),
        ([["Dam", "Year", "Owner"], ["Vell", Cell("1931", rows=2), "Orla"], ["Brack", "State"]],
         ["Dam: Vell; Year: 1931; Owner: Orla", "Dam: Brack; Year: 1931; Owner: State"]),
    ],
)  # fmt: skip
def test_rows_carry_the_names_of_their_columns(grid: Grid, rows: list[str]) -> None:
    assert read_table(grid).rows == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0,First Name,Age\n1,Ada,25\n2,Bo,36\n", ["0: 1; First Name: Ada; Age: 25", "0: 2; First Name: Bo; Age: 36"]),
        ("# exported, 2 May\nmill,wheels\nOrl,3\n", ["# exported, 2 May", "mill: Orl; wheels: 3"]),
        ("#mill,wheels\nOrl,3\nTam,3\n", ["mill: Orl; wheels: 3", "mill: Tam; wheels: 3"]),
        ("Mills, wheels\n\nmill;wheels\nOrl;3\n", ["Mills, wheels", "mill: Orl; wheels: 3"]),
        ('mill, note, wheels\nOrl, "shut, for repair", 3\n', ["mill: Orl; note: shut, for repair; wheels: 3"]),
        ("sep=|\nmill|wheels\nOrl|3\n", ["mill: Orl; wheels: 3"]),
        (",2022,,2023,\nMill,In,Out,In,Out\nOrl,1,1,2,3\n",
         ["Mill: Orl; 2022 In: 1; 2022 Out: 1; 2023 In: 2; 2023 Out: 3"]),
        ('name;note\nAda;"works\nremotely"\n', ["name: Ada; note: works remotely"]),
        ("I like mills.\nThey turn.\n", ["I like mills.", "They turn."]),
    ],
)  # fmt: skip
def test_delimited_text_is_read_as_a_person_reads_it(text: str, rows: list[str]) -> None:
    assert [block.text for block in read_csv(text.encode(), "a.csv").blocks] == rows


def test_a_spanning_cell_ends_where_one_from_above_begins() -> None:
    grid = [["a", Cell("b", rows=3), "c"], [Cell("d", columns=3)], ["e", "f"]]
    assert read_table(grid, name_rows=0).rows == ["a; b; c", "d; b", "e; b; f"]


@st.composite
def draw_grid(draw: st.DrawFn) -> tuple[list[list[str | Cell]], list[list[str]]]:
    """A table, and the texts that must stand in each of its rows. Each text has a form that no other contains."""
    width, height = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    kinds = st.sampled_from(["", "Q{}z", "{}", "{} m", "name{}z", "20{}", "x, {} y"])
    numbers = iter(range(10_001, 20_000))
    open_cells: dict[int, tuple[str, int]] = {}
    grid: list[list[str | Cell]] = []
    expected: list[list[str]] = []
    for row in range(height):
        cells: list[str | Cell] = []
        texts: list[str] = []
        column = 0
        has_own_text = False
        while column < width:
            if column in open_cells:
                text, rows_left = open_cells.pop(column)
                if rows_left > 1:
                    open_cells[column] = text, rows_left - 1
                texts.append(text)
                column += 1
                continue
            text = draw(kinds).format(next(numbers))
            columns, rows = 1, draw(st.sampled_from([1, 1, 1, min(2, height - row)]))
            if rows == 1:
                columns = draw(st.sampled_from([1, 1, 1, 2]))
                columns = 1 if column + columns > width or column + 1 in open_cells else columns
            else:
                open_cells[column] = text, rows - 1
            cells.append(Cell(text, columns, rows) if columns * rows > 1 else text)
            texts.append(text)
            has_own_text = has_own_text or bool(text)
            column += columns
        grid.append(cells)
        if has_own_text:
            expected.append([text for text in texts if text])
    return grid, expected


@given(drawn=draw_grid(), names_are_usual=st.booleans(), name_rows=st.sampled_from([None, 0, 1, 2]))
def test_every_cell_stands_once_in_the_text_of_its_row(
    drawn: tuple[Grid, list[list[str]]], names_are_usual: bool, name_rows: int | None
) -> None:
    grid, expected = drawn
    table = read_table(grid, name_rows=name_rows, names_are_usual=names_are_usual)
    check_cells(table.above, table.rows, expected)


def check_cells(above: Sequence[str], rows: Sequence[str], expected: Sequence[Sequence[str]]) -> None:
    """The last rows hold their cells, once each. Every other cell stands above them, or is a name in one of them."""
    body = expected[len(expected) - len(rows) :]
    for text, cells in zip(rows, body, strict=True):
        assert [text.count(cell) for cell in cells] == [1] * len(cells)
    for cells in expected[: len(expected) - len(rows)]:
        assert all(any(cell in text for text in [*above, *rows]) for cell in cells)


@given(
    grid=st.lists(
        st.lists(st.sampled_from(["", "7", "7", "Q1", "Orl", 'a "b', "a, b", "c; d", " x"]), min_size=2, max_size=4),
        min_size=1,
        max_size=5,
    )
)
def test_no_value_of_a_tsv_or_html_table_vanishes(grid: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file, delimiter="\t").writerows(grid)
    for blocks in (read_csv(file.getvalue().encode(), "a.tsv").blocks, read_html(make_html(grid)).blocks):
        text = " ".join(block.text for block in blocks)
        assert all(" ".join(value.split()) in text for row in grid for value in row)
