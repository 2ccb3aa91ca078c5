"""What the converters of data formats share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from quorum.core.state import Passage
from quorum.datasets.records import Record, content_hash

LABELS = {"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}


class Broken(Exception):  # noqa: N818  it reads as what it says
    """Why a record of a known format cannot be used."""


@dataclass(frozen=True)
class Format:
    """expected: the record's shape, for messages; fits: whether a record is of this format; convert: (record, where).

    `convert` leaves the id empty where the format has none, and may raise what a missing key or a wrong type raises.
    """

    name: str
    expected: str
    fits: Callable[[dict[str, Any]], bool]
    convert: Callable[[dict[str, Any], str], Record]


def made(
    id_: Any,
    question: Any,
    answers: Iterable[str],
    passages: Iterable[Passage] = (),
    gold: Iterable[str] = (),
    **meta: Any,
) -> Record:
    """A record; answers and gold ids once each, in order; what is null or empty is left out of `meta`."""
    return Record(
        id="" if id_ is None else str(id_),
        question=text(question),
        answers=list(dict.fromkeys(answers)),
        passages=list(passages),
        gold=list(dict.fromkeys(gold)),
        meta={name: value for name, value in meta.items() if value not in (None, "", [], {})},
    )


def text(value: Any) -> str:
    """The value, if it is a text."""
    if not isinstance(value, str):
        raise TypeError
    return value


def texts(value: Any) -> list[str]:
    """The value, if it is a list of texts."""
    if not isinstance(value, list):
        raise TypeError
    return [text(item) for item in value]


def some(value: Any) -> list[str]:
    """A text, or a list of at least one: no answer means "unknown", which a part without published answers does not."""
    found = [value] if isinstance(value, str) else texts(value)
    if not found:
        raise Broken("there is no answer: the test part of a data set cannot be scored")
    return found


def passage(title: Any, content: Any, id_: Any = None) -> Passage:
    """A passage; without an id of its own it is named by its content, so that all questions name it alike."""
    title = text(title or "")
    return Passage(id=content_hash(title, text(content)) if id_ is None else str(id_), title=title, text=content)
