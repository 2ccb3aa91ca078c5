"""Yes or no, as models say it."""

import re

from quorum.core.text import UNKNOWN, is_unknown
from quorum.parsing.answers import Parsed, short_answer
from quorum.parsing.wrapping import unwrapped

# "No one knows" and "no evidence" begin no verdict.
LEADING = re.compile(
    r"\W*(?:(?P<yes>yes|yeah|yep|yup|true|correct|right|indeed|absolutely|certainly|of course|affirmative|y)(?! not\b)"
    r"|(?P<no>no(?! (?:one|evidence|information|mention|\w+ (?:is|are|was|were)\b))|nope|nah|false|incorrect|wrong"
    r"|negative|not (?:at all|really|exactly|quite|true|correct|so)|(?:certainly|definitely|probably|likely|of course"
    r"|absolutely|presumably) not|n))(?!\w)(?!-)",
    re.IGNORECASE,
)
BOTH = re.compile(r"\W*(?:yes\W+(?:and|or|but also)\W+no|no\W+(?:and|or|but also)\W+yes)\b", re.IGNORECASE)
VERDICT = re.compile(
    r"\b(?:(?P<yes>yes|true|correct)|(?P<no>no(?= *(?:\W|$))(?! \w)|false|untrue|incorrect))\b", re.IGNORECASE
)
NEGATION = re.compile(r"(?:\b(?:not|never|hardly|cannot)|n[’']t)\b(?:\s+\w+){0,2}\s*$", re.IGNORECASE)


def yes_no_answer(reply: str, question: str = "") -> Parsed[str]:
    """ "yes", "no" or "unknown", which a reply to a yes/no question says.

    Read: the word itself, true and false, JSON, "Answer: ...", a verdict inside a sentence, turned by a negation before
    it ("it is not true"). Default (malformed): unknown, where there is no verdict or two that disagree.
    """
    found = short_answer(reply, question).value
    own = unwrapped(reply)
    verdict = verdict_of(found) or verdict_of(own)
    return Parsed(verdict or UNKNOWN, malformed=verdict is None or not own.strip())


def verdict_of(text: str) -> str | None:
    """The verdict that the text begins with, else the one that all its verdict words agree on; null without one."""
    if BOTH.match(text):
        return None
    opening = LEADING.match(text)
    if opening and not is_unknown(text[opening.start() :] if not opening["no"] else text):
        return "yes" if opening["yes"] else "no"
    if is_unknown(text):
        return UNKNOWN if text.strip() else None
    said = {turned(text, mark) for mark in VERDICT.finditer(text)}
    return said.pop() if len(said) == 1 else None


def turned(text: str, mark: re.Match[str]) -> str:
    """What a verdict word says, with a negation shortly before it heard."""
    positive = bool(mark["yes"])
    negated = NEGATION.search(re.split(r"[.;!?\n]", text[: mark.start()])[-1])
    return "yes" if positive != bool(negated) else "no"
