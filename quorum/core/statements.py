"""Splits a passage into statements that can be shown alone: sentences, list items, rows of tables, lines of code."""

from quorum.core.sentences import find_sentences

WRAPPED_LINE_LENGTH = 60  # characters: a longer line of prose may continue on the next one


def find_statements(text: str, *, may_wrap: bool = True) -> list[tuple[int, int]]:
    """(start, end) of each statement, in order. A statement ends with its line, unless the line was wrapped there.

    may_wrap: False for passages of files, whose prose was unwrapped when they were read.

    >>> text = "Opening hours\\nMonday: 9 to 5; Sunday: closed\\nDr. Li answers. Ask her."
    >>> [text[start:end] for start, end in find_statements(text)]
    ['Opening hours', 'Monday: 9 to 5; Sunday: closed', 'Dr. Li answers.', 'Ask her.']
    """
    statements: list[tuple[int, int]] = []
    for begin, end in find_blocks(text, may_wrap):
        statements += [(begin + start, begin + stop) for start, stop in find_sentences(text[begin:end])]
    return statements


def find_blocks(text: str, may_wrap: bool) -> list[tuple[int, int]]:
    """(start, end) of each line; lines of wrapped prose are joined."""
    blocks: list[tuple[int, int]] = []
    begin = line_end = 0
    for line in text.splitlines(keepends=True):
        line_end += len(line)
        if not (may_wrap and is_wrapped(line, text[line_end : line_end + 40])):
            blocks.append((begin, line_end))
            begin = line_end
    return [*blocks, (begin, len(text))] if begin < len(text) else blocks


def is_wrapped(line: str, following: str) -> bool:
    """Whether a sentence continues after a line: the line is long and ends no sentence; a lower-case letter follows."""
    words = line.rstrip()
    return len(words) >= WRAPPED_LINE_LENGTH and words[-1] not in ".!?:;" and following[:1].islower()


def find_statement(text: str, start: int, end: int, *, may_wrap: bool = True) -> tuple[int, int] | None:
    """The statement that holds the characters [start, end), or most of them."""
    overlaps = [  # -begin: of statements that share equally many characters, max() takes the first
        (min(end, stop) - max(start, begin), -begin, stop) for begin, stop in find_statements(text, may_wrap=may_wrap)
    ]
    largest = max(overlaps, default=None)
    return None if largest is None or largest[0] <= 0 else (-largest[1], largest[2])
