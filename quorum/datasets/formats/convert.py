"""Helpers that the converters of all data formats share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from quorum.core.state import Passage
from quorum.datasets.records import Record, hash_content

FEVER_LABELS = {"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}


class UnusableRecord(Exception):  # noqa: N818  the name says it without "Error"
    """A record has a known format but cannot be used. The message is the reason."""


@dataclass(frozen=True)
class Format:
    """A data format.

    expected: the shape of its records, for messages. fits: a function that tells whether a record has this format.
    convert: a function (record, where) -> our record; `where` is the record's place in its file, for messages. If the
    format has no ids, the id of our record is empty. `convert` may raise `UnusableRecord`, and KeyError, TypeError and
    similar errors for a missing key or a wrong type.
    """

    name: str
    expected: str
    fits: Callable[[dict[str, Any]], bool]
    convert: Callable[[dict[str, Any], str], Record]


def make_record(
    id_: Any,
    question: Any,
    answers: Iterable[str],
    passages: Iterable[Passage] = (),
    gold: Iterable[str] = (),
    **meta: Any,
) -> Record:
    """Make a record. Of equal answers and of equal gold ids, one is kept. Empty values in `meta` are dropped."""
    return Record(
        id="" if id_ is None else str(id_),
        question=check_text(question),
        answers=list(dict.fromkeys(answers)),
        passages=list(passages),
        gold=list(dict.fromkeys(gold)),
        meta={name: value for name, value in meta.items() if value not in (None, "", [], {})},
    )


def check_text(value: Any) -> str:
    """The value if it is a text, else TypeError."""
    if not isinstance(value, str):
        raise TypeError
    return value


def check_texts(value: Any) -> list[str]:
    """The value if it is a list of texts, else TypeError."""
    if not isinstance(value, list):
        raise TypeError
    return [check_text(item) for item in value]


def require_answers(value: Any) -> list[str]:
    """The answers as a list, from a text or a list of texts. Raises `UnusableRecord` if there are none.

    Test sets are published without answers. In our format "no answers" means that "unknown" is right, so such records
    would be scored wrongly.
    """
    answers = [value] if isinstance(value, str) else check_texts(value)
    if not answers:
        raise UnusableRecord("there is no answer: the test part of a data set cannot be scored")
    return answers


def make_passage(title: Any, content: Any, id_: Any = None) -> Passage:
    """Make a passage. Without an id it gets a hash of its title and text, so that equal passages have equal ids."""
    title, text = check_text(title or ""), check_text(content)
    return Passage(id=hash_content(title, text) if id_ is None else str(id_), title=title, text=text)
