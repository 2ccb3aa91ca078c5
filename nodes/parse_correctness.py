"""Whether a judge's reply says that an answer is correct."""

import re

from nodes.parse import Parsed
from nodes.parse_verdicts import HEDGED, OPEN, validity_verdict

# The word with which a reply ends: "... names the same town; correct."
LAST = re.compile(
    r"(?:^|[\s:;,–—-])(?P<no>(?:not|isn['’]t|n['’]t)\s+)?[*_\"'`(]{0,3}(?P<word>(?:in)?correct|right|wrong)[*_\"'`).!]*\Z",
    re.IGNORECASE,
)
CHOICE = re.compile(r"\b(?:or|nor)\s*\Z|/\s*\Z", re.IGNORECASE)


def correctness_verdict(reply: str) -> Parsed[bool]:
    """Whether a reply concludes that the answer is correct: correct, true, yes, or their negation; else the word with
    which it ends. Default (malformed): False, where there is no verdict or two that disagree.
    """
    found = validity_verdict(reply)
    if not found.malformed:
        return found
    text = reply.strip()
    last = LAST.search(text[-200:])
    before = text[-200:][: last.start()] if last else ""
    if last is None or HEDGED.search(f"{before} ") or OPEN.search(before) or CHOICE.search(before):
        return found
    return Parsed((last["word"].lower() in ("correct", "right")) != bool(last["no"]))
