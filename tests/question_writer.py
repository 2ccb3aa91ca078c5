"""A corpus about lamps and towers, and a scripted model that writes and answers questions about it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from openai_server import Request

from quorum.prompts import BUILT_IN

FILLER_TEXT = (
    "It stands on a hill above the old harbour, and people still come to look at it on the first day of spring."
)
TOWER_TEXT = "Tower number {n} in the town of Vell{n} was finished by the mason Orm{n}. " + FILLER_TEXT
LAMP_TEXT = "The lamp of Vell{n} holds {n} litres of oil and was lit by the keeper Ida{n}. " + FILLER_TEXT
# By the name of a prompt: its text before the first variable. A message is recognised by how it begins.
PROMPT_BEGINNINGS = {
    name: BUILT_IN[name].partition("$")[0] for name in BUILT_IN if name.startswith(("question", "answer_base"))
}
ReplaceReply = Callable[[str, int, str], str | None]


def write_corpus(path: Path, count: int) -> str:
    """Write a corpus of `count` towns. Each town has one document about its tower (t1, t2, ...) and one about its lamp
    (l1, l2, ...). One more document is too short to ask about. Returns the path.
    """
    lines = [{"id": f"t{n}", "title": f"Tower {n}", "text": TOWER_TEXT.format(n=n)} for n in range(1, count + 1)]
    lines += [{"id": f"l{n}", "title": f"Lamp {n}", "text": LAMP_TEXT.format(n=n)} for n in range(1, count + 1)]
    lines.append({"id": "short", "title": "", "text": "Too short to ask about."})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def find_prompt(text: str) -> str:
    """The name of the prompt that a message was rendered from; "answer" if it is none of PROMPT_BEGINNINGS."""
    return next((name for name, beginning in PROMPT_BEGINNINGS.items() if text.startswith(beginning)), "answer")


def make_question_writer(replace_reply: ReplaceReply | None = None) -> Callable[[Request], str]:
    """A model that writes and answers questions correctly.

    replace_reply: returns another reply, or None for the correct one; it gets the prompt's name, the number of the
    tower or lamp, and the message.
    """

    def reply(request: Request) -> str:
        text, prompt = request.text, find_prompt(request.text)
        after_beginning = text[len(PROMPT_BEGINNINGS.get(prompt, "")) :]
        asks_for_question = prompt.startswith("question")
        text_with_number = after_beginning if asks_for_question else after_beginning.rpartition("Question: ")[2]
        number = int(re.findall(r"[a-z](\d+)", text_with_number)[0])
        replacement = replace_reply(prompt, number, text) if replace_reply else None
        return write_correct_reply(prompt, number, after_beginning) if replacement is None else replacement

    return reply


def write_correct_reply(prompt: str, n: int, text: str) -> str:
    """The correct reply to a prompt about tower or lamp `n`. text: the message after the prompt's beginning."""
    if prompt == "question_single":
        return write_single_question(n, is_about_lamp=f"lamp of Vell{n} holds" in text)
    if prompt == "question_two":
        return f"Question: Who lit the lamp of the town whose tower Orm{n} finished?\nAnswer: Ida{n}"
    if prompt == "question_unanswerable":
        return f"Question: Who painted the {'lamp' if 'The lamp' in text else 'tower'} of Vell{n}?"
    return "Unknown" if prompt == "answer_base_closed" else answer_from_passages(n, text)


def write_single_question(n: int, is_about_lamp: bool) -> str:
    question, answer = (
        ("Who lit the lamp", f"Ida{n}") if is_about_lamp else ("Which mason finished the tower", f"Orm{n}")
    )
    return f"{question} of Vell{n}?\nAnswer: {answer}\nAlso: the {answer}"


def answer_from_passages(n: int, text: str) -> str:
    """The answer that the passages in `text` give to the question after them; "Unknown" if they give none."""
    passages, _, question = text.rpartition("\n\nQuestion: ")
    has_tower, has_lamp = TOWER_TEXT.format(n=n) in passages, LAMP_TEXT.format(n=n) in passages
    if "whose tower" in question:
        return f"Ida{n}" if has_tower and has_lamp else "Unknown"
    if "Which mason" in question and has_tower:
        return f"Orm{n}"
    return f"Ida{n}" if "Who lit the lamp of Vell" in question and has_lamp else "Unknown"
