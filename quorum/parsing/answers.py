"""What a reply says. Parsers forgive wrapping and never raise; a reply that breaks its contract is `malformed`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from quorum.core.json_text import parse_json
from quorum.core.text import UNKNOWN, is_unknown, normalize
from quorum.parsing.wrapping import STYLED, unwrapped

T = TypeVar("T")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """What a reply says; malformed: it broke its contract, and `value` is the parser's stated default."""

    value: T
    malformed: bool = False


def marked(parse: Callable[[str], Parsed[T]]) -> Callable[[str], Parsed[Parsed[T]]]:
    """Wrap a parser so that its value also carries the malformed flag."""

    def whole(reply: str) -> Parsed[Parsed[T]]:
        found = parse(reply)
        return Parsed(found, found.malformed)

    return whole


@dataclass(frozen=True)
class Reasoned:
    """An answer and the reasoning before it, null when there was none."""

    answer: str
    rationale: str | None


def short_answer(reply: str, question: str = "") -> Parsed[str]:
    """The answer of a reply that should be one line and nothing else.

    Also read: text after "Answer:", JSON with an answer. Defaults (malformed): of several lines the first that is no
    lead-in, of no text "unknown".
    """
    if found := from_json(reply):
        return Parsed(found.value.answer, found.malformed)
    text, marker = own_part(without_reasons(unwrapped(reply)), question)
    if marker and (labelled := tidy(first_line(text[marker.end() :]))):
        return Parsed(labelled)
    lines = list(lines_of(text[: marker.start()] if marker else text))
    answer = tidy(next((line for line in lines if not line.endswith((":", "："))), "")) or tidy("".join(lines[:1]))
    return Parsed(answer or UNKNOWN, malformed=len(lines) != 1 or not answer)


REASONS = re.compile(
    r"<(?P<name>reasoning|rationale|scratchpad|analysis|explanation|reflection|thinking)>[^<]*(?:<(?!/?(?P=name)>)[^<]*)*+"
    r"</(?P=name)>\s*",
    re.IGNORECASE,
)


def without_reasons(text: str) -> str:
    """The text without reasoning in tags, unless nothing else remains."""
    return REASONS.sub("", text) or text if "</" in text else text


def reasoned_answer(reply: str, question: str = "") -> Parsed[Reasoned]:
    """The answer after the last "Answer:" that belongs to this question, and the rationale before it.

    Defaults (malformed): without "Answer:" the last line that says something, of nothing after it "unknown".
    """
    if found := from_json(reply):
        return found
    text, marker = own_part(unwrapped(reply), question)
    if marker:
        answer = tidy(first_line(text[marker.end() :]))
        return Parsed(Reasoned(answer or UNKNOWN, rationale_of(text[: marker.start()])), malformed=not answer)
    *reasoning, last = list(lines_of(text)) or [""]
    return Parsed(Reasoned(tidy(last) or UNKNOWN, rationale_of("\n".join(reasoning))), malformed=True)


# "Answer:", or Answer alone as a heading. The prompt's other labels may begin an invented next question.
EDGE = r"^[^\w\n]{0,9}"  # markdown before a label; bounded, as a model in a loop writes lines without end
MARKER = re.compile(
    r"(?P<answer>(?:\b(?:the|my|final|short)[ \t]+){0,3}\banswer\b[*_\"'`]{0,3}[ \t]*[:：](?:[*_]{1,3}(?=\s|$))?"
    rf"|{EDGE}answer[^\w\n]{{0,9}}$)"
    rf"|(?P<question>{EDGE}(?:question\b|(?-i:Q)(?=[*_:：]))[*_\"'`]{{0,3}}[ \t]*[:：])"
    r"|(?P<inline>(?<=\s)(?-i:Question|Q)[ \t]*[:：])"
    rf"|(?P<context>{EDGE}(?:passages|context)\b[*_\"'`]{{0,3}}[ \t]*[:：]|^[ \t]{{0,3}}(?:-{{3,}}|={{3,}})[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)


def own_part(text: str, question: str) -> tuple[str, re.Match[str] | None]:
    """The text up to an invented next question, and the last "Answer:" in it.

    A question that is restated, as the first thing or word by word, is not a next one.
    """
    answer: re.Match[str] | None = None
    begun: int | None = None  # where passages or a rule begin; they belong to the question after them
    start = len(text) - len(text.lstrip())
    for marker in MARKER.finditer(text):
        if marker["answer"]:
            answer, begun = marker, None
        elif marker["question"] or (marker["inline"] and answer):
            asked = first_line(text[marker.end() : marker.end() + len(question) + 100])
            if marker.start() > start and normalize(asked) != normalize(question):
                return text[: marker.start() if begun is None else begun], answer
            begun = None
        elif marker["context"] and begun is None and marker.start() > start:
            begun = marker.start()
    return (text[:begun] if answer else text), answer


def lines_of(text: str) -> Iterator[str]:
    """The lines that say something, stripped."""
    return (line.strip() for line in text.splitlines() if line.strip(RULES + ".…"))


RULES = " \t`*_#>-=~"


def first_line(text: str) -> str:
    return next(lines_of(text), "")


LABELLED = re.compile(rf"{EDGE}rationale[*_\"'`]{{0,3}}[ \t]*[:：][*_]{{0,3}}", re.MULTILINE | re.IGNORECASE)


def rationale_of(text: str) -> str | None:
    """The reasoning after its label, if it has one, without the markdown left over at its edges."""
    label = LABELLED.search(text)
    return text[label.end() if label else 0 :].strip(RULES + "\n") or None


BROKEN = re.compile(r"[\"']answer[\"']\s*:\s*([\"'])(.*?)(?:\1|\Z)", re.IGNORECASE)


def from_json(reply: str) -> Parsed[Reasoned] | None:
    """A JSON object with an answer and perhaps a rationale, alone or after some words; None when there is none.

    Null is unknown. Defaults (malformed): the first of a list, the one value of another object, the text after "answer"
    in broken JSON, else unknown.
    """
    text = unwrapped(reply).strip()
    value = read_object(text[text.find("{") : text.rfind("}") + 1])
    if value is None:
        broken = BROKEN.search(text) if text.startswith("{") else None
        return Parsed(Reasoned(tidy(broken[2]) or UNKNOWN, None), malformed=True) if broken else None
    if not text.startswith("{") and "answer" not in value:
        return None
    sound = "answer" in value
    content: Any = value.get("answer", next(iter(value.values())) if len(value) == 1 else {})
    if isinstance(content, list):
        content, sound = next(iter(content), None), sound and len(content) == 1
    answer = tidy(first_line(spoken(content)))
    rationale = value.get("rationale", value.get("reasoning"))
    found = Reasoned(answer or UNKNOWN, str(rationale).strip() or None if rationale else None)
    return Parsed(found, malformed=not sound or not answer)


def spoken(value: Any) -> str:
    """A JSON value in words: "cups: 86, plates: 42" for an object of several values. Others and lists give nothing."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if (
        isinstance(value, dict)
        and len(value) > 1
        and all(isinstance(content, str | int | float) for content in value.values())
    ):
        return ", ".join(f"{name}: {spoken(content)}" for name, content in value.items())
    return str(value) if isinstance(value, str | int | float) else ""


def read_object(text: str) -> dict[str, Any] | None:
    """A JSON object, with lower-case names."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    return {key.lower().replace("final_", "").strip(): content for key, content in value.items()}


LABEL = re.compile(
    r"\A(?:[\W_]*(?:(?:the|my|final|short)\s+)*answer(?:\s+is)?[*_\"'`\s]*[:：]|(?-i:A)[:：])(?:[*_]+(?=\s|$))?\s*",
    re.IGNORECASE,
)
THE_ANSWER_IS = re.compile(r"\A(?:(?:so|therefore|thus|hence),? )?the (?:\w+ )?answer is (?=\S)", re.IGNORECASE)
BULLET = re.compile(r"\A(?:(?:[-•]|\*(?!\*))\s+)+")
PAIRS = [
    ("**", "**"),
    ("__", "__"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
    ("«", "»"),
    ("`", "`"),
    ("*", "*"),
    ("_", "_"),
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
]
HTML = re.compile(r"<(b|i|u|em|strong|p|span|code)>([^<]*)</\1>", re.IGNORECASE)
ABBREVIATION = re.compile(
    r"(?:\.[a-z]{1,3}|(?:\A|\s)[a-z]|\b(?:jr|sr|inc|ltd|co|corp|bros|esq|etc|st|dr|ave))\.\Z", re.IGNORECASE
)


def tidy(line: str) -> str:
    """A short answer without label, bullet, quotes and markdown around it, and the full stop of a sentence."""
    text = line.strip()
    for _ in range(9):  # rounds: for a label, markdown and quotes
        before, text = text, stripped(text)
        if text == before:
            break
    return text


def stripped(text: str) -> str:
    """One round of `tidy`."""
    text = BULLET.sub("", LABEL.sub("", text))
    if not is_unknown(text):  # "The answer is not in the passages" is a refusal as a whole
        text = THE_ANSWER_IS.sub("", text)
    for left, right in PAIRS:
        inner = text[len(left) : -len(right)]
        around = len(text) > len(left + right) and text.startswith(left) and text.endswith(right)
        if around and left not in inner and right not in inner:
            text = inner
    for pattern, group in ((HTML, 2), (STYLED, 1)):
        if around_all := pattern.fullmatch(text):
            text = around_all[group]
    text = text.strip().rstrip(",;").rstrip()
    stop = text.endswith(".") and not text.endswith("..") and not ABBREVIATION.search(text)
    return text[:-1].rstrip() if stop else text
