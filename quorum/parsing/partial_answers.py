"""Reads the answer in a reply that is still being written.

A short answer is only known when its reply ends: a wordy reply may be shortened by another call, and "The tower" may
continue with "is not named in the passages". A paragraph or a turn of a dialogue is shown while it is written, as soon
as its first sentence has ended or it has more than 12 words. It is shown up to its last space, so an answer without
spaces, for example in Japanese, is only shown when its reply ends.
"""

import re

from quorum.core.text import is_unknown
from quorum.parsing.read_reply import REPLY_PARSERS

TEXT_ANSWER_SUFFIXES = ("_long", "_dialogue")  # ends of the names of prompts that ask for sentences
# An answer of at most this many words may be a refusal, so it is held back until its first sentence ends.
HELD_BACK_WORDS = 12
SENTENCE_END = re.compile(r"[.!?。！？]\s")


def has_streamed_answer(prompt: str) -> bool:
    """Whether the answer to the prompt of this name is shown while the model writes it."""
    return prompt.startswith("answer") and prompt.endswith(TEXT_ANSWER_SUFFIXES)


def read_partial_answer(prompt: str, text: str, question: str) -> str:
    """The part of the answer that will not change any more; empty at first. text: the reply as far as it is written.

    >>> reply = "The tower was finished in 1931, after a strike of its builders. It st"
    >>> read_partial_answer("answer_long", reply, "When was the tower finished?")
    'The tower was finished in 1931, after a strike of its builders. It'
    """
    parsed_answer = REPLY_PARSERS[prompt].parse(text, question=question)
    answer = str(parsed_answer.value)
    if (
        parsed_answer.malformed
        or is_unknown(answer)
        or (len(answer.split()) <= HELD_BACK_WORDS and not SENTENCE_END.search(answer))
    ):
        return ""
    return answer.rpartition(" ")[0]  # the last word may be incomplete
