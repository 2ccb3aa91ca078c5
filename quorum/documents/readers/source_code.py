"""Reads files of source code or configuration. Each block keeps its lines and names the definitions around them."""

import re

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document

DEFINITION = re.compile(
    r"""^([ \t]*)(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|
    sealed|open|override|virtual|partial|unsafe|extern|inline|const)\s+)*
    (?:class|interface|enum|struct|trait|impl|module|namespace|object|def|fn|func|function|fun|sub|type|record|protocol)
    \*?\s+(?:\([^)]{0,80}\)\s*)?([A-Za-z_$][\w$]*)""",
    re.VERBOSE,
)
TAB_WIDTH = 4
LONGEST_LINE = 1000  # characters; longer lines are not searched for a definition


def read(data: bytes, name: str) -> Document:
    """A block for each run of lines inside the same definitions. The title is the file's name."""
    text, note = decode_text(data)
    return Document(name, split_code(text), notes=[note] if note else [])


def split_code(text: str) -> list[Block]:
    """Split the text into runs of lines; each run becomes a block with the names of the definitions around it.

    Only a line that begins a definition ends a run. The definitions around the next run are that definition and those
    around the previous run that are indented less. So a statement after a function belongs to the function's run, even
    if it stands at the margin.
    """
    blocks: list[Block] = []
    run: list[str] = []
    definitions: list[tuple[int, str]] = []  # (indentation, name) of the definitions around the run, outermost first

    def finish_block() -> None:
        if any(line.strip() for line in run):
            blocks.append(
                Block(
                    "\n".join(run).strip("\n").rstrip(), "code", definition_names=tuple(name for _, name in definitions)
                )
            )
        run.clear()

    for line in text.split("\n"):
        match = DEFINITION.match(line) if len(line) < LONGEST_LINE else None
        if match:
            indent = len(match[1].expandtabs(TAB_WIDTH))
            finish_block()
            definitions = [definition for definition in definitions if definition[0] < indent] + [(indent, match[2])]
        run.append(line)
    finish_block()
    return blocks
