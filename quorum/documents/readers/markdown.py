"""Markdown (CommonMark with tables), with front matter in YAML or TOML."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document, join_lines
from quorum.documents.html_blocks import KNOWN_TAGS, read_html
from quorum.documents.myst import simplify_myst

FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)\n\1[ \t]*(?:\n|\Z)", re.DOTALL)
TAG = re.compile(r"\A</?([A-Za-z][A-Za-z0-9-]*)")
# All in characters. Longer front matter is read as text, longer values in it are cut off. A larger file, or one with a
# longer line, is not parsed as Markdown.
LONGEST_FRONT_MATTER, LONGEST_VALUE = 20_000, 1000
LARGEST_FILE, LONGEST_LINE = 10_000_000, 200_000


def read(data: bytes, name: str) -> Document:
    """Headings, paragraphs, lists, code and tables without their marks.

    The title is that of the front matter. Without one, it is a heading of level 1 at the beginning. If this heading is
    the title, it is not a block. The other values of the front matter are the document's metadata. They also form its
    first block, so that a search finds them.
    """
    text, note = decode_text(data)
    notes = [note] if note else []
    metadata, body = split_front_matter(text)
    if len(body) > LARGEST_FILE or measure_longest_line(body) > LONGEST_LINE:
        blocks, notes = [Block(body)], [*notes, "very large: read as plain text"]
    else:
        blocks = read_markdown_blocks(body)
    title = format_value(metadata.pop("title", ""))
    if blocks and blocks[0].kind == "heading" and blocks[0].level == 1 and title in ("", blocks[0].text):
        title, blocks = blocks[0].text, blocks[1:]
    values = {key: text for key, value in metadata.items() if (text := format_value(value))}
    metadata_block = Block("; ".join(f"{key}: {text}" for key, text in values.items()), "row")
    return Document(title, [metadata_block, *blocks] if values else blocks, metadata, notes)


def measure_longest_line(text: str) -> int:
    return max(map(len, text.split("\n")), default=0)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """(the values of the front matter, by key; the text after it).

    Front matter that is too long, unreadable or not a mapping stays in the text.
    """
    match = FRONT_MATTER.match(text)
    if not match or len(match[2]) > LONGEST_FRONT_MATTER:
        return {}, text
    values = parse_front_matter(match[2], toml=match[1] == "+++")
    if not isinstance(values, Mapping):
        return {}, text
    return {join_lines(str(key)).lower(): value for key, value in values.items()}, text[match.end() :]


def parse_front_matter(text: str, *, toml: bool) -> Any:
    """The content of front matter; None if it is unreadable. YAML aliases are refused: they can expand to gigabytes."""
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


def format_value(value: Any) -> str:
    """A value of front matter as text: lists with commas, mappings with semicolons, dates in ISO 8601."""
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(format_value, value)))[:LONGEST_VALUE]
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {format_value(inner)}" for key, inner in value.items())[:LONGEST_VALUE]
    return "" if value is None else join_lines(str(value))[:LONGEST_VALUE]


def read_markdown_blocks(text: str) -> list[Block]:
    """The blocks of Markdown."""
    return read_html(to_html(simplify_myst(text))).blocks


def to_html(text: str) -> str:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.add_render_rule("html_inline", render_inline_html)
    return str(parser.render(text))


def render_inline_html(_: Any, tokens: Any, index: int, *__: Any) -> str:
    """Return an HTML tag or comment unchanged. Escape what only looks like a tag, as in List<int>: it becomes text."""
    tag = tokens[index].content
    name_match = TAG.match(tag)
    return tag if tag.startswith("<!--") or (name_match and name_match[1].lower() in KNOWN_TAGS) else escape(tag)
