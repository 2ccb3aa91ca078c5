"""A reader's result: a title, and blocks of text with their kind and place."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from quorum.core.encodings import Unreadable as Unreadable
from quorum.core.json_text import replace_lone_surrogates
from quorum.core.metadata import REMOVED_CHARACTERS

Kind = Literal["text", "heading", "code", "row"]
BLOCK_GAP = "\n\n"


@dataclass(frozen=True)
class Block:
    """A piece of a document.

    kind: "text" is prose, in which line ends mean nothing; "code" keeps its lines; "row" is a table row or another
    record and is only split if it is longer than a passage; "heading" has a `level`, 1 being the highest. page: counted
    from 1, None if the file has no pages. definition_names: for code, the names of the definitions around it.
    """

    text: str
    kind: Kind = "text"
    level: int = 0
    page: int | None = None
    definition_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """The content of a file.

    title: empty if the file has none. metadata: the file's own metadata, such as author and date, typed as in the file
    (see `quorum.core.metadata`). notes: remarks for the user, such as an assumed encoding.
    """

    title: str
    blocks: Sequence[Block]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @cached_property
    def text(self) -> str:
        """All blocks, an empty line between them. The offsets of passages count characters of this text."""
        return BLOCK_GAP.join(block.text for block in self.blocks)


UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Myanmar, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Japanese, Chinese
)
UNSPACED = f"[{UNSPACED_SCRIPTS}\u3000-\u303f\uff00-\uffef]"  # with their punctuation
UNSPACED_BREAK = re.compile(rf"(?<={UNSPACED})[ \t]*\r?\n[ \t]*(?={UNSPACED})")
SOFT_HYPHEN = re.compile("[\u00ad\ufffe](?:[ \\t]*\\n[ \\t]*)?")  # where a word may be broken, and was
# Sequences by which programs colour text in a terminal, and other orders to it (ECMA-48).
TERMINAL_CODE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")
DATA_ADDRESS = re.compile(
    r"data:[\w.+-]{0,80}(?:/[\w.+-]{0,80})?(?:;[\w.+-]{1,60}(?:=[\w.+\"-]{0,60})?){0,3};base64,[\w+/=%-]*", re.ASCII
)
# Bytes in base64: lines of equal length, or a long run.
BASE64 = re.compile(r"(?<![\w+/])(?:(?:[A-Za-z0-9+/]{60,80}\n){3,}[A-Za-z0-9+/]*={0,2}|[A-Za-z0-9+/]{200,}={0,2})")
SHORTEST_BASE64 = 180
LONG_RUN = re.compile(r"[A-Za-z0-9+/\n]{17}")  # in every tenth character of a text: it may have bytes in base64
# Marks of list items, among them those that Word writes in the fonts Symbol and Wingdings.
BULLETS = "[•◦▪▫‣∙●○■□◆◇►▶➢➤✓✔❖\uf0b7\uf0a7\uf0d8\uf0fc\uf076\uf0a8]"
BULLET_LINE = re.compile(rf"(?m)^[ \t]*{BULLETS}[ \t]*(?=\S)")
# A title that a program gave: it says nothing of the content.
JUNK_TITLE = re.compile(
    r"microsoft (?:word|powerpoint|excel|publisher) - .*|\W*(?:untitled|anonymous|unnamed|no ?title|unknown)\W*\d*\W*|"
    r"word document|untitled[ -](?:document|presentation|page|design|spreadsheet)\W*\d*|powerpoint[ -]presentation|"
    r"(?:document|presentation|book|slide|folie|diapositive|layout|dokument|pr[äa]sentation)[ -]?\d*|"
    r".*\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|qxd|pmd|ps|eps|odt|rtf|wpd|pub|pages|tmp|vsd)|[\W_]*",
    re.IGNORECASE,
)


def remove_unstorable(text: str) -> str:
    r"""The text without NUL, which cannot be stored, and without what no reader sees: Unicode's tags, soft hyphens, the
    codes of terminals, and bytes in base64. A lone surrogate becomes U+FFFD.

    >>> remove_unstorable("\x1b[31mred\x1b[0m")
    'red'
    """
    if not text.isascii():
        text = SOFT_HYPHEN.sub("", text) if "\u00ad" in text or "\ufffe" in text else text
        text = replace_lone_surrogates(text.translate(REMOVED_CHARACTERS))
    elif "\0" in text:
        text = text.replace("\0", "")
    if "\x1b" in text:
        text = TERMINAL_CODE.sub("", text)
    if ";base64," in text:
        text = DATA_ADDRESS.sub("", text)
    if len(text) >= SHORTEST_BASE64 and LONG_RUN.search(text[::10]):
        text = BASE64.sub(drop_bytes, text)
    return text


def drop_bytes(match: re.Match[str]) -> str:
    """Nothing for bytes in base64; the text itself if it has no capitals, no small letters or no digits."""
    text = match[0]
    has_all = any(map(str.isdigit, text)) and text.upper() != text != text.lower()
    return "" if has_all else text


def mark_items(text: str) -> str:
    """Prose in which every line with the mark of a list item begins with "- ".

    >>> mark_items("● a rope")
    '- a rope'
    """
    return text if text.isascii() else BULLET_LINE.sub("- ", text)


def clean_title(title: str) -> str:
    """A title on one line; empty if it is one that programs give, such as "untitled" or "Microsoft Word - a.doc".

    >>> clean_title("Microsoft Word - draft 3.doc"), clean_title(" The  weir ")
    ('', 'The weir')
    """
    title = remove_unstorable(join_lines(title))
    return "" if JUNK_TITLE.fullmatch(title) else title


def join_lines(text: str) -> str:
    r"""The text with each run of white space replaced by one space; a line break inside Chinese, Japanese or Thai,
    which have no spaces, by nothing.

    >>> join_lines(" a \n b "), join_lines("水\n车")
    ('a b', '水车')
    """
    if not text.isascii():
        text = join_unspaced(text)
    return " ".join(text.split())


def join_unspaced(text: str) -> str:
    """The text without line breaks between characters of scripts that are written without spaces."""
    return text if text.isascii() or "\n" not in text else UNSPACED_BREAK.sub("", text)
