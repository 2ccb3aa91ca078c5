"""Writes PDFs whose text stands where a test wants it, with lines, bookmarks, a title and form fields."""

from collections.abc import Sequence
from pathlib import Path

Text = tuple[float, float, float, str]  # left, bottom and size in points; the text, in bold if it begins with "**"
FONTS = "/F1 3 0 R /F2 4 0 R"


def write_pdf(
    path: Path,
    pages: Sequence[Sequence[Text]],
    *,
    rules: Sequence[tuple[float, float, float, float]] = (),
    title: str = "",
    bookmarks: Sequence[tuple[str, int]] = (),
    fields: Sequence[str] = (),
) -> Path:
    """rules: lines on every page, (left, bottom, right, top). bookmarks: texts and their pages from 0. fields: the
    entries of the form fields of the first page, in PDF's notation.
    """
    first_page, drawing = 6, "".join(f"{a} {b} m {c} {d} l S\n" for a, b, c, d in rules)
    objects = {
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        4: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        5: f"<< /Title ({title}) >>",
    }
    first_mark = first_page + 2 * len(pages)
    marks = [first_mark + 1 + number for number in range(len(bookmarks))]
    first_field = first_mark + len(bookmarks) + 1
    field_numbers = [first_field + number for number in range(len(fields))]
    page_numbers = [first_page + 2 * number for number in range(len(pages))]
    for number, (page_number, texts) in enumerate(zip(page_numbers, pages, strict=True)):
        annotations = " ".join(f"{field} 0 R" for field in field_numbers) if number == 0 else ""
        content = drawing + "\n".join(
            f"BT /{'F2' if text.startswith('**') else 'F1'} {size} Tf {left} {bottom} Td ({text.lstrip('*')}) Tj ET"
            for left, bottom, size, text in texts
        )
        objects[page_number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {page_number + 1} 0 R "
            f"/Resources << /Font << {FONTS} >> >> /Annots [{annotations}] >>"
        )
        objects[page_number + 1] = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    objects[1] = "<< /Type /Catalog /Pages 2 0 R"
    if marks:
        objects[1] += f" /Outlines {first_mark} 0 R"
        objects[first_mark] = f"<< /Type /Outlines /First {marks[0]} 0 R /Last {marks[-1]} 0 R /Count {len(marks)} >>"
        for place, (mark, (text, page)) in enumerate(zip(marks, bookmarks, strict=True)):
            following = f"/Next {marks[place + 1]} 0 R" if place + 1 < len(marks) else ""
            objects[mark] = (
                f"<< /Title ({text}) /Parent {first_mark} 0 R {following} /Dest [{page_numbers[page]} 0 R /Fit] >>"
            )
    if fields:
        objects[1] += f" /AcroForm << /Fields [{' '.join(f'{field} 0 R' for field in field_numbers)}] >>"
        for field, entries in zip(field_numbers, fields, strict=True):
            objects[field] = f"<< /Type /Annot /Subtype /Widget /Rect [300 700 400 720] {entries} >>"
    objects[1] += " >>"
    references = " ".join(f"{number} 0 R" for number in page_numbers)
    objects[2] = f"<< /Type /Pages /Kids [{references}] /Count {len(pages)} >>"
    path.write_bytes(join_objects(objects))
    return path


def join_objects(objects: dict[int, str]) -> bytes:
    data, offsets = b"%PDF-1.4\n", {}
    for number, content in sorted(objects.items()):
        offsets[number] = len(data)
        data += f"{number} 0 obj\n{content}\nendobj\n".encode("cp1252")
    size = max(objects) + 1
    entries = "".join(
        f"{offsets[number]:010d} 00000 n \n" if number in offsets else "0000000000 65535 f \n" for number in range(size)
    )
    end = f"xref\n0 {size}\n{entries}trailer << /Size {size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    return data + end.encode()


def write_lines(lines: Sequence[str], *, left: float = 72, top: float = 720, size: float = 11) -> list[Text]:
    """Lines of text, one below the other."""
    return [(left, top - 1.3 * size * number, size, line) for number, line in enumerate(lines)]


def write_ruled_table(path: Path, rows: Sequence[Sequence[str]], *, spans: Sequence[tuple[int, int]] = ()) -> Path:
    """A table with a line around each cell. spans: the (row, column) of cells whose right line is left out."""
    width, height, left, top = 90, 20, 72, 700
    texts: list[Text] = []
    rules: list[tuple[float, float, float, float]] = []
    for row, cells in enumerate(rows):
        y = top - height * row
        for column, text in enumerate(cells):
            x = left + width * column
            texts.append((x + 4, y - 14, 10, text))
            rules += [(x, y, x + width, y), (x, y, x, y - height), (x, y - height, x + width, y - height)]
            if (row, column) not in spans:
                rules.append((x + width, y, x + width, y - height))
    rules = [
        rule
        for rule in rules
        if not any(
            rule == (left + width * (c + 1), top - height * r, left + width * (c + 1), top - height * (r + 1))
            for r, c in spans
        )
    ]
    return write_pdf(path, [texts], rules=rules)
