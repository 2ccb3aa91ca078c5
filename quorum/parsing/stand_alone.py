"""Reads a reply that rewrites a follow-up question."""

import re

from quorum.core.text import is_unknown
from quorum.parsing.answers import LINE_START, MARK_PAIRS, Parsed, list_lines
from quorum.parsing.wrapping import remove_wrapping

# In characters. A line that is longer than this and than twice the follow-up question is not the rewritten question.
LONGEST_QUESTION = 1_000
QUESTION_MARKS = ("?", "？", "؟")
CLOSING_MARKS = " \t\"'”’»)]*_"
QUOTATION = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»")
QUESTION_LABEL = re.compile(  # such as "Rewritten question:" or "**The question that stands alone**: "
    rf"{LINE_START}(?:(?:rewritten|stand-?alone|new|last"
    rf"|the)[ \t]+){{0,3}}question(?:[ \t]+that[ \t]+stands[ \t]+alone)?"
    r"[*_\"'`]{0,3}[ \t]*[:：][*_]{0,3}[ \t]*",
    re.IGNORECASE,
)


def is_answer(text: str, question: str) -> bool:
    """Whether a reply answers the question or refuses to, instead of rewriting it.

    A reply without a question mark counts as an answer if the question ends with one. A mark inside a quotation, such
    as the question that the reply answers, does not count, except at the end.
    """
    own_words = QUOTATION.sub("", text)
    is_asking = any(mark in own_words for mark in QUESTION_MARKS) or text.rstrip(CLOSING_MARKS).endswith(QUESTION_MARKS)
    is_statement = question.rstrip().endswith(QUESTION_MARKS) and not is_asking
    return is_statement or is_unknown(text) or text.casefold() == "none"


def parse_stand_alone_question(reply: str, question: str = "") -> Parsed[str]:
    """The rewritten question: the reply's first line that is not just a label. Its label and quotes are removed.

    If that line is missing, too long or no question, the reply is malformed, and the value is `question`, the follow-up
    question as it was asked.

    >>> parse_stand_alone_question('Rewritten question: "How tall is the Eiffel Tower?"', "How tall is it?").value
    'How tall is the Eiffel Tower?'
    """
    lines = [QUESTION_LABEL.sub("", line, count=1).strip() for line in list_lines(remove_wrapping(reply))]
    rewritten_question = next((line for line in lines if line and not line.endswith((":", "："))), "")
    for left, right in MARK_PAIRS:
        if (
            len(rewritten_question) > len(left + right)
            and rewritten_question.startswith(left)
            and rewritten_question.endswith(right)
        ):
            rewritten_question = rewritten_question[len(left) : -len(right)].strip()
    is_malformed = (
        not rewritten_question
        or len(rewritten_question) > max(LONGEST_QUESTION, 2 * len(question))
        or is_answer(rewritten_question, question)
    )
    return Parsed(question, malformed=True) if is_malformed else Parsed(rewritten_question)
