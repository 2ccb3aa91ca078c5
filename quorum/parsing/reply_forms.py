"""JSON schemas of replies that are a label, a choice, a verdict or a list of numbers.

A model that supports JSON schemas can only reply in this form. We then write the reply in the words that the prompt
asks for, so that the same parser reads it. A reply in another form stays as it is.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quorum.core.labels import LABELS
from quorum.parsing.answers import read_object
from quorum.parsing.wrapping import remove_wrapping

LETTER_LABEL = re.compile(r"\(([a-z])\) ")
NO_CHOICE = "none"
MOST_LISTED_NUMBERS = 100  # a schema lists the numbers of at most so many passages, because servers limit such lists


@dataclass(frozen=True)
class ReplyForm:
    """A JSON object with one property, or with a second one for a sentence.

    property_name, property_schema: the property's name and its JSON schema. write: turns the property's value into the
    words that the prompt asks for; returns None if the value is not allowed. sentence_name: the name of a second
    property, a sentence that follows these words; None: there is none.
    """

    property_name: str
    property_schema: Mapping[str, Any]
    write: Callable[[Any], str | None]
    sentence_name: str | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the object, in the form that OpenAI's strict mode requires."""
        sentences = {} if self.sentence_name is None else {self.sentence_name: {"type": "string"}}
        return {
            "type": "object",
            "properties": {self.property_name: dict(self.property_schema), **sentences},
            "required": [self.property_name, *sentences],
            "additionalProperties": False,
        }

    def write_in_words(self, reply: str) -> str:
        """The reply in the words that the prompt asks for; unchanged if it does not have this form.

        >>> EXPLAINED_YES_NO_FORM.write_in_words('{"answer": "Yes", "why": "It opens at nine."}')
        'Yes. It opens at nine.'
        """
        text = remove_wrapping(reply).strip()
        json_object = read_object(text) if text.startswith("{") else None
        if json_object is None or self.property_name not in json_object:
            return reply
        prompt_words = self.write(json_object[self.property_name])
        if prompt_words is None:
            return reply
        sentence = json_object.get(self.sentence_name) if self.sentence_name else None
        if not isinstance(sentence, str) or not sentence.strip() or prompt_words == "Unknown":
            return prompt_words
        return f"{prompt_words}. {sentence.strip()}"


def make_choice_form(property_name: str, choices: Sequence[str], write: Callable[[str], str] = str) -> ReplyForm:
    """The form of a reply that is one of `choices`. write: turns the choice into the words that the prompt asks for."""
    return ReplyForm(
        property_name,
        {"type": "string", "enum": list(choices)},
        lambda value: write(value) if isinstance(value, str) and value in choices else None,
    )


def make_number_list_form(property_name: str, write: Callable[[list[int]], str | None]) -> ReplyForm:
    """The form of a reply that is a list of passages' numbers.

    write: turns the list into the words that the prompt asks for; returns None if the list is not allowed.
    """

    def write_if_numbers(value: Any) -> str | None:
        is_number_list = isinstance(value, list) and all(type(item) is int for item in value)
        return write(value) if is_number_list else None

    return ReplyForm(property_name, {"type": "array", "items": {"type": "integer"}}, write_if_numbers)


def format_numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "None"


def format_ranking(numbers: list[int]) -> str | None:
    return " > ".join(f"[{number}]" for number in numbers) or None


YES_NO_FORM = make_choice_form("answer", ("Yes", "No", "Unknown"))
EXPLAINED_YES_NO_FORM = replace(YES_NO_FORM, sentence_name="why")
LABEL_FORM = make_choice_form("label", LABELS)
# A text; null stands for an answer that is unknown.
SHORT_ANSWER_FORM = ReplyForm(
    "answer",
    {"type": "string"},
    lambda value: "unknown" if value is None else value if isinstance(value, str) else None,
)
NUMBER_LIST_FORM = make_number_list_form("passages", format_numbers)
RANKING_FORM = make_number_list_form("ranking", format_ranking)


def limit_numbers(form: ReplyForm, count: int) -> ReplyForm:
    """The form with the numbers 1 to `count` only: small models write numbers that no passage has."""
    numbers = {"type": "integer", "enum": list(range(1, count + 1))}
    return replace(form, property_schema={"type": "array", "items": numbers})


def make_letter_form(choices: str) -> ReplyForm:
    """The form of a reply that is the letter of one of the choices, or none. choices: as the prompt shows them."""
    letters = list(dict.fromkeys(LETTER_LABEL.findall(choices)))
    return make_choice_form(
        "choice", (*letters, NO_CHOICE), lambda choice: "Unknown" if choice == NO_CHOICE else f"({choice})"
    )
