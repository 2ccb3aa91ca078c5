"""Reads the answer in a reply that is still being written.

A short answer is only known when its reply ends: a wordy reply may be shortened by another call, and "The tower" may
continue with "is not named in the passages". A paragraph or a turn of a dialogue is shown while it is written, as soon
as its first sentence has ended or it has more than 12 words. It is shown up to its last white space, so a paragraph
without spaces, for example in Japanese, is only shown when it ends.
"""

import re

from quorum.core.text import is_unknown
from quorum.parsing.answers import REASONING_TAG_NAMES
from quorum.parsing.long_answers import QUOTES, RULE_AT_END, has_wrapping_fence
from quorum.parsing.wrapping import BOX_COMMAND
from quorum.prompts.escape import undo_escapes
from quorum.prompts.registry import find_prompt, get_prompt

# An answer of at most this many words may be a refusal, so it is held back until its first sentence ends.
HELD_BACK_WORDS = 12
# Reasoning that is cut when its tag closes.
REASONING_START = re.compile(rf"<(?:{REASONING_TAG_NAMES})>", re.IGNORECASE)
SENTENCE_END = re.compile(r"[.!?。！？]\s")


def has_streamed_answer(prompt: str) -> bool:
    """Whether the answer to the prompt of this name is shown while the model writes it."""
    contract = find_prompt(prompt)
    return contract is not None and contract.streams


def read_partial_answer(prompt: str, text: str, question: str) -> str:
    """The part of the answer that will not change any more, in Markdown; empty at first. text: the reply as far as it
    is written.

    >>> reply = "The tower was finished in 1931, after a strike of its builders. It st"
    >>> read_partial_answer("answer_long", reply, "When was the tower finished?")
    'The tower was finished in 1931, after a strike of its builders. It'
    """
    text = undo_escapes(text)
    parsed_answer = get_prompt(prompt).parse(text, question=question)
    line, answer = str(parsed_answer.value), parsed_answer.text or ""
    if (
        parsed_answer.malformed
        or is_unknown(line)
        or (len(answer.split()) <= HELD_BACK_WORDS and not SENTENCE_END.search(answer))
        or REASONING_START.match(answer)
        or may_be_wrapped(text.strip(), answer)
    ):
        return ""
    *beginning, _ = answer.rsplit(maxsplit=1)  # the last word may be incomplete
    return RULE_AT_END.sub("", "".join(beginning))


def may_be_wrapped(reply: str, answer: str) -> bool:
    """Whether the beginning of a reply opens a fence, quotation marks or a JSON object around the whole of it, of which
    the answer will be the inside. answer: the answer in this beginning.
    """
    if reply.startswith(("{", BOX_COMMAND)) or (
        reply.startswith(("```", "~~~")) and has_wrapping_fence(reply) is not False
    ):
        return True
    for left, right in QUOTES:
        if answer.startswith(left) and not re.search(rf"{right}\s*[^\s{right}]", answer[1:]):
            return True  # still open
        if reply.endswith(right) and not answer.endswith(right):
            return True  # just closed, but more may follow
    return False
