"""Reading a file in a worker process gives the same passages as reading it in this process. A file that takes too long
is skipped, and the next files are read.
"""

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from wordvectors import WordVectors

from quorum.documents.document import Unreadable
from quorum.documents.guarded_reading import MEMORY_LIMIT, GuardedReader, is_guarded, read_ahead
from quorum.documents.pieces import read_file_passages
from quorum.documents.read import LARGEST_TEXT
from quorum.retrievers.index import index_documents

WORD_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE_NAMESPACE = "http://schemas.openxmlformats.org"


@pytest.fixture
def reader() -> Iterator[GuardedReader]:
    guarded_reader = GuardedReader()
    yield guarded_reader
    guarded_reader.close()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one document, b.md."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "b.md").write_text("---\nauthor: Mira\n---\n# Lumen\n\nThe lake is fed by the Sarn.\n")
    return folder


def write_slow_file(path: Path) -> None:
    """Write a Word file that is small, because it is compressed, but whose many paragraphs take minutes to read."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        body = "<w:p><w:r><w:t>The gate.</w:t></w:r></w:p>" * 400_000
        file.writestr(
            "word/document.xml", f'<w:document xmlns:w="{WORD_NAMESPACE}"><w:body>{body}</w:body></w:document>'
        )
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE_NAMESPACE}/package/2006/content-types"><Override PartName="/word/document.xml" '
            f"ContentType="
            '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE_NAMESPACE}/package/2006/relationships"><Relationship Id="r1" '
            f'Type="{PACKAGE_NAMESPACE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
            "</Relationships>",
        )


def test_a_guarded_reader_gives_the_passages_of_direct_reading(reader: GuardedReader, docs: Path) -> None:
    passages, notes = reader.read(docs / "b.md", words=100)
    assert passages == list(read_file_passages(docs / "b.md"))
    assert notes == []
    (docs / "latin.md").write_bytes("Köln liegt am Rhein.".encode("cp1252"))
    ((path, note),) = reader.read(docs / "latin.md", words=100)[1]
    assert (path, "Windows-1252" in note) == (str(docs / "latin.md"), True)


def test_a_file_that_cannot_be_read_raises_with_the_reason(reader: GuardedReader, docs: Path) -> None:
    (docs / "bad.pdf").write_bytes(b"no pdf")
    with pytest.raises(Unreadable, match="damaged, or not in the pdf format"):
        reader.read(docs / "bad.pdf", words=100)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no timer of processor time")
@pytest.mark.long
def test_a_file_that_takes_too_long_is_skipped_and_the_next_is_read(reader: GuardedReader, docs: Path) -> None:
    write_slow_file(docs / "a.docx")
    reader.read(docs / "b.md", words=100)
    reader.time_limit = 0.2
    with pytest.raises(Unreadable, match=r"takes more than \d s to read$"):
        reader.read(docs / "a.docx", words=100)
    reader.time_limit = 60
    assert len(reader.read(docs / "b.md", words=100)[0]) == 1


@pytest.mark.skipif(os.name != "posix", reason="Windows has no timer of processor time")
@pytest.mark.long
def test_indexing_names_a_file_that_takes_too_long(docs: Path, tmp_path: Path) -> None:
    write_slow_file(docs / "a.docx")
    report = index_documents(
        [docs], collection="docs", store=tmp_path / "store", embeddings=WordVectors(), time_limit=0.5
    )
    assert (report.added, report.passages) == (1, 1)
    ((path, reason),) = report.skipped
    assert path == str(docs / "a.docx")
    assert reason.startswith("takes more than ")


def test_a_process_that_was_killed_is_started_again(reader: GuardedReader, docs: Path) -> None:
    reader.read(docs / "b.md", words=100)
    assert reader.process is not None
    reader.process.kill()
    reader.process.wait()
    assert len(reader.read(docs / "b.md", words=100)[0]) == 1


def test_files_keep_their_order_and_simple_ones_need_no_process(reader: GuardedReader, docs: Path) -> None:
    (docs / "a.txt").write_text("A gate.")
    (docs / "c.py").write_text("x = 1")
    files = [docs / "a.txt", docs / "b.md", docs / "c.py"]
    assert [is_guarded(path) for path in files] == [False, True, False]
    texts_of_files = [
        (path, [item["text"] for item in future.result()[0]])
        for path, future in read_ahead(files, words=100, reader=reader)
    ]
    assert texts_of_files == [(path, [passage["text"] for passage in read_file_passages(path)]) for path in files]


def test_an_abandoned_reading_leaves_no_process(docs: Path) -> None:
    write_slow_file(docs / "a.docx")
    reader = GuardedReader()
    readings = read_ahead([docs / "b.md", docs / "a.docx"], words=100, reader=reader)
    assert len(next(readings)[1].result()[0]) == 1
    readings.close()
    assert reader.process is None


@pytest.mark.skipif(os.name != "posix", reason="other systems refuse such names")
def test_only_the_files_whose_names_are_not_utf8_are_skipped(docs: Path, tmp_path: Path) -> None:
    for ending in (".txt", ".html"):
        (docs / os.fsdecode(b"\xff\xfe" + ending.encode())).write_text("x")
    report = index_documents([docs], collection="docs", store=tmp_path / "store", embeddings=WordVectors())
    assert report.added == 1
    assert {reason for _, reason in report.skipped} == {"its name is not UTF-8; rename it"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_file_that_needs_too_much_memory_is_skipped_and_the_next_is_read(reader: GuardedReader, docs: Path) -> None:
    write_slow_file(docs / "a.docx")
    reader.memory_limit = 1  # less than the process has
    with pytest.raises(Unreadable, match=r"needs more than 0\.0 GB of memory to read|its reader crashed"):
        reader.read(docs / "a.docx", words=100)
    reader.memory_limit = MEMORY_LIMIT
    assert len(reader.read(docs / "b.md", words=100)[0]) == 1


def test_a_text_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    with path.open("wb") as file:
        file.truncate(LARGEST_TEXT + 1)
    with pytest.raises(Unreadable, match="larger than 50 MB, the most that is read of a file of this type"):
        list(read_file_passages(path))
