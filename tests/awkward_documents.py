"""Writes a folder of awkward documents: at least one of every file type that Quorum reads."""

import json
import zipfile
from pathlib import Path

from opendocument_files import write_opendocument
from outlook_files import write_msg

# Text around the sentences that answer the questions in awkward_questions.py; it answers none of them itself.
FILLER_TEXT = (
    "The valley has three villages and a narrow road. People keep goats and bees there. In spring the road is "
    "often closed because of mud, and letters come by boat. The church was painted twice. "
    "Nobody remembers who planted the lime trees."
)


def write_documents(folder: Path) -> None:
    """Write all documents into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text_files(folder)
    write_markup_files(folder)
    write_pdf(folder / "handbook.pdf", HANDBOOK)
    write_docx(folder / "letter.docx")
    write_slides(folder / "talk.pptx")
    write_sheets(folder / "budget.xlsx")
    write_epub(folder / "novel.epub")
    write_opendocument(
        folder / "tides.odt",
        f'<text:h text:outline-level="1">Tides</text:h><text:p>The spring tide at Sund reaches 5.2 metres.</text:p>'
        f"<text:p>{FILLER_TEXT}</text:p>",
    )
    (folder / "lease.rtf").write_text(
        r"{\rtf1\ansi{\stylesheet{\s1 heading 1;}}\pard\s1 Lease\par\pard "
        r"The lease of the smokehouse ends in October 2031.\par "
        f"{FILLER_TEXT}\\par}}"
    )
    text = "I left the crate of lamps in the old chapel."
    (folder / "crate.msg").write_bytes(write_msg({"0037001F": "The crate", "0C1A001F": "Ada", "1000001F": text}))


def write_text_files(folder: Path) -> None:
    notes = (
        "Notes of the warden\r\n\r\nSince May the ferryman keeps the spare key of the boathouse, not the innkeeper.\r\n"
        f"The lower gate opens at half past seven in winter and at six in summer.\r\n\r\n{FILLER_TEXT}\r\n"
    )
    (folder / "notes.txt").write_bytes(b"\xef\xbb\xbf" + notes.encode())
    (folder / "latin.txt").write_bytes(
        f"The Café Müller serves elderberry soup from June on. {FILLER_TEXT}".encode("cp1252")
    )
    (folder / "wide.txt").write_bytes(f"The Grünsee is 43 metres deep and very cold. {FILLER_TEXT}".encode("utf-16"))
    (folder / "stations.csv").write_bytes(
        b'Station;Keeper;Since\r\nAsh;Jon Pell;2015\r\nElm;Ida Roth;2009\r\nFir;"Kim; Jo";2020\r\n'
    )
    (folder / "rain.tsv").write_text("Place\tRain\nBirch\t97 mm\nOak\t118 mm\n", "utf-8")
    (folder / "parcel.eml").write_bytes(
        b"From: Ann Lark <ann@lark.example>\r\nTo: Bo <bo@lark.example>\r\nSubject: =?utf-8?q?The_parcel?=\r\n"
        b"Date: Tue, 2 Jun 2026 08:00:00 +0200\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/alternative; boundary="x"\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n'
        b"Content-Transfer-Encoding: quoted-printable\r\n\r\nHello Bo, I leave the parcel "
        b"behind the blue =\r\ndoor.\r\n"
        b"--x\r\nContent-Type: text/html\r\n\r\n<p>Hello <b>Bo</b>, see the other part.</p>\r\n--x--\r\n"
    )
    (folder / "logger.json").write_text(
        json.dumps(
            {"station": "Tarn", "units": {"logger": {"hint": "the name of the first dog", "size": 12}}}, indent=1
        )
    )
    (folder / "facts.jsonl").write_text(
        '{"id": "f1", "title": "Lumen", "text": "The Lumen lake is fed by the river Sarn."}\n'
        '{"id": "f2", "title": "Sarn", "text": "The Sarn rises in the moor of Dunn."}\n'
    )
    (folder / "events.jsonl").write_text(
        '{"id": 1, "what": "the siren sounded", "when": "dawn"}\n'
        '{"id": 2, "what": "the buoy drifted", "when": "noon"}\n'
    )
    cells = [
        {"cell_type": "markdown", "source": ["# Silt\n", "\n", "Samples of the *delta*, dried for two days."]},
        {
            "cell_type": "code",
            "source": "values = load('silt')\nprint(values.mean())",
            "outputs": [{"output_type": "stream", "text": ["The mean of the silt samples is 0.37\n"]}],
        },
    ]
    (folder / "silt.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    (folder / "driver.py").write_text(
        '"""Drives the pump over a serial line."""\n\nRETRIES = 6\n\n\nclass Pump:\n    def start(self):\n'
        "        for attempt in range(RETRIES):\n            self.send('go')\n"
    )
    (folder / "beat.toml").write_text("[monitor]\nheartbeat_interval = 45\nname = 'north'\n")


def write_markup_files(folder: Path) -> None:
    (folder / "setup.md").write_text(
        "---\ntitle: Setting up the gauge\nauthor: Mira Holm\ntags: [gauge, server]\n---\n\n# Setup\n\n"
        "The server reads `gauge.yaml`:\n\n```yaml\nserver:\n  host: gauge.orla.example\n  port: 8094\n```\n\n"
        "## Logs\n\nLogs are rotated **every nine days**. The readings of the old gauge are un*believ*able.\n"
        "See the [valve manual](https://orla.example/valve_(old)) for more.\n\n## Alarms\n\n"
        "| Gauge | Alarm at |\n|-------|---------:|\n| Tarn  | 3.4 m |\n| Sill  | 2.9 m |\n",
        "utf-8",
    )
    (folder / "guide.rst").write_text(
        "Ranger's guide\n==============\n\n.. toctree::\n\n   include\n\nThe bridge\n----------\n\n"
        "At most **4** rangers may cross at once, see :ref:`the rules <rules>`.\n\nThe siren\n---------\n\n"
        ".. code-block:: console\n   :linenos:\n\n   siren --test --volume 3\n   siren --off\n\nTrails\n------\n\n"
        "======  ======\nTrail   Length\n======  ======\nHeron   12 km\nMarten  7 km\n======  ======\n",
        "utf-8",
    )
    (folder / "dams.html").write_text(
        "<!doctype html><html><head><title>Dams of the Orla</title><style>p {color: red}</style>"
        "<script>tracking()</script></head><body><nav><a href=/>Home Contact</a></nav>"
        "<noscript>Enable scripts</noscript><template><p>placeholder row</p></template>"
        "<h1>Dams of the Orla</h1><p>The lake of Vell holds 4 · 10<sup>6</sup> m<sup>3</sup> of water.</p>"
        "<h2>Dams</h2><table><thead><tr><th>Dam<th>Height<th>Built<tbody><tr><td><b>Vell</b><td>87 m<td>1931"
        "<tr><td>Brack<td>61&nbsp;m<td>1954</table><h2>Pumps</h2><table><tr><th>Pump</th><th>Data</th></tr>"
        "<tr><td>Kestrel</td><td><table><tr><td>Flow</td><td>30 l/s</td></tr><tr><td>Power</td><td>12 kW</td></tr>"
        "</table></td></tr><tr><td>Osprey</td><td><table><tr><td>Flow</td><td>55 l/s</td></tr><tr><td>Power</td>"
        "<td>21 kW</td></tr></table></td></tr></table></body></html>",
        "utf-8",
    )


# The pages of a PDF. Each page is a list of (kind, content): a heading, one line of a paragraph ("p"), or the rows of a
# table. One sentence continues on the second page, and one word is hyphenated at the end of a line.
HANDBOOK = [
    [
        ("h1", "Handbook of the Orla Works"),
        ("h2", "Leave"),
        ("h3", "Parental"),
        ("p", "Parents may take fourteen weeks of leave after a birth. They tell the office two"),
        ("p", "months before. The days need not follow each other."),
        ("h2", "Travel"),
        ("p", "The station master approves travel to the northern"),
    ],
    [
        ("p", "stations in writing. Receipts are kept for one year."),
        ("h3", "Allowances"),
        ("table", [["Town", "Night", "Meals"], ["Vell", "80 euros", "28 euros"], ["Brack", "95 euros", "31 euros"]]),
        ("h2", "Safety"),
        ("p", "Everybody wears ear protec-"),
        ("p", "tion in the turbine hall. Visitors stay behind the yellow line."),
    ],
]
FONT_SIZES = {"h1": 24, "h2": 18, "h3": 14, "p": 11}


def write_pdf(path: Path, pages: list[list[tuple[str, object]]]) -> None:
    """Write a PDF with headings in larger letters and tables with ruled lines. pages: as in `HANDBOOK`."""
    streams = [draw_page(page) for page in pages]
    page_references = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(streams)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{page_references}] /Count {len(streams)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, stream in enumerate(streams):
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    end += f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    path.write_bytes(data + end.encode())


def draw_page(page: list[tuple[str, object]]) -> str:
    """The operators of the PDF language that draw a page."""
    parts, y = [], 740
    for kind, content in page:
        if kind == "table":
            assert isinstance(content, list)
            top = y + 14
            for row in content:
                parts += [f"BT /F1 11 Tf {80 + 130 * n} {y} Td ({cell}) Tj ET" for n, cell in enumerate(row)]
                y -= 20
            lines = [(72, top - 20 * n, 462, top - 20 * n) for n in range(len(content) + 1)]
            lines += [(72 + 130 * n, top, 72 + 130 * n, y + 14) for n in range(4)]
            parts += [f"{a} {b} m {c} {d} l S" for a, b, c, d in lines]
            y -= 16
            continue
        size = FONT_SIZES[kind]
        y -= size if kind != "p" else 0
        parts.append(f"BT /F1 {size} Tf 72 {y} Td ({content}) Tj ET")
        y -= 14 if kind == "p" else size + 6
    return "\n".join(parts)


def write_docx(path: Path, more_runs: str = "") -> None:
    """Write a Word file with headings, italics inside a word, and a table. more_runs: the XML of a last paragraph."""
    cells = [["Item", "Fee"], ["Sluice", "240 euros"], ["Weir", "310 euros"]]
    rows = "".join(
        "<w:tr>" + "".join(f"<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>" for cell in row) + "</w:tr>"
        for row in cells
    )
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Letter of the inspector</w:t></w:r></w:p>'
        '<w:p><w:r><w:t xml:space="preserve">On Monday I found the spring un</w:t></w:r><w:r><w:rPr><w:i/></w:rPr>'
        "<w:t>contamin</w:t></w:r><w:r><w:t>ated. The fees follow.</w:t></w:r></w:p>"
        '<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Fees</w:t></w:r></w:p>'
        f"<w:tbl>{rows}</w:tbl><w:p>{more_runs}</w:p>"
    )
    namespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxml'
            'formats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/'
            'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}" '
            'Target="word/document.xml"/></Relationships>',
        )
        file.writestr("word/document.xml", f"<w:document {namespace}><w:body>{body}</w:body></w:document>")


def write_slides(path: Path) -> None:
    """Write a presentation of two slides: one with speaker's notes, one with a table."""
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    first_slide = deck.slides.add_slide(deck.slide_layouts[1])
    first_slide.shapes.title.text = "The fish ladder"
    first_slide.placeholders[1].text = "Warm water slows the salmon.\nTrout pass at night."
    first_slide.notes_slide.notes_text_frame.text = "Remember to mention the volunteers of Tarn."
    second_slide = deck.slides.add_slide(deck.slide_layouts[5])
    second_slide.shapes.title.text = "Counts"
    table = second_slide.shapes.add_table(3, 2, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for row, values in enumerate([("Year", "Fish"), ("2020", "1,455"), ("2021", "1,870")]):
        for column, value in enumerate(values):
            table.cell(row, column).text = value
    deck.save(str(path))


def write_sheets(path: Path) -> None:
    """Write a workbook of two sheets: one with a title above its table, one with percentages."""
    from openpyxl import Workbook

    book = Workbook()
    costs = book.active
    costs.title = "Costs"
    costs.append(["Repairs of the year 2026"])
    for row in (["Item", "Cost", "Paid on"], ["Crane rental", 18500, None], ["Steel", 7200.5, None]):
        costs.append(row)
    funds = book.create_sheet("Funds")
    for row in (["Fund", "Spent"], ["Reserve", 0.125], ["Gifts", 0.5]):
        funds.append(row)
    for cell in ("B2", "B3"):
        funds[cell].number_format = "0.0%"
    book.save(path)


def write_epub(path: Path) -> None:
    """Write a book of two chapters: its manifest lists them in the wrong order, and its spine in the right one."""
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>The Mill</dc:title><dc:creator>Eda Finch</dc:creator></metadata><manifest>"
        '<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    page = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>{}</body></html>'
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/epub+zip")
        file.writestr("META-INF/container.xml", container)
        file.writestr("OEBPS/book.opf", package)
        file.writestr("OEBPS/nav.xhtml", page.format("<nav><ol><li>Home Contact</li></ol></nav>"))
        file.writestr("OEBPS/one.xhtml", page.format(f"<h1>Chapter one</h1><p>{FILLER_TEXT}</p>"))
        file.writestr(
            "OEBPS/two.xhtml",
            page.format("<h1>Chapter two</h1><p>At night the <i>mill</i>er hid the silver bell under the wheel.</p>"),
        )
