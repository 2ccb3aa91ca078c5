"""Training data of the embedded sentence filter: questions and passages with labelled sentences, from silver data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.text import contains_answer, find_sentences
from quorum.datasets.records import parse_passage, read_json_lines
from quorum.models.embedded.encoder import Encoder
from quorum.models.embedded.judging import find_sentence_tokens
from quorum.models.embedded.reading import make_windows

IGNORED = -1.0  # the label of a sentence that contains the answer but is not silver: training and scoring skip it


@dataclass(frozen=True)
class SilverCase:
    """A question, its passages, and for each passage the labels of its sentences: 1 (silver), 0 (not) or IGNORED."""

    question: str
    passages: list[Passage]
    labels: list[list[float]]


@dataclass(frozen=True)
class LabelledWindow:
    """One window of the reader. states: (length, hidden); members: (sentences, length), 1 where the token is in the
    sentence; labels: of the sentences.
    """

    states: NDArray[np.float16]
    members: NDArray[np.float32]
    labels: list[float]


def read_cases(paths: Sequence[Path]) -> Iterator[SilverCase]:
    """The lines of silver files ({question, answers, passages, silver: [{passage, start, end}]})."""
    for path in paths:
        for number, record in read_json_lines(path):
            location = f"{path}, line {number}"
            if not isinstance(record.get("silver"), list) or not isinstance(record.get("passages"), list):
                raise SetupError(
                    f"{location}: expected silver data, a line with 'passages' and 'silver'; make it with "
                    "quorum filter silver."
                )
            passages = [parse_passage(passage, location) for passage in record["passages"]]
            silver_spans = {(item["passage"], item["start"], item["end"]) for item in record["silver"]}
            labels = [
                [
                    choose_label((p["id"], start, end) in silver_spans, p["text"][start:end], record["answers"])
                    for start, end in sentences
                ]
                for p in passages
                for sentences in [find_sentences(p["text"])]
            ]
            yield SilverCase(record["question"], passages, labels)


def choose_label(is_silver: bool, sentence: str, answers: Sequence[str]) -> float:
    if is_silver:
        return 1.0
    return IGNORED if contains_answer(sentence, answers) else 0.0


def make_labelled_windows(model: Encoder, cases: Sequence[SilverCase], size: int) -> Iterator[LabelledWindow]:
    """The windows of the cases with the reader's states; each passage is read alone."""
    items = [
        (window, find_sentence_tokens(window, find_sentences(passage["text"])).tokens, labels)
        for case in cases
        for passage, labels in zip(case.passages, case.labels, strict=True)
        for window in make_windows(model, case.question, [passage], size)
    ]
    states = model.hidden([window.ids for window, _, _ in items], [window.types for window, _, _ in items])
    for (_, members, labels), state in zip(items, states, strict=True):
        yield LabelledWindow(state.astype(np.float16), members, labels)
