"""Draws a page of a PDF, with a sentence marked. A process of its own does it, because PDFs can crash their reader."""

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import IO, Any

from quorum.documents.document import Unreadable
from quorum.documents.read_worker import set_memory_limit

SCALE, MOST_PIXELS = 2.0, 2200  # pixels of a point, and of a page's longer side
TIME_LIMIT = 30  # seconds
MEMORY_LIMIT = 3_000_000_000  # bytes
LONGEST_MARK = 4000  # characters
SHORTEST_PART = 12  # letters and digits of a sentence that must stand on a page if the rest stands on another one
MARK_COLOR, EDGE_COLOR = (255, 236, 140), (178, 96, 0)
COMMAND = "from quorum.documents.page_picture import main; main()"
NO_PAGE = "it has no such page"


@dataclass(frozen=True)
class Picture:
    """A page of a PDF as PNG. page: its number, from 1; pages: how many the PDF has; is_marked: whether the text that
    was to be marked stands on it.
    """

    png: bytes
    page: int
    pages: int
    is_marked: bool


def draw_page(file: IO[bytes], page: int, mark: str = "", *, may_turn: bool = False) -> Picture:
    """A page of a PDF as a picture. The call blocks.

    file: the open PDF; page: from 1; mark: the text to mark; may_turn: if it does not stand on that page but on the
    next one, that one is drawn. Raises `Unreadable` if there is no such page, or if it cannot be drawn within
    TIME_LIMIT.
    """
    path = os.pathsep.join(part for part in sys.path if part)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", COMMAND, json.dumps([page, mark[:LONGEST_MARK], may_turn])]
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    try:
        done = subprocess.run(command, stdin=file, capture_output=True, timeout=TIME_LIMIT, env=environment)
    except subprocess.TimeoutExpired:
        raise Unreadable(f"its page {page} takes more than {TIME_LIMIT} s to draw") from None
    head, _, png = done.stdout.partition(b"\n")
    if done.returncode != 0 or not png:
        reason = done.stderr.decode(errors="replace").strip() if done.returncode == 3 else ""
        raise Unreadable(reason or f"its page {page} cannot be drawn")
    drawn, pages, is_marked = json.loads(head)
    return Picture(png, drawn, pages, is_marked)


def main() -> None:
    """The process: a PDF on standard input; a line [page, pages, is_marked] and a PNG on standard output."""
    set_memory_limit(MEMORY_LIMIT)
    page, mark, may_turn = json.loads(sys.argv[1])
    data = sys.stdin.buffer.read()
    try:
        picture = draw(data, page, mark, may_turn=may_turn)
    except Unreadable as reason:
        print(reason, file=sys.stderr)
        sys.exit(3)
    sys.stdout.buffer.write(json.dumps([picture.page, picture.pages, picture.is_marked]).encode() + b"\n" + picture.png)


def draw(data: bytes, number: int, mark: str, *, may_turn: bool = False) -> Picture:
    """As `draw_page`, in this process."""
    import pypdfium2
    from PIL import Image, ImageChops, ImageDraw

    try:
        document = pypdfium2.PdfDocument(data)
        if not 0 < number <= len(document):
            raise Unreadable(NO_PAGE)
        page = document[number - 1]
        lines = find_lines(page, mark) if mark else []
        if mark and may_turn and not lines and number < len(document):
            next_page = document[number]
            if lines := find_lines(next_page, mark):
                page, number = next_page, number + 1
        scale = min(SCALE, MOST_PIXELS / max(*page.get_size(), 1.0))
        image = page.render(scale=scale).to_pil().convert("RGB")
    except pypdfium2.PdfiumError:
        raise Unreadable("it cannot be opened as a PDF, or is locked with a password") from None
    boxes = [convert_box(page, image.size, box) for box in lines]
    layer = Image.new("RGB", image.size, "white")
    for left, top, right, bottom in boxes:
        box = (left - 2, top - 2, right + 2, bottom + 2)
        ImageDraw.Draw(layer).rectangle(box, fill=MARK_COLOR)
    marked = ImageChops.multiply(image, layer) if boxes else image
    for left, _, right, bottom in boxes:
        ImageDraw.Draw(marked).line((left - 2, bottom + 3, right + 2, bottom + 3), fill=EDGE_COLOR, width=2)
    out = io.BytesIO()
    marked.save(out, "PNG")
    return Picture(out.getvalue(), number, len(document), bool(boxes))


def find_lines(page: Any, mark: str) -> list[tuple[float, float, float, float]]:
    """(left, bottom, right, top), in points, of each line in which a text stands on a page."""
    text_page = page.get_textpage()
    boxes: list[tuple[float, float, float, float]] = []
    for index in find_characters(read_characters(text_page), mark):
        left, bottom, right, top = text_page.get_charbox(index, loose=True)
        if right <= left or top <= bottom:
            continue
        if boxes and is_same_line(boxes[-1], (left, bottom, right, top)):
            last = boxes[-1]
            boxes[-1] = (min(last[0], left), min(last[1], bottom), max(last[2], right), max(last[3], top))
        else:
            boxes.append((left, bottom, right, top))
    return boxes


def read_characters(text_page: Any) -> list[str]:
    """The characters of a page. Those of one index stand together: a sign outside the first plane of Unicode is one."""
    import pypdfium2.raw as raw

    characters = []
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        characters.append(chr(code) if 0 < code < sys.maxunicode and not 0xD800 <= code < 0xE000 else "")
    return characters


def find_characters(characters: list[str], mark: str) -> list[int]:
    """The indexes of the characters of a text on a page; empty if it is not there.

    Only letters and digits count, in any case. Of a text that begins or ends on another page, its part is found.

    >>> find_characters(list("So be-\\nware of dogs."), "Beware of")
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
    """
    folded, places = "", []
    for index, character in enumerate(characters):
        for sign in character.casefold():
            if sign.isalnum():
                folded += sign
                places.append(index)
    wanted = "".join(sign for sign in mark.casefold() if sign.isalnum())
    if not wanted or not folded:
        return []
    start = folded.find(wanted)
    end = start + len(wanted)
    if start < 0:
        start, end = find_part(folded, wanted)
    return list(range(places[start], places[end - 1] + 1)) if end > start else []


def find_part(folded: str, wanted: str) -> tuple[int, int]:
    """(start, end) of the longest beginning of a text with which a page ends, or end of it with which the page begins;
    (0, 0) if that is shorter than SHORTEST_PART.
    """
    for size in range(min(len(wanted), len(folded)), SHORTEST_PART - 1, -1):
        if folded.endswith(wanted[:size]):
            return len(folded) - size, len(folded)
        if folded.startswith(wanted[-size:]):
            return 0, size
    return 0, 0


def is_same_line(last: tuple[float, float, float, float], box: tuple[float, float, float, float]) -> bool:
    """Whether a character stands in the line of the one before it."""
    overlap = min(last[3], box[3]) - max(last[1], box[1])
    height = min(last[3] - last[1], box[3] - box[1])
    return overlap > height / 2 and box[2] > last[0] and box[0] - last[2] < 4 * height


def convert_box(
    page: Any, size: tuple[int, int], box: tuple[float, float, float, float]
) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) in pixels of a box in points, whatever the page's rotation and frame."""
    import ctypes

    import pypdfium2.raw as raw

    corners = []
    for x, y in ((box[0], box[1]), (box[2], box[3])):
        pixel_x, pixel_y = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page, 0, 0, *size, 0, x, y, pixel_x, pixel_y)
        corners.append((pixel_x.value, pixel_y.value))
    (x0, y0), (x1, y1) = corners
    return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)
