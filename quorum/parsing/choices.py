"""Which of several lettered candidates a reply chooses."""

import re
from collections.abc import Sequence
from string import ascii_lowercase

from quorum.algorithms.vote_key import vote_key
from quorum.core.text import contains_answer, is_unknown
from quorum.parsing.answers import Parsed, short_answer, tidy

LETTERED = re.compile(
    r"\A[*_`\"']{0,3}(?:(?i:option|choice|candidate|answer)\s+)?"
    r"(?:[(\[]([A-Za-z])[)\]]|([A-Za-z])(?:[)\].:]|(?=\W*\Z)))[*_`.:]{0,3}\s*"
)


def chosen_candidate(reply: str, candidates: Sequence[str], question: str = "") -> Parsed[str]:
    """The candidate that a reply names, by its text or by its letter; "unknown" where it says so.

    Default (malformed): a reply that names none of them is an answer of its own.
    """
    found = short_answer(reply, question)
    if is_unknown(found.value):
        return found
    letter = LETTERED.match(found.value)
    rest = tidy(found.value[letter.end() :]) if letter else ""
    for text in (found.value, rest):  # an answer may look lettered: "A. A. Milne"
        key = vote_key(text)
        named = next((one for one in candidates if key and vote_key(one) == key), None)
        if named is not None:
            return Parsed(named)
    rank = ascii_lowercase.index((letter[1] or letter[2]).lower()) if letter else len(candidates)
    if rank < len(candidates) and (not rest or contains_answer(rest, [candidates[rank]])):
        return Parsed(candidates[rank])
    return Parsed(rest if letter and letter[1] and rest else found.value, malformed=True)
