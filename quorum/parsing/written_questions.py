"""Reads replies that should contain a question and its answer."""

import json
import re
from dataclasses import dataclass
from typing import Any

from quorum.algorithms.question_language import find_foreign_language
from quorum.core.json_text import replace_surrogates_in_strings
from quorum.core.text import is_unknown, normalize
from quorum.parsing.answers import LINE_START, Parsed, clean_answer, format_value, get_first_line, list_lines
from quorum.parsing.wrapping import remove_wrapping

LONGEST_QUESTION, MAX_ANSWERS = 400, 6  # characters of a question; answers to one question
# The end of a label: a number, closing quotes or Markdown marks, and a colon, as in "2:", "**:" or ":**".
COLON = r"(?:[ \t]*#?\d{1,3})?[*_\"'`]{0,3}[ \t]*[:：](?:[*_]{1,3}(?=\s|$))?"
NUMBERED_LINE_START = rf"{LINE_START}(?:\d{{1,3}}[.)][^\w\n]{{0,5}})?"
ANSWER_LABEL = r"(?:the[ \t]+)?(?:short[ \t]+)?answer(?:[ \t]+is)?"
ALSO_LABEL = (
    r"also(?:[ \t]+(?:accepted|correct|right))?|(?:other|alternative)[ \t]+(?:answers|forms)|alternatives|aliases"
)
# A label stands in one of three places: at the start of a line, with a colon; alone in a line, even without a colon;
# or within a line, but there only as a capitalised "Answer:" or "Also:". (Two groups of a pattern cannot have the same
# name, hence question2, answer2 and so on.)
LABEL = re.compile(
    rf"{NUMBERED_LINE_START}(?:(?P<question>question|(?-i:Q))|(?P<answer>{ANSWER_LABEL}|(?-i:A))|(?P<also>{ALSO_LABEL})){COLON}"
    rf"|{NUMBERED_LINE_START}(?:(?P<question2>question)|(?P<answer2>answer))[^\w\n]{{0,9}}$"
    rf"|(?<=\s)(?-i:(?P<answer3>Answer)|(?P<also3>Also)){COLON}",
    re.MULTILINE | re.IGNORECASE,
)
QUESTION_MARKS = ("?", "？", "؟")
# At the beginning of an English question or request; a question word may also follow a preposition: "In which year".
ASKING_WORDS = re.compile(
    r"\A\W*(?:name|list|give|tell|state|identify|explain|describe|find|say|specify|write|compare|define|determine"
    r"|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must)\b"
    r"|\A\W*(?:(?:in|on|at|by|for|from|to|of|with|under|after|before|during|through|into|about|between|against|since"
    r"|until)\W+)?(?:who|whom|whose|what|which|when|where|why|how)\b",
    re.IGNORECASE,
)
# Normalised replies of a model that writes no question.
DECLINING_REPLIES = {"none", "na", "no question", "no such question", "nothing"}


@dataclass(frozen=True)
class WrittenQuestion:
    """A question and its accepted answers: the main answer, then its other forms. The list may be empty."""

    question: str
    answers: list[str]


def parse_written_question(reply: str) -> Parsed[WrittenQuestion | None]:
    """The question of a reply in lines "Question:", "Answer:" and "Also:", or in JSON; None if the reply is "None".

    The first label may be missing, because the prompt ends in "Question:". A reply in lines that has several questions
    is malformed; the value is the first question. A reply with several JSON objects is not malformed; the value is the
    first object. Without labels, the question is the first line that ends in a question mark; without such a line, the
    value is None.
    """
    text = remove_wrapping(reply).strip()
    if text.startswith(("{", "[{")) or '{"question"' in text.replace(" ", ""):
        return read_json_question(text[text.find("{") :])
    parts = split_parts(text)
    questions = [content for kind, content in parts if kind == "question"]
    if not questions or (is_declined(questions[0]) and len(questions) == 1):
        return Parsed(None, malformed=not questions)
    first = [kind for kind, _ in parts].index("question")
    rest = parts[first + 1 :]
    end = next((place for place, (kind, _) in enumerate(rest) if kind == "question"), len(rest))
    answers = [answer for kind, content in rest[:end] if kind != "question" for answer in content.split("|")]
    return make_question(questions[0], answers, is_well_formed=len(questions) == 1 and count_asking_lines(text) < 2)


def split_parts(text: str) -> list[tuple[str, str]]:
    """(kind, first line of the text after it) of every label that has such a text, in order.

    The kinds are "question", "answer" and "also".
    Without a label "Question:", the question is read before the first label, because the prompt ends in "Question:".
    """
    labels = list(LABEL.finditer(text))
    starts = [label.start() for label in labels] + [len(text)]
    parts = [
        (str(label.lastgroup).rstrip("23"), clean_answer(get_first_line(text[label.end() : end])))
        for label, end in zip(labels, starts[1:], strict=True)
    ]
    parts = [(kind, content) for kind, content in parts if content]
    if not any(kind == "question" for kind, _ in parts) and (question := find_question(text[: starts[0]], bool(parts))):
        return [("question", question), *parts]
    return parts


def find_question(text: str, has_answer: bool) -> str:
    """The first line that ends in a question mark; else the only line, if an answer follows it or it is "None" or the
    like; else empty.
    """
    lines = [clean_answer(line) for line in list_lines(text)]
    only_line = lines[0] if len(lines) == 1 and (has_answer or is_declined(lines[0])) else ""
    return next((line for line in lines if is_asking(line)), only_line)


def is_asking(line: str) -> bool:
    return line.endswith(QUESTION_MARKS)


def is_statement(text: str) -> bool:
    """Whether an English text asks nothing: it has no question mark, and does not begin like a question or a request.

    >>> [is_statement(text) for text in ("The tower fell in 1931", "In which year did it fall", "Name its architect")]
    [True, False, False]
    """
    if any(mark in text for mark in QUESTION_MARKS) or find_foreign_language(text) is not None:
        return False
    return text.isascii() and ASKING_WORDS.search(text) is None


def count_asking_lines(text: str) -> int:
    return sum(is_asking(clean_answer(line)) for line in list_lines(text))


def is_declined(question: str) -> bool:
    """Whether the model wrote "None" or the like in place of a question."""
    return normalize(question) in DECLINING_REPLIES


def read_json_question(text: str) -> Parsed[WrittenQuestion | None]:
    """The question of a JSON object with the keys "question", "answer" or "answers", and "also". Only "question" is
    required; if it is null or "None", the value is None. Of several objects the first counts.
    """
    try:
        decoded_value = replace_surrogates_in_strings(json.JSONDecoder().raw_decode(text)[0])
    except (ValueError, RecursionError):
        return Parsed(None, malformed=True)
    fields: dict[str, Any] = {name.lower(): content for name, content in decoded_value.items()}
    question = clean_answer(get_first_line(format_value(fields.get("question"))))
    if fields.get("question") is None or is_declined(question):
        return Parsed(None, malformed="question" not in fields)
    answer_fields = [fields.get(name) for name in ("answer", "answers", "also")]
    answers = [answer for content in answer_fields for answer in (content if isinstance(content, list) else [content])]
    return make_question(
        question, [format_value(answer) for answer in answers if answer is not None], is_well_formed=True
    )


def make_question(question: str, answers: list[str], *, is_well_formed: bool) -> Parsed[WrittenQuestion | None]:
    """The question and its distinct answers, at most MAX_ANSWERS, without "unknown" and the like. If the question is
    empty, too long or a statement, the value is None, and the reply is malformed.
    """
    if not normalize(question) or len(question) > LONGEST_QUESTION or is_statement(question):
        return Parsed(None, malformed=True)
    distinct_answers: dict[str, str] = {}
    for answer in map(clean_answer, answers):
        if normalize(answer) and not is_no_answer(answer):
            distinct_answers.setdefault(normalize(answer), answer)
    return Parsed(
        WrittenQuestion(question, list(distinct_answers.values())[:MAX_ANSWERS]), malformed=not is_well_formed
    )


def is_no_answer(answer: str) -> bool:
    """Whether the text says that there is no answer: "unknown", "None" and the like."""
    return is_unknown(answer) or is_declined(answer)
