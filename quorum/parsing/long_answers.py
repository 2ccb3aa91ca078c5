"""Reads replies that are a long answer or a turn of a conversation.

The answer has two forms. `Parsed.text` is for people: the Markdown as the model wrote it, with its paragraphs, lists,
tables, code and marks of cited passages. `Parsed.value` is for votes and measures: one line without these marks.
"""

import json
import re

from quorum.core.citation_marks import blank_code, strip_marks
from quorum.core.text import UNKNOWN, is_unknown, normalize
from quorum.core.thinking import extract_first_turn
from quorum.parsing.answers import (
    PROMPT_LABEL,
    Parsed,
    format_value,
    get_first_line,
    list_lines,
    read_object,
    remove_tagged_reasoning,
)
from quorum.parsing.wrapping import (
    BOX_COMMAND,
    CLOSING_TAG,
    LONGEST_READ_TEXT,
    OPENING_TAG,
    replace_boxes,
    shorten_reply,
)

TEXT_KEYS = ("answer", "response", "reply", "turn", "text")
TURN_LABEL = re.compile(
    r"\A\W{0,4}(?:assistant|ai|bot|wizard|system|next turn|response|reply|answer)\W{0,3}[:：]\W{0,3}\s*", re.IGNORECASE
)
NEXT_TURN = re.compile(r"\n\s*\W{0,3}(?:user|human|apprentice|speaker \w+|you)\W{0,3}[:：]", re.IGNORECASE)
FENCE = re.compile(r"^[ \t]{0,3}(`{3,}+|~{3,}+)[ \t]*([\w+-]*)[ \t]*$", re.MULTILINE)
# Languages of a fence around a whole answer; a fence with any other language is code, and part of the answer.
WRAPPING_LANGUAGES = ("", "markdown", "md", "text", "txt", "plaintext", "json")
QUOTES = (('"', '"'), ("“", "”"))
# Ruled lines at the end of a text, which separate it from what was cut off.
RULE_AT_END = re.compile(r"(?:\n[ \t]{0,3}(?:-{3,}+|={3,}+|\*{3,}+|_{3,}+)?[ \t]*)+\Z")


def parse_turn(reply: str, question: str = "") -> Parsed[str]:
    """The next turn of a conversation.

    The speaker's name before the turn, quotation marks around it, and turns that the model invents after it are
    removed. An empty reply is malformed, and the value is "unknown".
    """
    text = NEXT_TURN.split("\n" + unwrap_text(reply).strip(), maxsplit=1)[0].strip()
    return read_free_text(TURN_LABEL.sub("", text), question)


def parse_long_answer(reply: str, question: str = "") -> Parsed[str]:
    """The answer without a label such as "Answer:" before it, a code fence or quotation marks around it, and a question
    that the model invents after it.

    An empty reply is malformed, and the value is "unknown".

    >>> answer = parse_long_answer("Answer: Two were built:\\n\\n- one in 1874 [1]\\n- one in 1931 [2, 3]")
    >>> print(answer.text)
    Two were built:
    <BLANKLINE>
    - one in 1874 [1]
    - one in 1931 [2, 3]
    >>> answer.value
    'Two were built: - one in 1874 - one in 1931'
    """
    return read_free_text(unwrap_text(reply), question)


def unwrap_text(reply: str) -> str:
    """The reply without a code fence, tags or a box around it; if it is a JSON object with one of TEXT_KEYS, the value
    of this key; if it has a part in tags (`<answer>`), the last such part.
    """
    text = remove_fence(extract_first_turn(shorten_reply(reply, LONGEST_READ_TEXT)))
    if openings := list(OPENING_TAG.finditer(text)):
        text = text[openings[-1].end() :]
    if openings or CLOSING_TAG.search(text):
        text = CLOSING_TAG.split(text, maxsplit=1)[0]
    text = remove_tagged_reasoning(text).strip()
    if text.startswith(BOX_COMMAND) and "\n" not in text:
        text = replace_boxes(text)
    value = read_text_object(text)
    return next((format_value(value[name]) for name in TEXT_KEYS if name in value), text)


def read_text_object(text: str) -> dict[str, object]:
    """The JSON object that the text is, or {}. Its strings may hold line breaks, which JSON itself does not allow."""
    if not text.startswith("{"):
        return {}
    value = read_object(text)
    if value is None:
        try:
            value = read_object(json.dumps(json.loads(text, strict=False)))
        except (ValueError, RecursionError):
            return {}
    return value or {}


def remove_fence(reply: str) -> str:
    """The reply without a code fence around the whole of it. Blocks of code inside or at its edges stay."""
    text = reply.strip()
    if not has_wrapping_fence(text):
        return reply
    opening, *_, closing = FENCE.finditer(text)
    return text[opening.end() : closing.start()].strip("\n")


def has_wrapping_fence(text: str) -> bool | None:
    """Whether a fence is around the whole of the text. None if the text begins with a fence that is still open."""
    if not text.startswith(("```", "~~~")):
        return False
    depth = 0  # of the fences that are open; one that names a language opens a block, any other closes one
    for fence in FENCE.finditer(text):
        if fence.start() == 0 and fence[2].lower() not in WRAPPING_LANGUAGES:
            return False  # a block of code
        depth += 1 if fence[2] or not depth else -1
        if depth == 0:
            return fence.end() == len(text)
    return None


def read_free_text(text: str, question: str) -> Parsed[str]:
    """The text in both forms, without "Answer:" before it, quotation marks around it and an invented question after it.

    A text that says that the answer is not known becomes "unknown". An empty text is malformed.
    """
    answer_text = remove_quotes(cut_labels_and_questions(text, question)).strip()
    line = " ".join(" ".join(list_lines(strip_marks(answer_text))).split())
    if is_unknown(line):
        return Parsed(UNKNOWN, malformed=not line, text=answer_text)
    return Parsed(line, text=answer_text)


def remove_quotes(text: str) -> str:
    """The text without one pair of quotation marks around the whole of it."""
    bare = text.strip()
    for left, right in QUOTES:
        if len(bare) > 2 and bare[0] == left and bare[-1] == right and left not in bare[1:-1]:
            return bare[1:-1].strip()
    return text


def cut_labels_and_questions(text: str, question: str) -> str:
    """The text from its first label "Answer:" on, if nothing but the question precedes it, and up to a question that
    the model invents. Labels in code are left alone.
    """
    start, end, context_start = 0, len(text), None
    for label in PROMPT_LABEL.finditer(blank_code(text)):
        before = text[start : label.start()]
        if label["answer"]:
            if normalize(before) in ("", normalize(f"Question: {question}")):
                start = label.end()
            context_start = None
        elif label["question"] or label["inline"]:
            next_question = get_first_line(text[label.end() : label.end() + len(question) + 100])
            is_invented = normalize(next_question) != normalize(question) and (label["question"] or start)
            if before.strip() and is_invented:
                end = label.start() if context_start is None else context_start
                break
            context_start = None
        elif context_start is None and before.strip() and label.group().strip("-= \t"):  # not a ruled line
            context_start = label.start()
    return RULE_AT_END.sub("", text[start:end].rstrip()) if end < len(text) else text[start:]
