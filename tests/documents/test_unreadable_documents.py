"""Documents that cannot or must not be read: scans, archives that would unpack to gigabytes, broken files, pipes."""

import os
import re
import zipfile
from pathlib import Path

import pytest
from awkward_documents import write_pdf

from quorum.documents.advice import SUFFIXES_OF_ADVICE
from quorum.documents.document import Unreadable
from quorum.documents.pieces import read_file_passages
from quorum.documents.read import has_reader, read_document, read_passage_lines


def test_an_epub_reads_only_its_own_files(tmp_path: Path) -> None:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfile full-path="../../x"/></container>'
    )
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as file:
        file.writestr("META-INF/container.xml", container)
    with pytest.raises(Unreadable, match="damaged, or not in the epub format"):
        read_document(tmp_path / "a.epub")


def write_image_pdf(path: Path, pages: int) -> None:
    """A PDF of pictures without text, as a scanner makes it. The text given to `write_pdf` closes the PDF string that
    it is written into; the rest of it is PDF commands, which draw a picture of one pixel.
    """
    write_pdf(path, [[("p", ") Tj ET BI /W 1 /H 1 /CS /G /BPC 8 ID \x7f EI BT (")] for _ in range(pages)])


def test_a_scanned_pdf_is_refused_with_advice(tmp_path: Path) -> None:
    write_image_pdf(tmp_path / "scan.pdf", 3)
    with pytest.raises(Unreadable, match="scanned: 3 of 3 pages are pictures without text; run OCR first"):
        read_document(tmp_path / "scan.pdf")


def write_zip_bomb(path: Path, member_name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(member_name, content)
    return path


def test_zip_bombs_are_refused_before_unpacking(tmp_path: Path) -> None:
    nested_entities = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with pytest.raises(Unreadable, match=r"word/document.xml in it unpacks to 60 MB; at most 50 MB are read"):
        read_document(write_zip_bomb(tmp_path / "a.docx", "word/document.xml", b" " * 60_000_000))
    for suffix in ("docx", "xlsx", "pptx"):
        for part in (nested_entities, nested_entities.decode("ascii").encode("utf-16")):
            with pytest.raises(Unreadable, match="its XML declares entities"):
                read_document(write_zip_bomb(tmp_path / f"b.{suffix}", "part.xml", part))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "[" * 1_000_000, "nested too deeply"),
        ("a.html", "<div>" * 100_000 + "x", "nested too deeply"),
        ("a.csv", 'a,b\n"' + "x" * 200_000, "line 2 cannot be read"),
        ("a.ipynb", "{}", "not a notebook"),
        ("a.ipynb", "{", "not a notebook"),
        ("a.ipynb", '{"cells": null}', "not a notebook"),
        ("a.ipynb", '{"cells": 5}', "not a notebook"),
        ("a.eml", "no header here", "not a mail message"),
        ("a.xyz", "x", r"files of type '\.xyz' are not read\Z"),
        ("a.doc", "x", r"files of type '\.doc' are not read; save it as \.docx\Z"),
        ("a.XLS", "x", r"files of type '\.xls' are not read; save it as \.xlsx\Z"),
        ("a.ppt", "x", r"files of type '\.ppt' are not read; save it as \.pptx\Z"),
        ("a.mobi", "x", r"files of type '\.mobi' are not read; convert it to \.epub, for example with calibre\Z"),
    ],
)
def test_an_unreadable_document_is_refused_with_its_reason(name: str, text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(Unreadable, match=reason):
        read_document(tmp_path / name)


def test_an_old_office_file_with_a_new_name_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(Unreadable, match=r"of an older format; save it in the docx format without a password\Z"):
        read_document(tmp_path / "a.docx")


def test_advice_is_given_for_types_without_a_reader_and_leads_to_one_with_a_reader() -> None:
    listed = [suffix for suffixes in SUFFIXES_OF_ADVICE.values() for suffix in suffixes]
    assert len(listed) == len(set(listed))
    assert [suffix for suffix in listed if has_reader(Path(f"a{suffix}"))] == []
    targets = {target for advice in SUFFIXES_OF_ADVICE for target in re.findall(r"\.[a-z]+", advice)}
    assert [target for target in targets if not has_reader(Path(f"a{target}"))] == []


def test_millions_of_characters_in_one_line_are_split_into_passages(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" * 3_000_000)
    (tmp_path / "b.md").write_text("*a* [b](c) " * 100_000)
    # A passage has 100 words; in a text without spaces, every 40 characters count as a word.
    assert len(list(read_file_passages(tmp_path / "a.txt"))) == 3_000_000 // (100 * 40)
    notes: list[tuple[str, str]] = []
    assert len(list(read_file_passages(tmp_path / "b.md", notes=notes))) > 1000
    assert [note for _, note in notes] == ["very large: read as plain text"]


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    os.mkfifo(tmp_path / "a.jsonl")
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    with pytest.raises(Unreadable, match="a pipe, not a regular file"):
        read_document(tmp_path / "a.txt")
    with pytest.raises(Unreadable, match="a device, not a regular file"):
        read_document(tmp_path / "zero.txt")
    with pytest.raises(Unreadable, match="a pipe, not a regular file"):
        list(read_passage_lines(tmp_path / "a.jsonl"))
