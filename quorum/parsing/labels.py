"""Reads replies whose answer is a label, a turn of a conversation or a paragraph."""

import re

from quorum.core.labels import LABELS, NOT_ENOUGH_INFO, REFUTES, SUPPORTS
from quorum.core.text import UNKNOWN, is_unknown
from quorum.parsing.answers import Parsed, first_line, lines_of, own_part, read_object, spoken
from quorum.parsing.wrapping import LONGEST_TEXT, unwrapped

LABEL_SLOT = re.compile(
    r"\b(?:label|verdict|answer|judge?ment|conclusion)\b[*_\"'`]{0,3}[ \t]*(?:[:：]|is\b)", re.IGNORECASE
)
NEXT_CLAIM = re.compile(r"(?<=\S)\s*\n\W{0,3}claim\b\W{0,3}[:：]", re.IGNORECASE)
NAMES = ("label", "verdict", "answer", "judgment", "judgement", "prediction")
NOT = r"(?:\bnot|\bcannot|\bnever|n[’']t|\bhardly|\bnothing|\bnone)\b[ -]?(?:\w+ ){0,2}"
NEGATED = re.compile(NOT + r"\Z", re.IGNORECASE)
OPEN = re.compile(
    r"\bnot[ _-]enough[ _-](?:info|evidence|context|data)\w*|\bnei\b|\bneither\b|\b(?:insufficient|lack of|no|missing)"
    r" (?:info|evidence)\w*|\b(?:unverifiable|inconclusive|undetermined|undecided|unknown|unclear|neutral)\b"
    r"|\b(?:can ?not|could not|can[’']t|impossible to) (?:be )?(?:verif|determin|confirm)\w*"
    r"|(?:\bnot|n[’']t) (?:\w+ ){0,2}(?:support|confirm|verif|mention|address|say|state)\w*",
    re.IGNORECASE,
)
TRUE = re.compile(
    r"\b(?:support(?:s|ed|ing)?|true|correct|accurate|verified|confirm(?:s|ed)?|entail(?:s|ed|ment)?|yes)\b",
    re.IGNORECASE,
)
FALSE = re.compile(
    r"\b(?:refut(?:e|es|ed|ing|ation)|contradict(?:s|ed|ion|ing)?|false|incorrect|inaccurate|untrue|wrong|disprove[sdn]?"
    r"|debunk(?:s|ed)?|no(?=\W*(?:\Z|[.,;:!\n])))\b"
    r"|(?:\bnot|\bcan ?not|n[’']t) (?:\w+ ){0,2}(?:true|correct|accurate|the case)\b",
    re.IGNORECASE,
)


UNSURE = re.compile(
    r"(?:\b(?:not|hardly)|n[’']t) (?:\w+ ){0,2}(?:sure|certain|clear|know|tell|say|determine|decide|judge)\b"
    r"|\b(?:no (?:way|means) (?:to|of)|unclear|unsure|uncertain|unknown)\b"
    r"|\bcan ?not (?:\w+ )?(?:know|tell|say|determine|decide|judge)\b"
    r"|\b(?:whether|if) (?:\w+ ){1,6}true\b",
    re.IGNORECASE,
)
CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|accordingly|overall|in conclusion)\b"
    r"|\b(?:I|we)(?: am| will| would| can| have to| must|[’'](?:m|ll|d|ve))*(?: going to| safely)?"
    r" (?:assume|say|conclude|guess|go with|label|judge)\b(?: (?:it|this|the claim) (?:as|to be))?(?: that)?"
    r"|\b(?:means|meaning|implies|implying)\b(?: that)?",
    re.IGNORECASE,
)
CONCEDED = re.compile(r"\A\W*(?:although|though|even though|while|even if)\b[^,.;]{1,300},", re.IGNORECASE)
TURN = re.compile(r"\b(?:but|however|yet)\b", re.IGNORECASE)
WORD = re.compile(r"\w")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def label_answer(reply: str, question: str = "") -> Parsed[str]:
    """SUPPORTS, REFUTES or NOT ENOUGH INFO: the label that the reply begins with, names after "Label:" or in JSON, else
    the one after its last "so", "therefore" or "I will assume", else the one that all its words agree on; supported,
    true, contradicted, cannot be verified ... read as labels.

    Default (malformed): unknown, where there is no label or there are two.
    """
    text = unwrapped(reply)
    value = read_object(text.strip())
    named = next((spoken(value[name]) for name in NAMES if name in value), "") if value else ""
    text = NEXT_CLAIM.split(own_part(text, question)[0], maxsplit=1)[0]
    slots = list(LABEL_SLOT.finditer(text))[-9:]
    found = leading(named) or (leading(first_line(text[slots[-1].end() :])) if slots else None)
    if found is None:
        first, last = leading(first_line(text)), concluded(text)
        disagree = first and last and first != last
        found = None if disagree else first or last or agreed(text)
    return Parsed(found or UNKNOWN, malformed=found is None)


def concluded(text: str) -> str | None:
    """The label in the clause after the last concluding word, such as "so", in the last sentence with such a word."""
    for sentence in reversed(SENTENCE.split(text)):
        marks = [mark for mark in CONCLUDES.finditer(sentence) if WORD.search(sentence, mark.end())]  # not "says so."
        if marks and (label := said_in(sentence[marks[-1].end() :])):
            return label
    return None


def leading(text: str) -> str | None:
    """The label that the text begins with: its name alone, or followed by a stop and a reason."""
    bare = text.lstrip(" \t*_`\"'“”‘’([{<#->")
    for label, pattern in ((NOT_ENOUGH_INFO, OPEN), (REFUTES, FALSE), (SUPPORTS, TRUE)):
        mark = pattern.match(bare)
        if mark and not re.match(r"\W{0,3}(?:\bor\b|/|\|)", bare[mark.end() :]) and ends(bare[mark.end() :]):
            return label
    return None


def ends(rest: str) -> bool:
    """Whether a label is followed by nothing, a full stop or a reason, not by another word of the same sentence."""
    return not re.match(r"[ \t]*\w", rest) or bool(
        re.match(r"[ \t]*(?:because|since|as|by|based|according|to)\b", rest)
    )


def agreed(text: str) -> str | None:
    """The label that the words of a text agree on, in its last line that has any; null when they do not agree."""
    if sum(label in text for label in LABELS) > 1:
        return None
    for line in reversed(list(lines_of(text))):
        said = CONCEDED.sub("", line)
        if label := said_in(said) or said_in(TURN.split(said)[-1]):
            return label
        if heard(TRUE, said) or heard(FALSE, said) or PARTLY.search(said):
            return None
    return None


PARTLY = re.compile(
    r"\b(?:partial(?:ly)?|partly|half|somewhat|mixed)\W+(?:\w+\W+)?(?:true|correct|accurate|false)\b", re.I
)
DOUBTED = re.compile(
    r"(?:\bnot|n[’']t) (?:think|believe|seem|appear|look)\b[^,.;]{0,40}?\b(?:true|correct|accurate|right|supported)\b"
    r"|\b(?:unlikely|doubtful|I doubt)\b",
    re.IGNORECASE,
)


def said_in(text: str) -> str | None:
    """The label that the words of a clause or line agree on; null for what is partly true."""
    if PARTLY.search(text) or not WORD.search(text):
        return None
    if DOUBTED.search(text) and not UNSURE.search(text):
        return REFUTES
    if UNSURE.search(text) or OPEN.search(text) or is_unknown(text):
        return NOT_ENOUGH_INFO
    false = heard(FALSE, text)
    true = heard(TRUE, FALSE.sub(" ", text))
    return None if false == true else REFUTES if false else SUPPORTS


def heard(pattern: re.Pattern[str], line: str) -> bool:
    """Whether the line contains the words without a negation before them."""
    return any(not NEGATED.search(line[max(0, mark.start() - 80) : mark.start()]) for mark in pattern.finditer(line))


TEXT_NAMES = ("answer", "response", "reply", "turn", "text")
TURN_LABEL = re.compile(
    r"\A\W{0,4}(?:assistant|ai|bot|wizard|system|next turn|response|reply|answer)\W{0,3}[:：]\W{0,3}\s*", re.IGNORECASE
)
NEXT_TURN = re.compile(r"\n\s*\W{0,3}(?:user|human|apprentice|speaker \w+|you)\W{0,3}[:：]", re.IGNORECASE)


def turn_answer(reply: str, question: str = "") -> Parsed[str]:
    """The turn of a conversation, on one line, without the speaker's name, quotes around it and turns that it invents
    after it. Default (malformed): unknown, of nothing.
    """
    text = NEXT_TURN.split("\n" + bare(reply).strip(), maxsplit=1)[0].strip()
    return written(TURN_LABEL.sub("", text), question)


def long_answer(reply: str, question: str = "") -> Parsed[str]:
    """The paragraph, its lines joined, without a label before it and a question that it invents after it. Default
    (malformed): unknown, of nothing.
    """
    return written(bare(reply), question)


def bare(reply: str) -> str:
    """The reply without a code fence and out of its JSON, if it is an object with an answer."""
    text = unwrapped(reply, LONGEST_TEXT)
    value = read_object(text.strip()) or {}
    return next((spoken(value[name]) for name in TEXT_NAMES if name in value), text)


def written(text: str, question: str) -> Parsed[str]:
    """Free text on one line."""
    own, marker = own_part(text, question)
    after = own[marker.end() :] if marker and not own[: marker.start()].strip(" \t\n*_#") else own
    line = " ".join(" ".join(lines_of(after)).split())
    for left, right in (('"', '"'), ("“", "”")):
        if len(line) > 2 and line[0] == left and line[-1] == right and left not in line[1:-1]:
            line = line[1:-1].strip()
    return Parsed(UNKNOWN if is_unknown(line) else line, malformed=not line)
