"""Whether a judge's reply says that an answer is correct."""

import re

from quorum.parsing.answers import Parsed
from quorum.parsing.verdicts import ENDED, HEDGED, OPEN, SENTENCE, validity_verdict
from quorum.parsing.wrapping import unwrapped

# The word with which a reply ends: "... names the same town; correct."
LAST = re.compile(
    r"(?:^|[\s:;,–—-])(?P<no>(?:not|isn['’]t|n['’]t)\s+)?[*_\"'`(]{0,3}(?P<word>(?:in)?correct|right|wrong)[*_\"'`).!]*\Z",
    re.IGNORECASE,
)
CHOICE = re.compile(r"\b(?:or|nor)\s*\Z|/\s*\Z", re.IGNORECASE)
# The word that the prompt asks for, as the beginning of a sentence, or after "Verdict:" or "It is".
ASKED_FOR = re.compile(
    r"(?:[^\w{]|_)*(?:(?:[a-z]+\s+){0,3}verdict(?:\s+is)?[\W_]+|(?:it|this|that|the\s+answer(?:\s+to\s+mark)?)(?:\s+is|['’]s)\s+)?"
    r"(?P<word>correct|incorrect)",
    re.IGNORECASE,
)


def correctness_verdict(reply: str) -> Parsed[bool]:
    """Whether a reply concludes that the answer is correct: by the word that it was asked for, whatever it says of the
    answers then ("Incorrect. The accepted answer is yes."); else by true, yes, or their negation; else by the word with
    which it ends. Default (malformed): False, where there is no verdict or two that disagree.
    """
    text = unwrapped(reply).strip()
    if said := asked_for(text):
        return Parsed(said == {True}, malformed=len(said) != 1)
    found = validity_verdict(reply)
    if not found.malformed:
        return found
    last = LAST.search(text[-200:])
    before = text[-200:][: last.start()] if last else ""
    if last is None or HEDGED.search(f"{before} ") or OPEN.search(before) or CHOICE.search(before):
        return found
    return Parsed((last["word"].lower() in ("correct", "right")) != bool(last["no"]))


def asked_for(text: str) -> set[bool]:
    """The verdicts of the sentences that begin with one."""
    begun = ((sentence, ASKED_FOR.match(sentence)) for sentence in SENTENCE.split(text))
    return {word["word"].lower() == "correct" for sentence, word in begun if word and ENDED.match(sentence, word.end())}
