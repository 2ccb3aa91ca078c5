"""Finds the numbers that Word writes before headings: they are not in their text."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")),
    *((9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
LEVELS = 9
LARGEST_ROMAN = 4000


class Level(NamedTuple):
    """A level of a list: the number that it begins with, the form of its numbers, and its text, as "%1.%2"."""

    start: int
    form: str
    text: str


class Style(NamedTuple):
    """A paragraph's style: whether it is one of headings, the list that it belongs to, and its level there."""

    is_heading: bool
    list_id: str
    level: int | None


def get_value(element: Any, path: str) -> str:
    """The attribute `w:val` of an element below; "" if there is none."""
    found = None if element is None else element.find("/".join(f"{WORD}{name}" for name in path.split("/")))
    return "" if found is None else found.get(f"{WORD}val", "")


def number_headings(body: Any, styles_root: Any, numbering_root: Any) -> bool:
    """Write the number of every numbered heading at the beginning of its text. Returns whether there was one."""
    if numbering_root is None:
        return False
    styles, lists = read_styles(styles_root), read_lists(numbering_root)
    counters: dict[str, list[int | None]] = defaultdict(lambda: [None] * LEVELS)
    has_number = False
    for paragraph in body.iter(f"{WORD}p"):
        style = styles.get(get_value(paragraph, "pPr/pStyle"), Style(False, "", None))
        list_id = get_value(paragraph, "pPr/numPr/numId") or style.list_id
        level_text = get_value(paragraph, "pPr/numPr/ilvl")
        level = int(level_text) if level_text.isdecimal() else style.level or 0
        if list_id not in lists or level >= LEVELS:
            continue
        abstract_id, levels = lists[list_id]
        number = count(counters[abstract_id], levels, level)
        if style.is_heading and number and "".join(part.text or "" for part in paragraph.iter(f"{WORD}t")).strip():
            insert_text(paragraph, f"{number} ")
            has_number = True
    return has_number


def insert_text(paragraph: Any, text: str) -> None:
    from lxml import etree

    run = etree.Element(f"{WORD}r")
    etree.SubElement(run, f"{WORD}t", {"{http://www.w3.org/XML/1998/namespace}space": "preserve"}).text = text
    paragraph.insert(1 if len(paragraph) and paragraph[0].tag == f"{WORD}pPr" else 0, run)


def count(counter: list[int | None], levels: dict[int, Level], level: int) -> str:
    """Count one paragraph of a level, and return its number as text. counter: the last number of each level."""
    start = levels[level].start if level in levels else 1
    last = counter[level]
    counter[level] = start if last is None else last + 1
    counter[level + 1 :] = [None] * (LEVELS - level - 1)
    text = levels[level].text if level in levels else ""
    if not levels.get(level) or levels[level].form in ("bullet", "none"):
        return ""
    for place in range(level, -1, -1):
        above = levels.get(place, Level(1, "decimal", ""))
        number = counter[place]
        text = text.replace(f"%{place + 1}", format_number(above.start if number is None else number, above.form))
    return text.strip()


def format_number(number: int, form: str) -> str:
    """A number in one of Word's forms.

    >>> [format_number(4, form) for form in ("decimal", "upperRoman", "lowerLetter", "decimalZero")]
    ['4', 'IV', 'd', '04']
    """
    if form.endswith("Roman") and 0 < number < LARGEST_ROMAN:
        text = ""
        for value, letters in ROMAN:
            text += letters * (number // value)
            number %= value
        return text.upper() if form.startswith("upper") else text
    if form.endswith("Letter") and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if form.startswith("upper") else letter
    return f"{number:02d}" if form == "decimalZero" else str(number)


def read_styles(root: Any) -> dict[str, Style]:
    """The paragraph styles by their ids. A style has what it does not say from the one that it is based on."""
    elements = {} if root is None else {style.get(f"{WORD}styleId", ""): style for style in root.iter(f"{WORD}style")}
    styles = {}
    for style_id in elements:
        list_id, level, is_heading = "", "", False
        for element in list_bases(elements, style_id):
            list_id = list_id or get_value(element, "pPr/numPr/numId")
            level = level or get_value(element, "pPr/numPr/ilvl") or get_value(element, "pPr/outlineLvl")
            is_heading = is_heading or get_value(element, "name").lower().startswith("heading")
        styles[style_id] = Style(is_heading, list_id, int(level) if level.isdecimal() else None)
    return styles


def list_bases(elements: dict[str, Any], style_id: str) -> Iterator[Any]:
    """A style and those that it is based on."""
    seen: set[str] = set()
    while style_id in elements and style_id not in seen:
        seen.add(style_id)
        yield elements[style_id]
        style_id = get_value(elements[style_id], "basedOn")


def read_lists(root: Any) -> dict[str, tuple[str, dict[int, Level]]]:
    """The id of a list -> (the id of its form, its levels). Lists of one form count on."""
    forms = {form.get(f"{WORD}abstractNumId", ""): read_levels(form) for form in root.iter(f"{WORD}abstractNum")}
    lists = {}
    for number in root.iter(f"{WORD}num"):
        form_id = get_value(number, "abstractNumId")
        overrides = {level for override in number.iter(f"{WORD}lvlOverride") for level in read_levels(override).items()}
        starts = any(get_value(override, "startOverride") for override in number.iter(f"{WORD}lvlOverride"))
        list_id = number.get(f"{WORD}numId", "")
        lists[list_id] = (f"{form_id}/{list_id}" if starts else form_id, forms.get(form_id, {}) | dict(overrides))
    return lists


def read_levels(form: Any) -> dict[int, Level]:
    levels = {}
    for level in form.iter(f"{WORD}lvl"):
        place, start = level.get(f"{WORD}ilvl", ""), get_value(level, "start")
        if place.isdecimal() and int(place) < LEVELS:
            levels[int(place)] = Level(
                int(start) if start.isdecimal() else 1,
                get_value(level, "numFmt") or "decimal",
                get_value(level, "lvlText"),
            )
    return levels
