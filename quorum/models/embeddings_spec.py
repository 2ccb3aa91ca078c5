"""Parses "huggingface:" specs: one encoder or two, and how texts become vectors."""

from dataclasses import dataclass, fields
from typing import Literal, get_args
from urllib.parse import unquote

from quorum.core.errors import SetupError

Pooling = Literal["mean", "cls", "max", "lasttoken"]
Similarity = Literal["cosine", "dot"]
SPEC_FORM = "huggingface:MODEL, or huggingface:QUESTION_MODEL|PASSAGE_MODEL, then ?OPTION=VALUE&OPTION=VALUE"


@dataclass(frozen=True)
class Options:
    """Options of a spec; None means as in the model's own files.

    query, passage: the prefixes of questions and of passages; one space is put between a prefix and the text; pooling:
    how token vectors become one vector; normalize: whether vectors get unit length; similarity: ranks the passages;
    length: how many tokens of a text are read.
    """

    query: str | None = None
    passage: str | None = None
    pooling: Pooling | None = None
    normalize: bool | None = None
    similarity: Similarity = "cosine"
    length: int | None = None


@dataclass(frozen=True)
class Encoders:
    """The names of the question and passage encoders (equal names: one model for both) and their options."""

    question: str
    passage: str
    options: Options


def read_encoders(name: str) -> Encoders:
    """Parse the part of a spec after "huggingface:". An invalid form is a `SetupError`."""
    models, _, options = name.partition("?")
    names = [part.strip() for part in models.split("|")]
    if len(names) > 2 or not all(names):
        raise SetupError(f"embeddings='huggingface:{name}' names no encoder, or too many; write {SPEC_FORM}.")
    return Encoders(names[0], names[-1], read_options(options))


def read_options(text: str) -> Options:
    """Options from "name=value&name=value"; %XX is percent-encoding, as in URLs."""
    options: dict[str, str | bool | int] = {}
    option_names = [field.name for field in fields(Options)]
    for part in filter(None, text.split("&")):
        name, equals, value = part.partition("=")
        if name.strip() not in option_names or not equals:
            raise SetupError(
                f"{part!r} is not an option of huggingface embeddings; the options are: {', '.join(option_names)}."
            )
        options[name.strip()] = parse_option(name.strip(), unquote(value).strip())
    return Options(**options)  # type: ignore[arg-type]  # `parse_option` has checked them


def parse_option(name: str, value: str) -> str | bool | int:
    """Check an option's value and convert it to its type."""
    if name == "length":
        if not value.isdecimal() or int(value) < 4:
            raise SetupError(f"The embeddings' option length={value!r} does not fit; give a whole number from 4 on.")
        return int(value)
    choices = {"pooling": get_args(Pooling), "similarity": get_args(Similarity), "normalize": ("true", "false")}
    if name in choices and value not in choices[name]:
        raise SetupError(f"The embeddings' option {name}={value!r} does not fit; choose: {', '.join(choices[name])}.")
    return value == "true" if name == "normalize" else value


def make_prefix(text: str) -> str:
    """The prefix with one space after it; an empty prefix stays empty."""
    return f"{text} " if text else ""
