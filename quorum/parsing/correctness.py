"""Reads a judge's verdict on whether an answer is correct."""

import re

from quorum.parsing.answers import Parsed
from quorum.parsing.verdicts import HEDGED_VERDICT, OPEN_QUESTION_WORD, SENTENCE_BREAK, VERDICT_END, parse_validity
from quorum.parsing.wrapping import remove_wrapping

# The last word of a reply, if it is a verdict: "... names the same town; correct."
LAST_VERDICT = re.compile(
    r"(?:^|[\s:;,–—-])(?P<no>(?:not|isn['’]t|n['’]t)\s+)?[*_\"'`(]{0,3}(?P<word>(?:in)?correct|right|wrong)[*_\"'`).!]*\Z",
    re.IGNORECASE,
)
# "or", "nor" or "/" before that word: "correct or incorrect" is no verdict.
OR_BEFORE_END = re.compile(r"\b(?:or|nor)\s*\Z|/\s*\Z", re.IGNORECASE)
# A verdict in the prompt's own words at the beginning of a sentence, perhaps after "Verdict:" or "It is".
ASKED_VERDICT = re.compile(
    r"(?:[^\w{]|_)*(?:(?:[a-z]+\s+){0,3}verdict(?:\s+is)?[\W_]+|(?:it|this|that|the\s+answer(?:\s+to\s+mark)?)(?:\s+is|['’]s)\s+)?"
    r"(?P<word>correct|incorrect)",
    re.IGNORECASE,
)


def parse_correctness(reply: str) -> Parsed[bool]:
    """Whether a reply says that the answer is correct.

    Three sources are tried in this order, and the first that gives a verdict decides:

    1. sentences that begin with "correct" or "incorrect" (the words that the prompt asks for), "Verdict: correct" or
       "It is correct"; if two of them disagree, the reply is malformed;
    2. "true", "yes" or their negations, as in `parse_validity`;
    3. the last word of the reply.

    A reply without a verdict is malformed. The value of a malformed reply is False.

    >>> parse_correctness("Incorrect. The accepted answer is yes.").value
    False
    """
    text = remove_wrapping(reply).strip()
    if verdicts := read_asked_verdicts(text):
        return Parsed(verdicts == {True}, malformed=len(verdicts) != 1)
    validity = parse_validity(reply)
    if not validity.malformed:
        return validity
    last_verdict = LAST_VERDICT.search(text[-200:])
    text_before = text[-200:][: last_verdict.start()] if last_verdict else ""
    if (
        last_verdict is None
        or HEDGED_VERDICT.search(f"{text_before} ")  # "partly correct"
        or OPEN_QUESTION_WORD.search(text_before)  # "unclear if correct"
        or OR_BEFORE_END.search(text_before)
    ):
        return validity
    return Parsed((last_verdict["word"].lower() in ("correct", "right")) != bool(last_verdict["no"]))


def read_asked_verdicts(text: str) -> set[bool]:
    """The verdicts (True: correct) of the sentences that begin as `ASKED_VERDICT` says."""
    matches = ((sentence, ASKED_VERDICT.match(sentence)) for sentence in SENTENCE_BREAK.split(text))
    return {
        match["word"].lower() == "correct"
        for sentence, match in matches
        if match and VERDICT_END.match(sentence, match.end())
    }
