"""What a chain of thought says: its text, and the answer that it ends in."""

import re

from quorum.core.sentences import find_sentences
from quorum.core.text import UNKNOWN, is_unknown
from quorum.parsing.answers import (
    Parsed,
    Reasoned,
    first_line,
    from_json,
    own_part,
    rationale_of,
    reasoned_answer,
    short_answer,
    tidy,
)
from quorum.parsing.wrapping import LONGEST_TEXT, unwrapped
from quorum.parsing.yes_no import yes_no_answer

LABEL = re.compile(
    r"\A[^\w\n]{0,9}(?:rationale|reasoning|passage|judge?ment|topic)\b[*_\"'`]{0,3}[ \t]*[:：][*_]{0,3}\s*", re.I
)
TOPIC_IS = re.compile(
    r"\A(?:the |this )?(?:general |main )?(?:topic|question|subject)(?: of the question)?"
    r" (?:is|relates|belongs)(?: (?:about|(?:related )?to|that of))?:?\s+",
    re.IGNORECASE,
)
CONCLUSION = re.compile(
    r"(?:\b(?:so|therefore|thus|hence|then|consequently)[ \t]*,?[ \t]+)?"
    r"\b(?:the|my|our)[ \t]+(?:\w+[ \t]+){0,2}answer(?:[ \t]+to[ \t]+(?:the|this)[ \t]+question)?"
    r"[ \t]+(?:is|was|would[ \t]+be|must[ \t]+be|should[ \t]+be)\b[ \t]*[:：]?[ \t]*",
    re.IGNORECASE,
)


def free_text(reply: str, question: str = "") -> Parsed[str]:
    """The text of a reply, without its label, a code fence around it and a question that it invents after it.

    Default (malformed): the empty text, of an empty reply.
    """
    text = LABEL.sub("", own_part(unwrapped(reply, LONGEST_TEXT).strip(), question)[0]).strip()
    return Parsed(text, malformed=not text)


def topic_of(reply: str, question: str = "") -> Parsed[str]:
    """The topic that a reply names. Default (malformed): the question, of an empty reply or one that knows none."""
    named = short_answer(LABEL.sub("", unwrapped(reply).strip()), question)
    text = tidy(TOPIC_IS.sub("", named.value))
    return Parsed(question, malformed=True) if is_unknown(text) else Parsed(text, named.malformed)


def concluded(reply: str, question: str = "") -> Parsed[Reasoned]:
    """The answer after the last "the answer is" (up to the end of that sentence) or "Answer:", and the rationale.

    Defaults (malformed): without either the last line that says something, of nothing after it "unknown".
    """
    if found := from_json(reply):
        return found
    text, marker = own_part(unwrapped(reply), question)
    last = next(reversed(list(CONCLUSION.finditer(text))), None)
    if last is None or (marker and marker.start() > last.start()):
        return reasoned_answer(reply, question)
    answer = stated(text, last)
    return Parsed(Reasoned(answer or UNKNOWN, rationale_of(text[: last.start()])), malformed=not answer)


def concluded_yes_no(reply: str, question: str = "") -> Parsed[Reasoned]:
    """As `concluded`, the answer being "yes", "no" or "unknown". Default (malformed) without a verdict: unknown."""
    found = concluded(reply, question)
    verdict = yes_no_answer(found.value.answer)
    return Parsed(Reasoned(verdict.value, found.value.rationale), found.malformed or verdict.malformed)


def stated(text: str, conclusion: re.Match[str]) -> str:
    """The answer that follows "the answer is", which may be a refusal as a whole ("... is not given")."""
    line = first_line(text[conclusion.end() :])
    if is_unknown(f"The answer is {line}"):
        return UNKNOWN
    spans = find_sentences(line)
    return tidy(line[slice(*spans[0])]) if spans else ""
