"""What is read of documents of each type, how fast, and the memory for many files: python -m benchmarks.documents
[--files N]

Short: a talk of short and long sections, of each type; the share of its passages that have fewer than ten words.
Words: small files whose words are known (tables, old encodings, formulas, attached messages) are read; the share of the
words that stand in what was read. Speed: for each type, one document of about 60,000 words is read and split into
passages, without embedding them. The unit is passages per second of processor time. Memory: N small files (10,000 by
default) are indexed with vectors that cost nothing. The figures are this process's resident memory before indexing and
its maximum during indexing, and the seconds that indexing takes.
"""

import argparse
import json
import resource
import tempfile
import time
import zipfile
from collections.abc import Callable
from html import escape
from pathlib import Path

from langchain_core.embeddings import Embeddings

from benchmarks.document_words import measure_words, write_msg, write_opendocument, write_table
from benchmarks.short_sections import count_short
from quorum.documents.pieces import read_file_passages
from quorum.retrievers.index import index_documents

PARAGRAPHS = 1000
SENTENCE = "The gate of lock number {n} is opened at {n} past seven by the keeper, who notes the level of the water. "
DOCX_HEAD = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'


class FreeEmbeddings(Embeddings):
    """Embeddings that take almost no time: four numbers without a meaning for each text."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(hash(text) % 97), 1.0, 2.0, 3.0]


def make_paragraphs() -> list[str]:
    return ["".join(SENTENCE.format(n=3 * number + part) for part in range(3)).strip() for number in range(PARAGRAPHS)]


def write_documents(folder: Path) -> None:
    """Write a document of each type, all with the same paragraphs."""
    texts = make_paragraphs()
    plain_text = "\n\n".join(texts)
    html = "".join(f"<h2>Part {n}</h2><p>{escape(text)}</p>" for n, text in enumerate(texts))
    rows = [(str(number), text) for number, text in enumerate(texts)]
    text_of_file = {
        "a.txt": plain_text,
        "a.md": "\n\n".join(f"## Part {n}\n\n{text}" for n, text in enumerate(texts)),
        "a.rst": "\n\n".join(f"Part {n}\n{'-' * 12}\n\n{text}" for n, text in enumerate(texts)),
        "a.html": f"<html><body>{html}</body></html>",
        "a.csv": "number,text\n" + "".join(f'{number},"{text}"\n' for number, text in rows),
        "a.json": json.dumps([{"number": number, "text": text} for number, text in rows]),
        "a.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": text} for text in texts]}),
        "a.eml": f"From: a@b.example\nSubject: Gates\n\n{plain_text}",
        "a.py": "\n\n".join(f"def part_{n}():\n    '''{text}'''" for n, text in enumerate(texts)),
    }
    for name, text in text_of_file.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_office(folder, rows)
    write_other_office(folder, rows)
    write_pdf(folder / "a.pdf", texts)


def write_office(folder: Path, rows: list[tuple[str, str]]) -> None:
    """Write the types that are made from rows (number, text): Excel, PowerPoint, Word and EPUB."""
    from openpyxl import Workbook
    from pptx import Presentation

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Gates")
    for row in [("number", "text"), *rows]:
        sheet.append(row)
    book.save(folder / "a.xlsx")
    deck = Presentation()
    for number, text in rows:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = f"Part {number}", text
    deck.save(str(folder / "a.pptx"))
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for _, text in rows)
    package = "http://schemas.openxmlformats.org"
    with zipfile.ZipFile(folder / "a.docx", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", f"{DOCX_HEAD}{body}</w:body></w:document>")
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/package/2006/content-types"><Override PartName="/word/document.xml" ContentType='
            '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/package/2006/relationships"><Relationship Id="r1" Type="{package}/office'
            'Document/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        )
    chapters = "".join(f"<p>{escape(text)}</p>" for _, text in rows)
    with zipfile.ZipFile(folder / "a.epub", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfile full-path="b.opf"/>'
            "</container>",
        )
        file.writestr(
            "b.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type='
            '"application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        )
        file.writestr("a.xhtml", f"<html><body>{chapters}</body></html>")


def write_other_office(folder: Path, rows: list[tuple[str, str]]) -> None:
    """Write the types of LibreOffice and Outlook, and Rich Text."""
    paragraphs = "".join(f"<text:p>{escape(text)}</text:p>" for _, text in rows)
    write_opendocument(folder / "a.odt", paragraphs)
    write_table(folder / "a.ods", [("number", "text"), *rows])
    body = "".join(f"{text}\\par\n" for _, text in rows)
    (folder / "a.rtf").write_text(f"{{\\rtf1\\ansi{{\\fonttbl{{\\f0 Arial;}}}}{body}}}")
    (folder / "a.msg").write_bytes(write_msg({"10130102": "".join(f"<p>{text}</p>" for _, text in rows).encode()}))


def write_pdf(path: Path, texts: list[str]) -> None:
    """Write a PDF with five paragraphs on a page and one sentence in a line."""
    lines = [line for text in texts for line in text.replace(". ", ".\n").split("\n")]
    pages = [lines[begin : begin + 15] for begin in range(0, len(lines), 15)]
    page_references = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{page_references}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        stream = "\n".join(f"BT /F1 9 Tf 40 {740 - 14 * n} Td ({line}) Tj ET" for n, line in enumerate(page))
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
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(data)}\n"
    )
    path.write_bytes(data + f"{end}%%EOF".encode())


def measure_reading(path: Path) -> tuple[int, float]:
    """(passages, passages per second of processor time) of the second reading. The first reading imports the library
    for the type, and is not measured.
    """
    list(read_file_passages(path))
    begin = time.process_time()
    count = len(list(read_file_passages(path)))
    return count, count / max(time.process_time() - begin, 1e-6)


def measure_memory() -> float:
    """Megabytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def measure_indexing(folder: Path, files: int) -> tuple[float, float, float]:
    """(megabytes before indexing, maximum of megabytes during indexing, seconds of indexing) for that many files."""
    docs = folder / "many"
    docs.mkdir()
    texts = make_paragraphs()
    for number in range(files):
        part = [texts[(number + place) % PARAGRAPHS] for place in range(3)]
        (docs / f"{number}.md").write_text(f"# Text {number}\n\n" + "\n\n".join(part), encoding="utf-8")
    # One file is indexed before the measurement, so that the libraries are loaded.
    index_documents([docs / "0.md"], collection="warm", store=folder / "store", embeddings=FreeEmbeddings())
    before, maximum = measure_memory(), [0.0]
    begin = time.perf_counter()
    watch: Callable[[object], None] = lambda _: maximum.append(max(maximum.pop(), measure_memory()))  # noqa: E731
    index_documents([docs], collection="many", store=folder / "store", embeddings=FreeEmbeddings(), watch=watch)
    return before, maximum[0], time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000, help="files indexed to measure memory; 0: none")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'type':8}{'words':>10}{'found':>10}")
        for name, (found, total) in sorted(measure_words(folder / "words").items()):
            print(f"{name:8}{total:>10,}{found / total:>10.1%}")
        print(f"{'type':8}{'passages':>10}{'short':>10}")
        for name, (short, count) in count_short(folder / "talks").items():
            print(f"{name:8}{count:>10,}{short / count:>10.1%}")
        write_documents(folder)
        print(f"{'type':8}{'passages':>10}{'per s':>10}")
        for path in sorted(folder.glob("a.*")):
            count, speed = measure_reading(path)
            print(f"{path.suffix[1:]:8}{count:>10,}{speed:>10,.0f}", flush=True)
        if options.files:
            before, maximum, seconds = measure_indexing(folder, options.files)
            print(f"{options.files:,} files: {before:.0f} MB before, {maximum:.0f} MB at most, {seconds:.0f} s")


if __name__ == "__main__":
    main()
