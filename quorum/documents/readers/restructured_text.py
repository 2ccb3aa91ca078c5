"""reStructuredText, including Sphinx's roles and directives."""

import re
from typing import Any

from quorum.core.encodings import decode_text
from quorum.core.sentences import make_word_set
from quorum.documents.document import Document, Unreadable
from quorum.documents.html_blocks import read_html

# :role:`text` or :role:`text <target>`; group 1 is the text.
ROLE = re.compile(r"(?<!\w):[a-zA-Z][\w:.+-]*:`([^`<]*?)\s*(?:<[^`>]*>)?`(?!`)")
# docutils reads these roles itself; the others are Sphinx's.
STANDARD_ROLES = make_word_set("math code sub sup subscript superscript emphasis strong literal title title-reference")
DOCUTILS_SETTINGS = {
    "file_insertion_enabled": False,  # include:: and csv-table:: :file: would read any file
    "raw_enabled": False,
    "halt_level": 6,  # above the highest level: no error stops docutils
    "report_level": 6,  # the same level: no error is written into the HTML
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "doctitle_xform": False,
    "initial_header_level": 1,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "_disable_config": True,  # no docutils.conf is read
}
CODE_DIRECTIVES = make_word_set("code-block sourcecode code highlight literalinclude prompt doctest testcode")
# Left out with their content.
SILENT_DIRECTIVES = make_word_set(
    "toctree index contents include raw meta module currentmodule tabularcolumns only image"
)
DIRECTIVE = re.compile(r"^([ \t]*)\.\. ([a-zA-Z][\w:.-]*)::[ \t]*(.*)$")
OPTION = re.compile(r"^[ \t]+:[\w-]+:.*$")
KEPT_DIRECTIVES = make_word_set(  # docutils reads these itself
    """note warning tip hint important caution danger error attention admonition table list-table csv-table figure
    epigraph topic sidebar rubric parsed-literal container math replace unicode line-block highlights compound"""
)
LARGEST_FILE = 5_000_000  # characters


def read(data: bytes, name: str) -> Document:
    """Sections, paragraphs, lists, code and tables without markup. A heading that begins the file is its title."""
    text, encoding_note = decode_text(data)
    if len(text) > LARGEST_FILE:
        raise Unreadable("larger than 5 MB, which is too much for this type")
    page = read_html(to_html(simplify_markup(text)))
    blocks, title = page.blocks, ""
    if blocks and blocks[0].kind == "heading":
        title, blocks = blocks[0].text, blocks[1:]
    return Document(title, blocks, page.metadata, [encoding_note] if encoding_note else [])


def to_html(text: str) -> str:
    from docutils.core import publish_parts
    from docutils.writers.html5_polyglot import Writer

    parts: dict[str, Any] = publish_parts(text, writer=Writer(), settings_overrides=DOCUTILS_SETTINGS)
    return str(parts["body"])


def simplify_markup(text: str) -> str:
    """The text with its roles and directives replaced, except for those that docutils reads itself.

    A role becomes its text; for a directive see `convert_directive`.
    """
    lines, new_lines = text.split("\n"), list[str]()
    start = 0
    while start < len(lines):
        match = DIRECTIVE.match(lines[start])
        if not match or match[2] in KEPT_DIRECTIVES:
            new_lines.append(ROLE.sub(replace_role, lines[start]))
            start += 1
            continue
        end = find_content_end(lines, start, len(match[1]))
        new_lines += convert_directive(match, lines[start + 1 : end])
        start = end
    return "\n".join(new_lines)


def replace_role(match: re.Match[str]) -> str:
    """The text of a role that ROLE has matched, without Sphinx's marks "~" and "!"; a standard role stays unchanged."""
    role = match[0][1 : match[0].index(":", 1)]
    return match[0] if role in STANDARD_ROLES else match[1].lstrip("~!")


def find_content_end(lines: list[str], start: int, indent: int) -> int:
    """The index of the first line after the directive that begins in `lines[start]`.

    Every following line that is blank or indented further belongs to the directive. indent: how many columns the
    directive is indented.
    """
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
        end += 1
    return end


def convert_directive(match: re.Match[str], content: list[str]) -> list[str]:
    """The lines that replace a directive: a literal block for one of CODE_DIRECTIVES, an empty line for one of
    SILENT_DIRECTIVES, and for any other directive its argument and its content, without options.

    match: the directive's first line, matched by DIRECTIVE. content: its other lines. An empty comment replaces a code
    directive without content: after "::" docutils would read the next paragraph as code if it begins with a
    punctuation mark.
    """
    indent, name, argument = match[1], match[2], match[3]
    while content and OPTION.match(content[0]):
        content = content[1:]
    if name in CODE_DIRECTIVES:
        return ["", f"{indent}::", "", *content, ""] if any(map(str.strip, content)) else ["", f"{indent}..", ""]
    if name in SILENT_DIRECTIVES:
        return [""]
    min_indent = min((len(line) - len(line.lstrip()) for line in content if line.strip()), default=0)
    inner = simplify_markup("\n".join(indent + line[min_indent:] for line in content)).split("\n") if content else []
    return ["", indent + ROLE.sub(replace_role, argument), "", *inner, ""]
