"""Encodings: what a file declares is used, and Western and Central European texts that declare none are read right."""

import json
from pathlib import Path

import pytest
from table_files import write_book

from quorum.core.encodings import decode_text, find_declared_encoding
from quorum.documents.read import read_document

SENTENCES = json.loads((Path(__file__).parents[1] / "documents" / "european_sentences.json").read_text("utf-8"))


def can_encode(text: str, encoding: str) -> bool:
    return text.encode(encoding, "replace").decode(encoding) == text


@pytest.mark.parametrize("encoding", ["cp1252", "cp1250", "iso8859_15"])
def test_97_of_100_sentences_in_ten_languages_are_read_in_the_encoding_they_were_saved_in(encoding: str) -> None:
    sentences = [text for texts in SENTENCES.values() for text in texts if can_encode(text, encoding)]
    assert len(sentences) > 100
    right = sum(decode_text(text.encode(encoding)).text == text for text in sentences)
    assert right >= 0.97 * len(sentences)


@pytest.mark.parametrize(
    "text",
    [
        "Keep the oil at 40°C ± 2°C. The shaft is 12 µm too wide, ½ inch in all. The façade is by a naïve artist.",
        "3½ m³", "¿Qué?", "œuf", "«no»", "10 € – “Müller”", "Æblegrød",
    ],
)  # fmt: skip
def test_short_western_texts_and_signs_are_windows_1252(text: str) -> None:
    assert decode_text(text.encode("cp1252")).text == text


RUSSIAN = "Мельница"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (f'<?xml version="1.0" encoding="windows-1251"?><b>{RUSSIAN}</b>'.encode("cp1251"), RUSSIAN),
        (f"<?xml version='1.0' encoding='koi8-r' ?><b>{RUSSIAN}</b>".encode("koi8-r"), RUSSIAN),
        (f'<html><meta name=a content=b><meta charset="windows-1251">{RUSSIAN}'.encode("cp1251"), RUSSIAN),
        (f'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">{RUSSIAN}'.encode("koi8-r"), RUSSIAN),
        (f"# -*- coding: cp1251 -*-\nmill = '{RUSSIAN}'".encode("cp1251"), RUSSIAN),
        (f'@charset "windows-1251"; /* {RUSSIAN} */'.encode("cp1251"), RUSSIAN),
        ('<meta charset="iso-8859-1">“Müller” – 5 €'.encode("cp1252"), "“Müller” – 5 €"),
        ('<meta charset="iso-2022-jp">水車'.encode("iso-2022-jp"), "水車"),
        ('<meta charset="gb2312">镕基'.encode("gb18030"), "镕基"),
        (f'<meta charset="windows-1251">{RUSSIAN}'.encode(), RUSSIAN),  # UTF-8 in spite of what it says
    ],
)
def test_a_declared_encoding_is_used_without_a_remark(data: bytes, text: str) -> None:
    result = decode_text(data)
    assert (text in result.text, result.note) == (True, "")


def test_a_charset_in_the_text_is_no_declaration() -> None:
    assert find_declared_encoding(b"Write charset=koi8-r into the page, or encoding='utf-8'.") == ""


def test_wide_text_is_read_in_the_encoding_that_a_mail_declares() -> None:
    assert decode_text("水車\n".encode("utf-16-be"), "UTF-16BE").text == "水車\n"
    assert "does not fit" in decode_text("Köln liegt am Rhein.".encode("cp1252"), "utf-16").note


def test_declared_encodings_are_used_in_mail_epub_xml_and_html(tmp_path: Path) -> None:
    page = f'<?xml version="1.0" encoding="windows-1251"?><html><body><p>{RUSSIAN}</p></body></html>'.encode("cp1251")
    meta = f'<html><meta charset="windows-1251"><p>{RUSSIAN}</p></html>'.encode("cp1251")
    (tmp_path / "a.xml").write_bytes(page)
    (tmp_path / "a.html").write_bytes(meta)
    (tmp_path / "part.eml").write_bytes(b"Subject: a\nContent-Type: text/html\n\n" + meta)
    header = "Subject: Débit élevé à Orl\n".encode("cp1252")
    body = f"Content-Type: text/plain; charset=windows-1251\n\n{RUSSIAN}".encode("cp1251")
    (tmp_path / "header.eml").write_bytes(header + body)
    write_book(tmp_path / "a.epub", page)
    for name in ("a.xml", "a.html", "part.eml", "header.eml", "a.epub"):
        document = read_document(tmp_path / name)
        assert (RUSSIAN in document.text, list(document.notes)) == (True, [])
    assert read_document(tmp_path / "header.eml").title == "Débit élevé à Orl"
