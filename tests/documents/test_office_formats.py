"""Rich Text, OpenDocument and Outlook's messages: what becomes of headings, lists, tables, notes, encodings, places."""

import struct
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from opendocument_files import write_opendocument
from outlook_files import make_message, write_compound_file, write_msg

from quorum.documents.document import Unreadable
from quorum.documents.read import read_document

FONTS = r"{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset238 Arial CE;}{\f2\fnil\fcharset2 Symbol;}}"
STYLES = r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0\b \'dcberschrift;}{\s2 {\b0}heading 2;}{\s3 Zitat;}}"
INFO = r"{\info{\title Der Hafen \'fc}{\author Ann L\u228?rk}{\creatim\yr2020\mo1\dy1}{\revtim\yr2026\mo6\dy2\hr8}}"


def write_rtf(path: Path, body: str, head: str = r"\rtf1\ansi\ansicpg1252\deff0") -> Path:
    path.write_bytes(f"{{{head}{FONTS}{STYLES}{INFO}{body}}}".encode("latin-1"))
    return path


def list_blocks(path: Path) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, block.text) for block in read_document(path).blocks]


def test_rich_text_keeps_headings_lists_and_notes(tmp_path: Path) -> None:
    body = (
        r"{\header\pard Page of the harbour\par}"
        r"\pard\s1 The qua\u233?y\par \pard It is 40 m long"
        r"{\super\chftn{\footnote\pard\plain\chftn  Measured in 1931.\par}}."
        "\\par\n\\pard\\outlinelevel1{\\b Rules\\par}\\pard"
        r"{\listtext\pard\plain\f2 \'b7\tab}a rope\par {\pntext\f2\'b7\tab}two buckets\par {\listtext 1.\tab}first\par"
        r"\pard See {\field{\*\fldinst{HYPERLINK "
        '"https://lark.example"}}{\\fldrslt{the list}}}.\\par'
        r"{\pict\wmetafile8\bin5 }}\x{00ff}\par {\f1 P\'f8\'edli\'9a} \'84old\'93 \u-10179?\u-8704?\par"
        r"{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt\pard A box.\par}}}Beside it.\par last"
    )
    path = write_rtf(tmp_path / "a.rtf", body)
    document = read_document(path)
    assert document.title == "Der Hafen ü"
    assert document.metadata == {"author": "Ann Lärk", "date": "2026-06-02"}
    assert list_blocks(path) == [
        ("heading", 1, "The quaéy"),
        ("text", 0, "It is 40 m long."),
        ("text", 0, "Measured in 1931."),
        ("heading", 2, "Rules"),
        ("text", 0, "- a rope"),
        ("text", 0, "- two buckets"),
        ("text", 0, "1.\tfirst"),
        ("text", 0, "See the list."),
        ("text", 0, "Příliš „old“ \U0001f600"),
        ("text", 0, "Beside it."),
        ("text", 0, "A box."),
        ("text", 0, "last"),
    ]


def test_rich_text_leaves_out_what_nobody_sees(tmp_path: Path) -> None:
    body = (
        r"\pard Seen. {\v Hidden one.}{\fs2 Tiny \u228?.}\v Hidden two.\v0  Seen too.{\deleted Gone.}\plain  Last.\par"
    )
    assert list_blocks(write_rtf(tmp_path / "a.rtf", body)) == [("text", 0, "Seen.  Seen too. Last.")]


def test_rich_text_leaves_out_pictures_with_groups_inside_and_what_follows_these(tmp_path: Path) -> None:
    body = (
        r"\pard Before {\pict{\*\blipuid 0a0b}ffd8{\sp{\pict 1100}2200{\footnote No note.}}d9}after."
        r"{\footnote A note {\pict{\*\blipuid 0c}ff}goes on.} "
        r"{\field{\*\fldinst{SEQ {\fldinst A}B}}{\fldrslt 7}} last.\par"
    )
    path = write_rtf(tmp_path / "a.rtf", body)
    assert list_blocks(path) == [("text", 0, "Before after. 7 last."), ("text", 0, "A note goes on.")]


def test_hidden_sections_of_opendocument_are_left_out_and_tabs_and_spaces_separate_words(tmp_path: Path) -> None:
    body = (
        '<text:section text:display="none"><text:p>Secret.</text:p></text:section>'
        '<text:section text:is-hidden="true" text:display="condition"><text:h text:outline-level="1">Draft</text:h>'
        "<text:list><text:list-item><text:p>Not yet.</text:p></text:list-item></text:list></text:section>"
        '<text:section text:display="true"><text:p>Gate<text:tab/>3 m<text:s text:c="3"/>wide<text:s/>and'
        "<text:line-break/>red</text:p></text:section>"
        '<text:section text:is-hidden="false"><text:p>Open.</text:p></text:section>'
    )
    path = write_opendocument(tmp_path / "a.odt", body)
    assert [text.split() for _, _, text in list_blocks(path)] == [["Gate", "3", "m", "wide", "and", "red"], ["Open."]]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (rb"{\rtf1\ansi\ansicpg1250 P\'f8\'edli\'9a}", "Příliš"),
        (rb"{\rtf1\mac Caf\'8e}", "Café"),
        ("{\\rtf1\\ansi Müller}".encode("cp1252"), "Müller"),
        ("{\\rtf1\\ansi Müller 水}".encode(), "Müller 水"),
        (rb"{\rtf1\ansi{\fonttbl{\f0\fcharset78 Osaka;}}\f0 \'90\'85}", "水"),
        (rb"{\rtf1\ansi\uc {\u99999?}\u228?x}}} beyond", "äx"),
        (rb"{\rtf1\ansi cut {\b off", "cut off"),
    ],
)
def test_rich_text_is_read_in_its_encoding(data: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_bytes(data)
    assert read_document(tmp_path / "a.rtf").text.lstrip("?") == text


TEXT_BODY = """
<text:tracked-changes><text:changed-region><text:deletion><text:p>Deleted.</text:p></text:deletion></text:changed-region>
</text:tracked-changes>
<text:p text:style-name="P9">The harbour</text:p>
<text:table-of-content><text:index-body><text:p>Rules 1</text:p></text:index-body></text:table-of-content>
<text:h text:outline-level="1">Quay</text:h>
<text:p>It is<text:s text:c="2"/>40 m<text:note><text:note-citation>1</text:note-citation><text:note-body>
<text:p>Measured in 1931.</text:p></text:note-body></text:note> long.<office:annotation><text:p>Really?</text:p>
</office:annotation><text:span text:style-name="T1">Ignore all.</text:span></text:p>
<text:h text:outline-level="2">Rules</text:h>
<text:list><text:list-item><text:p>a rope</text:p><text:list><text:list-item><text:p>thick</text:p></text:list-item>
</text:list></text:list-item><text:list-item><text:p>two buckets</text:p></text:list-item></text:list>
<text:p>The flow is <draw:frame><draw:object xlink:href="./Object 1"/></draw:frame> here.</text:p>
<text:p><draw:frame><draw:text-box><text:p>A box.</text:p></draw:text-box></draw:frame></text:p>
<text:p><draw:frame><draw:object xlink:href="./Object 2"/></draw:frame></text:p>
<text:h text:outline-level="2">Fees</text:h>
"""
FORMULA = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>Q</mi><mo>=</mo><msup><mi>h</mi><mn>17</mn></msup></math>'
)
CHART_ROWS = "".join(
    "<table:table-row>"
    + "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in row)
    + "</table:table-row>"
    for row in (["Year", "Ships"], ["2025", "7"], ["2026", "9"])
)


def test_a_text_of_opendocument_is_read_as_one_of_word(tmp_path: Path) -> None:
    from opendocument_files import make_root

    levels = "".join(
        f'<text:outline-level-style text:level="{level}" style:num-format="{form}" text:display-levels="{level}" '
        f'style:num-suffix="{suffix}"/>'
        for level, form, suffix in ((1, "I", "."), (2, "1", ""))
    )
    own_styles = (
        '<style:style style:name="P9" style:parent-style-name="Title"/>'
        '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
    )
    chart = f"<office:body><office:chart><table:table>{CHART_ROWS}</table:table></office:chart></office:body>"
    path = write_opendocument(
        tmp_path / "a.odt",
        TEXT_BODY,
        styles=f"<text:outline-style>{levels}</text:outline-style>",
        own_styles=own_styles,
        meta="<dc:title>Old</dc:title><dc:creator>Ann</dc:creator><dc:date>2026-06-02T08:00:00</dc:date>",
        parts={"Object 1/content.xml": FORMULA, "Object 2/content.xml": make_root("document-content", chart)},
    )
    document = read_document(path)
    assert (document.title, document.metadata) == ("The harbour", {"author": "Ann", "date": "2026-06-02"})
    assert list_blocks(path) == [
        ("heading", 1, "I. Quay"),
        ("text", 0, "It is 40 m long."),
        ("text", 0, "Measured in 1931."),
        ("heading", 2, "I.1 Rules"),
        ("text", 0, "- a rope"),
        ("text", 0, "- thick"),
        ("text", 0, "- two buckets"),
        ("text", 0, "The flow is Q=h^17 here."),
        ("text", 0, "A box."),
        ("row", 0, "Year: 2025; Ships: 7"),
        ("row", 0, "Year: 2026; Ships: 9"),
        ("heading", 2, "I.2 Fees"),
    ]


def test_a_workbook_of_opendocument_gives_values_as_one_of_excel(tmp_path: Path) -> None:
    def cell(kind: str, text: str, more: str = "") -> str:
        return f'<table:table-cell office:value-type="{kind}" {more}><text:p>{text}</text:p></table:table-cell>'

    filler = '<table:table-cell table:number-columns-repeated="16000"/>'
    rows = [
        cell("string", "Mill") + cell("string", "Opened") + cell("string", "Share") + cell("string", "Wheels") + filler,
        cell("string", "Orl")
        + cell("date", "02.06.26", 'office:date-value="2026-06-02"')
        + cell("percentage", "12,50 %", 'office:value="0.125"')
        + cell("float", "1.234,00", 'office:value="1234"'),
        cell("string", "Tam") + "<table:table-cell/><table:table-cell/>" + cell("float", "9", 'office:value="9"'),
    ]
    sheet = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    sheet += f'<table:table-row table:number-rows-repeated="1048000">{filler}</table:table-row>'
    body = f'<table:table table:name="Mills">{sheet}</table:table>'
    body += f'<table:table table:name="Secret" table:style-name="ta2">{sheet}</table:table>'
    hidden = '<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>'
    assert list_blocks(write_opendocument(tmp_path / "a.ods", body, own_styles=hidden)) == [
        ("heading", 2, "Mills"),
        ("row", 0, "Mill: Orl; Opened: 2026-06-02; Share: 12.5%; Wheels: 1234"),
        ("row", 0, "Mill: Tam; Wheels: 9"),
    ]
    number = cell("float", "9", 'office:value="9"')
    full = f'<table:table-row table:number-rows-repeated="1048000">{number}</table:table-row>'
    with pytest.raises(Unreadable, match="more than 5,000,000 cells"):
        read_document(write_opendocument(tmp_path / "b.ods", f"<table:table>{full * 3}</table:table>"))


def test_a_presentation_of_opendocument_has_pages_notes_and_descriptions(tmp_path: Path) -> None:
    def frame(text: str, more: str = "") -> str:
        return f"<draw:frame {more}><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"

    picture = "<draw:frame svg:y='9cm'><draw:image/><svg:desc>A drawing of the sluice.</svg:desc></draw:frame>"
    second = frame("Below.", "svg:y='5cm'") + frame("Above.", "svg:y='2cm'") + picture
    second += f"<presentation:notes>{frame('Say this.')}</presentation:notes>"
    first = frame("Weirs", "presentation:class='title' svg:y='3cm'")
    path = write_opendocument(tmp_path / "a.odp", f"<draw:page>{first}</draw:page><draw:page>{second}</draw:page>")
    document = read_document(path)
    assert document.title == "Weirs"
    assert [(block.page, block.text) for block in document.blocks] == [
        (1, "Weirs"),
        (2, "Above."),
        (2, "Below."),
        (2, "A drawing of the sluice."),
        (2, "Say this."),
    ]


def test_a_message_of_outlook_is_read_as_mail_with_those_it_has_attached(tmp_path: Path) -> None:
    deepest = make_message({"0037001F": "Third", "1000001F": "The deepest text."}, header_size=24)
    inner = make_message(
        {"0037001F": "Second", "0C1A001F": "Cy", "1000001F": "The inner text."},
        attached={"third.msg": deepest},
        header_size=24,
    )
    html = "<p>Grüße vom Fährhaus</p><table><tr><th>Dam<th>Height<tr><td>Vell<td>87 m<tr><td>Brack<td>61 m</table>"
    data = write_msg(
        {
            "0037001F": "The parcel",
            "0C1A001F": "Ann Lark",
            "0C1F001F": "/O=LARK/CN=ANN",
            "5D01001F": "ann@lark.example",
            "0E04001F": "Bo; Cy",
            "10130102": html.encode("cp1252"),
            "1000001F": "plain " * 2000,
        },
        sent=datetime(2026, 6, 2, 6, tzinfo=UTC),
        pages={0x3FDE: 1252},
        attached={"plan.pdf": None, "second.msg": inner},
    )
    (tmp_path / "a.msg").write_bytes(data)
    document = read_document(tmp_path / "a.msg")
    assert document.title == "The parcel"
    assert document.metadata == {"author": "Ann Lark <ann@lark.example>", "date": "2026-06-02"}
    assert [block.text for block in document.blocks] == [
        "From: Ann Lark <ann@lark.example>; To: Bo; Cy; Date: 2026-06-02 06:00 UTC; Attached: plan.pdf, second.msg",
        "Grüße vom Fährhaus",
        "Dam: Vell; Height: 87 m",
        "Dam: Brack; Height: 61 m",
        "Second",
        "From: Cy; Attached: third.msg",
        "The inner text.",
        "Third",
        "The deepest text.",
    ]


def compress(rtf: bytes) -> bytes:
    """Rich text as Outlook stores it, in the form that is not compressed."""
    return struct.pack("<II4sI", len(rtf) + 12, len(rtf), b"MELA", 0) + rtf


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"1000001E": "Příliš žluťoučký kůň".encode("cp1250")}, "Příliš žluťoučký kůň"),
        ({"10090102": compress(rb"{\rtf1\ansi The \b quay\b0  is shut.\par}")}, "The quay is shut."),
        (
            {
                "10090102": compress(
                    rb"{\rtf1\ansi\fromhtml1 {\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 The {\*\htmltag84 <b>}quay"
                    rb"{\*\htmltag92 </b>} is \'73hut.\htmlrtf\par}\htmlrtf0 {\*\htmltag72 </p>}}"
                )
            },
            "The quay is shut.",
        ),
    ],
)
def test_the_text_of_a_message_is_found_in_each_of_its_forms(
    properties: dict[str, str | bytes], text: str, tmp_path: Path
) -> None:
    (tmp_path / "a.msg").write_bytes(write_msg({"0037001F": "Quay", **properties}, pages={0x3FFD: 1250}))
    assert read_document(tmp_path / "a.msg").text == text


def test_damaged_files_are_refused_in_one_sentence_or_read(tmp_path: Path) -> None:
    rtf = write_rtf(tmp_path / "whole.rtf", r"\pard Text.\par").read_bytes()
    odt = write_opendocument(tmp_path / "whole.odt", "<text:p>Text.</text:p>").read_bytes()
    msg = write_msg({"0037001F": "Quay", "1000001F": "Text. " * 2000}, attached={"plan.pdf": None})
    for suffix, data in (("rtf", rtf), ("odt", odt), ("ods", odt), ("msg", msg)):
        for part in range(20):
            (tmp_path / f"a.{suffix}").write_bytes(data[: len(data) * part // 20] or b"x")
            with suppress(Unreadable):  # any other exception fails the test
                document = read_document(tmp_path / f"a.{suffix}")
                assert suffix == "msg" or document.notes == ["cut off: the end of the file is missing"]
    for suffix, data, reason in (
        ("rtf", b"plain text", "damaged, or not in the rtf format"),
        ("odt", b"{\\rtf1 no}", "damaged, or not in the OpenDocument format"),
        ("msg", odt, "damaged, or not in the msg format"),
        ("msg", write_compound_file({"WordDocument": b"x"}), "damaged, or no message of Outlook"),
    ):
        (tmp_path / f"b.{suffix}").write_bytes(data)
        with pytest.raises(Unreadable, match=reason):
            read_document(tmp_path / f"b.{suffix}")
    manifest = {"META-INF/manifest.xml": "<m><encryption-data/></m>"}
    with pytest.raises(Unreadable, match="locked by a password"):
        read_document(write_opendocument(tmp_path / "c.odt", "<text:p>Text.</text:p>", parts=manifest))
    nested = "<text:span>" * 1_000 + "</text:span>" * 1_000
    for path in (
        write_opendocument(tmp_path / "d.odt", f"<text:p>{nested}</text:p>"),
        write_opendocument(tmp_path / "e.odt", f"<text:p>{' ' * 60_000_000}</text:p>"),
    ):
        with pytest.raises(Unreadable, match=r"nested too deeply|unpacks to 60 MB"):
            read_document(path)
