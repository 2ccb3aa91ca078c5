"""Reads answers from replies. Parsers never raise; a reply that does not have its prompt's form is `malformed`."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from quorum.core.json_text import parse_json
from quorum.core.text import UNKNOWN, is_unknown, normalize
from quorum.parsing.wrapping import LATEX_STYLE_COMMAND, remove_wrapping

T = TypeVar("T")


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """The result of a parser."""

    value: T
    """What was read; the parser's docstring says what it is if the reply is malformed."""
    malformed: bool = False
    """Whether the reply does not have the form that the prompt asks for."""
    text: str | None = None
    """A long answer, a turn of a conversation or a summary as people read it; None in other replies."""


def add_malformed_flag(parse: Callable[[str], Parsed[T]]) -> Callable[[str], Parsed[Parsed[T]]]:
    """Wrap a parser so that the value which it returns is itself a `Parsed`.

    A caller that gets only the value (from `ask`, for example) then still sees the malformed flag.
    """

    def parse_with_flag(reply: str) -> Parsed[Parsed[T]]:
        parsed_reply = parse(reply)
        return Parsed(parsed_reply, parsed_reply.malformed)

    return parse_with_flag


@dataclass(frozen=True)
class ReasonedAnswer:
    """An answer. rationale: the reasoning that the reply gives for it; None if it gives no reasoning."""

    answer: str
    rationale: str | None


def parse_short_answer(reply: str, question: str = "") -> Parsed[str]:
    """The answer in a reply that should be one line and nothing else.

    The answer may also follow "Answer:" or stand in JSON; such a reply may have other lines. Otherwise, several lines
    are malformed, and the value is the first one that does not end in a colon. An empty reply is malformed, and the
    value is "unknown".

    question: the question that was asked. If the reply goes on with another question, the rest is ignored.

    >>> parse_short_answer("Answer: Paris.").value
    'Paris'
    """
    if json_answer := read_json_answer(reply):
        return Parsed(json_answer.value.answer, json_answer.malformed)
    text, answer_label = cut_invented_question(remove_tagged_reasoning(remove_wrapping(reply)), question)
    if answer_label and (labelled_answer := clean_answer(get_first_line(text[answer_label.end() :]))):
        return Parsed(labelled_answer)
    lines = list(list_lines(text[: answer_label.start()] if answer_label else text))
    answer = clean_answer(next((line for line in lines if not line.endswith((":", "："))), "")) or clean_answer(
        "".join(lines[:1])
    )
    return Parsed(answer or UNKNOWN, malformed=len(lines) != 1 or not answer)


def find_stated_part(reply: str, question: str = "") -> str:
    """What follows "Answer:" in a reply or, without this label, the reply, in both cases without its wrapping and
    without a question that the model invents.

    >>> find_stated_part("Let me see.\\nAnswer: Paris, on the Seine.")
    'Paris, on the Seine.'
    """
    text, answer_label = cut_invented_question(remove_tagged_reasoning(remove_wrapping(reply)), question)
    if answer_label is None:
        return text.strip()
    stated_part = text[answer_label.end() :].strip()
    return stated_part if clean_answer(get_first_line(stated_part)) else text[: answer_label.start()].strip()


REASONING_TAG_NAMES = r"reasoning|rationale|scratchpad|analysis|explanation|reflection|thinking"
REASONING_TAG = re.compile(
    rf"<(?P<name>{REASONING_TAG_NAMES})>[^<]*(?:<(?!/?(?P=name)>)[^<]*)*+</(?P=name)>\s*",
    re.IGNORECASE,
)


def remove_tagged_reasoning(text: str) -> str:
    """The text without reasoning in tags; the whole text if nothing else is in it."""
    return REASONING_TAG.sub("", text) or text if "</" in text else text


def parse_reasoned_answer(reply: str, question: str = "") -> Parsed[ReasonedAnswer]:
    """The answer after the last "Answer:" that belongs to `question`, and the rationale before it.

    Without "Answer:" the reply is malformed, and the answer is the last line with text. If nothing follows "Answer:",
    the reply is malformed, and the answer is "unknown".
    """
    if json_answer := read_json_answer(reply):
        return json_answer
    text, answer_label = cut_invented_question(remove_wrapping(reply), question)
    if answer_label:
        answer = clean_answer(get_first_line(text[answer_label.end() :]))
        rationale = get_rationale(text[: answer_label.start()])
        return Parsed(ReasonedAnswer(answer or UNKNOWN, rationale), malformed=not answer)
    *reasoning, last_line = list(list_lines(text)) or [""]
    rationale = get_rationale("\n".join(reasoning))
    return Parsed(ReasonedAnswer(clean_answer(last_line) or UNKNOWN, rationale), malformed=True)


# Markdown before a label; its length is bounded because a model in a loop writes endless lines.
LINE_START = r"^[^\w\n]{0,9}"
# Labels that a reply may repeat from its prompt: "Answer:" (or "Answer" alone on a line), "Question:" (also inside a
# line), "Passages:", "Context:" and a ruled line (---). All but "Answer:" may begin a question that the model invents.
PROMPT_LABEL = re.compile(
    r"(?P<answer>(?:\b(?:the|my|final|short)[ \t]+){0,3}\banswer\b[*_\"'`]{0,3}[ \t]*[:：](?:[*_]{1,3}(?=\s|$))?"
    rf"|{LINE_START}answer[^\w\n]{{0,9}}$)"
    rf"|(?P<question>{LINE_START}(?:question\b|(?-i:Q)(?=[*_:：]))[*_\"'`]{{0,3}}[ \t]*[:：])"
    r"|(?P<inline>(?<=\s)(?-i:Question|Q)[ \t]*[:：])"
    rf"|(?P<context>{LINE_START}(?:passages|context)\b[*_\"'`]{{0,3}}[ \t]*[:：]|^[ \t]{{0,3}}(?:-{{3,}}"
    rf"|={{3,}})[ \t]*$)",
    re.MULTILINE | re.IGNORECASE,
)


def cut_invented_question(text: str, question: str) -> tuple[str, re.Match[str] | None]:
    """(the text before a question that the model invents, the match of the last "Answer:" in this text or None).

    A question at the beginning, or one that repeats `question`, is not an invented one. The text is whole if no
    question is invented, except that passages or a ruled line (---) after the last "Answer:" are cut off, unless
    `question` is repeated after them.
    """
    answer_label: re.Match[str] | None = None
    # Where passages or a ruled line (---) begin. The text is cut at this place if an invented question follows it, or
    # if "Answer:" stands before this place.
    context_start: int | None = None
    text_start = len(text) - len(text.lstrip())
    for label in PROMPT_LABEL.finditer(text):
        if label["answer"]:
            answer_label, context_start = label, None
        elif label["question"] or (label["inline"] and answer_label):
            next_question = get_first_line(text[label.end() : label.end() + len(question) + 100])
            if label.start() > text_start and normalize(next_question) != normalize(question):
                return text[: label.start() if context_start is None else context_start], answer_label
            context_start = None
        elif label["context"] and context_start is None and label.start() > text_start:
            context_start = label.start()
    return (text[:context_start] if answer_label else text), answer_label


def list_lines(text: str) -> Iterator[str]:
    """The lines with text, stripped; lines that hold only markdown marks or full stops are skipped."""
    return (line.strip() for line in text.splitlines() if line.strip(MARKDOWN_CHARACTERS + ".…"))


MARKDOWN_CHARACTERS = " \t`*_#>-=~"


def get_first_line(text: str) -> str:
    return next(list_lines(text), "")


RATIONALE_LABEL = re.compile(
    rf"{LINE_START}rationale[*_\"'`]{{0,3}}[ \t]*[:：][*_]{{0,3}}", re.MULTILINE | re.IGNORECASE
)


def get_rationale(text: str) -> str | None:
    """The reasoning without its label and without markdown at its edges; None if it is empty."""
    label = RATIONALE_LABEL.search(text)
    return text[label.end() if label else 0 :].strip(MARKDOWN_CHARACTERS + "\n") or None


BROKEN_JSON_ANSWER = re.compile(r"[\"']answer[\"']\s*:\s*([\"'])(.*?)(?:\1|\Z)", re.IGNORECASE)


def read_json_answer(reply: str) -> Parsed[ReasonedAnswer] | None:
    """The answer and the rationale of a JSON object, which may stand between other words if it has the key "answer".

    Returns None if the reply has no such object. A null answer is "unknown". These replies are malformed: a list of
    several answers (the value is the first one); an object with only one value, under another key (the value is this
    one); broken JSON with "answer" in it (the value is the text after "answer"); an answer without text, or an object
    with several values and none of them under "answer" (the value is "unknown").
    """
    text = remove_wrapping(reply).strip()
    value = read_object(text[text.find("{") : text.rfind("}") + 1])
    if value is None:
        broken_json = BROKEN_JSON_ANSWER.search(text) if text.startswith("{") else None
        return (
            Parsed(ReasonedAnswer(clean_answer(broken_json[2]) or UNKNOWN, None), malformed=True)
            if broken_json
            else None
        )
    if not text.startswith("{") and "answer" not in value:
        return None
    is_well_formed = "answer" in value
    content: Any = value.get("answer", next(iter(value.values())) if len(value) == 1 else {})
    if isinstance(content, list):
        content, is_well_formed = next(iter(content), None), is_well_formed and len(content) == 1
    answer = clean_answer(get_first_line(format_value(content)))
    rationale = value.get("rationale", value.get("reasoning"))
    reasoned_answer = ReasonedAnswer(answer or UNKNOWN, str(rationale).strip() or None if rationale else None)
    return Parsed(reasoned_answer, malformed=not is_well_formed or not answer)


def format_value(value: Any) -> str:
    """A JSON value as text.

    null is "unknown", and true and false are "yes" and "no". An object becomes "cups: 86, plates: 42" if it has two or
    more values, all of them texts, numbers or booleans. Any other object, and a list, becomes "".
    """
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if (
        isinstance(value, dict)
        and len(value) > 1
        and all(isinstance(content, str | int | float) for content in value.values())
    ):
        return ", ".join(f"{name}: {format_value(content)}" for name, content in value.items())
    return str(value) if isinstance(value, str | int | float) else ""


def read_object(text: str) -> dict[str, Any] | None:
    """The text parsed as a JSON object, with keys in lower case and without "final_"; None if it is not an object."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    return {key.lower().replace("final_", "").strip(): content for key, content in value.items()}


LEADING_LABEL = re.compile(
    r"\A(?:[\W_]*(?:(?:the|my|final|short)\s+)*answer(?:\s+is)?[*_\"'`\s]*[:：]|(?-i:A)[:：])(?:[*_]+(?=\s|$))?\s*",
    re.IGNORECASE,
)
THE_ANSWER_IS = re.compile(r"\A(?:(?:so|therefore|thus|hence),? )?the (?:\w+ )?answer is (?=\S)", re.IGNORECASE)
BULLET = re.compile(r"\A(?:(?:[-•]|\*(?!\*))\s+)+")
MARK_PAIRS = [
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
HTML_ELEMENT = re.compile(r"<(b|i|u|em|strong|p|span|code)>([^<]*)</\1>", re.IGNORECASE)
ABBREVIATION = re.compile(
    r"(?:\.[a-z]{1,3}|(?:\A|\s)[a-z]|\b(?:jr|sr|inc|ltd|co|corp|bros|esq|etc|st|dr|ave))\.\Z", re.IGNORECASE
)


def clean_answer(line: str) -> str:
    """A short answer without its label, its bullet, the quotes and markdown around it, and its final full stop."""
    text = line.strip()
    for _ in range(9):  # several rounds, because labels, markdown and quotes may be nested
        before, text = text, strip_once(text)
        if text == before:
            break
    return text


def strip_once(text: str) -> str:
    """One round of `clean_answer`."""
    text = BULLET.sub("", LEADING_LABEL.sub("", text))
    if not is_unknown(text):  # keep "The answer is not in the passages" whole: it is a refusal
        text = THE_ANSWER_IS.sub("", text)
    for left, right in MARK_PAIRS:
        inner = text[len(left) : -len(right)]
        is_wrapped = len(text) > len(left + right) and text.startswith(left) and text.endswith(right)
        if is_wrapped and left not in inner and right not in inner:
            text = inner
    for pattern, group in ((HTML_ELEMENT, 2), (LATEX_STYLE_COMMAND, 1)):
        if wrapping_match := pattern.fullmatch(text):
            text = wrapping_match[group]
    text = text.strip().rstrip(",;").rstrip()
    ends_with_stop = text.endswith(".") and not text.endswith("..") and not ABBREVIATION.search(text)
    return text[:-1].rstrip() if ends_with_stop else text
