"""Extractive reading: windows over passages, the best spans with their scores, scores of single tokens."""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded.encoder import Encoder, Floats, Logits

SEPARATOR = ": "  # between title and text, as in training
LONGEST_ANSWER = 20  # tokens
LONGEST_QUESTION = 64  # tokens
NO_ANSWER = -60.0  # the log-odds of a reading without a span


@dataclass(frozen=True)
class Calibration:
    """P(the best span of a window answers) = sigmoid(margin * m + answerable * a + bias).

    m: the sum of the span's start and end logits, less the same sum for no answer; a: the window's answerability
    logit; margin and answerable are weights. Below a threshold the reader says unknown: threshold_one_passage if it
    read one passage, else the other. window: tokens. candidate_bonus: log-odds that the reply to the prompt
    `answer_candidates` adds to a span whose text is one of the prompt's candidates. All were fitted on questions that
    no published score was measured on.
    """

    margin: float
    answerable: float
    bias: float
    threshold_one_passage: float
    threshold_several_passages: float
    window: int
    candidate_bonus: float

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any]) -> "Calibration":
        return cls(**manifest["calibration"])


@dataclass(frozen=True)
class Token:
    """A token of a passage. passage: the passage's number; start, end: characters [start, end) of its text.

    starts_word, ends_word: whether the token is the first or the last piece of a word.
    """

    passage: int
    start: int
    end: int
    starts_word: bool
    ends_word: bool


Piece = tuple[list[int], list[Token | None]]  # the token ids of a passage or of a part of it, and the token of each


@dataclass(frozen=True)
class Window:
    """[CLS] question [SEP] part of the passages [SEP]; `tokens[i]` describes `ids[first + i]`, null in a title."""

    ids: list[int]
    types: list[int]
    first: int
    tokens: list[Token | None]


@dataclass(frozen=True)
class Span:
    """Text of a passage that may answer. score: log-odds, comparable over the windows and passages of a question."""

    text: str
    passage: int
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Reading:
    """Distinct spans, best first, and the log-odds that any of them answers."""

    spans: list[Span]
    score: float

    @property
    def probability(self) -> float:
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, self.score))))


def encode_passage(encoder: Encoder, number: int, passage: Passage) -> Piece:
    """The token ids of a passage as the reader sees it (title, separator, text), and the token of each."""
    heading = passage["title"] + SEPARATOR if passage["title"] else ""
    encoded = encoder.tokens(heading + passage["text"])
    word_pieces = encoded.tokens
    tokens: list[Token | None] = []
    for at, (start, end) in enumerate(encoded.offsets):
        starts_word = not word_pieces[at].startswith("##")
        ends_word = at + 1 == len(word_pieces) or not word_pieces[at + 1].startswith("##")
        inside = start >= len(heading)
        tokens.append(
            Token(number, start - len(heading), end - len(heading), starts_word, ends_word) if inside else None
        )
    return encoded.ids, tokens


def make_windows(
    encoder: Encoder, question: str, passages: Sequence[Passage], size: int, *, packed: bool = False
) -> list[Window]:
    """Windows of at most `size` tokens over the passages, in their order.

    Each passage has windows of its own; a passage longer than a window is cut into pieces that overlap by a quarter.
    `packed` puts as many whole passages into a window as fit. The next window begins with the last of these passages
    again, if there were several and the next passage fits beside it. A blank question has no windows.
    """
    question_ids = encoder.tokens(question).ids[:LONGEST_QUESTION]
    if not question_ids:
        return []
    prefix = [encoder.cls, *question_ids, encoder.sep]
    windows = []
    for group in group_pieces(cut_passages(encoder, passages, size - len(prefix) - 1), size - len(prefix) - 1, packed):
        ids = [id_ for part, _ in group for id_ in part]
        tokens = [token for _, part in group for token in part]
        windows.append(
            Window([*prefix, *ids, encoder.sep], [0] * len(prefix) + [1] * (len(ids) + 1), len(prefix), tokens)
        )
    return windows


def cut_passages(encoder: Encoder, passages: Sequence[Passage], room: int) -> list[Piece]:
    """The passages' token ids and tokens, in pieces of at most `room` tokens."""
    pieces: list[Piece] = []
    for number, passage in enumerate(passages):
        ids, tokens = encode_passage(encoder, number, passage)
        step = room - room // 4
        begins = range(0, max(1, len(ids) - room // 4), step) if len(ids) > room else range(1)
        pieces += [(ids[begin : begin + room], tokens[begin : begin + room]) for begin in begins]
    return pieces


def group_pieces(pieces: Sequence[Piece], room: int, packed: bool) -> Iterator[Sequence[Piece]]:
    """Group the pieces that share a window."""
    begin = 0
    while begin < len(pieces):
        end, used = begin + 1, len(pieces[begin][0])
        while packed and end < len(pieces) and used + len(pieces[end][0]) <= room:
            used += len(pieces[end][0])
            end += 1
        yield pieces[begin:end]
        if end == len(pieces):
            return
        begin = end - 1 if end - begin > 1 and len(pieces[end - 1][0]) + len(pieces[end][0]) <= room else end


def calibrate_score(score: float, null: float, answerable: float, calibration: Calibration) -> float:
    """Log-odds that a span answers."""
    return calibration.margin * (score - null) + calibration.answerable * answerable + calibration.bias


def find_spans(
    window: Window, logits: Logits, passages: Sequence[Passage], calibration: Calibration, max_spans: int
) -> list[Span]:
    """The best spans of one window, at most `max_spans`.

    A span is whole words within one passage's text, at most LONGEST_ANSWER tokens.
    """
    tokens = window.tokens
    begin, stop = window.first, window.first + len(tokens)
    starts, ends = logits.start[begin:stop].astype(float), logits.end[begin:stop].astype(float)
    may_start = np.array([token is not None and token.starts_word for token in tokens], bool)
    may_end = np.array([token is not None and token.ends_word for token in tokens], bool)
    owner = np.array([-1 if token is None else token.passage for token in tokens])
    starts[~may_start], ends[~may_end] = -np.inf, -np.inf
    width = min(LONGEST_ANSWER, len(tokens))
    scores = np.full((len(tokens), width), -np.inf)
    for shift in range(width):
        same = owner[: len(tokens) - shift] == owner[shift:]
        total = starts[: len(tokens) - shift] + ends[shift:]
        scores[: len(tokens) - shift, shift] = np.where(same, total, -np.inf)
    flat = scores.ravel()
    count = min(max_spans, flat.size)
    found = []
    null = float(logits.start[0] + logits.end[0])
    for flat_index in np.argpartition(-flat, count - 1)[:count] if count else ():
        if not np.isfinite(flat[flat_index]):
            continue
        first, last = tokens[flat_index // width], tokens[flat_index // width + flat_index % width]
        if first is None or last is None:
            continue
        text = passages[first.passage]["text"][first.start : last.end]
        score = calibrate_score(float(flat[flat_index]), null, logits.answerable, calibration)
        found.append(Span(text, first.passage, first.start, last.end, score))
    return found


def merge_spans(spans: Sequence[Span], max_spans: int) -> list[Span]:
    """The best spans with distinct normalised texts, each at its best place, best first; ties in reading order.

    Spans without a letter or digit are left out.
    """
    chosen: dict[str, Span] = {}
    for span in spans:
        if not any(character.isalnum() for character in span.text):
            continue
        name = normalize(span.text) or span.text
        if name not in chosen or span.score > chosen[name].score:
            chosen[name] = span
    return heapq.nsmallest(
        max_spans, chosen.values(), key=lambda span: (-span.score, span.passage, span.start, span.end)
    )


def make_reading(
    windows: Sequence[Window],
    logits: Sequence[Logits],
    passages: Sequence[Passage],
    calibration: Calibration,
    max_spans: int = 20,
) -> Reading:
    """Combine all windows of one question into its reading, which has the `max_spans` best spans."""
    spans = merge_spans(
        [
            span
            for window, out in zip(windows, logits, strict=True)
            for span in find_spans(window, out, passages, calibration, max_spans)
        ],
        max_spans,
    )
    return Reading(spans, spans[0].score if spans else NO_ANSWER)


def score_tokens(window: Window, logits: Logits) -> Floats:
    """For each token of the window P(start) + P(end), in 0..2, given that there is an answer."""
    total = np.zeros(len(window.tokens), np.float32)
    for side in (logits.start, logits.end):
        part = side[window.first : window.first + len(window.tokens)]
        exponentials = np.exp(part - part.max()) if len(part) else part
        total += exponentials / exponentials.sum() if len(part) else exponentials
    return total
