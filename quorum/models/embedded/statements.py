"""Ranks the statements of the passages by how well they answer a question, and marks the span that answers.

A statement is a piece of a passage: a sentence, a list item, a row of a table or a line of code.
Three signals add up: how surely the reader finds a span in the statement, how close its embedding is to the question's,
and how many of the question's words are in it or in the headings above it. README.md in this folder says how
their weights were chosen, and how the certainty of an answer (`find_certainty`) was fitted.
"""

import asyncio
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quorum.core.state import Passage
from quorum.core.statements import find_statements
from quorum.models.embedded import read_manifest
from quorum.models.embedded.batching import WORKER, Job, read_jobs
from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedded.question_words import FUNCTION_WORDS, WORD, is_no_answer, list_stems
from quorum.models.embedded.reading import Calibration, Span, find_spans

MAX_SPANS = 300  # of each window, at most this many spans are considered: the best
MAX_EMBEDDED = 16  # at most this many statements are embedded: those with the best score by span and words
NO_SPAN = -12.0  # the lowest `span_score`; a statement without a span has it, too
WEIGHTS = {"span": 0.6, "closeness": 6.0, "words": 2.5}
SIGNALS = ("span", "closeness", "words", "lead", "agrees")  # inputs of the certainty; reader.json holds their weights
MAX_LEAD = 4.0  # a greater lead of the best statement over the second one counts as this
LEAD_ALONE = 2.0  # the lead that the best statement is given if there is no second one


@dataclass(frozen=True)
class Statement:
    """A statement of a passage, and the signals by which it is ranked.

    passage: the index of the passage; start, end: where the statement stands in the passage's text (characters
    [start, end)); span: the reader's best span in the statement; closeness: the cosine of the statement's embedding and
    the question's; words: the share (0..1) of the question's words that the statement and its headings contain.
    """

    passage: int
    start: int
    end: int
    span: Span | None
    closeness: float
    words: float

    @property
    def bounds(self) -> tuple[int, int, int]:
        """The index of the passage, and where the statement stands in its text."""
        return self.passage, self.start, self.end

    @property
    def span_score(self) -> float:
        """The log-odds that the span answers, by the reader's calibration."""
        return max(NO_SPAN, self.span.score) if self.span else NO_SPAN

    @property
    def score(self) -> float:
        """The weighted sum of the signals."""
        return WEIGHTS["span"] * self.span_score + WEIGHTS["closeness"] * self.closeness + WEIGHTS["words"] * self.words


async def rank_statements(question: str, passages: Sequence[Passage]) -> list[Statement]:
    """The best statements of all passages, at most MAX_EMBEDDED, best first; none if the question has no word."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(WORKER, rank_statements_blocking, question, passages)


def rank_statements_blocking(question: str, passages: Sequence[Passage]) -> list[Statement]:
    """Like `rank_statements`, but blocking."""
    candidates = list_statements(question, passages)[:MAX_EMBEDDED]
    if not candidates:
        return []
    vectors = get_encoder().embed([question, *(text for _, text in candidates)])
    return sort_by_closeness([statement for statement, _ in candidates], vectors[1:] @ vectors[0])


def list_bounds(passages: Sequence[Passage]) -> list[tuple[int, int, int]]:
    """Where the statements of the passages stand: (the index of the passage, start, end)."""
    # Only a passage of a file has `places` (where it stands in the file). Its lines were unwrapped when it was read.
    return [
        (n, start, end)
        for n, passage in enumerate(passages)
        for start, end in find_statements(passage["text"], may_wrap=not passage.get("places"))
    ]


def list_statements(question: str, passages: Sequence[Passage]) -> list[tuple[Statement, str]]:
    """All statements of the passages, best first by span and words, each with its text and the headings above it.

    Their `closeness` is 0. None if the question has no word.
    """
    bounds = list_bounds(passages)
    if not bounds or not WORD.search(question):
        return []
    texts = [f"{describe_headings(passages[n])}: {passages[n]['text'][start:end]}" for n, start, end in bounds]
    word_shares, spans = measure_word_shares(question, texts), read_spans(question, passages)
    candidates = [
        (Statement(n, start, end, choose_span(spans[n], question, start, end), 0.0, share), text)
        for (n, start, end), share, text in zip(bounds, word_shares, texts, strict=True)
    ]
    return sorted(candidates, key=lambda pair: -pair[0].score)


def sort_by_closeness(statements: Sequence[Statement], closeness: Iterable[float]) -> list[Statement]:
    """The statements with the closeness of their embeddings to the question's, best first."""
    pairs = zip(statements, closeness, strict=True)
    return sorted(
        (replace(statement, closeness=float(close)) for statement, close in pairs),
        key=lambda statement: -statement.score,
    )


def describe_headings(passage: Passage) -> str:
    """The title and the headings above a passage."""
    places = passage.get("places") or []
    headings = places[0].get("headings", []) if places else []
    return " > ".join(dict.fromkeys(part for part in (passage["title"], *headings) if part))


def read_spans(question: str, passages: Sequence[Passage]) -> list[list[Span]]:
    """For each passage, which the reader reads alone: the spans that may answer the question, best first."""
    calibration = Calibration.from_manifest(read_manifest())
    results = read_jobs([Job(question, [passage]) for passage in passages])
    spans_of_passages = []
    for passage, result in zip(passages, results, strict=True):
        pairs = zip(result.windows, result.logits, strict=True)
        spans = [
            span for window, logits in pairs for span in find_spans(window, logits, [passage], calibration, MAX_SPANS)
        ]
        spans_of_passages.append(sorted(spans, key=lambda span: -span.score))
    return spans_of_passages


def choose_span(spans: Sequence[Span], question: str, start: int, end: int) -> Span | None:
    """The best span inside the statement; None if there is none.

    Punctuation at its end is removed. What remains must have as many opening as closing parentheses, must say more than
    the question does, and must not be a clause that begins with the question's first word ("how long it is kept").
    """
    question_word = question.split(maxsplit=1)[0].lower()
    for span in spans:
        text = span.text.rstrip(" .,;:")
        if text.lower().split(maxsplit=1)[:1] == [question_word] and question_word in FUNCTION_WORDS:
            continue
        if start <= span.start and span.end <= end and is_whole(text) and not is_no_answer(text, question):
            return replace(span, text=text, end=span.start + len(text))
    return None


def is_whole(text: str) -> bool:
    """Whether a span has a word, and as many opening as closing parentheses."""
    return bool(WORD.search(text)) and text.count("(") == text.count(")")


def measure_word_shares(question: str, texts: Sequence[str]) -> list[float]:
    """For each text the share (0..1) of the question's words that it holds; a word weighs more if few texts hold it."""
    stems_of_texts = [set(list_stems(text)) for text in texts]
    question_words = list(dict.fromkeys(list_stems(question)))
    weights = {
        word: math.log(1 + len(texts) / (1 + sum(word in stems for stems in stems_of_texts))) for word in question_words
    }
    total = sum(weights.values()) or 1.0
    return [sum(weight for word, weight in weights.items() if word in stems) / total for stems in stems_of_texts]


def measure_signals(ranked_statements: Sequence[Statement], agrees: bool) -> dict[str, float]:
    """The inputs of the certainty of the best statement, named as in SIGNALS.

    span: the best statement's `span_score`; closeness, words: as in `Statement`; lead: the best statement's score minus
    that of the second; agrees: as in `find_certainty`. ranked_statements: at least one, best first.
    """
    best = ranked_statements[0]
    lead = min(MAX_LEAD, best.score - ranked_statements[1].score) if len(ranked_statements) > 1 else LEAD_ALONE
    return {
        "span": best.span_score,
        "closeness": best.closeness,
        "words": best.words,
        "lead": lead,
        "agrees": float(agrees),
    }


def find_certainty(ranked_statements: Sequence[Statement], agrees: bool) -> float:
    """The probability (0..1) that the best statement contains the right answer; 0 if there is no statement.

    agrees: whether that statement contains the answer that the method gave.
    """
    if not ranked_statements:
        return 0.0
    weights = read_manifest()["certainty"]["weights"]
    log_odds = weights["bias"] + sum(
        weights[name] * value for name, value in measure_signals(ranked_statements, agrees).items()
    )
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, log_odds))))


def get_lowest_sure_certainty() -> float:
    """The certainty below which an answer is shown with a warning."""
    return float(read_manifest()["certainty"]["lowest_sure"])
