"""What carries meaning beside plain text: formulas, boxes, numbers of headings, charts, attached messages; and what
carries none: colours of a terminal, base64, titles that programs give.
"""

import json
import zipfile
from base64 import b64encode
from pathlib import Path

import pytest
from table_files import write_book, write_word_body

from quorum.documents.document import Unreadable
from quorum.documents.html_blocks import read_html
from quorum.documents.read import parse_line, read_document

MATHML = (
    "<math><mi>Q</mi><mo>=</mo><mfrac><mn>1.7</mn><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac>"
    "<msup><mi>h</mi><mn>1.5</mn></msup><msqrt><mi>g</mi></msqrt></math>"
)
BYTES = b64encode(bytes(range(256)) * 2).decode()


def read_texts(path: Path) -> list[str]:
    return [block.text for block in read_document(path).blocks]


def test_formulas_of_pages_and_books_are_text(tmp_path: Path) -> None:
    text = "The flow is Q=1.7/(a+b)h^1.5√(g) here."
    html = f"<p>The flow is {MATHML} here.</p>"
    assert [block.text for block in read_html(html).blocks] == [text]
    write_book(tmp_path / "a.epub", f"<html><body>{html}</body></html>".encode())
    assert read_texts(tmp_path / "a.epub") == [text]
    tex = '<math><semantics><mi>Q</mi><annotation encoding="application/x-tex">Q^2</annotation></semantics></math>'
    assert [block.text for block in read_html(f"<p>{tex}</p>").blocks] == ["Q^2"]


def test_formulas_and_boxes_of_word_are_text(tmp_path: Path) -> None:
    formula = (
        "<m:oMath><m:r><m:t>Q=</m:t></m:r><m:f><m:num><m:r><m:t>1.7</m:t></m:r></m:num><m:den><m:r><m:t>a+b</m:t></m:r>"
        "</m:den></m:f><m:sSup><m:e><m:r><m:t>h</m:t></m:r></m:e><m:sup><m:r><m:t>1.5</m:t></m:r></m:sup></m:sSup></m:oMath>"
    )
    boxes = "".join(
        f'<w:p><w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{value}"/></w14:checkbox></w:sdtPr><w:sdtContent>'
        f"<w:r><w:t>x</w:t></w:r></w:sdtContent></w:sdt><w:r><w:t> {name}</w:t></w:r></w:p>"
        for name, value in (("Ropes", 1), ("Flares", 0))
    )
    body = (
        f'<w:p><w:r><w:t xml:space="preserve">The flow is </w:t></w:r>{formula}</w:p>'
        f"<w:p><m:oMathPara>{formula}</m:oMathPara></w:p>{boxes}"
    )
    write_word_body(tmp_path / "a.docx", body)
    text = "Q=1.7/(a+b)h^1.5"
    assert read_texts(tmp_path / "a.docx") == [f"The flow is {text}", text, "[x] Ropes", "[ ] Flares"]


def test_boxes_of_a_page_are_ticked_or_not() -> None:
    html = "<ul><li><input type=checkbox checked> Ropes<li><input type=checkbox> Flares</ul><input type=text value=a>"
    assert [block.text for block in read_html(html).blocks] == ["- [x] Ropes", "- [ ] Flares"]


def test_headings_of_word_have_their_numbers(tmp_path: Path) -> None:
    def make_paragraph(text: str, style: str, numbering: str = "") -> str:
        return f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{numbering}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'

    own = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="7"/></w:numPr>'
    write_word_body(
        tmp_path / "a.docx",
        make_paragraph("Access", "Heading1")
        + make_paragraph("Keys", "Heading2", own.format(1))
        + make_paragraph("not a heading", "Plain", own.format(1))
        + make_paragraph("Boats", "Heading2", own.format(1))
        + make_paragraph("Repairs", "Heading1")
        + make_paragraph("Tools", "Heading2", own.format(1))
        + make_paragraph("Annex", "Heading1", '<w:numPr><w:numId w:val="0"/></w:numPr>'),
    )
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    levels = "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for level, (form, text) in enumerate([("upperRoman", "%1."), ("decimal", "%1.%2")])
    )
    style = '<w:style w:type="paragraph" w:styleId="Heading{}"><w:name w:val="heading {}"/>{}</w:style>'
    numbering = '<w:pPr><w:numPr><w:numId w:val="7"/></w:numPr></w:pPr>'
    with zipfile.ZipFile(tmp_path / "a.docx", "a") as file:
        file.writestr(
            "word/numbering.xml",
            f'<w:numbering {word}><w:abstractNum w:abstractNumId="3">{levels}</w:abstractNum>'
            '<w:num w:numId="7"><w:abstractNumId w:val="3"/></w:num></w:numbering>',
        )
        file.writestr(
            "word/styles.xml",
            f"<w:styles {word}>{style.format(1, 1, numbering)}{style.format(2, 2, '')}</w:styles>",
        )
    document = read_document(tmp_path / "a.docx")
    headings = [block.text for block in document.blocks if block.kind == "heading"]
    assert [document.title, *headings] == ["I. Access", "I.1 Keys", "I.3 Boats", "II. Repairs", "II.1 Tools", "Annex"]


def test_the_data_of_charts_and_alternative_texts_are_read(tmp_path: Path) -> None:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    data = CategoryChartData()
    data.categories = ["2022", "2023"]
    data.add_series("Orl", (90, 90))
    data.add_series("Tam", (40, 42))
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    box = (Inches(1), Inches(1), Inches(5), Inches(3))
    frame = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, data)
    frame.chart.has_title = True
    frame.chart.chart_title.text_frame.text = "Flour in tonnes"
    frame.element.xpath(".//p:cNvPr")[0].set("descr", "Columns that rise")
    deck.save(str(tmp_path / "a.pptx"))
    expected = ["Flour in tonnes", "Orl; 2022: 90; 2023: 90", "Tam; 2022: 40; 2023: 42"]
    assert read_texts(tmp_path / "a.pptx") == [*expected, "Columns that rise"]
    with zipfile.ZipFile(tmp_path / "a.pptx") as deck_file:
        chart = next(
            deck_file.read(name) for name in deck_file.namelist() if "charts/chart" in name and "rels" not in name
        )
    write_word_body(tmp_path / "a.docx", "<w:p><w:r><w:t>See the chart.</w:t></w:r></w:p>")
    with zipfile.ZipFile(tmp_path / "a.docx", "a") as word_file:
        word_file.writestr("word/charts/chart1.xml", chart)
    assert read_texts(tmp_path / "a.docx") == ["See the chart.", *expected]


@pytest.mark.parametrize("kind", ["mixed", "digest"])
def test_attached_messages_are_read(kind: str, tmp_path: Path) -> None:
    inner = (
        "From: Cy <cy@mill.example>\nSubject: broken wheel\nContent-Type: text/plain\n\nThe repair costs 480 crowns.\n"
    )
    part_type = "Content-Type: message/rfc822\n" if kind == "mixed" else ""
    (tmp_path / "a.eml").write_text(
        f"From: Ada <ada@mill.example>\nSubject: Fwd: wheel\nMIME-Version: 1.0\nContent-Type: multipart/{kind}; "
        f"boundary=b\n\n--b\n{part_type}\n{inner}\n--b--\n"
    )
    blocks = read_document(tmp_path / "a.eml").blocks
    assert [(block.kind, block.text.strip()) for block in blocks] == [
        ("row", "From: Ada <ada@mill.example>"),
        ("heading", "broken wheel"),
        ("row", "From: Cy <cy@mill.example>"),
        ("text", "The repair costs 480 crowns."),
    ]


def test_a_document_of_only_a_title_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<h1>The mill is closed</h1>")
    (tmp_path / "a.md").write_text("# The mill is closed\n")
    heading = '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>The mill is closed</w:t></w:r></w:p>'
    write_word_body(tmp_path / "a.docx", heading)
    for name in ("a.html", "a.md", "a.docx"):
        assert read_texts(tmp_path / name) == ["The mill is closed"]
    (tmp_path / "a.py").write_text("\n\n ")
    (tmp_path / "b.html").write_text("<title>Untitled document</title>")
    for name in ("a.py", "b.html"):
        with pytest.raises(Unreadable, match=r"empty|no text in it"):
            read_document(tmp_path / name)


def test_colours_of_a_terminal_and_bytes_in_base64_are_left_out(tmp_path: Path) -> None:
    printed = "\x1b[1;31mReport\x1b[0m\nwheels: \x1b]8;;a\x1b\\3\n"
    cell = {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": printed}]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4}))
    (tmp_path / "a.log").write_text(printed)
    (tmp_path / "a.json").write_text(json.dumps([{"logo": f"data:image/png;base64,{BYTES}", "name": printed}]))
    (tmp_path / "a.md").write_text(f"{printed}\n\n![](data:image/png;base64,{BYTES})\n\n`data:a/b;base64,{BYTES}`")
    (tmp_path / "a.css").write_text(f"a {{ src: url(data:font/woff2;charset=utf-8;base64,{BYTES}) }} /* {printed} */")
    (tmp_path / "a.txt").write_text(f"{printed}\n" + "\n".join(BYTES[at : at + 76] for at in range(0, len(BYTES), 76)))
    for name in ("a.ipynb", "a.log", "a.json", "a.md", "a.css", "a.txt"):
        text = read_document(tmp_path / name).text
        assert "wheels: 3" in text
        assert "\x1b" not in text
        assert BYTES[:60] not in text
    passage = parse_line(json.dumps({"text": f"{printed} data:image/png;base64,{BYTES}"}).encode())
    assert not isinstance(passage, str)
    assert passage["text"].split() == ["Report", "wheels:", "3"]


def test_long_words_without_spaces_are_no_base64(tmp_path: Path) -> None:
    for text in ("ACGT" * 100, "abcdefghij" * 40, "0123456789" * 40, "https://mill.example/" + "a-b/C9." * 60):
        (tmp_path / "a.txt").write_text(text)
        assert read_document(tmp_path / "a.txt").text == text


def test_formulas_of_a_slide_are_text(tmp_path: Path) -> None:
    from lxml import etree
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(5), Inches(1))
    box.text_frame.text = "The flow is "
    paragraph = box.element.xpath(".//a:p")[0]
    formula = (
        '<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" xmlns:m="http://schemas.openxmlformats.'
        'org/officeDocument/2006/math"><m:oMath><m:r><m:t>Q=1.7h</m:t></m:r></m:oMath></a14:m>'
    )
    paragraph.append(etree.fromstring(formula))
    deck.save(str(tmp_path / "a.pptx"))
    assert read_texts(tmp_path / "a.pptx") == ["The flow is Q=1.7h"]


def test_soft_hyphens_and_marks_of_list_items_are_read_in_every_type(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Two car\u00ad\npenters bring:\n\u25cf a rope\n\u25cf two flares")
    (tmp_path / "a.html").write_text("<p>Two car&shy;penters bring:<p>\u25cf a rope<p>\u25cf two flares")
    paragraphs = ("Two car\u00adpenters bring:", "\uf0b7 a rope", "\u25cf two flares")
    write_word_body(tmp_path / "a.docx", "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs))
    for name in ("a.txt", "a.html", "a.docx"):
        lines = [line for line in read_document(tmp_path / name).text.split("\n") if line]
        assert lines == ["Two carpenters bring:", "- a rope", "- two flares"]
