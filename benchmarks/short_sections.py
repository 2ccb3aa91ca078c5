"""A talk with short and long sections as a file of each type, for `python -m benchmarks.documents`: how many of its
passages have fewer than ten words.
"""

import io
import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # what the tests write
from awkward_documents import write_pdf as write_pdf_pages
from opendocument_files import write_opendocument

from benchmarks.document_words import make_book, make_word
from quorum.documents.pieces import read_file_passages

SHORT = 10  # words
LOCKS = ("Vell", "Tarn", "Orla", "Brack", "Heron", "Marten", "Lumen", "Dale")
LONG_TEXT = (
    "The keeper of {lock} opens the upper gate at seven and notes the level of the water in the book.",
    "When the level is above two metres, the lower gate stays shut until the siren at {lock} has sounded twice.",
)


def make_sections() -> list[tuple[str, list[str]]]:
    """(heading, paragraphs) of forty sections: of each eight, one is only a heading, two have one to six words."""
    sections: list[tuple[str, list[str]]] = []
    for number, lock in enumerate(LOCKS * 5):
        long_text = [text.format(lock=lock) for text in LONG_TEXT]
        kinds: list[tuple[str, list[str]]] = [
            (f"Part {number // 8 + 1}", []),
            (f"The lock of {lock}", long_text),
            (f"Gates of {lock}", [f"{number + 2} gates"]),
            (f"Rules at {lock}", [*long_text, f"Nobody swims at {lock}."]),
            (f"Staff of {lock}", ["Ada Korn, Bo Lind", "Mira Oduya"]),
            (f"Repairs at {lock}", long_text),
            (f"Costs at {lock}", [f"The repairs of {lock} cost {number} hundred crowns in that year, which was paid."]),
            (f"Visitors of {lock}", [*long_text, *long_text]),
        ]
        sections.append(kinds[number % 8])
    return sections


def write_talks(folder: Path) -> None:
    """Write the talk as a file of each type; in pptx and pdf a section is a slide or page."""
    from pptx import Presentation

    sections = make_sections()
    deck = Presentation()
    for heading, texts in sections:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = heading, "\n".join(texts)
    data = io.BytesIO()
    deck.save(data)
    (folder / "talk.pptx").write_bytes(data.getvalue())
    html, word, office, rich, markdown, restructured = "", "", "", "", "", ""
    for heading, texts in sections:
        html += f"<h2>{heading}</h2>" + "".join(f"<p>{escape(text)}</p>" for text in texts)
        word += f'<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>'
        word += "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
        office += f'<text:h text:outline-level="2">{heading}</text:h>'
        office += "".join(f"<text:p>{text}</text:p>" for text in texts)
        rich += rf"{{\pard\outlinelevel1 {heading}\par}}" + "".join(rf"\pard {text}\par" for text in texts)
        markdown += f"## {heading}\n\n" + "".join(f"{text}\n\n" for text in texts)
        restructured += f"{heading}\n{'-' * len(heading)}\n\n" + "".join(f"{text}\n\n" for text in texts)
    (folder / "talk.html").write_text(f"<html><body>{html}</body></html>")
    (folder / "talk.docx").write_bytes(make_word(word))
    (folder / "talk.epub").write_bytes(make_book(f"<html><body>{html}</body></html>"))
    write_opendocument(folder / "talk.odt", office)
    (folder / "talk.rtf").write_text(rf"{{\rtf1\ansi {rich}}}")
    (folder / "talk.md").write_text(markdown)
    (folder / "talk.rst").write_text(restructured)
    write_pdf_pages(
        folder / "talk.pdf", [[("h1", heading), *(("p", text) for text in texts)] for heading, texts in sections]
    )


def count_short(folder: Path) -> dict[str, tuple[int, int]]:
    """Type of file -> (passages of fewer than ten words, passages) of the talk."""
    folder.mkdir(parents=True, exist_ok=True)
    write_talks(folder)
    counts = {}
    for path in sorted(folder.iterdir()):
        sizes = [len(passage["text"].split()) for passage in read_file_passages(path)]
        counts[path.suffix[1:]] = sum(size < SHORT for size in sizes), len(sizes)
    return counts
