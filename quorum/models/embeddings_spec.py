"""Parses a "huggingface:" spec: the names of one encoder or two, and options for how texts become vectors."""

from dataclasses import dataclass, fields
from typing import Literal, get_args
from urllib.parse import unquote

from quorum.core.errors import SetupError

Pooling = Literal["mean", "cls", "max", "lasttoken"]
Similarity = Literal["cosine", "dot"]
SPEC_FORM = "huggingface:MODEL, or huggingface:QUESTION_MODEL|PASSAGE_MODEL, then ?OPTION=VALUE&OPTION=VALUE"


@dataclass(frozen=True)
class EncoderOptions:
    """The options of a spec. None means that the value in the model's own files holds.

    query, passage: the prefixes of questions and of passages; one space is put between a prefix and the text; pooling:
    how token vectors become one vector; normalize: whether vectors get unit length; similarity: how a
    question's vector and a passage's are compared; length: how many tokens of a text are read.
    """

    query: str | None = None
    passage: str | None = None
    pooling: Pooling | None = None
    normalize: bool | None = None
    similarity: Similarity = "cosine"
    length: int | None = None


@dataclass(frozen=True)
class EncoderSpec:
    """A parsed spec: the names of the question encoder and of the passage encoder, and the options of both.

    The names are equal if one model encodes questions and passages.
    """

    question: str
    passage: str
    options: EncoderOptions


def parse_encoder_spec(spec_text: str) -> EncoderSpec:
    """Parse the part of a spec after "huggingface:". An invalid form is a `SetupError`."""
    models, _, options = spec_text.partition("?")
    names = [part.strip() for part in models.split("|")]
    if len(names) > 2 or not all(names):
        raise SetupError(f"embeddings='huggingface:{spec_text}' names no encoder, or too many; write {SPEC_FORM}.")
    return EncoderSpec(names[0], names[-1], read_options(options))


def read_options(text: str) -> EncoderOptions:
    """Parse options such as "name=value&name=value"; %XX is percent-encoding, as in URLs."""
    options: dict[str, str | bool | int] = {}
    option_names = [field.name for field in fields(EncoderOptions)]
    for part in filter(None, text.split("&")):
        name, equals, value = part.partition("=")
        if name.strip() not in option_names or not equals:
            raise SetupError(
                f"{part!r} is not an option of huggingface embeddings; write OPTION=VALUE, where OPTION is one of: "
                f"{', '.join(option_names)}."
            )
        options[name.strip()] = parse_option(name.strip(), unquote(value).strip())
    return EncoderOptions(**options)  # type: ignore[arg-type]  # `parse_option` has checked them


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
