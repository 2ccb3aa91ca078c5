"""Reads whether a passage helps with a question, as CRAG's prompt "grade" asks for it: Yes, Partly or No."""

import re

from quorum.parsing.answers import Parsed, get_first_line
from quorum.parsing.verdicts import find_concluding_verdicts
from quorum.parsing.wrapping import remove_wrapping

GRADES = {"Yes": 1.0, "Partly": 0.0, "No": -1.0}
PARTLY = re.compile(
    r"\b(?:part(?:ly|ial(?:ly)?)|in\s+part|ambiguous|somewhat|maybe|perhaps|possibly|un(?:sure|certain|clear)|teil(?:s|weise)"
    r"|en\s+partie|parcialmente|in\s+parte|deels|częściowo|частично)\b|部分",
    re.IGNORECASE,
)


def parse_grade(reply: str) -> Parsed[float]:
    """1 for a passage that helps, 0 for one that helps in part, -1 for one that does not.

    A first line that hedges ("Yes, but only in part") counts as Partly. So does a reply without a verdict, or with two
    that disagree, which is malformed.

    >>> parse_grade("Yes").value, parse_grade("No, it is about a mast.").value, parse_grade("Partly").value
    (1.0, -1.0, 0.0)
    """
    text = remove_wrapping(reply).strip()
    if PARTLY.search(get_first_line(text)):
        return Parsed(GRADES["Partly"])
    verdicts = find_concluding_verdicts(text)
    if len(verdicts) != 1:
        return Parsed(GRADES["Partly"], malformed=True)
    return Parsed(GRADES["Yes" if verdicts == {True} else "No"])
