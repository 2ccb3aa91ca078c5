"""What replies say where the answer is a label, a turn of a conversation or a paragraph."""

import re

from quorum.core.labels import LABELS, NOT_ENOUGH_INFO, REFUTES, SUPPORTS
from quorum.core.text import UNKNOWN, is_unknown
from quorum.parsing.answers import Parsed, first_line, lines_of, own_part, read_object, spoken, unwrapped

LABEL_SLOT = re.compile(
    r"\b(?:label|verdict|answer|judge?ment|conclusion)\b[*_\"'`]{0,3}[ \t]*(?:[:：]|is\b)", re.IGNORECASE
)
NEXT_CLAIM = re.compile(r"(?<=\S)\s*\n\W{0,3}claim\b\W{0,3}[:：]", re.IGNORECASE)
NAMES = ("label", "verdict", "answer", "judgment", "judgement", "prediction")
NOT = r"(?:\bnot|\bnever|n[’']t|\bhardly)\b[ -]?(?:\w+ ){0,2}"
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
    r"|debunk(?:s|ed)?|no)\b|(?:\bnot|n[’']t) (?:\w+ )?(?:true|correct|accurate|the case)\b",
    re.IGNORECASE,
)


def label_answer(reply: str, question: str = "") -> Parsed[str]:
    """SUPPORTS, REFUTES or NOT ENOUGH INFO: the label that the reply begins with, names after "Label:" or in JSON, else
    the one that all its words agree on; supported, true, contradicted, cannot be verified ... read as labels.

    Default (malformed): unknown, where there is no label or there are two.
    """
    value = read_object(unwrapped(reply).strip())
    named = next((spoken(value[name]) for name in NAMES if name in value), "") if value else ""
    text = NEXT_CLAIM.split(own_part(unwrapped(reply), question)[0], maxsplit=1)[0]
    slots = list(LABEL_SLOT.finditer(text))
    places = [named, first_line(text[slots[-1].end() :]) if slots else "", first_line(text)]
    found = next((label for place in places if (label := leading(place))), None) or agreed(text)
    return Parsed(found or UNKNOWN, malformed=found is None)


def leading(text: str) -> str | None:
    """The label that the text begins with: its name alone, or followed by a stop and a reason."""
    bare = text.lstrip(" \t*_`\"'“”‘’([{<#->")
    for label, pattern in ((NOT_ENOUGH_INFO, OPEN), (REFUTES, FALSE), (SUPPORTS, TRUE)):
        mark = pattern.match(bare)
        if mark and not re.match(r"\W{0,3}(?:\bor\b|/|\|)", bare[mark.end() :]) and ends(bare[mark.end() :]):
            return label
    return None


def ends(rest: str) -> bool:
    """Whether what follows a label is nothing, a stop, or a reason; not another word of the same sentence."""
    return not re.match(r"[ \t]*\w", rest) or bool(
        re.match(r"[ \t]*(?:because|since|as|by|based|according|to)\b", rest)
    )


def agreed(text: str) -> str | None:
    """The label that the words of a text agree on, in its last line that has any; null when they do not agree."""
    if sum(label in text for label in LABELS) > 1:
        return None
    for line in reversed(list(lines_of(text))):
        if OPEN.search(line) or is_unknown(line):
            return NOT_ENOUGH_INFO
        false = heard(FALSE, line)
        true = heard(TRUE, FALSE.sub(" ", line))
        if false or true:
            return None if false and true else REFUTES if false else SUPPORTS
    return None


def heard(pattern: re.Pattern[str], line: str) -> bool:
    """Whether the line says so, without a negation before it."""
    return any(not re.search(NOT + r"\Z", line[: mark.start()]) for mark in pattern.finditer(line))


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
    text = unwrapped(reply)
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
