"""reStructuredText, including Sphinx's roles and directives."""

import re
from typing import Any

from quorum.core.sentences import make_word_set
from quorum.documents.document import Document, Unreadable
from quorum.documents.encodings import decode_text
from quorum.documents.html_blocks import read_html

ROLE = re.compile(r"(?<!\w):[a-zA-Z][\w:.+-]*:`([^`<]*?)\s*(?:<[^`>]*>)?`(?!`)")
STANDARD = make_word_set("math code sub sup subscript superscript emphasis strong literal title title-reference")
SETTINGS = {
    "file_insertion_enabled": False,  # include:: and csv-table:: :file: would read any file
    "raw_enabled": False,
    "halt_level": 6,
    "report_level": 6,
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "doctitle_xform": False,
    "initial_header_level": 1,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "_disable_config": True,
}
CODE = make_word_set("code-block sourcecode code highlight literalinclude prompt doctest testcode")
SILENT = make_word_set(
    "toctree index contents include raw meta module currentmodule tabularcolumns highlight only image"
)
DIRECTIVE = re.compile(r"^([ \t]*)\.\. ([a-zA-Z][\w:.-]*)::[ \t]*(.*)$")
OPTION = re.compile(r"^[ \t]+:[\w-]+:.*$")
KEPT = make_word_set(
    """note warning tip hint important caution danger error attention admonition table list-table csv-table figure
    epigraph topic sidebar rubric parsed-literal container math replace unicode line-block highlights compound"""
)
LARGEST = 5_000_000  # characters


def read(data: bytes, name: str) -> Document:
    """Sections, paragraphs, lists, code and tables without their marks; the title is the first section's."""
    text, note = decode_text(data)
    if len(text) > LARGEST:
        raise Unreadable("larger than 5 MB, which is too much for this type")
    page = read_html(to_html(simplify_markup(text)))
    blocks, title = page.blocks, ""
    if blocks and blocks[0].kind == "heading":
        title, blocks = blocks[0].text, blocks[1:]
    return Document(title, blocks, page.metadata, [note] if note else [])


def to_html(text: str) -> str:
    from docutils.core import publish_parts

    found: dict[str, Any] = publish_parts(text, writer="html5", settings_overrides=SETTINGS)
    return str(found["body"])


def simplify_markup(text: str) -> str:
    """The text without roles and directives that docutils does not know, which become their text and content."""
    lines, out = text.split("\n"), list[str]()
    place = 0
    while place < len(lines):
        found = DIRECTIVE.match(lines[place])
        if not found or found[2] in KEPT:
            out.append(ROLE.sub(replace_role, lines[place]) if not found else lines[place])
            place += 1
            continue
        end = find_content_end(lines, place, len(found[1]))
        out += convert_directive(found, lines[place + 1 : end])
        place = end
    return "\n".join(out)


def replace_role(found: re.Match[str]) -> str:
    role = found[0][1 : found[0].index(":", 1)]
    return found[0] if role in STANDARD else found[1].lstrip("~!")


def find_content_end(lines: list[str], place: int, indent: int) -> int:
    """The index of the first line after a directive's lines."""
    end = place + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
        end += 1
    return end


def convert_directive(found: re.Match[str], content: list[str]) -> list[str]:
    """The lines that replace a directive: code as a literal block, others as their argument and content."""
    indent, name, argument = found[1], found[2], found[3]
    while content and OPTION.match(content[0]):
        content = content[1:]
    if name in CODE:
        return ["", f"{indent}::", "", *content, ""]
    if name in SILENT:
        return [""]
    least = min((len(line) - len(line.lstrip()) for line in content if line.strip()), default=0)
    inner = simplify_markup("\n".join(indent + line[least:] for line in content)).split("\n") if content else []
    return ["", indent + ROLE.sub(replace_role, argument), "", *inner, ""]
