"""Source code and configuration: lines as they stand, with the names of the definitions around them."""

import re

from quorum.documents.document import Block, Document
from quorum.documents.encodings import decode_text

DEFINITION = re.compile(
    r"""^([ \t]*)(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]*\))?|
    sealed|open|override|virtual|partial|unsafe|extern|inline|const)\s+)*
    (?:class|interface|enum|struct|trait|impl|module|namespace|object|def|fn|func|function|fun|sub|type|record|protocol)
    \*?\s+(?:\([^)]{0,80}\)\s*)?([A-Za-z_$][\w$]*)""",
    re.VERBOSE,
)
TAB = 4
LONGEST_LINE = 1000  # of a line that is looked at for a definition


def read(data: bytes, name: str) -> Document:
    """A block for every run of lines under the same definitions. The title is the file's name."""
    text, note = decode_text(data)
    return Document(name, code_blocks(text), notes=[note] if note else [])


def code_blocks(text: str) -> list[Block]:
    """The lines in runs, each with the names of the definitions that it stands in, as far as indentation tells."""
    blocks: list[Block] = []
    run: list[str] = []
    around: list[tuple[int, str]] = []

    def end() -> None:
        if any(line.strip() for line in run):
            blocks.append(Block("\n".join(run).strip("\n").rstrip(), "code", names=tuple(name for _, name in around)))
        run.clear()

    for line in text.split("\n"):
        found = DEFINITION.match(line) if len(line) < LONGEST_LINE else None
        if found:
            indent = len(found[1].expandtabs(TAB))
            end()
            around = [one for one in around if one[0] < indent] + [(indent, found[2])]
        run.append(line)
    end()
    return blocks
