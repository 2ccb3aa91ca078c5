"""What models wrap an answer in: code fences, tags, boxes, and the tokens that end their turn.

Every parser begins with `unwrapped`, which also bounds what the parser reads, so that no reply keeps it long.
"""

import re

from quorum.core.thinking import own_turn

LONGEST = 24_000  # characters that a parser of answers reads; a longer reply is a model in a loop
LONGEST_TEXT = 100_000  # characters of a reply that is all text: a summary, notes, copied sentences
BOXES, LONGEST_BOX = 3, 400  # boxes from the end, and characters of one

WORD = r"(?:answer|ans|result|response|output|label|verdict|choice)"
OPENING = re.compile(
    rf"<(?:\w{{1,20}}[ _-])?{WORD}>|<\|begin_of_box\|>|\[(?:answer|ans)\](?=[^\[\]\n]{{0,300}}\[/)", re.IGNORECASE
)
CLOSING = re.compile(rf"</\s?(?:\w{{1,20}}[ _-])?{WORD}>|<\|end_of_box\|>|\[/(?:answer|ans)\]", re.IGNORECASE)
BOX = "\\boxed"
AROUND_BOX = re.compile(r"(?:\$|\\\[|\\\(|[*_ \t])*\Z"), re.compile(r"(?:\$|\\\]|\\\)|[*_ \t.])*")
STYLED = re.compile(r"\\(?:text(?:bf|it|rm)?|math(?:rm|bf|it)|emph|mbox)\s?\{([^{}]{0,400})\}")


def unwrapped(reply: str, longest: int = LONGEST) -> str:
    """The reply without a code fence or tags around all of it and without the tokens of a chat template. An answer in
    tags (`<answer>`) or in a box (`\\boxed{}`) that stands beside other text is written as "Answer: ...".
    """
    text = without_fence(own_turn(shortened(reply, longest)))
    return with_labels(text) if "<" in text or "[/" in text or BOX in text else text


def shortened(reply: str, longest: int = LONGEST) -> str:
    """The reply, or of a longer one its beginning and its end, `longest` characters in all."""
    return reply if len(reply) <= longest else f"{reply[: longest // 2]}\n{reply[-longest // 2 :]}"


def without_fence(reply: str) -> str:
    """The reply without a code fence around all of it."""
    text = reply.strip()
    opening, newline, inside = text.partition("\n")
    fenced = newline and re.fullmatch(r"```[\w-]*[ \t]*", opening) and inside.endswith("```")
    return inside[:-3].rstrip() if fenced else reply


def with_labels(text: str) -> str:
    """The text with "Answer:" on a line of its own in the place of tags and boxes; without tags around all of it."""
    bare = text.strip()
    openings = list(OPENING.finditer(bare))
    if len(openings) == 1 and openings[0].start() == 0:
        inside = bare[openings[0].end() :]
        closings = list(CLOSING.finditer(inside))
        if not closings or closings[-1].end() == len(inside):
            return unboxed(CLOSING.sub("", inside).strip())
    if openings:
        text = OPENING.sub("\nAnswer: ", text)
    return unboxed(CLOSING.sub("\n", text))


def unboxed(text: str) -> str:
    """The text with its last boxes written as "Answer: ..."; the content of a box that is all of it."""
    end = len(text)
    for _ in range(BOXES):
        place = text.rfind(BOX, 0, end)
        if place < 0:
            break
        inside, after = braced(text, place + len(BOX))
        before, end = text[:place], place
        before = before[: AROUND_BOX[0].search(before[-50:]).start() - len(before[-50:]) or None]  # type: ignore[union-attr]
        rest = text[AROUND_BOX[1].match(text, after).end() :]  # type: ignore[union-attr]
        said = STYLED.sub(r"\1", inside).strip()
        whole = not before.strip() and not rest.strip()
        text = said if whole else f"{before}\nAnswer: {said}\n{rest}"
        end = min(end, len(before))
    return text


def braced(text: str, place: int) -> tuple[str, int]:
    """What stands in the braces that open at `place`, and where they end; the rest of the line where none closes."""
    opening = text.find("{", place, place + 3)
    if opening < 0:
        return "", place
    depth = 0
    for at in range(opening, min(len(text), opening + LONGEST_BOX)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[opening + 1 : at], at + 1
    line = text[opening + 1 :].partition("\n")[0][:LONGEST_BOX]
    return line, opening + 1 + len(line)
