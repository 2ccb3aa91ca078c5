"""What a reply says that rewrites a follow-up question."""

import re

from quorum.core.text import is_unknown
from quorum.parsing.answers import EDGE, PAIRS, Parsed, list_lines
from quorum.parsing.wrapping import unwrap

LONGEST_QUESTION = 1_000  # characters; a longer line is not a question
MARKS = ("?", "？", "؟")
LABEL = re.compile(
    rf"{EDGE}(?:(?:rewritten|stand-?alone|new|last|the)[ \t]+){{0,3}}question(?:[ \t]+that[ \t]+stands[ \t]+alone)?"
    r"[*_\"'`]{0,3}[ \t]*[:：][*_]{0,3}[ \t]*",
    re.IGNORECASE,
)


def is_answer(text: str, question: str) -> bool:
    """Whether a reply answers the question, or refuses to, where it should have rewritten it."""
    is_statement = question.rstrip().endswith(MARKS) and not any(mark in text for mark in MARKS)
    return is_statement or is_unknown(text) or text.casefold() == "none"


def parse_stand_alone_question(reply: str, question: str = "") -> Parsed[str]:
    """The question on the first line of a reply, without label and quotes. Default (malformed): the question itself.

    >>> parse_stand_alone_question('Rewritten question: "How tall is the Eiffel Tower?"', "How tall is it?").value
    'How tall is the Eiffel Tower?'
    """
    lines = [LABEL.sub("", line, count=1).strip() for line in list_lines(unwrap(reply))]
    found = next((line for line in lines if line and not line.endswith((":", "："))), "")
    for left, right in PAIRS:
        if len(found) > len(left + right) and found.startswith(left) and found.endswith(right):
            found = found[len(left) : -len(right)].strip()
    is_malformed = not found or len(found) > max(LONGEST_QUESTION, 2 * len(question)) or is_answer(found, question)
    return Parsed(question, malformed=True) if is_malformed else Parsed(found)
