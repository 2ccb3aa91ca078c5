"""Indexing real files into a real store: what is read, skipped, split and refused."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from index_fixtures import VECTORS, Counts, IndexFunction, docs, get_counts, index, list_collection, make_sentence
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers import collections
from quorum.retrievers.index import index_documents, index_passages
from quorum.retrievers.passages import hash_content
from quorum.retrievers.store import open_store

__all__ = ["docs", "index", "list_collection"]  # fixtures, used by name


def make_pdf(text: str) -> bytes:
    """A PDF of one page."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(data),
    )
    return data + end


def write_docx(path: Path, heading: str, text: str) -> None:
    """A Word file of a heading and a paragraph."""
    namespace = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    office = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    package = "http://schemas.openxmlformats.org/package/2006"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    paragraphs = (
        f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>'
        f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
            f'PartName="/word/document.xml" ContentType="{office}.document.main+xml"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relation}" '
            'Target="word/document.xml"/></Relationships>',
        )
        file.writestr("word/document.xml", f"<w:document {namespace}><w:body>{paragraphs}</w:body></w:document>")


def test_every_type_is_read_with_its_title(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "plain.txt").write_bytes("\ufeffThe Rhine\r\nis long.".encode())
    (docs / "marked.md").write_text("# The [Danube](http://x.org/a_(b))\n\nIt is **long** and [wide](http://x.org).")
    (docs / "page.html").write_text(
        "<html><head><title>The\n Volga</title><style>p{}</style></head>"
        "<body><h1>Volga!</h1><p>Longest.</p></body></html>"
    )
    (docs / "latin.htm").write_bytes("<meta charset=iso-8859-1><p>Köln liegt am Rhein.</p>".encode("latin-1"))
    (docs / "paper.pdf").write_bytes(make_pdf("The Elbe flows north."))
    write_docx(docs / "letter.docx", "The Oder", "It flows to the Baltic Sea.")
    (docs / "sub").mkdir()
    (docs / "sub" / "deep.TXT").write_text("The Po is in Italy.")
    (docs / "lines.jsonl").write_text(
        '{"id": "p1", "title": "Tiber", "text": "Rome lies on it."}\n\n{"id": 2, "text": "No title."}'
    )
    with gzip.open(docs / "more.jsonl.gz", "wt") as file:
        file.write('{"text": "No id."}\n')
    (docs / ".hidden.txt").write_text("hidden")
    (docs / ".git").mkdir()
    (docs / ".git" / "config.txt").write_text("hidden too")
    report = index()
    assert report.skipped == []
    assert get_counts(report) == Counts(added=9, passages=10)
    passages = {passage["title"] or passage["id"]: passage["text"] for passage in list_collection()}
    assert passages == {
        "plain": "The Rhine is long.",
        "The Danube": "It is long and wide.",
        "The Volga": "Volga!\nLongest.",
        "latin": "Köln liegt am Rhein.",
        "paper": "The Elbe flows north.",
        "The Oder": "It flows to the Baltic Sea.",
        "deep": "The Po is in Italy.",
        "Tiber": "Rome lies on it.",
        "2": "No title.",
        hash_content("", "No id."): "No id.",
    }
    assert {"p1", "2"} < {passage["id"] for passage in list_collection()}


@pytest.mark.parametrize(
    ("heading", "title"), [("# C#", "C#"), ("# Ends ##", "Ends"), ("#  Wide  ", "Wide"), ("## Second", "note")]
)
def test_a_first_level_heading_is_the_title_of_markdown(
    heading: str, title: str, docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "note.md").write_text(f"{heading}\n\nText.")
    index()
    assert [passage["title"] for passage in list_collection()] == [title]


def test_unreadable_files_are_named_and_others_are_indexed(docs: Path, index: IndexFunction) -> None:
    (docs / "good.txt").write_text("A good file.")
    (docs / "broken.txt").write_bytes(b"\xff\xfeab\x00")
    (docs / "nul.md").write_bytes(b"# Title\n\nab\0cd")
    (docs / "empty.txt").write_bytes(b"")
    (docs / "blank.txt").write_text(" \n\n ")
    (docs / "bare.md").write_text("<!-- only a comment -->\n")
    (docs / "cut.pdf").write_bytes(make_pdf("The Elbe flows north.")[:120])
    (docs / "not.pdf").write_text("not a PDF")
    (docs / "cut.docx").write_bytes(b"PK\x03\x04broken")
    (docs / "image.png").write_bytes(b"\x89PNG")
    (docs / "Makefile").write_text("all:")
    (docs / "gone.txt").symlink_to(docs / "nowhere")
    (docs / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"id": "x", "text": "y"}\n' * 500)[:-20])
    (docs / "lines.jsonl").write_bytes(
        b'{"id": "1", "text": "fine"}\nnot json\n[1]\n{"id": "2"}\n{"text": " "}\n{"text": "a\\u0000b"}\n\xff\n'
        b'{"id": "1", "text": "other"}\n{"id": "1", "text": "fine"}\n{"id": "3", "text": "lone \\ud83d"}\n'
    )
    report = index()
    reasons = {path.removeprefix(f"{docs}/"): reason for path, reason in report.skipped}
    assert reasons == {
        "broken.txt": "its byte order mark says UTF-16, but the bytes from 4 on are not UTF-16",
        "nul.md": "NUL bytes in it: not a text file",
        "empty.txt": "empty",
        "blank.txt": "empty",
        "bare.md": "no text in it",
        # These three reasons contain a library's message, so only their first words are tested, below.
        "cut.pdf": reasons["cut.pdf"],
        "not.pdf": reasons["not.pdf"],
        "cut.jsonl.gz": reasons["cut.jsonl.gz"],
        "cut.docx": "damaged, or not in the docx format (BadZipFile)",
        "image.png": "files of type '.png' are not read",
        "Makefile": "a file without a type is not read",
        "gone.txt": "a broken link",
        "lines.jsonl, line 2": "not JSON",
        "lines.jsonl, line 3": 'not a passage {"id", "title", "text"}',
        "lines.jsonl, line 4": 'not a passage {"id", "title", "text"}',
        "lines.jsonl, line 5": "empty text",
        "lines.jsonl, line 6": "NUL characters in it",
        "lines.jsonl, line 7": "not UTF-8",
        "lines.jsonl": "two texts in this document have the id '1'; only the first is stored",
    }
    assert reasons["cut.pdf"].startswith(("damaged", "no text"))
    assert reasons["not.pdf"].startswith("damaged")
    assert reasons["cut.jsonl.gz"].startswith("cannot be read after line")
    assert report.added == 2  # good.txt and lines.jsonl


def test_the_option_words_sets_the_passage_length(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "a.txt").write_text(" ".join(make_sentence(i) for i in range(30)))
    assert get_counts(index(words=50)) == Counts(added=1, passages=8)
    assert max(len(passage["text"].split()) for passage in list_collection()) <= 50
    assert get_counts(index(words=100)) == Counts(replaced=1, passages=4)
    with pytest.raises(SetupError, match="words=4 is too few"):
        index(words=4)


def test_json_lines_keep_their_ids_and_only_long_ones_are_split(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]]
) -> None:
    # A text of at most 300 words, three times the passage length, is not split. A sentence has 11 words, so p27 has 297
    # words and p40 has 440.
    lines = [{"id": f"p{n}", "title": "T", "text": " ".join(make_sentence(i) for i in range(n))} for n in (1, 27, 40)]
    (docs / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert get_counts(index()) == Counts(added=1, passages=7)
    assert [passage["id"] for passage in list_collection()] == [
        "p1",
        "p27",
        "p40#1",
        "p40#2",
        "p40#3",
        "p40#4",
        "p40#5",
    ]
    lines[0]["text"] = "Changed."
    del lines[2]
    (docs / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert get_counts(index()) == Counts(replaced=1, passages=2)
    assert list_collection()[0]["text"] == "Changed."


def test_of_two_texts_with_one_id_the_first_stays(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "a.jsonl").write_text('{"id": "1", "text": "first"}')
    (docs / "b.jsonl").write_text('{"id": "1", "text": "second"}\n{"id": "2", "text": "third"}')
    report = index()
    assert report.skipped == [
        (str(docs / "b.jsonl"), f"the id '1' already belongs to a text of {docs / 'a.jsonl'}; that text stays")
    ]
    assert [passage["text"] for passage in list_collection()] == ["first", "third"]


def test_progress_counts_files_and_json_lines(docs: Path, index: IndexFunction) -> None:
    (docs / "a.txt").write_text("One.")
    (docs / "b.jsonl").write_text('{"id": "1", "text": "x"}\n{"id": "2", "text": "y"}\nbroken\n')
    (docs / "c.bin").write_text("?")
    events: list[tuple[int, int, str]] = []
    index(progress=lambda done, total, path: events.append((done, total, Path(path).name)))
    assert events == [(1, 5, "a.txt"), (2, 5, "b.jsonl"), (3, 5, "b.jsonl"), (4, 5, "b.jsonl"), (5, 5, "c.bin")]


def test_a_folder_with_nothing_to_index_makes_no_collection(docs: Path, index: IndexFunction, tmp_path: Path) -> None:
    assert get_counts(index()) == Counts()
    (docs / "x.bin").write_text("?")
    assert len(index().skipped) == 1
    assert collections.list_collections(tmp_path / "store") == []
    with pytest.raises(SetupError, match="nothing to index"):
        index_documents([], collection="docs", store=tmp_path / "store", embeddings=VECTORS)


def test_the_store_itself_is_not_indexed(docs: Path, index: IndexFunction) -> None:
    (docs / "a.txt").write_text("One.")
    assert index(store=docs / "store").skipped == []
    assert get_counts(index(store=docs / "store")) == Counts(unchanged=1, passages=1)


@pytest.mark.parametrize("name", ["ab", "a/b", "10.0.0.1"])
def test_invalid_collection_names_are_errors(name: str, index: IndexFunction) -> None:
    with pytest.raises(SetupError, match="cannot name a collection"):
        index(collection=name)


def test_the_sample_cannot_be_written_to(index: IndexFunction) -> None:
    with pytest.raises(SetupError, match="'sample' is reserved for the sample documents"):
        index(collection="sample")


def test_different_embeddings_are_an_error(docs: Path, index: IndexFunction) -> None:
    (docs / "a.txt").write_text("One.")
    index()
    with pytest.raises(SetupError, match="'docs' was made with the embeddings"):
        index(embeddings=WordVectors(model="other"))
    (docs / "b.txt").write_text("Two.")
    with pytest.raises(SetupError, match=r"holds vectors of 64 numbers, but the embeddings .* give 8"):
        index(embeddings=WordVectors(dimension=8))


def test_many_passages_are_stored_in_batches(tmp_path: Path) -> None:
    passages = [Passage(id=f"p{i:04}", title="", text=f"Passage number {i}.") for i in range(700)]
    report = index_passages(passages, collection="many", store=tmp_path / "store", embeddings=VECTORS)
    assert report.passages == 700
    context = Context(store=str(tmp_path / "store"), collection="many", embeddings=VECTORS)
    assert collections.list_passages(context) == passages
    assert sorted(open_store(tmp_path / "store").fetch_entries("many")) == [passage["id"] for passage in passages]
