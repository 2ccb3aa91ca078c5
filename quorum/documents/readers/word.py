"""Word documents (docx)."""

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quorum.documents.charts import make_chart_blocks
from quorum.documents.document import Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.formulas import OFFICE, format_office_formula
from quorum.documents.html_blocks import read_html
from quorum.documents.readers.web_page import split_title
from quorum.documents.word_numbering import WORD, number_headings
from quorum.documents.zip_parts import open_archive

# in mammoth's notation: the paragraph style, then the HTML element that it becomes
STYLE_MAP = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
TERMS_NAMESPACE = "{http://purl.org/dc/terms/}"


def read(data: bytes, name: str) -> Document:
    """Headings (paragraphs with a heading style, with their numbers), paragraphs, lists, tables, formulas and the data
    of charts; pictures, comments and hidden text are left out.

    The title is a heading of level 1 that begins the document, else the title among the file's properties.
    """
    with open_archive(data, "docx") as archive:
        metadata = read_core_properties(archive)
        data = prepare_parts(archive, data)
        chart_parts = [archive.read(name) for name in sorted(archive.namelist()) if CHART_PART.fullmatch(name)]
    with convert_parser_errors("docx"):
        import mammoth

        drop_image = mammoth.images.img_element(lambda image: {"src": ""})
        converted_page = mammoth.convert_to_html(io.BytesIO(data), style_map=STYLE_MAP, convert_image=drop_image)
    page = read_html(converted_page.value)
    title, blocks = split_title(page)
    charts = [root for root in map(parse_part, chart_parts) if root is not None]
    blocks = [*blocks, *(block for chart in charts for block in make_chart_blocks(chart))]
    return Document(title or metadata.pop("title", ""), blocks, {k: v for k, v in metadata.items() if k != "title"})


CHART_PART = re.compile(r"word/charts/chart\d*\.xml", re.IGNORECASE)
TEXT_PARTS = re.compile(r"word/(?:document|footnotes|endnotes)\d*\.xml", re.IGNORECASE)
LARGEST_HIDDEN_SIZE = 2  # half points: letters of at most one point are no letters to read


def prepare_parts(archive: Any, data: bytes) -> bytes:
    """The file as mammoth should read it: without the runs that Word does not show, which are hidden (`w:vanish`) or
    have letters of no size, with formulas as text, and with the numbers of headings.

    data: the whole file; it is returned unchanged if nothing in it must change.
    """
    from lxml import etree

    hidden_styles = list_hidden_styles(archive)
    changed_parts: dict[str, bytes] = {}
    for name in archive.namelist():
        if not TEXT_PARTS.fullmatch(name):
            continue
        root = parse_part(archive.read(name))
        runs = [] if root is None else [run for run in root.iter(f"{WORD}r") if is_hidden_run(run, hidden_styles)]
        for run in runs:
            run.getparent().remove(run)
        has_changed = root is not None and (write_formulas(root) or bool(runs))
        if root is not None and name.lower() == "word/document.xml":
            styles, numbering = (read_part(archive, f"word/{part}.xml") for part in ("styles", "numbering"))
            has_changed = number_headings(root, styles, numbering) or has_changed
        if has_changed:
            changed_parts[name] = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return replace_parts(archive, changed_parts) if changed_parts else data


def read_part(archive: Any, name: str) -> Any:
    """The root of an XML part; None if it is missing or damaged."""
    return parse_part(archive.read(name)) if name in archive.namelist() else None


def write_formulas(root: Any) -> bool:
    """Replace the formulas below `root` by their text. Returns whether there was one."""
    from lxml import etree

    formulas = list(root.iter(f"{OFFICE}oMath"))
    for formula in formulas:
        run = etree.Element(f"{WORD}r")
        text = etree.SubElement(run, f"{WORD}t", {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
        text.text, run.tail = format_office_formula(formula), formula.tail
        outer = formula.getparent()
        if outer.tag == f"{OFFICE}oMathPara":  # it stands in a paragraph, and may hold several formulas
            outer.addprevious(run)
        else:
            outer.replace(formula, run)
    for outer in list(root.iter(f"{OFFICE}oMathPara")):
        outer.getparent().remove(outer)
    return bool(formulas)


def list_hidden_styles(archive: Any) -> set[str]:
    """The ids of the character styles that hide their text."""
    root = read_part(archive, "word/styles.xml")
    styles = [] if root is None else root.iter(f"{WORD}style")
    return {style.get(f"{WORD}styleId", "") for style in styles if hides_text(style.find(f"{WORD}rPr"), set())}


def is_hidden_run(run: Any, hidden_styles: set[str]) -> bool:
    return hides_text(run.find(f"{WORD}rPr"), hidden_styles)


def hides_text(properties: Any, hidden_styles: set[str]) -> bool:
    """Whether the properties of a run or a style hide its text. A run's own `w:vanish` wins over that of its style."""
    if properties is None:
        return False
    vanish = properties.find(f"{WORD}vanish")
    if vanish is not None:
        return vanish.get(f"{WORD}val", "true").lower() not in ("0", "false", "off")
    size, style = properties.find(f"{WORD}sz"), properties.find(f"{WORD}rStyle")
    size_text = "" if size is None else size.get(f"{WORD}val", "")
    is_tiny = size_text.isdecimal() and int(size_text) <= LARGEST_HIDDEN_SIZE
    return is_tiny or (style is not None and style.get(f"{WORD}val") in hidden_styles)


def parse_part(data: bytes) -> Any:
    """The root of an XML part; None if it is damaged, which mammoth reports in its own way."""
    from lxml import etree

    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    except etree.XMLSyntaxError:
        return None


def replace_parts(archive: Any, changed_parts: dict[str, bytes]) -> bytes:
    """The archive with some parts replaced."""
    changed_file = io.BytesIO()
    with zipfile.ZipFile(changed_file, "w") as changed_archive:
        for part in archive.infolist():
            changed_archive.writestr(part.filename, changed_parts.get(part.filename) or archive.read(part))
    return changed_file.getvalue()


@contextmanager
def convert_parser_errors(kind: str) -> Iterator[None]:
    """Turn any exception of a parser into `Unreadable`. kind: the type of file, for the message."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parsers warn about what they repair
            yield
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except Exception as error:  # noqa: BLE001  (parsers raise whatever they like)
        raise Unreadable(f"damaged, or not in the {kind} format ({type(error).__name__})") from None


def read_core_properties(archive: Any) -> dict[str, str]:
    """Title, author and date of the last change (YYYY-MM-DD) of an Office file; those that it lacks are left out."""
    from lxml import etree

    try:
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        root = etree.fromstring(archive.read("docProps/core.xml"), parser)
    except (KeyError, etree.XMLSyntaxError):
        return {}
    names = {"title": f"{DUBLIN_CORE}title", "author": f"{DUBLIN_CORE}creator", "date": f"{TERMS_NAMESPACE}modified"}
    properties = {key: remove_unstorable(join_lines(root.findtext(tag) or "")) for key, tag in names.items()}
    return {key: value[:10] if key == "date" else value for key, value in properties.items() if value}
