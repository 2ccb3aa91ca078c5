"""Reads replies that should contain a question and its answer."""

import json
import re
from dataclasses import dataclass
from typing import Any

from quorum.core.json_text import replace_in_strings
from quorum.core.text import is_unknown, normalize
from quorum.parsing.answers import EDGE, Parsed, first_line, lines_of, spoken, tidy
from quorum.parsing.wrapping import unwrapped

LONGEST, MOST = 400, 6  # characters of a question; answers
COLON = r"(?:[ \t]*#?\d{1,3})?[*_\"'`]{0,3}[ \t]*[:：](?:[*_]{1,3}(?=\s|$))?"
NUMBERED = rf"{EDGE}(?:\d{{1,3}}[.)][^\w\n]{{0,5}})?"
ANSWER = r"(?:the[ \t]+)?(?:short[ \t]+)?answer(?:[ \t]+is)?"
ALSO = r"also(?:[ \t]+(?:accepted|correct|right))?|(?:other|alternative)[ \t]+(?:answers|forms)|alternatives|aliases"
LABEL = re.compile(
    rf"{NUMBERED}(?:(?P<question>question|(?-i:Q))|(?P<answer>{ANSWER}|(?-i:A))|(?P<also>{ALSO})){COLON}"
    rf"|{NUMBERED}(?:(?P<question2>question)|(?P<answer2>answer))[^\w\n]{{0,9}}$"
    rf"|(?<=\s)(?-i:(?P<answer3>Answer)|(?P<also3>Also)){COLON}",
    re.MULTILINE | re.IGNORECASE,
)
DECLINED = {"none", "na", "no question", "no such question", "nothing"}


@dataclass(frozen=True)
class Written:
    """A question with its accepted answers, the usual one first; without any where the reply gives none."""

    question: str
    answers: list[str]


def written_question(reply: str) -> Parsed[Written | None]:
    """The first question of a reply in lines Question, Answer and Also, or what follows the prompt's "Question:".

    Null without being malformed: the reply declines ("none"). Also read: JSON of question and answer. Defaults
    (malformed): of several questions the first, of lines without a label the first that asks, else null.
    """
    text = unwrapped(reply).strip()
    if text.startswith(("{", "[{")) or '{"question"' in text.replace(" ", ""):
        return from_json(text[text.find("{") :])
    parts = parts_of(text)
    asked = [content for kind, content in parts if kind == "question"]
    if not asked or (declined(asked[0]) and len(asked) == 1):
        return Parsed(None, malformed=not asked)
    first = [kind for kind, _ in parts].index("question")
    rest = parts[first + 1 :]
    end = next((place for place, (kind, _) in enumerate(rest) if kind == "question"), len(rest))
    found = [one for kind, content in rest[:end] if kind != "question" for one in content.split("|")]
    return made(asked[0], found, sound=len(asked) == 1 and asking_lines(text) < 2)


def parts_of(text: str) -> list[tuple[str, str]]:
    """(question, answer or also; the line that follows the label), in order. What precedes the first label continues
    the prompt's "Question:", unless a question of its own follows.
    """
    labels = list(LABEL.finditer(text))
    starts = [label.start() for label in labels] + [len(text)]
    parts = [
        (str(label.lastgroup).rstrip("23"), tidy(first_line(text[label.end() : end])))
        for label, end in zip(labels, starts[1:], strict=True)
    ]
    parts = [(kind, content) for kind, content in parts if content]
    if not any(kind == "question" for kind, _ in parts) and (asked := question_in(text[: starts[0]], bool(parts))):
        return [("question", asked), *parts]
    return parts


def question_in(text: str, answered: bool) -> str:
    """The first line that asks; of none, the only line there is, where an answer follows it or it declines."""
    lines = [tidy(line) for line in lines_of(text)]
    alone = lines[0] if len(lines) == 1 and (answered or declined(lines[0])) else ""
    return next((line for line in lines if asks(line)), alone)


def asks(line: str) -> bool:
    return line.endswith(("?", "？", "؟"))


def asking_lines(text: str) -> int:
    return sum(asks(tidy(line)) for line in lines_of(text))


def declined(question: str) -> bool:
    return normalize(question) in DECLINED


def from_json(text: str) -> Parsed[Written | None]:
    """An object with question and answer, or answers, and perhaps also; of several the first."""
    try:
        found = replace_in_strings(json.JSONDecoder().raw_decode(text)[0])
    except (ValueError, RecursionError):
        return Parsed(None, malformed=True)
    value: dict[str, Any] = {name.lower(): content for name, content in found.items()}
    question = tidy(first_line(spoken(value.get("question"))))
    if value.get("question") is None or declined(question):
        return Parsed(None, malformed="question" not in value)
    given = [value.get(name) for name in ("answer", "answers", "also")]
    listed = [one for content in given for one in (content if isinstance(content, list) else [content])]
    return made(question, [spoken(one) for one in listed if one is not None], sound=True)


def made(question: str, answers: list[str], *, sound: bool) -> Parsed[Written | None]:
    """The question with each known answer once, unless it is none at all, or a text without end."""
    if not normalize(question) or len(question) > LONGEST:
        return Parsed(None, malformed=True)
    known: dict[str, str] = {}
    for answer in map(tidy, answers):
        if normalize(answer) and not nothing(answer):
            known.setdefault(normalize(answer), answer)
    return Parsed(Written(question, list(known.values())[:MOST]), malformed=not sound)


def nothing(answer: str) -> bool:
    return is_unknown(answer) or declined(answer)
