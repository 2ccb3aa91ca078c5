"""Splits a passage into statements that can be shown alone: sentences, list items, rows of tables, lines of code."""

from quorum.core.sentences import find_sentences

WRAPPED_LINE_LENGTH = 60  # characters: a longer line of prose may continue on the next one


def find_statements(text: str, *, may_wrap: bool = True) -> list[tuple[int, int]]:
    """(start, end) of each statement, in order. A statement is a sentence, or a line that is no sentence.

    A statement ends at the end of its line, unless a sentence continues in the next line (see `is_wrapped`). may_wrap:
    whether sentences may do so; False for passages of indexed files, whose lines were unwrapped as the files were read.

    >>> text = "Opening hours\\nMonday: 9 to 5; Sunday: closed\\nDr. Li answers. Ask her."
    >>> [text[start:end] for start, end in find_statements(text)]
    ['Opening hours', 'Monday: 9 to 5; Sunday: closed', 'Dr. Li answers.', 'Ask her.']
    """
    statements: list[tuple[int, int]] = []
    for begin, end in find_blocks(text, may_wrap):
        statements += [(begin + start, begin + stop) for start, stop in find_sentences(text[begin:end])]
    return statements


def find_blocks(text: str, may_wrap: bool) -> list[tuple[int, int]]:
    """(start, end) of each line; if `may_wrap`, a line of wrapped prose is joined with the next one."""
    blocks: list[tuple[int, int]] = []
    begin = line_end = 0
    for line in text.splitlines(keepends=True):
        line_end += len(line)
        if not (may_wrap and is_wrapped(line, text[line_end : line_end + 1])):
            blocks.append((begin, line_end))
            begin = line_end
    return [*blocks, (begin, len(text))] if begin < len(text) else blocks


def is_wrapped(line: str, next_character: str) -> bool:
    """Whether a sentence continues in the next line: the line is long and does not end like a sentence, and the next
    line begins with a lower-case letter.

    next_character: the first character of the next line; empty after the last line.
    """
    stripped_line = line.rstrip()
    return len(stripped_line) >= WRAPPED_LINE_LENGTH and stripped_line[-1] not in ".!?:;" and next_character.islower()


def find_statement(text: str, start: int, end: int, *, may_wrap: bool = True) -> tuple[int, int] | None:
    """(start, end) of the statement that holds the most characters of [start, end); None if no statement holds any.

    may_wrap: as for `find_statements`.
    """
    # (number of shared characters, -begin, end). If several statements share the most characters, -begin makes max()
    # take the first of these statements.
    overlaps = [
        (min(end, stop) - max(start, begin), -begin, stop) for begin, stop in find_statements(text, may_wrap=may_wrap)
    ]
    largest = max(overlaps, default=None)
    return None if largest is None or largest[0] <= 0 else (-largest[1], largest[2])
