"""Markdown (CommonMark with tables), with front matter in YAML or TOML."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from quorum.documents.document import Block, Document, one_line
from quorum.documents.encodings import decode_text
from quorum.documents.html_blocks import KNOWN, read_html

FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
TAG = re.compile(r"\A</?([A-Za-z][A-Za-z0-9-]*)")
LONGEST_FRONT = 20_000  # characters
LONGEST_VALUE = 1000
LARGEST, WIDEST = 10_000_000, 200_000  # characters of a file and of one line that are taken apart


def read(data: bytes, name: str) -> Document:
    """Headings, paragraphs, lists, code and tables without their marks. The title is that of the front matter, else
    the first heading, if the text begins with one of the first level.
    """
    text, note = decode_text(data)
    notes = [note] if note else []
    front, body = front_matter(text)
    if len(body) > LARGEST or longest_line(body) > WIDEST:
        return Document(front.get("title", ""), [Block(body)], front, [*notes, "very large: read as plain text"])
    blocks = markdown_blocks(body)
    title = front.pop("title", "")
    if blocks and blocks[0].kind == "heading" and blocks[0].level == 1 and title in ("", blocks[0].text):
        title, blocks = blocks[0].text, blocks[1:]
    return Document(title, blocks, front, notes)


def longest_line(text: str) -> int:
    return max(map(len, text.split("\n")), default=0)


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """(what the front matter says, the text after it). Front matter that is no mapping in YAML or TOML stays in the
    text.
    """
    found = FRONT.match(text)
    if not found or len(found[2]) > LONGEST_FRONT:
        return {}, text
    values = parsed_front(found[2], toml=found[1] == "+++")
    if not isinstance(values, Mapping):
        return {}, text
    said = {one_line(str(key)).lower(): value_text(value) for key, value in values.items()}
    return {key: value for key, value in said.items() if value}, text[found.end() :]


def parsed_front(text: str, *, toml: bool) -> Any:
    """The value of front matter; None if unreadable. YAML aliases are refused: they can expand to gigabytes."""
    if toml:
        import tomllib

        try:
            return tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError):
            return None
    import yaml

    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=yaml.SafeLoader)):
            return None
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def value_text(value: Any) -> str:
    """A value of front matter in words: lists with commas, dates as written in ISO 8601."""
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(value_text, value)))[:LONGEST_VALUE]
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {value_text(inner)}" for key, inner in value.items())[:LONGEST_VALUE]
    return "" if value is None else one_line(str(value))[:LONGEST_VALUE]


def markdown_blocks(text: str) -> list[Block]:
    """The blocks of Markdown."""
    return read_html(to_html(text)).blocks


def to_html(text: str) -> str:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.add_render_rule("html_inline", html_inline)
    return str(parser.render(text))


def html_inline(_: Any, tokens: Any, place: int, *__: Any) -> str:
    """A tag of HTML as it is; what only looks like one, as in List<int>, as text."""
    tag = tokens[place].content
    name = TAG.match(tag)
    return tag if tag.startswith("<!--") or (name and name[1].lower() in KNOWN) else escape(tag)
