"""Extractive reading: windows over passages, the best spans with their scores, scores of single tokens."""

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.models.embedded.encoder import Encoder, Floats, Logits
from quorum.models.embedded.span_limits import find_breaks, find_headings

SEPARATOR = ": "  # between title and text, as in training
LONGEST_ANSWER = 20  # tokens
LONGEST_QUESTION = 64  # tokens
MAX_SPANS = 30  # in a reading
NO_ANSWER = -60.0  # the log-odds of a reading without a span


@dataclass(frozen=True)
class Calibration:
    """P(the best span of a window answers) = sigmoid(margin * m + answerable * a + bias).

    m: the sum of the span's start and end logits, less the sum of the start and end logits of [CLS], which stand for
    "no answer"; a: the window's answerability logit; margin and answerable: the weights of m and a. The reader says
    unknown if the probability is below a threshold: threshold_one_passage if it read one passage,
    threshold_several_passages if it read more. window: the length of a window in tokens. candidate_bonus: log-odds that
    the reply to the prompt `answer_candidates` adds to a span whose text is one of the prompt's candidates. All these
    values were chosen on questions on which no published score was measured.
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


# The token ids of a passage or of a part of it, and the `Token` of each id (None for a token of the title).
Piece = tuple[list[int], list[Token | None]]


@dataclass(frozen=True)
class Window:
    """[CLS] question [SEP] part of the passages [SEP].

    ids: the token ids. types: for each id its segment, 0 up to the first [SEP], then 1. tokens_start: the index of the
    first passage token in `ids`. tokens: `tokens[i]` describes `ids[tokens_start + i]`; None for a token of a title.
    """

    ids: list[int]
    types: list[int]
    tokens_start: int
    tokens: list[Token | None]


@dataclass(frozen=True)
class Span:
    """A part of a passage's text that may answer the question.

    passage: the passage's number; start, end: characters [start, end) of its text; score: the log-odds that the span
    answers, comparable over all windows and passages of a question.
    """

    text: str
    passage: int
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Reading:
    """Distinct spans, best first. score: the log-odds that the best span answers; NO_ANSWER without spans."""

    spans: list[Span]
    score: float

    @property
    def probability(self) -> float:
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, self.score))))


def encode_passage(encoder: Encoder, number: int, passage: Passage) -> Piece:
    """The token ids of a passage as the reader sees it (title, separator, text), and the `Token` of each id.

    A token of the title has None in place of a `Token`.
    """
    heading = passage["title"] + SEPARATOR if passage["title"] else ""
    encoded = encoder.tokenize(heading + passage["text"])
    word_pieces = encoded.tokens
    tokens: list[Token | None] = []
    for at, (start, end) in enumerate(encoded.offsets):
        starts_word = not word_pieces[at].startswith("##")
        ends_word = at + 1 == len(word_pieces) or not word_pieces[at + 1].startswith("##")
        is_in_text = start >= len(heading)
        tokens.append(
            Token(number, start - len(heading), end - len(heading), starts_word, ends_word) if is_in_text else None
        )
    return encoded.ids, tokens


def make_windows(
    encoder: Encoder, question: str, passages: Sequence[Passage], size: int, *, packed: bool = False
) -> list[Window]:
    """Windows of at most `size` tokens over the passages, in their order.

    A passage longer than a window is cut into pieces that overlap by a quarter. Without `packed`, every passage or
    piece has a window of its own. With `packed`, a window holds as many of them, in order, as fit; if it holds several,
    the next window begins with the last of them again, provided that the following passage or piece fits beside it. A
    blank question has no windows.
    """
    question_ids = encoder.tokenize(question).ids[:LONGEST_QUESTION]
    if not question_ids:
        return []
    prefix = [encoder.cls, *question_ids, encoder.sep]
    windows = []
    for group in group_pieces(cut_passages(encoder, passages, size - len(prefix) - 1), size - len(prefix) - 1, packed):
        ids = [id_ for piece_ids, _ in group for id_ in piece_ids]
        tokens = [token for _, piece_tokens in group for token in piece_tokens]
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
    """Yield the pieces of each window: one piece or, if `packed`, as `make_windows` says.

    room: how many tokens a window has for its pieces.
    """
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


def calibrate_score(logit_sum: float, no_answer_sum: float, answerable: float, calibration: Calibration) -> float:
    """The log-odds that a span answers.

    logit_sum: the span's start logit plus its end logit; no_answer_sum: the same sum for [CLS]; answerable: the
    answerability logit of the span's window.
    """
    return calibration.margin * (logit_sum - no_answer_sum) + calibration.answerable * answerable + calibration.bias


def find_spans(
    window: Window, logits: Logits, passages: Sequence[Passage], calibration: Calibration, max_spans: int
) -> list[Span]:
    """The best spans of one window, at most `max_spans`, in no particular order.

    A span is whole words within one passage's text, at most LONGEST_ANSWER tokens. It crosses none of the text's breaks
    (`find_breaks`). A title that is read twice in a row ("Belmopan Belmopan") is one span, the second of the two.
    """
    tokens = window.tokens
    begin, stop = window.tokens_start, window.tokens_start + len(tokens)
    starts, ends = logits.start[begin:stop].astype(float), logits.end[begin:stop].astype(float)
    may_start = np.array([token is not None and token.starts_word for token in tokens], bool)
    may_end = np.array([token is not None and token.ends_word for token in tokens], bool)
    parts, doubled_titles = number_parts(tokens, passages), find_doubled_titles(tokens, passages)
    starts[~may_start], ends[~may_end] = -np.inf, -np.inf
    width = min(LONGEST_ANSWER, len(tokens))
    logit_sums = np.full((len(tokens), width), -np.inf)  # of the span from token i to token i + shift
    for shift in range(width):
        in_one_part = parts[: len(tokens) - shift] == parts[shift:]
        sums = starts[: len(tokens) - shift] + ends[shift:]
        logit_sums[: len(tokens) - shift, shift] = np.where(in_one_part, sums, -np.inf)
    for begin_at, end_at in doubled_titles:
        if end_at - begin_at < width:
            logit_sums[begin_at, end_at - begin_at] = starts[begin_at] + ends[end_at]
    flat_sums = logit_sums.ravel()
    count = min(max_spans, flat_sums.size)
    spans = []
    no_answer_sum = float(logits.start[0] + logits.end[0])
    for flat_index in np.argpartition(-flat_sums, count - 1)[:count] if count else ():
        if not np.isfinite(flat_sums[flat_index]):
            continue
        begin_at, end_at = flat_index // width, flat_index // width + flat_index % width
        first, last = tokens[begin_at], tokens[end_at]
        if first is None or last is None:
            continue
        start = doubled_titles.get((begin_at, end_at), first.start)
        text = passages[first.passage]["text"][start : last.end]
        score = calibrate_score(float(flat_sums[flat_index]), no_answer_sum, logits.answerable, calibration)
        spans.append(Span(text, first.passage, start, last.end, score))
    return spans


def number_parts(tokens: Sequence[Token | None], passages: Sequence[Passage]) -> NDArray[np.int64]:
    """For each token the number of the part of a passage's text between two breaks that holds it; -1 for a title's."""
    parts = np.full(len(tokens), -1, np.int64)
    next_number = 0
    for number, places in group_by_passage(tokens).items():
        breaks = find_breaks(passages[number]["title"], passages[number]["text"])
        starts = [token.start for _, token in places]
        parts[[at for at, _ in places]] = next_number + np.searchsorted(breaks, starts, side="right")
        next_number += len(breaks) + 1
    return parts


def find_doubled_titles(tokens: Sequence[Token | None], passages: Sequence[Passage]) -> dict[tuple[int, int], int]:
    """The titles that stand twice in a row: (index of the first token, of the last) -> where the second one starts in
    the passage's text.
    """
    doubled_titles = {}
    for number, places in group_by_passage(tokens).items():
        first_tokens = {token.start: at for at, token in places}
        last_tokens = {token.end: at for at, token in places}
        for heading in find_headings(passages[number]["title"], passages[number]["text"]):
            if heading.repeated and heading.start in first_tokens and heading.repeated[1] in last_tokens:
                key = first_tokens[heading.start], last_tokens[heading.repeated[1]]
                doubled_titles[key] = heading.repeated[0]
    return doubled_titles


def group_by_passage(tokens: Sequence[Token | None]) -> dict[int, list[tuple[int, Token]]]:
    """The passages' numbers, each with its tokens and their indexes; tokens of titles are left out."""
    groups: dict[int, list[tuple[int, Token]]] = {}
    for at, token in enumerate(tokens):
        if token is not None:
            groups.setdefault(token.passage, []).append((at, token))
    return groups


def merge_spans(spans: Sequence[Span], max_spans: int) -> list[Span]:
    """The best spans with distinct normalised texts, each at its best place, best first; ties in reading order.

    Spans without a letter or digit are left out.
    """
    chosen: dict[str, Span] = {}
    for span in spans:
        if not any(character.isalnum() for character in span.text):
            continue
        normalized_text = normalize(span.text) or span.text
        if normalized_text not in chosen or span.score > chosen[normalized_text].score:
            chosen[normalized_text] = span
    return heapq.nsmallest(
        max_spans, chosen.values(), key=lambda span: (-span.score, span.passage, span.start, span.end)
    )


def make_reading(
    windows: Sequence[Window],
    logits: Sequence[Logits],
    passages: Sequence[Passage],
    calibration: Calibration,
    max_spans: int = MAX_SPANS,
) -> Reading:
    """Combine all windows of one question into its reading, which has the `max_spans` best spans."""
    spans = merge_spans(
        [
            span
            for window, window_logits in zip(windows, logits, strict=True)
            for span in find_spans(window, window_logits, passages, calibration, max_spans)
        ],
        max_spans,
    )
    return Reading(spans, spans[0].score if spans else NO_ANSWER)


def score_tokens(window: Window, logits: Logits) -> Floats:
    """P(start) + P(end), from 0 to 2, of each passage token of the window, given that the window holds an answer."""
    total = np.zeros(len(window.tokens), np.float32)
    for side in (logits.start, logits.end):
        part = side[window.tokens_start : window.tokens_start + len(window.tokens)]
        exponentials = np.exp(part - part.max()) if len(part) else part
        total += exponentials / exponentials.sum() if len(part) else exponentials
    return total
