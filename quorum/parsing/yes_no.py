"""Reads replies to yes/no questions."""

import re

from quorum.core.refusals.unknown import UNKNOWN, is_empty, is_unknown
from quorum.parsing.answers import Parsed, parse_short_answer
from quorum.parsing.wrapping import remove_wrapping

# In "No one knows" and "No evidence ..." the word "no" is not a verdict.
LEADING_VERDICT = re.compile(
    r"\W*(?:(?P<yes>yes|yeah|yep|yup|true|correct|right|indeed|absolutely|certainly|of course|affirmative|y)(?! not\b)"
    r"|(?P<no>no(?! (?:one|evidence|information|mention|\w+ (?:is|are|was|were)\b))|nope|nah|false|incorrect|wrong"
    r"|negative|not (?:at all|really|exactly|quite|true|correct|so)|(?:certainly|definitely|probably|likely|of course"
    r"|absolutely|presumably) not|n))(?!\w)(?!-)",
    re.IGNORECASE,
)
BOTH_VERDICTS = re.compile(r"\W*(?:yes\W+(?:and|or|but also)\W+no|no\W+(?:and|or|but also)\W+yes)\b", re.IGNORECASE)
VERDICT_WORD = re.compile(
    r"\b(?:(?P<yes>yes|true|correct)|(?P<no>no(?= *(?:\W|$))(?! \w)|false|untrue|incorrect))\b", re.IGNORECASE
)
NEGATION = re.compile(r"(?:\b(?:not|never|hardly|cannot)|n[’']t)\b(?:\s+\w+){0,2}\s*$", re.IGNORECASE)


def parse_yes_no(reply: str, question: str = "") -> Parsed[str]:
    """The answer to a yes/no question: "yes", "no" or "unknown".

    The reply may be yes or no, true or false, JSON, "Answer: ...", or a sentence with a verdict. A negation before the
    verdict reverses it ("it is not true"). A reply that says that it does not know gives "unknown" and is well-formed.
    A verdict at the beginning of the reply decides, unless the reply begins with "yes and no". Any other reply that has
    no verdict, or two that disagree, also gives "unknown", but is malformed.

    >>> parse_yes_no("It is not true.").value
    'no'
    """
    short_answer = parse_short_answer(reply, question).value
    whole_reply = remove_wrapping(reply)
    verdict = find_verdict(short_answer) or find_verdict(whole_reply)
    return Parsed(verdict or UNKNOWN, malformed=verdict is None or is_empty(whole_reply))


def find_verdict(text: str) -> str | None:
    """The verdict at the beginning of a text, else the one that all its verdict words share.

    "unknown" if the text says that it does not know; None if it has no verdict, or two that disagree.
    """
    if BOTH_VERDICTS.match(text):
        return None
    leading_verdict = LEADING_VERDICT.match(text)
    if leading_verdict and not is_unknown(text):
        return "yes" if leading_verdict["yes"] else "no"
    if is_unknown(text):
        return UNKNOWN if text.strip() else None
    verdicts = {read_verdict_word(text, match) for match in VERDICT_WORD.finditer(text)}
    return verdicts.pop() if len(verdicts) == 1 else None


def read_verdict_word(text: str, match: re.Match[str]) -> str:
    """What a verdict word means: "yes" or "no". A negation at most three words before it reverses its meaning."""
    is_positive = bool(match["yes"])
    is_negated = bool(NEGATION.search(re.split(r"[.;!?\n]", text[: match.start()])[-1]))
    return "yes" if is_positive != is_negated else "no"
