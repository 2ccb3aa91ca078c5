"""Readers: encodings, tables, front matter, and what is left out."""

from pathlib import Path

import pytest
from awkward_documents import write_pdf
from plugin_package import install_plugin

from quorum.core.encodings import decode_text
from quorum.core.errors import SetupError
from quorum.core.plugins import forget_plugins
from quorum.documents.document import Document, Unreadable
from quorum.documents.html_blocks import read_html
from quorum.documents.pieces import split_document
from quorum.documents.read import read_document
from quorum.documents.readers import READERS, add_reader, check_reader
from quorum.documents.readers.plain_text import read as read_text
from quorum.documents.readers.sheets import format_cell

POLISH_TEXT = "Łódź leży w Polsce. Żółw i gęś są w źródle, a święto jest później. "
RUSSIAN_TEXT = "Москва стоит на реке, и в ней живёт много людей. Река называется Москва. "


def read_texts(html: str) -> list[str]:
    return [block.text for block in read_html(html).blocks]


@pytest.mark.parametrize(
    ("data", "text", "assumed_encoding"),
    [
        ("Köln".encode(), "Köln", ""),
        ("\ufeffKöln".encode(), "Köln", ""),
        ("Köln".encode("utf-16"), "Köln", ""),
        ("Köln".encode("utf-32"), "Köln", ""),
        ("\ufeffKöln\r\n".encode("utf-16-be"), "Köln\n", ""),
        ("Koeln am Rhein".encode("utf-16-le"), "Koeln am Rhein", "UTF-16"),
        ("Köln".encode("latin-1"), "Köln", "Windows-1252"),
        ((POLISH_TEXT * 3).encode("cp1250"), POLISH_TEXT * 3, "Windows-1250"),
        ((RUSSIAN_TEXT * 2).encode("cp1251"), RUSSIAN_TEXT * 2, "Windows-1251"),
        (("東京は日本の首都です。" * 5).encode("shift_jis"), "東京は日本の首都です。" * 5, "shift_jis"),
    ],
)
def test_encodings_are_declared_or_detected_and_reported(data: bytes, text: str, assumed_encoding: str) -> None:
    result = decode_text(data)
    assert result.text == text
    assert (assumed_encoding in result.note) if assumed_encoding else result.note == ""


def test_a_note_says_why_an_encoding_was_assumed() -> None:
    data = "Köln liegt am Rhein.".encode("cp1252")
    assert decode_text(data, "cp1252").note == ""
    assert decode_text(data).note.endswith("the text is not UTF-8 and names no encoding")
    assert decode_text(data, "ascii").note.endswith("the encoding that it names, 'ascii', does not fit")
    assert decode_text(data, "undefined").note.endswith("the encoding that it names, 'undefined', does not fit")
    assert decode_text(data, "x-none").note.endswith("the encoding that it names, 'x-none', is unknown")
    assert decode_text("Koeln".encode("utf-16-le"), "utf-16").note.endswith("has NUL bytes but no byte order mark")


@pytest.mark.parametrize(
    ("encoding", "line"), [("shift_jis", "塔は高い。\n"), ("gb18030", "塔很高。\n"), ("euc_kr", "탑은 높다.\n")]
)
def test_the_encoding_of_a_long_text_is_detected_wherever_its_sample_ends(encoding: str, line: str) -> None:
    for begin in range(len(line.encode(encoding))):
        assert line * 3 in decode_text(b"a" * begin + (line * 20_000).encode(encoding)).text
    assert line[:-1] * 3 in decode_text(b"Title\n" + (line[:-1] * 20_000).encode(encoding)).text


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"abc\x01\xff\xfe\x02", b"\xff\xfea"])
def test_binary_data_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        decode_text(data)


def test_a_layout_table_is_no_table() -> None:
    assert read_texts("<table><tr><td><h2>Menu</h2><p>Soup</p></td><td><p>Bread</p></td></tr></table>") == [
        "Menu",
        "Soup",
        "Bread",
    ]
    assert read_texts("<table role=none><tr><td>a<td>b</tr><tr><td>c<td>d</tr></table>") == ["a", "b", "c", "d"]


def test_a_table_of_one_row_with_a_header_cell_is_a_table() -> None:
    assert read_texts("<table><tr><th>Height<td>87 m</tr></table>") == ["Height: 87 m"]


@pytest.mark.parametrize(
    ("value", "number_format", "expected"),
    [
        (9783161484100, "0", "9783161484100"),
        (9783161484100.0, "General", "9783161484100"),
        (0.1 + 0.2, "General", "0.3"),
        (87.0, "General", "87"),
        (0.07, "0%", "7%"),
        (1.5e300, "General", "1.5e+300"),
        (float("inf"), "General", "inf"),
    ],
)
def test_a_number_in_a_cell_keeps_its_digits(value: float, number_format: str, expected: str) -> None:
    assert format_cell(value, number_format) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>un<i>believ</i>able<br>twice</p>", ["unbelievable twice"]),
        ("<p>a</p><p hidden>b</p><div style='display: none'>c</div><div aria-hidden=true>d</div>", ["a"]),
        ("<ol start=3><li>x<li>y<ul><li>z</ul></ol>", ["3. x", "4. y", "- z"]),
        ("<ol start=²><li>x</ol>", ["1. x"]),  # "²" is no decimal number, so the attribute is ignored
        ("<table><tr><th colspan=²>Height<td>87 m</table>", ["Height: 87 m"]),
        ("<dl><dt>Owner<dd>Orla<dt>Age<dd>9</dl>", ["Owner: Orla", "Age: 9"]),
        ("<dl><dt hidden>Owner<dd>Orla<dt>Age<dd>9</dl>", ["Orla", "Age: 9"]),
        ("<p>10<sup>6</sup> trees<sup><a href=#n1>1</a></sup></p>", ["10⁶ trees"]),
        ("<p>before<script>x()</script> after</p>", ["before after"]),
        ("<pre>a\n  b</pre>", ["a\n  b"]),
        ("<ol><li><p>x</p><p>y</p><li><li>z</ol>", ["1. x", "y", "3. z"]),
        ("<ul><li><p>x</p><li><li>z</ul>", ["x", "- z"]),
        ("<ol><li>+<li>-<li>:</ol><ul><li>-<li>x</ul>", ["1. +", "2. -", "3. :", "- -", "- x"]),
        ("<ol><li><ul><li>a<li>b</ul>c<li>d</ol>", ["1.", "- a", "- b", "c", "2. d"]),
        ("<ol><li><pre>a</pre><li><h3>b</h3>c</ol>", ["1.", "a", "2.", "b", "c"]),
        ("<p>87 m<a href='#fn1'><sup>1</sup></a> high, 10<a href='/power'><sup>6</sup></a>", ["87 m high, 10⁶"]),
    ],
)
def test_html_is_read_as_a_browser_shows_it(html: str, expected: list[str]) -> None:
    assert read_texts(html) == expected


def test_markdown_keeps_angle_brackets_that_are_no_html_tag(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "A `List` is a List<int> where x < y & z, <b>bold</b>, un_der_score.\n\n- [x] done\n"
    )
    assert (
        read_document(tmp_path / "a.md").text
        == "A List is a List<int> where x < y & z, bold, un_der_score.\n\n- [x] done"
    )


@pytest.mark.parametrize(
    "front_matter",
    [
        "---\na: &a [x]\nb: *a\n---\n",  # an alias, which may expand to gigabytes
        "---\n- 1\n---\n",  # a list, not a mapping
        "---\n{\n---\n",  # no YAML
        "+++\n=\n+++\n",  # no TOML
    ],
)
def test_invalid_front_matter_is_read_as_text(front_matter: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"{front_matter}\nBody.")
    document = read_document(tmp_path / "a.md")
    assert "Body." in document.text
    assert document.metadata == {}


def test_front_matter_in_toml_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("+++\ntitle = 'Locks'\ndate = 2026-05-01\n+++\n# Intro\n\nBody.")
    document = read_document(tmp_path / "a.md")
    assert (document.title, document.metadata) == ("Locks", {"date": "2026-05-01"})


def test_rst_directives_include_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the secret word")
    (tmp_path / "a.rst").write_text(
        f"Title\n=====\n\nBody.\n\n.. include:: {tmp_path}/secret\n\n.. csv-table:: T\n   :file: {tmp_path}/secret\n\n"
        f".. raw:: html\n   :file: {tmp_path}/secret\n\n.. literalinclude:: {tmp_path}/secret\n"
    )
    document = read_document(tmp_path / "a.rst")
    assert "Body." in document.text
    assert "secret word" not in document.text


@pytest.mark.parametrize(
    ("next_lines", "expected"),
    [
        ("- one\n- two", ["one", "two"]),
        (".. note:: Wait.", ["Note", "Wait."]),
        (".. note:: See :func:`~wire.send`.", ["Note", "See wire.send."]),
        (".. highlight:: c\n\nBody.", ["Body."]),
        ("Part\n----\n\nBody.", ["Part", "Body."]),
    ],
)
def test_what_follows_an_rst_directive_without_content_is_no_code(
    next_lines: str, expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.rst").write_text(f"Title\n=====\n\nText.\n\n.. highlight:: c\n\n{next_lines}\n")
    blocks = read_document(tmp_path / "a.rst").blocks
    assert [block.text for block in blocks] == ["Text.", *expected]


def test_indented_lines_below_an_rst_directive_for_code_are_its_code(tmp_path: Path) -> None:
    (tmp_path / "a.rst").write_text("Title\n=====\n\nText.\n\n.. highlight:: c\n\n  code\n")
    blocks = read_document(tmp_path / "a.rst").blocks
    assert [(block.kind, block.text) for block in blocks] == [("text", "Text."), ("code", "code")]


def test_running_titles_and_page_numbers_are_left_out(tmp_path: Path) -> None:
    pages = [
        [("p", "Orla Works 2026"), ("p", f"Rule {n} says {n} things about gates."), ("p", f"Page {n}")]
        for n in range(6)
    ]
    write_pdf(tmp_path / "a.pdf", pages)
    assert read_document(tmp_path / "a.pdf").text == "\n\n".join(
        f"Rule {n} says {n} things about gates." for n in range(6)
    )


def test_no_passage_spans_two_sections_of_more_than_a_few_words() -> None:
    text = "The keeper notes the level of the water in the book."
    document = read_markdown(f"# T\n\n{text}\n\n## A\n\n### B\n\n{text}\n\n## C\n\n{text}\n")
    assert [(piece.text, piece.headings) for piece in split_document(document)] == [
        (text, ()),
        (f"A\nB\n{text}", ("A", "B")),
        (f"C\n{text}", ("C",)),
    ]


def read_markdown(text: str) -> Document:
    from quorum.documents.readers.markdown import read

    return read(text.encode(), "x.md")


def test_a_reader_can_be_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorum.documents.readers.READERS", dict(READERS))
    add_reader(".Quo", read_text)
    (tmp_path / "a.quo").write_text("A type of its own.")
    assert read_document(tmp_path / "a.quo").text == "A type of its own."


@pytest.mark.parametrize("suffix", [".quo.gz", "quo", ".", ""])
def test_a_reader_for_a_suffix_that_no_file_has_is_refused(suffix: str) -> None:
    with pytest.raises(SetupError, match="begin with a dot and have no other dot"):
        add_reader(suffix, read_text)
    with pytest.raises(TypeError, match="begin with a dot and have no other dot"):
        check_reader(suffix, read_text)


def test_an_installed_package_may_add_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from quorum.documents.readers.plain_text import read\nno_function = 3\n"
    entry_points = {".abc": "abc_reader:read", ".md": "abc_reader:read", ".odd": "abc_reader:no_function"}
    install_plugin(tmp_path, monkeypatch, "abc-reader", code, {"quorum.readers": entry_points})
    for name in ("a.abc", "a.md", "a.odd"):
        (tmp_path / name).write_text("*Its* text.")
    assert read_document(tmp_path / "a.abc").text == "*Its* text."
    assert read_document(tmp_path / "a.md").text == "Its text."  # the built-in reader stays
    with pytest.raises(Unreadable, match=r"files of type '\.odd' are not read"):
        read_document(tmp_path / "a.odd")
    forget_plugins()
