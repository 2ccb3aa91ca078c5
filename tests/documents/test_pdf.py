"""PDF: tables, paragraphs, headings, titles and forms."""

from pathlib import Path

import pytest
from pdf_files import write_lines, write_pdf, write_ruled_table

from quorum.documents.document import Block
from quorum.documents.pdf_lines import join_broken_words
from quorum.documents.read import read_document

PROSE = [
    "The wheel of the mill was built from oak by two men from Tam",
    "who stayed until the river froze in the last week.",
]


def read_blocks(path: Path) -> list[tuple[str, str]]:
    blocks: list[Block] = list(read_document(path).blocks)
    return [(block.kind, " ".join(block.text.split())) for block in blocks]


def test_a_ruled_table_has_spanning_names_and_all_its_values(tmp_path: Path) -> None:
    rows = [
        ["Mill", "2022", "", "CO2"],
        ["", "Sales", "Costs", "in t"],
        ["Orl", "90", "90", "3"],
        ["Tam", "40", "", "3"],
    ]
    path = write_ruled_table(tmp_path / "a.pdf", rows, spans=[(0, 1)])
    assert read_blocks(path) == [
        ("row", "Mill: Orl; 2022 Sales: 90; 2022 Costs: 90; CO2 in t: 3"),
        ("row", "Mill: Tam; 2022 Sales: 40; CO2 in t: 3"),
    ]


def test_rows_that_stand_in_one_cell_are_rows(tmp_path: Path) -> None:
    texts = [(76, 677, 7, "Orl"), (76, 669, 7, "Tam"), (166, 677, 7, "3"), (166, 669, 7, "2")]
    rules = [(x, 640, x, 700) for x in (72, 162, 252)] + [(72, y, 252, y) for y in (700, 685, 660, 640)]
    texts += [(76, 689, 8, "Mill"), (166, 689, 8, "Wheels"), (76, 645, 8, "Rau"), (166, 645, 8, "7")]
    path = write_pdf(tmp_path / "a.pdf", [texts], rules=rules)
    assert [text for _, text in read_blocks(path)] == [
        "Mill: Orl; Wheels: 3",
        "Mill: Tam; Wheels: 2",
        "Mill: Rau; Wheels: 7",
    ]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("two car-\npenters", "two carpenters"),
        ("the Orl-\nTam ferry", "the Orl-Tam ferry"),
        ("in 2019-\n2021", "in 2019-2021"),
        ("木制水\n轮", "木制水轮"),
        ("one\ntwo", "one\ntwo"),
    ],
)
def test_a_word_that_is_broken_over_two_lines_is_one_word(lines: str, text: str) -> None:
    assert join_broken_words(lines) == text


def test_a_hyphen_at_a_lines_end_and_the_next_column_break_no_paragraph(tmp_path: Path) -> None:
    left = write_lines(
        ["The wheel was built from oak by two car-", "penters, who came from Tam and stayed until the river"]
    )
    right = write_lines(["froze in spring. The Orl-", "Tam ferry did not run."], left=330)
    (kind, text), *others = read_blocks(write_pdf(tmp_path / "a.pdf", [left + right]))
    assert (kind, others) == ("text", [])
    assert text == (
        "The wheel was built from oak by two carpenters, who came from Tam and stayed until the river froze in spring. "
        "The Orl-Tam ferry did not run."
    )


def test_bold_lines_and_bookmarks_are_headings(tmp_path: Path) -> None:
    lines = ["**Opening hours", *PROSE, "2. Prices", *PROSE, "**Note:", "a@mill.example"]
    path = write_pdf(tmp_path / "a.pdf", [write_lines(lines)], bookmarks=[("Prices", 0)])
    assert [text for kind, text in read_blocks(path) if kind == "heading"] == ["Opening hours", "2. Prices"]


def test_large_letters_are_no_heading_if_they_are_a_paragraph_a_figure_or_an_address(tmp_path: Path) -> None:
    large = [
        (72, 760, 20, "Yearly report"), (72, 500, 20, "87%"), (72, 460, 20, "info@mill.example"),
        (72, 420, 16, "The miller reported the broken wheel to the council on the fourth of May, and asked"),
        (72, 400, 16, "for help. The council sent two men."), (72, 100, 20, "- 12 -"),
    ]  # fmt: skip
    path = write_pdf(tmp_path / "a.pdf", [write_lines(PROSE * 8) + large])
    document = read_document(path)
    headings = [block.text for block in document.blocks if block.kind == "heading"]
    assert (headings, document.title) == (["Yearly report"], "")


def test_marked_lines_are_list_items(tmp_path: Path) -> None:
    lines = [
        "Bring these things to the mill:",
        "\u2022 a rope of ten metres",
        "\u2022 two flares",
        "Leave all else at home.",
    ]
    assert [text for _, text in read_blocks(write_pdf(tmp_path / "a.pdf", [write_lines(lines)]))] == [
        "Bring these things to the mill:",
        "- a rope of ten metres",
        "- two flares",
        "Leave all else at home.",
    ]


@pytest.mark.parametrize(
    "title", ["Microsoft Word - draft 3.doc", "untitled", "PowerPoint Presentation", "report.docx"]
)
def test_a_title_that_a_program_gave_is_none(title: str, tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [write_lines(PROSE)], title=title)
    assert read_document(path).title == ""
    assert read_document(write_pdf(path, [write_lines(PROSE)], title="The mill")).title == "The mill"


def test_the_values_of_a_form_are_read(tmp_path: Path) -> None:
    fields = [
        "/FT /Tx /T (miller) /V (Ada Orlen)",
        "/FT /Tx /T (empty)",
        "/FT /Btn /T (rope) /V /Yes /AS /Yes /AP << /N << /Yes 5 0 R /Off 5 0 R >> >>",
        "/FT /Btn /T (flares) /V /Off /AS /Off /AP << /N << /Yes 5 0 R /Off 5 0 R >> >>",
    ]
    path = write_pdf(tmp_path / "a.pdf", [write_lines(["Name of the miller"])], fields=fields)
    assert [text for kind, text in read_blocks(path) if kind == "row"] == [
        "miller: Ada Orlen",
        "[x] rope",
        "[ ] flares",
    ]
