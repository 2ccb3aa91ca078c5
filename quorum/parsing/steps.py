"""Reads the replies of step-by-step methods: react's thought and action, self_ask's follow-up or final answer.

Only the first action counts. Models often invent observations and further steps after it; these are ignored.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from quorum.core.text import UNKNOWN
from quorum.parsing.answers import (
    LINE_START,
    MARKDOWN_CHARACTERS,
    Parsed,
    clean_answer,
    format_value,
    get_first_line,
    list_lines,
    parse_short_answer,
    read_object,
)
from quorum.parsing.wrapping import remove_wrapping


@dataclass(frozen=True)
class Action:
    """A thought and an action: search for `query`, or finish with `answer`. Both are None if no action was read."""

    thought: str
    query: str | None = None
    answer: str | None = None


@dataclass(frozen=True)
class SelfAskStep:
    """What self_ask does next: ask a follow-up question or give the final answer. Both are None if no question is
    needed, or nothing was read.
    """

    question: str | None = None
    answer: str | None = None


# Parts of the patterns of labels, such as "**Thought 1:**".
SENTENCE_START = rf"(?:{LINE_START}|(?<=[.!?] ))"  # the start of a line or of a sentence
COLON = r"[*_\"'`]{0,3}[ \t]*[:：][*_]{0,3}"
NUMBER = r"(?:[ \t]*\[?#?\d{1,3}\]?\.?)?"


def make_verb_pattern(number: int) -> str:
    """Pattern of an action's name, in the group `verbN`. A pattern may not have two groups with the same name."""
    return rf"[*_\"'`]{{0,3}}(?P<verb{number}>search|finish)(?:ing|es|ed)?\b[*_\"'`]{{0,3}}"


# verb1: an action after the label "Action:"; verb2: an action that begins a line; verb3: an action inside a line.
STEP_LABEL = re.compile(
    rf"{LINE_START}(?P<observation>observation{NUMBER}{COLON})"
    rf"|{LINE_START}(?P<thought>(?:thought|reasoning){NUMBER}{COLON})"
    rf"|{SENTENCE_START}(?:(?:next )?action{NUMBER}{COLON})\s{{0,9}}{make_verb_pattern(1)}"
    rf"|{LINE_START}(?:\d{{1,3}}[.)][ \t]*)?{make_verb_pattern(2)}(?=[ \t]*[\[［【(（:：])"
    rf"|{LINE_START}(?P<answer_label>(?:final |short )?answer{COLON})"
    rf"|\b{make_verb_pattern(3)}(?=[\[［【])",
    re.MULTILINE | re.IGNORECASE,
)


def parse_step(reply: str) -> Parsed[Action]:
    """The thought of a reply and its first action: Search[query] or Finish[answer], in any letter case, or in JSON.

    These are malformed: an action whose line gives the argument without a pair of brackets around it (the argument is
    then the rest of the line); "Answer: x" (read as Finish[x]); an empty finish such as Finish[] (the answer is
    "unknown"); an empty search, {"finish": ""}, or a reply without an action (these give the thought alone).
    """
    if json_action := read_json_action(reply):
        return json_action
    text = cut_next_question(remove_wrapping(reply))
    action, end = find_first_action(text)
    thought = clean_thought(text[: end if action is None else action.start()])
    if action is None:
        return Parsed(Action(thought), malformed=True)
    if action["answer_label"]:
        return make_finish(thought, text[action.end() :], is_well_formed=False)
    argument, is_well_formed = read_argument(text, action.end())
    if (action["verb1"] or action["verb2"] or action["verb3"]).lower() == "finish":
        return make_finish(thought, argument, is_well_formed=is_well_formed)
    query = clean_query(argument)
    return Parsed(Action(thought, query=query or None), malformed=not (query and is_well_formed))


NEXT_QUESTION = re.compile(rf"{LINE_START}question{COLON}", re.MULTILINE | re.IGNORECASE)


def cut_next_question(text: str) -> str:
    """The text before a question that the model invents. A question at the beginning only repeats ours."""
    begin = len(text) - len(text.lstrip())
    later_starts = (label.start() for label in NEXT_QUESTION.finditer(text) if label.start() > begin)
    return text[: next(later_starts, len(text))]


def find_first_action(text: str) -> tuple[re.Match[str] | None, int]:
    """(the match of `STEP_LABEL` for the first action, or None; where the thought ends if there is no action).

    The search ends at an observation, because the model should not write one. A thought may mention an action inside a
    line, or contain "Answer:". So these count only if no later line of the same step begins with an action.
    """
    fallback: re.Match[str] | None = None
    for label in STEP_LABEL.finditer(text):
        if label["verb3"] or label["answer_label"]:
            fallback = fallback or label
        elif label["observation"] or (label["thought"] and fallback):
            return fallback, label.start()
        elif not label["thought"]:
            return label, label.start()
    return fallback, len(text)


OPENING_BRACKETS, CLOSING_BRACKETS = "[［【(（", "]］】)）"


def read_argument(text: str, start: int) -> tuple[str, bool]:
    """(the argument of an action, whether it is well-formed).

    start: the end of the action's name. An argument in a pair of brackets is well-formed. If the action's line has no
    argument, the next line may give it after a label, without brackets: "Action Input: x". This is well-formed, too.
    """
    line, _, rest = text[start:].partition("\n")
    argument = line.strip(" \t*_`\"'")
    if not argument:
        next_line = get_first_line(rest[:1000])
        label = re.match(rf"[\W_]{{0,9}}(?:action[ _]?)?(?:input|query|argument){COLON}", next_line, re.IGNORECASE)
        return (next_line[label.end() :], True) if label else ("", False)
    if argument[0] not in OPENING_BRACKETS:
        return argument.lstrip(":： \t").removeprefix("for "), False
    opening, closing = argument[0], CLOSING_BRACKETS[OPENING_BRACKETS.index(argument[0])]
    depth = 0
    for position, character in enumerate(argument):
        depth += (character == opening) - (character == closing)
        if depth == 0:
            return argument[1:position], True
    return argument[1:], False


NAMED_ARGUMENT = re.compile(r"\A(?:query|q|input|text|entity|answer|question)[ \t]{0,3}[=:：][ \t]*", re.IGNORECASE)
QUOTES_AND_SPACES = " \t\n\"'“”‘’«»`*_"


def clean_query(text: str) -> str:
    """A query on one line, without a parameter's name ("query="), quotes and markdown around it. A text without a
    letter or digit becomes "".
    """
    query = " ".join(text.split())
    return (
        NAMED_ARGUMENT.sub("", query.strip(QUOTES_AND_SPACES)).strip(QUOTES_AND_SPACES)
        if any(map(str.isalnum, query))
        else ""
    )


def make_finish(thought: str, argument: str, *, is_well_formed: bool) -> Parsed[Action]:
    """The action that finishes with the answer in the first line of `argument`. An empty answer becomes "unknown",
    and is malformed.
    """
    answer = clean_answer(NAMED_ARGUMENT.sub("", get_first_line(argument)))
    return Parsed(Action(thought, answer=answer or UNKNOWN), malformed=not (is_well_formed and answer))


LEADING_LABELS = re.compile(
    rf"{LINE_START}(?:thought|reasoning|action){NUMBER}{COLON}[ \t]*", re.MULTILINE | re.IGNORECASE
)


def clean_thought(text: str) -> str:
    """The thought on one line, without labels and without the markdown at its edges."""
    return " ".join(" ".join(list_lines(LEADING_LABELS.sub("", text))).split()).strip(MARKDOWN_CHARACTERS)


def read_json_action(reply: str) -> Parsed[Action] | None:
    """The thought and the action of a reply that is a JSON object; None for any other reply.

    The action is read from {"action": "Search[x]"}, {"action": "search", "input": "x"}, {"search": "x"} and the like.
    """
    value = read_json_reply(reply)
    if value is None:
        return None
    thought = clean_thought(get_text(value, "thought", "reasoning"))
    inner = value.get("action")
    fields = {**value, **inner} if isinstance(inner, dict) else value
    verb = get_text(fields, "name", "tool", "type", "action")
    if "[" in verb:
        parsed_step = parse_step(verb)
        return Parsed(Action(thought, parsed_step.value.query, parsed_step.value.answer), parsed_step.malformed)
    argument = get_text(fields, "action_input", "action input", "input", "query", "argument", "text", "answer")
    search = argument if verb.lower() == "search" else get_text(value, "search")
    if query := clean_query(search):
        return Parsed(Action(thought, query=query))
    answer = argument if verb.lower() == "finish" else get_text(value, "finish", "answer")
    return make_finish(thought, answer, is_well_formed=True) if answer else Parsed(Action(thought), malformed=True)


def get_text(value: dict[str, Any], *names: str) -> str:
    """The text or number under the first of `names` that has one; an empty text if none has."""
    texts = (format_value(value[name]).strip() for name in names if value.get(name) is not None)
    return next(filter(None, texts), "")


def read_json_reply(reply: str) -> dict[str, Any] | None:
    """The JSON object that a whole reply consists of, with keys in lower case; None if the reply is anything else."""
    text = remove_wrapping(reply).strip()
    return read_object(text) if text.startswith("{") else None


FOLLOW_UP_NEEDED = r"(?:are|is) (?:there )?(?:any )?follow[- ]?ups?(?: questions?)? needed(?: here)?"
FOLLOW_UP_LABEL = re.compile(
    rf"{LINE_START}(?P<needed>{FOLLOW_UP_NEEDED}[*_\"'`]{{0,3}}[ \t]*[?？]?[ \t]*[:：]?)"
    rf"|{SENTENCE_START}(?P<follow>(?:next )?follow[- ]?ups?(?: questions?)?{NUMBER}{COLON})"
    rf"|{SENTENCE_START}(?P<intermediate>intermediate answers?{NUMBER}{COLON})"
    rf"|{LINE_START}(?P<final>(?:(?:so|therefore|thus|hence)\b,? ?)?(?:the )?(?:final )?answer(?: is)?{COLON}"
    r"|(?:(?:so|therefore|thus|hence)\b,? ?)?the (?:final )?answer is(?=\s))"
    rf"|(?P<inside_line>(?<=[.!?] )so,? the (?:final )?answer is\b{COLON}|(?<=[.!?] )so the final answer is\b)",
    re.MULTILINE | re.IGNORECASE,
)
VERDICT = re.compile(r"\A[\W_]{0,9}(yes|no|none)\b[\W_]{0,9}", re.IGNORECASE)


def parse_self_ask_step(reply: str) -> Parsed[SelfAskStep]:
    """The first follow-up question of a reply, or its final answer if that comes first. "No." gives neither.

    JSON with a question or an answer is read, too. A reply without labels is malformed unless it says "No."; its first
    line that ends in a question mark is the follow-up question.
    """
    if json_step := read_json_self_ask_step(reply):
        return json_step
    text = cut_next_question(remove_wrapping(reply))
    for label in islice(FOLLOW_UP_LABEL.finditer(text), 99):  # a model in a loop writes labels without end
        line = get_first_line(text[label.end() : label.end() + 1000])
        content = line[: next((later.start() for later in FOLLOW_UP_LABEL.finditer(line)), len(line))]
        if label["follow"] and (question := clean_query(content)):
            return Parsed(SelfAskStep(question=question))
        if (label["final"] or label["inside_line"]) and (answer := clean_answer(content)):
            return Parsed(SelfAskStep(answer=answer))
    return read_unlabelled_reply(text)


def read_unlabelled_reply(text: str) -> Parsed[SelfAskStep]:
    """The step of a reply whose labels give neither a question nor an answer.

    "No." gives a step without both. Otherwise the reply is malformed, and its first line that ends in a question mark
    is the follow-up question.
    """
    lines = [FOLLOW_UP_LABEL.sub("", line).strip() for line in list_lines(text)]
    verdict = next((match for line in lines[:2] if (match := VERDICT.match(line))), None)
    if verdict and verdict[1].lower() in ("no", "none"):
        return Parsed(SelfAskStep())
    asking_line = next((line for line in lines if line.endswith(("?", "？"))), "")
    question = clean_query(VERDICT.sub("", asking_line))
    return Parsed(SelfAskStep(question=question or None), malformed=True)


def read_json_self_ask_step(reply: str) -> Parsed[SelfAskStep] | None:
    """The question, or else the answer, of a reply that is a JSON object; None for any other reply."""
    value = read_json_reply(reply)
    if value is None:
        return None
    normalized_fields = {re.sub(r"[\W_]", "", key): content for key, content in value.items()}
    if question := clean_query(get_text(normalized_fields, "followup", "followupquestion", "question")):
        return Parsed(SelfAskStep(question=question))
    answer = clean_answer(get_first_line(get_text(normalized_fields, "answer")))
    return Parsed(SelfAskStep(answer=answer or None), malformed=not answer)


def parse_final_answer(reply: str, question: str = "") -> Parsed[SelfAskStep]:
    """The answer of a reply to a prompt that ends with "So the final answer is:". The reply may repeat these words."""
    if read_json_reply(reply) is None:
        if stated_answer := parse_self_ask_step(reply).value.answer:
            return Parsed(SelfAskStep(answer=stated_answer))
        reply = FOLLOW_UP_LABEL.sub("", remove_wrapping(reply))
    short_answer = parse_short_answer(reply, question)
    return Parsed(SelfAskStep(answer=short_answer.value), short_answer.malformed)
