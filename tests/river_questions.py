"""Ten questions about rivers with their passages, and a scripted model that answers them, for tests."""

import json
from pathlib import Path
from typing import Any

from openai_server import Request

RIVERS = {  # each river with the town on it
    "Rhine": "Basel",
    "Thames": "London",
    "Danube": "Vienna",
    "Seine": "Paris",
    "Tiber": "Rome",
    "Aare": "Bern",
    "Limmat": "Zurich",
    "Spree": "Berlin",
    "Isar": "Munich",
    "Vltava": "Prague",
}
REPLY_TO_LAST_LINE = {  # the last line of a prompt -> the reply; {gold}: the number of the passage with the answer
    "Ranking:": "[{gold}] > [2] > [4]",
    "Choice:": "Summary 1",
    "Relevant passages:": "{gold}",
    "Topic:": "rivers",
    "Numbers of the passages to keep:": "{gold}",
    "Verdict:": "correct",
}


def reply_about_rivers(request: Request) -> str:
    """Reply with the town if a passage names it, else "unknown", in the form that the prompt asks for.

    The reply to a prompt that asks for passage numbers names the passage with the answer, or passage 1 if none has it.
    A prompt that asks for a verdict, a choice or a topic gets the same reply for every question.
    """
    text = request.text
    asked_river = text[text.rindex("lies on the") :].split("?")[0] if "lies on the" in text else ""
    town = next(
        (town for river, town in RIVERS.items() if river in asked_river and f"through {town}" in text), "unknown"
    )
    last_line = text.rstrip().splitlines()[-1]
    if last_line in REPLY_TO_LAST_LINE:
        passage_numbers = [number for number, part in enumerate(text.split("\n[")) if f"through {town}" in part]
        return REPLY_TO_LAST_LINE[last_line].format(gold=passage_numbers[0] if passage_numbers else 1)
    if "True or False" in text:
        return "True"
    if "Passage 1" in text and "Passage 2" in text:
        return "Passage 1"
    if last_line == "Answers:":
        return f"(a) {town} (b) Oslo"
    if last_line == "Sentences that help:":
        return next((line for line in text.splitlines() if f"through {town}" in line), "None")
    if last_line in ("Paragraph:", "Rationale:", "Judgement:"):
        return f"The river flows through {town}. So the answer is {town}.\nAnswer: {town}"
    return f"Finish[{town}]" if "Finish[" in text else town


def write_questions(path: Path) -> Path:
    """Write ten questions, each with four passages, of which the first or the third holds the answer."""
    fillers = [{"id": f"o{n}", "title": "", "text": f"Nothing is known of stream {n}."} for n in range(3)]
    lines = []
    for number, (river, town) in enumerate(RIVERS.items()):
        gold = {"id": river, "title": river, "text": f"It is long. The {river} flows through {town}. It is wide."}
        question = f"Which town lies on the {river}?"
        passages = [*fillers[:2], gold, fillers[2]] if number % 2 else [gold, *fillers]
        lines.append({"id": river, "question": question, "answers": [town], "passages": passages, "gold": [river]})
    return write_lines(path, lines)


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
