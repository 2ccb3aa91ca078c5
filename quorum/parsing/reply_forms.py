"""JSON schemas of replies that are a label, a choice, a verdict or a list of numbers.

A model that takes a schema can reply in no other form. What it says is then written in the words that the prompt asks
for, so that one parser reads both; a reply that is not in the form is left as it is.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quorum.core.labels import LABELS
from quorum.parsing.answers import read_object
from quorum.parsing.wrapping import unwrapped

LETTER = re.compile(r"\(([a-z])\) ")
NO_CHOICE = "none"


@dataclass(frozen=True)
class ReplyForm:
    """A reply with one property. `write`: its value in the prompt's words; None where it does not fit."""

    name: str
    content: Mapping[str, Any]
    write: Callable[[Any], str | None]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema, as strict as OpenAI asks for."""
        return {
            "type": "object",
            "properties": {self.name: dict(self.content)},
            "required": [self.name],
            "additionalProperties": False,
        }

    def text_of(self, reply: str) -> str:
        """The reply in the prompt's words.

        >>> form_of("answer_yes_no", {}).text_of('{"answer": "Yes"}')
        'Yes'
        """
        text = unwrapped(reply).strip()
        value = read_object(text) if text.startswith("{") else None
        written = self.write(value[self.name]) if value is not None and self.name in value else None
        return reply if written is None else written


def one_of(name: str, choices: Sequence[str], write: Callable[[str], str] = str) -> ReplyForm:
    """A reply that is one of some words."""
    return ReplyForm(
        name,
        {"type": "string", "enum": list(choices)},
        lambda value: write(value) if isinstance(value, str) and value in choices else None,
    )


def numbers(name: str, write: Callable[[list[int]], str | None]) -> ReplyForm:
    """A reply that is a list of passages' numbers."""

    def written(value: Any) -> str | None:
        sound = isinstance(value, list) and all(type(item) is int for item in value)
        return write(value) if sound else None

    return ReplyForm(name, {"type": "array", "items": {"type": "integer"}}, written)


def listed(found: list[int]) -> str:
    return ", ".join(map(str, found)) or "None"


def ordered(found: list[int]) -> str | None:
    return " > ".join(f"[{number}]" for number in found) or None


YES_NO = one_of("answer", ("Yes", "No", "Unknown"))
LABEL = one_of("label", LABELS)
IDS = numbers("passages", listed)
FORMS = {
    **dict.fromkeys(("answer_label", "answer_candidates_label"), LABEL),
    **dict.fromkeys(("answer_yes_no", "answer_candidates_yes_no", "extract_answer_yes_no"), YES_NO),
    **dict.fromkeys(("direct_yes_no", "direct_from_memory_yes_no"), YES_NO),
    **dict.fromkeys(("choose", "choose_yes_no", "filter_passages"), IDS),
    "rank_passages": numbers("ranking", ordered),
    "validity": one_of("verdict", ("True", "False")),
    "ranking": one_of("choice", ("Passage 1", "Passage 2")),
    "preference": one_of("choice", ("Summary 1", "Summary 2", "Tie")),
    "correctness": one_of("verdict", ("correct", "incorrect")),
}


def form_of(prompt: str, inputs: Mapping[str, Any]) -> ReplyForm | None:
    """The form of a prompt's reply; None where the reply is a text. `inputs`: the prompt's variables."""
    if prompt == "answer_choices":
        letters = list(dict.fromkeys(LETTER.findall(str(inputs.get("choices", "")))))
        return one_of("choice", (*letters, NO_CHOICE), lambda one: "Unknown" if one == NO_CHOICE else f"({one})")
    return FORMS.get(prompt)
