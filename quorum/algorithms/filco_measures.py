"""FILCO's measures: which sentence of the passages an answer needs, where the answer is known (Wang et al. 2023,
section 2.2; arXiv:2311.08377). Pure functions; a language model is asked through `LogProbabilities` alone.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from quorum.core.errors import SetupError
from quorum.core.labels import are_verdicts
from quorum.core.sentences import sentences
from quorum.core.state import Passage
from quorum.core.text import contains_answer, f1, normalize

Measure = Literal["strinc", "lexical", "cxmi"]
Unit = Literal["sentence", "passage"]
Top = Literal["one", "per_passage"]

THRESHOLDS: dict[Measure, float] = {"strinc": 0.0, "lexical": 0.5, "cxmi": 0.0}


@dataclass(frozen=True)
class Piece:
    """A sentence of a passage, or all of its text: characters [start, end) of the text of the passage at `rank`."""

    rank: int
    start: int
    end: int
    title: str
    text: str


class LogProbabilities(Protocol):
    """A language model that says how likely a text is."""

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (prompt, continuation) the log-probabilities of the continuation's tokens after the prompt, summed,
        in nats, in the order of the pairs.
        """
        ...


def pieces(passages: Sequence[Passage], unit: Unit = "sentence") -> list[Piece]:
    """What can be chosen, in reading order; a passage without text has nothing."""
    found = []
    for rank, passage in enumerate(passages):
        text = passage["text"]
        spans = sentences(text) if unit == "sentence" else [(0, len(text))] if text.strip() else []
        found += [Piece(rank, start, end, passage["title"], text[start:end]) for start, end in spans]
    return found


def strinc(candidates: Sequence[Piece], answers: Sequence[str]) -> list[float]:
    """STRINC: 1 where a gold answer stands in the piece, on normalised token boundaries, else 0."""
    return [float(contains_answer(piece.text, answers)) for piece in candidates]


def lexical(candidates: Sequence[Piece], references: Sequence[str]) -> list[float]:
    """LEXICAL: token F1 of the piece in 0..1, the best over the references."""
    return [f1(piece.text, references) for piece in candidates]


async def cxmi(candidates: Sequence[Piece], question: str, answer: str, scorer: LogProbabilities) -> list[float]:
    """CXMI: log p(answer given piece, question) - log p(answer given question), in nats. One batch for all pieces."""
    pairs = [(conditioned(question, piece), answer) for piece in (None, *candidates)]
    alone, *with_piece = await scorer.log_probabilities(pairs)
    return [score - alone for score in with_piece]


def conditioned(question: str, piece: Piece | None) -> str:
    """The prompt that an answer is scored after: the piece with its passage's title, if any, then the question."""
    context = "" if piece is None else f"{piece.title}\n{piece.text}".strip() + "\n\n"
    return f"{context}Question: {question}\nAnswer:"


def best(candidates: Sequence[Piece], scores: Sequence[float], threshold: float, top: Top = "one") -> list[Piece]:
    """The piece with the highest score above the threshold, the first of equals, or none; per_passage: of each passage
    (the released code's choice; one over all passages is the paper's).
    """
    chosen: dict[int, tuple[float, Piece]] = {}
    for piece, score in zip(candidates, scores, strict=True):
        place = piece.rank if top == "per_passage" else 0
        if score > threshold and (place not in chosen or score > chosen[place][0]):
            chosen[place] = (score, piece)
    return [piece for _, piece in chosen.values()]


async def silver(
    question: str,
    answers: Sequence[str],
    passages: Sequence[Passage],
    measure: Measure,
    *,
    unit: Unit = "sentence",
    top: Top = "one",
    scorer: LogProbabilities | None = None,
) -> list[Piece]:
    """The pieces that the measure takes for what the answer needs, in reading order; maybe none.

    LEXICAL compares with the question, a claim, where the answers are verdicts (SUPPORTS, yes ...), which no sentence
    resembles. CXMI scores the first answer, the data set's own wording, and needs a `scorer`.
    """
    candidates = pieces(passages, unit)
    if measure == "strinc":
        scores = strinc(candidates, answers)
    elif measure == "lexical":
        scores = lexical(candidates, [question] if are_verdicts(answers) else answers)
    elif scorer is None:
        raise SetupError("The measure cxmi needs a model that gives log-probabilities; name one as scorer.")
    else:
        scores = await cxmi(candidates, question, answers[0], scorer) if candidates else []
    return best(candidates, scores, THRESHOLDS[measure], top)


def shortened(passages: Sequence[Passage], chosen: Sequence[Piece]) -> list[Passage]:
    """The passages cut down to the chosen pieces, in order; ids, titles and scores stay, those without any are gone."""
    kept: dict[int, list[Piece]] = {}
    for piece in sorted(set(chosen), key=lambda piece: (piece.rank, piece.start)):
        kept.setdefault(piece.rank, []).append(piece)
    return [
        {**passages[rank], "text": " ".join(piece.text for piece in of_passage)} for rank, of_passage in kept.items()
    ]


def unigram_precision(context: str, answers: Sequence[str]) -> float:
    """The share of the context's normalised tokens that are the answer's, the best over the answers, in 0..1 (section
    3.2, table 2); 0 for an empty context.
    """
    tokens = Counter(normalize(context).split())
    size = sum(tokens.values())
    shared = (sum((tokens & Counter(normalize(answer).split())).values()) for answer in answers)
    return max(shared, default=0) / size if size else 0.0
