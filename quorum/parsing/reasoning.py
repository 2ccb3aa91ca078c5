"""Reads a chain of thought: its text and the answer at its end."""

import re

from quorum.core.sentences import find_sentences
from quorum.core.text import UNKNOWN, is_unknown
from quorum.parsing.answers import (
    Parsed,
    ReasonedAnswer,
    clean_answer,
    cut_invented_question,
    get_first_line,
    get_rationale,
    parse_reasoned_answer,
    parse_short_answer,
    read_json_answer,
)
from quorum.parsing.wrapping import LONGEST_READ_TEXT, remove_wrapping
from quorum.parsing.yes_no import parse_yes_no

LABEL = re.compile(
    r"\A[^\w\n]{0,9}(?:rationale|reasoning|passage|judge?ment|topic)\b[*_\"'`]{0,3}[ \t]*[:：][*_]{0,3}\s*", re.I
)
TOPIC_PHRASE = re.compile(
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


def parse_free_text(reply: str, question: str = "") -> Parsed[str]:
    """The text of a reply, without a label such as "Rationale:" before it, a code fence around it, or another question
    that the model invents after it. question: the question that was asked.

    An empty reply is malformed, and the value is the empty text.
    """
    text = LABEL.sub("", cut_invented_question(remove_wrapping(reply, LONGEST_READ_TEXT).strip(), question)[0]).strip()
    return Parsed(text, malformed=not text)


def parse_topic(reply: str, question: str = "") -> Parsed[str]:
    """The topic of the question, which the reply names.

    An empty reply, or one without a topic, is malformed, and the value is the question.
    """
    topic_reply = parse_short_answer(LABEL.sub("", remove_wrapping(reply).strip()), question)
    text = clean_answer(TOPIC_PHRASE.sub("", topic_reply.value))
    return Parsed(question, malformed=True) if is_unknown(text) else Parsed(text, topic_reply.malformed)


def parse_conclusion(reply: str, question: str = "") -> Parsed[ReasonedAnswer]:
    """The answer after the last "the answer is" or "Answer:", and the rationale before it.

    After "the answer is", the answer is the rest of the sentence; after "Answer:", the rest of the line. Without either
    phrase the reply is malformed, and the answer is the last line with text. If nothing follows the phrase, the reply
    is malformed, and the answer is "unknown". A reply in JSON is read by `read_json_answer`.

    question: the question that was asked. If the reply goes on with another question, the rest is ignored.

    >>> parse_conclusion("Vell is the tallest dam. So the answer is Vell.").value.answer
    'Vell'
    """
    if json_answer := read_json_answer(reply):
        return json_answer
    text, answer_label = cut_invented_question(remove_wrapping(reply), question)
    last_conclusion = next(reversed(list(CONCLUSION.finditer(text))), None)
    if last_conclusion is None or (answer_label and answer_label.start() > last_conclusion.start()):
        return parse_reasoned_answer(reply, question)
    answer, rationale = read_stated_answer(text, last_conclusion), get_rationale(text[: last_conclusion.start()])
    return Parsed(ReasonedAnswer(answer or UNKNOWN, rationale), malformed=not answer)


def parse_yes_no_conclusion(reply: str, question: str = "") -> Parsed[ReasonedAnswer]:
    """Like `parse_conclusion`, but the answer is "yes", "no" or "unknown". Without a verdict the reply is malformed."""
    conclusion = parse_conclusion(reply, question)
    verdict = parse_yes_no(conclusion.value.answer)
    return Parsed(ReasonedAnswer(verdict.value, conclusion.value.rationale), conclusion.malformed or verdict.malformed)


def read_stated_answer(text: str, conclusion: re.Match[str]) -> str:
    """The answer after "the answer is"; "unknown" if the sentence is a refusal ("the answer is not given"), and "" if
    nothing follows. conclusion: the match of "the answer is".
    """
    line = get_first_line(text[conclusion.end() :])
    if is_unknown(f"The answer is {line}"):
        return UNKNOWN
    spans = find_sentences(line)
    return clean_answer(line[slice(*spans[0])]) if spans else ""
