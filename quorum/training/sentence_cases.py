"""Training data of the embedded sentence filter: questions and passages whose sentences are labelled by silver data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.text import find_sentences, squad_contains_answer
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
    """One window of tokens, in which the reader read a passage or a part of it.

    states: the reader's last-layer states (length, hidden); members: (sentences, length), 1 where a token belongs to a
    sentence, else 0; labels: one for each sentence of the passage, also if the window holds none of its tokens.
    """

    states: NDArray[np.float16]
    members: NDArray[np.float32]
    labels: list[float]


def read_cases(paths: Sequence[Path]) -> Iterator[SilverCase]:
    """Yield a case for each line of silver files ({question, answers, passages, silver: [{passage, start, end}]}).

    A sentence is labelled 1 if a silver span has exactly its start and end. So the silver spans must be sentences: if a
    whole passage was chosen as silver (--unit passage), none of its sentences is labelled 1, unless it has only one.
    """
    for path in paths:
        for number, record in read_json_lines(path):
            location = f"{path}, line {number}"
            if not isinstance(record.get("silver"), list) or not isinstance(record.get("passages"), list):
                raise SetupError(
                    f"{location}: expected silver data, a line with the lists 'passages' and 'silver'; make such a "
                    "file with quorum filter silver."
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
    return IGNORED if squad_contains_answer(sentence, answers) else 0.0


def make_labelled_windows(model: Encoder, cases: Sequence[SilverCase], size: int) -> Iterator[LabelledWindow]:
    """Yield the labelled windows of the cases, of at most `size` tokens. Each passage is read alone."""
    windows = [
        (window, find_sentence_tokens(window, find_sentences(passage["text"])).tokens, labels)
        for case in cases
        for passage, labels in zip(case.passages, case.labels, strict=True)
        for window in make_windows(model, case.question, [passage], size)
    ]
    all_states = model.get_hidden_states(
        [window.ids for window, _, _ in windows], [window.types for window, _, _ in windows]
    )
    for (_, members, labels), states in zip(windows, all_states, strict=True):
        yield LabelledWindow(states.astype(np.float16), members, labels)
