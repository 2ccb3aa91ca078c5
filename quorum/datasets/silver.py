"""Reads silver data. Each JSON line is a question with the sentences, or the whole passages, that a FILCO measure chose
by the question's gold answers.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict, cast, get_args

from quorum.algorithms.filco_measures import Measure, Piece
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.records import get_list, parse_passage, preview_value, read_json_lines


class SilverSpan(TypedDict):
    """A chosen sentence or passage. text: its characters, [start, end) of the passage whose id is `passage`."""

    passage: str
    start: int
    end: int
    text: str


class SilverLine(TypedDict):
    """One question. `passages`: the given or retrieved passages from which the measure chose, best first; `silver`: the
    chosen sentences or passages, if any.
    """

    id: str
    question: str
    answers: list[str]
    passages: list[Passage]
    silver: list[SilverSpan]
    measure: Measure
    answer_type: str


def make_spans(passages: Sequence[Passage], chosen_pieces: Sequence[Piece]) -> list[SilverSpan]:
    """The chosen pieces in the form of a silver file."""
    return [
        SilverSpan(passage=passages[piece.rank]["id"], start=piece.start, end=piece.end, text=piece.text)
        for piece in chosen_pieces
    ]


def read_silver(path: Path) -> Iterator[SilverLine]:
    """Yield the lines of a silver file (.jsonl, .jsonl.gz).

    Raises `SetupError`, which names the file and the line, for a broken line, a file of another kind and an empty file.
    """
    number = 0
    for number, value in read_json_lines(path):
        yield parse_silver(value, f"{path}, line {number}")
    if not number:
        raise SetupError(f"{path} is empty; make silver data with: quorum filter silver DATA --out {path}.")


def parse_silver(value: dict[str, Any], where: str) -> SilverLine:
    """Check one line of a silver file and return it. where: its file and number, for error messages."""
    question, answers, measure = value.get("question"), get_list(value, "answers", where), value.get("measure")
    if not isinstance(question, str) or "silver" not in value or measure not in get_args(Measure):
        raise SetupError(f"{where}: expected a line that `quorum filter silver` wrote, found {preview_value(value)}.")
    passages = [parse_passage(passage, where) for passage in get_list(value, "passages", where)]
    text_of_id = {passage["id"]: passage["text"] for passage in passages}
    spans = get_list(value, "silver", where)
    for span in spans:
        if not is_in_passage(text_of_id, span):
            raise SetupError(
                f"{where}: the span {preview_value(span)} is not in its passage; make the silver data again."
            )
    return SilverLine(
        id=str(value.get("id")),
        question=question,
        answers=[str(answer) for answer in answers],
        passages=passages,
        silver=spans,
        measure=cast(Measure, measure),
        answer_type=str(value.get("answer_type", "short")),
    )


def is_in_passage(text_of_id: dict[str, str], span: Any) -> bool:
    """Whether the span's characters in its passage equal the span's text."""
    try:
        return bool(text_of_id[span["passage"]][span["start"] : span["end"]] == span["text"])
    except (KeyError, TypeError):
        return False
