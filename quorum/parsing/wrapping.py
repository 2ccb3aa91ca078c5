"""Removes what models wrap an answer in: code fences, tags, boxes, and the tokens that end their turn.

Almost every parser calls `remove_wrapping` first; `parse_copied_sentences` does not need it, because it looks only for
sentences of the passages. `remove_wrapping` also shortens very long replies, so that parsing is always fast.
"""

import re

from quorum.core.thinking import extract_first_turn

# Of a reply with more characters than this, parsers of answers read only the beginning and the end: a model in a loop
# wrote it.
LONGEST_READ_REPLY = 24_000
# The same limit for parsers of longer texts: summaries, free text, long answers, turns of a dialogue, copied sentences.
LONGEST_READ_TEXT = 100_000
MAX_BOXES, LONGEST_BOX = 3, 400  # only the last MAX_BOXES boxes are read, at most LONGEST_BOX characters of each

ANSWER_NOUN = r"(?:answer|ans|result|response|output|label|verdict|choice)"
OPENING_TAG = re.compile(
    rf"<(?:\w{{1,20}}[ _-])?{ANSWER_NOUN}>|<\|begin_of_box\|>|\[(?:answer|ans)\](?=[^\[\]\n]{{0,300}}\[/)",
    re.IGNORECASE,
)
CLOSING_TAG = re.compile(
    rf"</\s?(?:\w{{1,20}}[ _-])?{ANSWER_NOUN}>|<\|end_of_box\|>|\[/(?:answer|ans)\]", re.IGNORECASE
)
BOX_COMMAND = "\\boxed"
BEFORE_BOX = re.compile(r"(?:\$|\\\[|\\\(|[*_ \t])*\Z")
AFTER_BOX = re.compile(r"(?:\$|\\\]|\\\)|[*_ \t.])*")
LATEX_STYLE_COMMAND = re.compile(r"\\(?:text(?:bf|it|rm)?|math(?:rm|bf|it)|emph|mbox)\s?\{([^{}]{0,400})\}")


def remove_wrapping(reply: str, max_length: int = LONGEST_READ_REPLY) -> str:
    """The reply without chat-template tokens and without a code fence, tags or a box around the whole of it.

    If only a part is in tags (`<answer>`) or in a box (`\\boxed{}`), that part becomes a line "Answer: ...".
    A reply of more than `max_length` characters is shortened first (`shorten_reply`).
    """
    text = remove_fence(extract_first_turn(shorten_reply(reply, max_length)))
    return replace_tags(text) if "<" in text or "[/" in text or BOX_COMMAND in text else text


def shorten_reply(reply: str, max_length: int = LONGEST_READ_REPLY) -> str:
    """The reply if it has at most `max_length` characters, else its first and its last `max_length` / 2 characters."""
    return reply if len(reply) <= max_length else f"{reply[: max_length // 2]}\n{reply[-max_length // 2 :]}"


def remove_fence(reply: str) -> str:
    """The reply without a code fence around all of it."""
    text = reply.strip()
    opening, newline, inside = text.partition("\n")
    is_fenced = newline and re.fullmatch(r"```[\w-]*[ \t]*", opening) and inside.endswith("```")
    return inside[:-3].rstrip() if is_fenced else reply


def replace_tags(text: str) -> str:
    """The text with "Answer:" on a new line in place of tags and boxes; tags or a box around the whole are removed."""
    stripped_text = text.strip()
    openings = list(OPENING_TAG.finditer(stripped_text))
    if len(openings) == 1 and openings[0].start() == 0:
        inside = stripped_text[openings[0].end() :]
        closings = list(CLOSING_TAG.finditer(inside))
        if not closings or closings[-1].end() == len(inside):
            return replace_boxes(CLOSING_TAG.sub("", inside).strip())
    if openings:
        text = OPENING_TAG.sub("\nAnswer: ", text)
    return replace_boxes(CLOSING_TAG.sub("\n", text))


def replace_boxes(text: str) -> str:
    """The text with its last MAX_BOXES boxes written as "Answer: ..."; if the whole text is a box, only its content."""
    end = len(text)
    for _ in range(MAX_BOXES):
        place = text.rfind(BOX_COMMAND, 0, end)
        if place < 0:
            break
        inside, box_end = read_braces(text, place + len(BOX_COMMAND))
        before, end = text[:place], place
        # Remove the marks before the box, such as "$" or "**", among the last 50 characters.
        before = before[: BEFORE_BOX.search(before[-50:]).start() - len(before[-50:]) or None]  # type: ignore[union-attr]
        rest = text[AFTER_BOX.match(text, box_end).end() :]  # type: ignore[union-attr]
        content = LATEX_STYLE_COMMAND.sub(r"\1", inside).strip()
        is_whole = not before.strip() and not rest.strip()
        text = content if is_whole else f"{before}\nAnswer: {content}\n{rest}"
        end = min(end, len(before))
    return text


def read_braces(text: str, place: int) -> tuple[str, int]:
    """(content of the braces that open at `place` or up to two characters later, position after the closing brace).

    If they do not close within LONGEST_BOX characters, the content is the rest of the line. Without an opening brace:
    ("", place).
    """
    opening = text.find("{", place, place + 3)
    if opening < 0:
        return "", place
    depth = 0
    for position in range(opening, min(len(text), opening + LONGEST_BOX)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return text[opening + 1 : position], position + 1
    line = text[opening + 1 :].partition("\n")[0][:LONGEST_BOX]
    return line, opening + 1 + len(line)
