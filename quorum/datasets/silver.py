"""Silver data: questions with the sentences that a measure took for what their answers need, as JSON lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict, cast, get_args

from quorum.algorithms.filco_measures import Measure, Piece
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.records import as_passage, lines_of, list_of, shown


class SilverSpan(TypedDict):
    """Characters [start, end) of the text of the passage with that id, and what stands there."""

    passage: str
    start: int
    end: int
    text: str


class Silver(TypedDict):
    """One question. `passages`: those that were looked through, best first; `silver`: what was found, maybe nothing."""

    id: str
    question: str
    answers: list[str]
    passages: list[Passage]
    silver: list[SilverSpan]
    measure: Measure
    answer_type: str


def spans_of(passages: Sequence[Passage], chosen: Sequence[Piece]) -> list[SilverSpan]:
    """The chosen pieces as they are written down."""
    return [
        SilverSpan(passage=passages[piece.rank]["id"], start=piece.start, end=piece.end, text=piece.text)
        for piece in chosen
    ]


def read_silver(path: Path) -> Iterator[Silver]:
    """The lines of a silver file (.jsonl, .jsonl.gz), one at a time. A broken line, or a file of another kind, is a
    `SetupError` that says where; so is a file without lines.
    """
    number = 0
    for number, value in lines_of(path):
        yield as_silver(value, f"{path}, line {number}")
    if not number:
        raise SetupError(f"{path} is empty; make silver data with: quorum filter silver DATA --out {path}.")


def as_silver(value: dict[str, Any], where: str) -> Silver:
    question, answers, measure = value.get("question"), list_of(value, "answers", where), value.get("measure")
    if not isinstance(question, str) or "silver" not in value or measure not in get_args(Measure):
        raise SetupError(f"{where}: expected a line that `quorum filter silver` wrote, found {shown(value)}.")
    passages = [as_passage(passage, where) for passage in list_of(value, "passages", where)]
    texts = {passage["id"]: passage["text"] for passage in passages}
    spans = list_of(value, "silver", where)
    for span in spans:
        if not stands_in(texts, span):
            raise SetupError(f"{where}: the span {shown(span)} is not in its passage; make the silver data anew.")
    return Silver(
        id=str(value.get("id")),
        question=question,
        answers=[str(answer) for answer in answers],
        passages=passages,
        silver=spans,
        measure=cast(Measure, measure),
        answer_type=str(value.get("answer_type", "short")),
    )


def stands_in(texts: dict[str, str], span: Any) -> bool:
    """Whether a span is where it says it is."""
    try:
        return bool(texts[span["passage"]][span["start"] : span["end"]] == span["text"])
    except (KeyError, TypeError):
        return False
