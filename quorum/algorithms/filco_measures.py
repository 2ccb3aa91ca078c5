"""FILCO's measures choose the sentence that a known answer needs (Wang et al. 2023, section 2.2; arXiv:2311.08377).

Pure functions. CXMI needs a language model, which the caller passes as `LogProbabilities`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from quorum.core.errors import SetupError
from quorum.core.labels import are_verdicts
from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import contains_answer, f1, normalize

Measure = Literal["strinc", "lexical", "cxmi"]
Unit = Literal["sentence", "passage"]
Top = Literal["one", "per_passage"]

THRESHOLDS: dict[Measure, float] = {"strinc": 0.0, "lexical": 0.5, "cxmi": 0.0}


@dataclass(frozen=True)
class Piece:
    """A sentence of the passage at `rank`, or the whole passage: characters [start, end) of its text."""

    rank: int
    start: int
    end: int
    title: str
    text: str


class LogProbabilities(Protocol):
    """A language model that returns log-probabilities."""

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair (prompt, continuation), in their order: the sum of the log-probabilities of the continuation's
        tokens after the prompt, in nats.
        """
        ...


def split_pieces(passages: Sequence[Passage], unit: Unit = "sentence") -> list[Piece]:
    """Split the passages into the pieces to choose from, in reading order. A passage without text has no pieces."""
    found = []
    for rank, passage in enumerate(passages):
        text = passage["text"]
        spans = find_sentences(text) if unit == "sentence" else [(0, len(text))] if text.strip() else []
        found += [Piece(rank, start, end, passage["title"], text[start:end]) for start, end in spans]
    return found


def score_strinc(candidates: Sequence[Piece], answers: Sequence[str]) -> list[float]:
    """STRINC: 1 for a piece that contains a gold answer as whole words, after normalisation; else 0."""
    return [float(contains_answer(piece.text, answers)) for piece in candidates]


def score_lexical(candidates: Sequence[Piece], references: Sequence[str]) -> list[float]:
    """LEXICAL: token F1 of the piece in 0..1, the best over the references."""
    return [f1(piece.text, references) for piece in candidates]


async def score_cxmi(candidates: Sequence[Piece], question: str, answer: str, scorer: LogProbabilities) -> list[float]:
    """CXMI: log p(answer given piece, question) - log p(answer given question), in nats. One batch for all pieces."""
    pairs = [(format_scoring_prompt(question, piece), answer) for piece in (None, *candidates)]
    alone, *with_piece = await scorer.log_probabilities(pairs)
    return [score - alone for score in with_piece]


def format_scoring_prompt(question: str, piece: Piece | None) -> str:
    """The prompt before the scored answer: the piece with its passage's title, if there is one, then the question."""
    context = "" if piece is None else f"{piece.title}\n{piece.text}".strip() + "\n\n"
    return f"{context}Question: {question}\nAnswer:"


def choose_best(
    candidates: Sequence[Piece], scores: Sequence[float], threshold: float, top: Top = "one"
) -> list[Piece]:
    """The piece with the highest score if that is above the threshold; of equal scores the first.

    top="one" chooses one piece over all passages, as the paper does; "per_passage" chooses one of each passage, as the
    authors' code does.
    """
    chosen: dict[int, tuple[float, Piece]] = {}
    for piece, score in zip(candidates, scores, strict=True):
        place = piece.rank if top == "per_passage" else 0
        if score > threshold and (place not in chosen or score > chosen[place][0]):
            chosen[place] = (score, piece)
    return [piece for _, piece in chosen.values()]


async def choose_silver(
    question: str,
    answers: Sequence[str],
    passages: Sequence[Passage],
    measure: Measure,
    *,
    unit: Unit = "sentence",
    top: Top = "one",
    scorer: LogProbabilities | None = None,
) -> list[Piece]:
    """The pieces that the answer needs by this measure, in reading order. The list may be empty.

    LEXICAL compares a piece with the answers. If these are verdicts (SUPPORTS, yes ...), which no sentence resembles,
    it compares with the question instead. CXMI needs a `scorer` and scores the first answer.
    """
    candidates = split_pieces(passages, unit)
    if measure == "strinc":
        scores = score_strinc(candidates, answers)
    elif measure == "lexical":
        scores = score_lexical(candidates, [question] if are_verdicts(answers) else answers)
    elif scorer is None:
        raise SetupError("The measure cxmi needs a model that gives log-probabilities; name one as scorer.")
    else:
        scores = await score_cxmi(candidates, question, answers[0], scorer) if candidates else []
    return choose_best(candidates, scores, THRESHOLDS[measure], top)


def shorten_passages(passages: Sequence[Passage], chosen: Sequence[Piece]) -> list[Passage]:
    """The passages with the chosen pieces as their text. A passage without chosen pieces is left out."""
    kept: dict[int, list[Piece]] = {}
    for piece in sorted(set(chosen), key=lambda piece: (piece.rank, piece.start)):
        kept.setdefault(piece.rank, []).append(piece)
    return [
        {**passages[rank], "text": " ".join(piece.text for piece in of_passage)} for rank, of_passage in kept.items()
    ]


def unigram_precision(context: str, answers: Sequence[str]) -> float:
    """The share of the context's normalised tokens that also occur in the answer, in 0..1 (section 3.2, table 2).

    The best over the answers; 0 for an empty context.
    """
    tokens = Counter(normalize(context).split())
    size = sum(tokens.values())
    shared = (sum((tokens & Counter(normalize(answer).split())).values()) for answer in answers)
    return max(shared, default=0) / size if size else 0.0
