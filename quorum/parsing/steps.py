"""What the replies of step-by-step methods say: react's thought and action, self_ask's follow-up or final answer.

Only the first action counts: what a model invents after it, observations above all, is cut.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from quorum.core.text import UNKNOWN
from quorum.parsing.answers import (
    EDGE,
    RULES,
    Parsed,
    first_line,
    lines_of,
    read_object,
    short_answer,
    spoken,
    tidy,
)
from quorum.parsing.wrapping import unwrapped


@dataclass(frozen=True)
class Action:
    """A thought and what to do: search for `query`, or finish with `answer`; both are null where no action was read."""

    thought: str
    query: str | None = None
    answer: str | None = None


@dataclass(frozen=True)
class FollowUp:
    """The next follow-up question or the final answer; both are null where no follow-up is needed, or none was read."""

    question: str | None = None
    answer: str | None = None


BEGIN = rf"(?:{EDGE}|(?<=[.!?] ))"  # the start of a line or of a sentence
COLON = r"[*_\"'`]{0,3}[ \t]*[:：][*_]{0,3}"
NUMBER = r"(?:[ \t]*\[?#?\d{1,3}\]?\.?)?"


def verb(number: int) -> str:
    """Pattern of an action's name, in group `verbN`."""
    return rf"[*_\"'`]{{0,3}}(?P<verb{number}>search|finish)(?:ing|es|ed)?\b[*_\"'`]{{0,3}}"


STEP = re.compile(
    rf"{EDGE}(?P<observation>observation{NUMBER}{COLON})"
    rf"|{EDGE}(?P<thought>(?:thought|reasoning){NUMBER}{COLON})"
    rf"|{BEGIN}(?:(?:next )?action{NUMBER}{COLON})\s{{0,9}}{verb(1)}"
    rf"|{EDGE}(?:\d{{1,3}}[.)][ \t]*)?{verb(2)}(?=[ \t]*[\[［【(（:：])"
    rf"|{EDGE}(?P<label>(?:final |short )?answer{COLON})"
    rf"|\b{verb(3)}(?=[\[［【])",
    re.MULTILINE | re.IGNORECASE,
)


def step_action(reply: str) -> Parsed[Action]:
    """The thought of a reply and its first action, Search[query] or Finish[answer], in any letter case and markdown.

    Also read: JSON with an action. Defaults (malformed): without brackets, or with one missing, the rest of the line;
    of "Answer: x" a finish with it; of an empty finish "unknown"; without an action the thought alone.
    """
    if found := action_from_json(reply):
        return found
    text = own_part(unwrapped(reply))
    place, end = first_action(text)
    thought = thought_of(text[: end if place is None else place.start()])
    if place is None:
        return Parsed(Action(thought), malformed=True)
    if place["label"]:
        return finished(thought, text[place.end() :], sound=False)
    content, closed = argument(text, place.end())
    if (place["verb1"] or place["verb2"] or place["verb3"]).lower() == "finish":
        return finished(thought, content, sound=closed)
    query = query_of(content)
    return Parsed(Action(thought, query=query or None), malformed=not (query and closed))


NEXT_QUESTION = re.compile(rf"{EDGE}question{COLON}", re.MULTILINE | re.IGNORECASE)


def own_part(text: str) -> str:
    """The text up to an invented next question; one that is restated at the beginning is not a next one."""
    begin = len(text) - len(text.lstrip())
    later = (mark.start() for mark in NEXT_QUESTION.finditer(text) if mark.start() > begin)
    return text[: next(later, len(text))]


def first_action(text: str) -> tuple[re.Match[str] | None, int]:
    """The first action, and where the reply's own step ends: at an observation, which no reply has to write.

    An action within a line, and an answer, may be what a thought talks about: a line with an action goes before them.
    """
    perhaps: re.Match[str] | None = None
    for mark in STEP.finditer(text):
        if mark["verb3"] or mark["label"]:
            perhaps = perhaps or mark
        elif mark["observation"] or (mark["thought"] and perhaps):
            return perhaps, mark.start()
        elif not mark["thought"]:
            return mark, mark.start()
    return perhaps, len(text)


OPEN, CLOSE = "[［【(（", "]］】)）"


def argument(text: str, start: int) -> tuple[str, bool]:
    """What an action is done with: the text in the brackets that follow, and whether there were two.

    An argument on the next line is labelled there: "Action Input: x".
    """
    line, _, rest = text[start:].partition("\n")
    said = line.strip(" \t*_`\"'")
    if not said:
        following = first_line(rest[:1000])
        label = re.match(rf"[\W_]{{0,9}}(?:action[ _]?)?(?:input|query|argument){COLON}", following, re.IGNORECASE)
        return (following[label.end() :], True) if label else ("", False)
    if said[0] not in OPEN:
        return said.lstrip(":： \t").removeprefix("for "), False
    opening, closing = said[0], CLOSE[OPEN.index(said[0])]
    depth = 0
    for at, character in enumerate(said):
        depth += (character == opening) - (character == closing)
        if depth == 0:
            return said[1:at], True
    return said[1:], False


NAMED = re.compile(r"\A(?:query|q|input|text|entity|answer|question)[ \t]{0,3}[=:：][ \t]*", re.IGNORECASE)
AROUND = " \t\n\"'“”‘’«»`*_"


def query_of(text: str) -> str:
    """A query on one line, without a parameter's name, quotes and markdown around it."""
    said = " ".join(text.split())
    return NAMED.sub("", said.strip(AROUND)).strip(AROUND) if any(map(str.isalnum, said)) else ""


def finished(thought: str, content: str, *, sound: bool) -> Parsed[Action]:
    answer = tidy(NAMED.sub("", first_line(content)))
    return Parsed(Action(thought, answer=answer or UNKNOWN), malformed=not (sound and answer))


LABELS = re.compile(rf"{EDGE}(?:thought|reasoning|action){NUMBER}{COLON}[ \t]*", re.MULTILINE | re.IGNORECASE)


def thought_of(text: str) -> str:
    """The thought on one line, without labels and without the markdown at its edges."""
    return " ".join(" ".join(lines_of(LABELS.sub("", text))).split()).strip(RULES)


def action_from_json(reply: str) -> Parsed[Action] | None:
    """{"thought": ..., "action": "Search[x]"}, or the action's name and input in two fields, or {"search": "x"}."""
    value = object_in(reply)
    if value is None:
        return None
    thought = thought_of(said_under(value, "thought", "reasoning"))
    inner = value.get("action")
    named = {**value, **inner} if isinstance(inner, dict) else value
    verb = said_under(named, "name", "tool", "type", "action")
    if "[" in verb:
        found = step_action(verb)
        return Parsed(Action(thought, found.value.query, found.value.answer), found.malformed)
    argument = said_under(named, "action_input", "action input", "input", "query", "argument", "text", "answer")
    search = argument if verb.lower() == "search" else said_under(value, "search")
    if query := query_of(search):
        return Parsed(Action(thought, query=query))
    answer = argument if verb.lower() == "finish" else said_under(value, "finish", "answer")
    return finished(thought, answer, sound=True) if answer else Parsed(Action(thought), malformed=True)


def said_under(value: dict[str, Any], *names: str) -> str:
    """The first text or number under one of the names, or an empty text."""
    texts = (spoken(value[name]).strip() for name in names if value.get(name) is not None)
    return next(filter(None, texts), "")


def object_in(reply: str) -> dict[str, Any] | None:
    """The JSON object that is all of a reply, if it is one."""
    text = unwrapped(reply).strip()
    return read_object(text) if text.startswith("{") else None


NEEDED = r"(?:are|is) (?:there )?(?:any )?follow[- ]?ups?(?: questions?)? needed(?: here)?"
FOLLOW = re.compile(
    rf"{EDGE}(?P<needed>{NEEDED}[*_\"'`]{{0,3}}[ \t]*[?？]?[ \t]*[:：]?)"
    rf"|{BEGIN}(?P<follow>(?:next )?follow[- ]?ups?(?: questions?)?{NUMBER}{COLON})"
    rf"|{BEGIN}(?P<intermediate>intermediate answers?{NUMBER}{COLON})"
    rf"|{EDGE}(?P<final>(?:(?:so|therefore|thus|hence)\b,? ?)?(?:the )?(?:final )?answer(?: is)?{COLON}"
    r"|(?:(?:so|therefore|thus|hence)\b,? ?)?the (?:final )?answer is(?=\s))"
    rf"|(?P<later>(?<=[.!?] )so,? the (?:final )?answer is\b{COLON}|(?<=[.!?] )so the final answer is\b)",
    re.MULTILINE | re.IGNORECASE,
)
VERDICT = re.compile(r"\A[\W_]{0,9}(yes|no|none)\b[\W_]{0,9}", re.IGNORECASE)


def next_follow_up(reply: str) -> Parsed[FollowUp]:
    """The first follow-up question of a reply, or its final answer when that comes first; neither after a "No.".

    Also read: JSON with one of them. Defaults (malformed): a line that asks something is a follow-up; else neither.
    """
    if found := follow_up_from_json(reply):
        return found
    text = own_part(unwrapped(reply))
    for mark in islice(FOLLOW.finditer(text), 99):  # a model in a loop writes labels without end
        said = first_line(text[mark.end() : mark.end() + 1000])
        said = said[: next((later.start() for later in FOLLOW.finditer(said)), len(said))]
        if mark["follow"] and (question := query_of(said)):
            return Parsed(FollowUp(question=question))
        if (mark["final"] or mark["later"]) and (answer := tidy(said)):
            return Parsed(FollowUp(answer=answer))
    return unlabelled(text)


def unlabelled(text: str) -> Parsed[FollowUp]:
    """Of a reply without a label: "No.", or a line that asks something."""
    lines = [FOLLOW.sub("", line).strip() for line in lines_of(text)]
    verdict = next((found for line in lines[:2] if (found := VERDICT.match(line))), None)
    if verdict and verdict[1].lower() in ("no", "none"):
        return Parsed(FollowUp())
    asking = next((line for line in lines if line.endswith(("?", "？"))), "")
    question = query_of(VERDICT.sub("", asking))
    return Parsed(FollowUp(question=question or None), malformed=True)


def follow_up_from_json(reply: str) -> Parsed[FollowUp] | None:
    value = object_in(reply)
    if value is None:
        return None
    known = {re.sub(r"[\W_]", "", key): content for key, content in value.items()}
    if question := query_of(said_under(known, "followup", "followupquestion", "question")):
        return Parsed(FollowUp(question=question))
    answer = tidy(first_line(said_under(known, "answer")))
    return Parsed(FollowUp(answer=answer or None), malformed=not answer)


def final_answer(reply: str, question: str = "") -> Parsed[FollowUp]:
    """The answer of a reply that goes on after "So the final answer is:", or writes this line again."""
    if object_in(reply) is None:
        if stated := next_follow_up(reply).value.answer:
            return Parsed(FollowUp(answer=stated))
        reply = FOLLOW.sub("", unwrapped(reply))
    short = short_answer(reply, question)
    return Parsed(FollowUp(answer=short.value), short.malformed)
