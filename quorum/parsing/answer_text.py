"""The words of a reply that people read as its answer: the key `answer_text` of a result."""

import re

from quorum.core.thinking import extract_first_turn, remove_thinking
from quorum.parsing.answers import (
    ReasonedAnswer,
    cut_invented_question,
    format_value,
    read_object,
    remove_tagged_reasoning,
)
from quorum.parsing.steps import Action, SelfAskStep
from quorum.parsing.wrapping import CLOSING_TAG, LONGEST_READ_TEXT, OPENING_TAG, remove_fence, shorten_reply

WHOLE_BOX = re.compile(r"\$*\\boxed\{([^{}]*)\}\$*\.?")


def find_answer_text(reply: str, value: object, question: str = "") -> str:
    """The words of a reply that answer the question, as the model wrote them; "" if the reply has none.

    Thoughts (`<think>`) are left out, and so are a code fence, tags or a box around the whole reply, a question that
    the model invents after its answer, and JSON around the answer. All else stays as it is, Markdown included.

    value: what the parser read. A chain of thought is the result's `rationale`, and a search is no answer: of such a
    reply only the answer in `value` is taken.

    >>> find_answer_text("<think>Hm.</think> It is **Paris** [1].", "Paris")
    'It is **Paris** [1].'
    """
    if isinstance(value, ReasonedAnswer | Action | SelfAskStep):
        return value.answer or ""
    text = remove_fence(extract_first_turn(shorten_reply(remove_thinking(reply), LONGEST_READ_TEXT))).strip()
    if text.startswith("{") and (json_object := read_object(text)) and "answer" in json_object:
        return format_value(json_object["answer"]).strip()
    text = remove_tagged_reasoning(remove_tags_around(text))
    return cut_invented_question(text, question)[0].strip()


def remove_tags_around(text: str) -> str:
    """The text without tags such as `<answer>`, or a LaTeX box, around the whole of it."""
    opening, closings = OPENING_TAG.match(text), list(CLOSING_TAG.finditer(text))
    if opening and len(closings) == 1 and closings[0].end() == len(text):
        return text[opening.end() : closings[0].start()].strip()
    box = WHOLE_BOX.fullmatch(text)
    return box[1].strip() if box else text
