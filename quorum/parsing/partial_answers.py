"""The answer in a reply that is still being written.

A short answer is known when its reply ends, not before: a long reply is cut, and "The tower" may go on as "is not named
in the passages". A paragraph or a turn of a dialogue is shown as it is written, from its first sentence on.
"""

import re

from quorum.core.text import is_unknown
from quorum.parsing.read_reply import CONTRACTS

WRITTEN_OUT = ("_long", "_dialogue")  # prompts whose answer is a text, not a few words
FIRST_WORDS = 12  # which are held back, unless a sentence ends before: they may refuse to answer
SENTENCE_END = re.compile(r"[.!?。！？]\s")


def is_written_out(prompt: str) -> bool:
    """Whether a prompt asks for an answer that is shown as it is written."""
    return prompt.startswith("answer") and prompt.endswith(WRITTEN_OUT)


def read_partial_answer(prompt: str, text: str, question: str) -> str:
    """The answer as far as it is sure to stand; empty while nothing is.

    >>> reply = "The tower was finished in 1931, after a strike of its builders. It st"
    >>> read_partial_answer("answer_long", reply, "When was the tower finished?")
    'The tower was finished in 1931, after a strike of its builders. It'
    """
    parsed = CONTRACTS[prompt].parse(text, question=question)
    answer = str(parsed.value)
    if (
        parsed.malformed
        or is_unknown(answer)
        or (len(answer.split()) <= FIRST_WORDS and not SENTENCE_END.search(answer))
    ):
        return ""
    return answer.rpartition(" ")[0]  # its last word may go on
