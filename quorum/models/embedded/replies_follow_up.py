"""The reader's reply to the prompt that asks it to rewrite a follow-up question so that the question stands alone.

The reader cannot rewrite a question, so it appends the names that stand in the last turns of the conversation.
"""

import re

from quorum.models.embedded.replies import Inputs, Sampler, join_lines
from quorum.models.embedded.replies_blend import FUNCTION_WORDS

MAX_TURNS = 2  # how many of the last turns are searched for names; a turn is a question and its answer
MAX_NAMES = 4  # at most so many names are appended
NAME = re.compile(r"\b[^\W\d_a-z][\w'’-]*(?:\s+(?:(?:of|the|de|la|von|van|der|du)\s+){0,2}[^\W\d_a-z][\w'’-]*)*")
REFERENCE = re.compile(
    r"\b(?:it|its|he|him|his|she|her|hers|they|them|their|theirs|this|that|these|those|there|one|ones|former|latter"
    r"|same|then)\b",
    re.IGNORECASE,
)
CONTINUATION = re.compile(r"\s*(?:and|but|or|so|what about|how about|why|how so|since when)\b", re.IGNORECASE)
WORD = re.compile(r"\w[\w'’-]*")


async def stand_alone(inputs: Inputs, sampler: Sampler) -> str:
    """The question. If it cannot be understood alone, it is followed by the names of the last turns, in brackets."""
    question = join_lines(inputs["question"])
    last_turns = [line.partition(": ")[2] for line in inputs["history"].splitlines()[-2 * MAX_TURNS :]]
    own_names = {name.casefold() for name in find_names(question)}
    if not refers_back(question, bool(own_names)):
        return question
    names = dict.fromkeys(name for text in reversed(last_turns) for name in find_names(text))
    added_names = [name for name in names if name.casefold() not in own_names][:MAX_NAMES]
    return f"{question} ({', '.join(added_names)})" if added_names else question


def refers_back(question: str, has_name: bool) -> bool:
    """Whether a question cannot be understood alone. This is so if it contains a word such as "it" or "there", if it
    begins with words such as "and" or "what about", or if it has no name and fewer than three content words.

    >>> refers_back("How tall is it?", False), refers_back("Who painted the Mona Lisa?", True)
    (True, False)
    """
    content_words = [word for word in WORD.findall(question.lower()) if word not in FUNCTION_WORDS]
    return bool(REFERENCE.search(question) or CONTINUATION.match(question)) or (not has_name and len(content_words) < 3)


def find_names(text: str) -> list[str]:
    """The names in a text, without the function words that begin them. A name begins with a capital letter; words that
    begin with a letter outside a to z, such as "über", are also taken for names. "Unknown", "Yes" and "No" begin no
    name.

    >>> find_names("Who designed the Eiffel Tower?")
    ['Eiffel Tower']
    """
    found = []
    for match in NAME.finditer(text):
        words = match[0].split()
        while words and words[0].lower() in FUNCTION_WORDS:
            words.pop(0)
        if words and words[0].lower() not in ("unknown", "yes", "no"):
            found.append(" ".join(words))
    return found
