"""FILCO's measures: they choose the sentence or passage that supports a known answer (Wang et al. 2023, section 2.2;
arXiv:2311.08377).

Pure functions. The measure CXMI needs a language model, which the caller passes as a `LogProbabilityModel`. Docstrings
in this file name sections and tables of the paper.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from quorum.algorithms.answer_measures import ANSWER_MEASURES
from quorum.core.errors import SetupError
from quorum.core.labels import are_verdicts
from quorum.core.sentences import find_sentences
from quorum.core.state import Passage
from quorum.core.text import PUBLISHED_MEASURE, AnswerMeasure, normalize

Measure = Literal["strinc", "lexical", "cxmi"]
Unit = Literal["sentence", "passage"]
Top = Literal["one", "per_passage"]  # see `choose_best_pieces`
Tokens = Literal["words", "characters"]  # see `score_lexical`
MakePrompt = Callable[[str, "Piece | None"], str]  # (question, piece or None) -> prompt, see `score_cxmi`

THRESHOLDS: dict[Measure, float] = {"strinc": 0.0, "lexical": 0.5, "cxmi": 0.0}


@dataclass(frozen=True)
class Piece:
    """A sentence of a passage, or its whole text: the characters [start, end) of the passage's text.

    rank: the passage's index in the list of passages, from 0; title: the passage's title; text: the piece's own text.
    """

    rank: int
    start: int
    end: int
    title: str
    text: str


class LogProbabilityModel(Protocol):
    """A language model that returns log-probabilities."""

    async def log_probabilities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each pair (prompt, continuation), in their order: the sum of the log-probabilities of the continuation's
        tokens after the prompt, in nats.
        """
        ...


def split_pieces(passages: Sequence[Passage], unit: Unit = "sentence") -> list[Piece]:
    """Split the passages into the pieces to choose from, in reading order. A passage without text has no pieces."""
    pieces = []
    for rank, passage in enumerate(passages):
        text = passage["text"]
        spans = find_sentences(text) if unit == "sentence" else [(0, len(text))] if text.strip() else []
        pieces += [Piece(rank, start, end, passage["title"], text[start:end]) for start, end in spans]
    return pieces


def score_strinc(
    candidates: Sequence[Piece], answers: Sequence[str], answer_measure: AnswerMeasure = PUBLISHED_MEASURE
) -> list[float]:
    """STRINC: 1 for a piece that contains a gold answer as whole words, after normalisation; else 0."""
    contains_answer = ANSWER_MEASURES[answer_measure].contains_answer
    return [float(contains_answer(piece.text, answers)) for piece in candidates]


def score_lexical(
    candidates: Sequence[Piece],
    references: Sequence[str],
    tokens: Tokens = "words",
    answer_measure: AnswerMeasure = PUBLISHED_MEASURE,
) -> list[float]:
    """LEXICAL: token F1 of each piece in 0..1, the highest over the references.

    tokens="words" is the published measure. tokens="characters" counts the characters of the normalised texts, as the
    authors' code does; almost any two English texts are similar by this count.
    """
    if tokens == "words":
        f1 = ANSWER_MEASURES[answer_measure].f1
        return [f1(piece.text, references) for piece in candidates]
    return [
        max((compute_character_f1(piece.text, reference) for reference in references), default=0.0)
        for piece in candidates
    ]


def compute_character_f1(text: str, reference: str) -> float:
    """F1 of the characters of two normalised texts, each counted as often as it occurs, in 0..1.

    >>> compute_character_f1("abc", "cab")
    1.0
    """
    text_counts, reference_counts = Counter(normalize(text)), Counter(normalize(reference))
    shared_count = sum((text_counts & reference_counts).values())
    return 2 * shared_count / (sum(text_counts.values()) + sum(reference_counts.values())) if shared_count else 0.0


async def score_cxmi(
    candidates: Sequence[Piece],
    question: str,
    answer: str,
    scorer: LogProbabilityModel,
    make_prompt: "MakePrompt | None" = None,
) -> list[float]:
    """CXMI of each piece: log p(answer given piece, question) - log p(answer given question), in nats.

    scorer: gets the prompts for all pieces in one batch. make_prompt: (question, piece or None) -> the prompt before
    the answer. Pass the function that writes the prompt for the model that will answer; the default is
    `format_scoring_prompt`.
    """
    make = make_prompt or format_scoring_prompt
    pairs = [(make(question, piece), answer) for piece in (None, *candidates)]
    without_piece, *with_pieces = await scorer.log_probabilities(pairs)
    return [score - without_piece for score in with_pieces]


def format_scoring_prompt(question: str, piece: Piece | None) -> str:
    """The prompt before the scored answer: the passage's title and the piece (unless it is None), then the question."""
    context = "" if piece is None else f"{piece.title}\n{piece.text}".strip() + "\n\n"
    return f"{context}Question: {question}\nAnswer:"


def choose_best_pieces(
    candidates: Sequence[Piece], scores: Sequence[float], threshold: float, top: Top = "one"
) -> list[Piece]:
    """The piece with the highest score, or no piece if that score is not above the threshold.

    Of pieces with the same score, the first is chosen. top="one" chooses one piece of all passages together, as the
    paper does; "per_passage" chooses one piece of each passage, as the authors' code does.
    """
    chosen_pieces: dict[int, tuple[float, Piece]] = {}
    for piece, score in zip(candidates, scores, strict=True):
        group = piece.rank if top == "per_passage" else 0
        if score > threshold and (group not in chosen_pieces or score > chosen_pieces[group][0]):
            chosen_pieces[group] = (score, piece)
    return [piece for _, piece in chosen_pieces.values()]


async def choose_silver_pieces(
    question: str,
    answers: Sequence[str],
    passages: Sequence[Passage],
    measure: Measure,
    *,
    unit: Unit = "sentence",
    top: Top = "one",
    scorer: LogProbabilityModel | None = None,
    make_prompt: "MakePrompt | None" = None,
    tokens: Tokens = "words",
    threshold: float | None = None,
    answer_measure: AnswerMeasure = PUBLISHED_MEASURE,
) -> list[Piece]:
    """The pieces that support the answer by this measure, in reading order. The list may be empty.

    LEXICAL compares a piece with the answers. If the answers are verdicts (SUPPORTS, yes ...), which no sentence
    resembles, LEXICAL compares the piece with the question. CXMI needs a `scorer`, and uses only the first answer;
    without an answer it chooses no piece.
    threshold: a piece's score must exceed it; None: the measure's own, in THRESHOLDS. answer_measure: how STRINC and
    LEXICAL normalise texts; the published one is SQuAD's. unit, top, tokens, make_prompt:
    as in the functions above.
    """
    candidates = split_pieces(passages, unit)
    if measure == "strinc":
        scores = score_strinc(candidates, answers, answer_measure)
    elif measure == "lexical":
        references = [question] if are_verdicts(answers) else answers
        scores = score_lexical(candidates, references, tokens, answer_measure)
    elif scorer is None:
        raise SetupError(
            "The measure cxmi needs a model that gives log-probabilities, and none was given; pass one as `scorer`."
        )
    elif candidates and answers:
        scores = await score_cxmi(candidates, question, answers[0], scorer, make_prompt)
    else:
        return []
    return choose_best_pieces(candidates, scores, THRESHOLDS[measure] if threshold is None else threshold, top)


def choose_measure(answers: Sequence[str], answer_type: str) -> Measure:
    """The measure that is best for this kind of answer (section 5.1, table 4): STRINC for short answers, LEXICAL for
    dialogue, and CXMI for labels, for yes or no, and for long answers. (CXMI is also best for questions that need
    several passages, but an answer does not show whether its question is one of these.)

    >>> choose_measure(["SUPPORTS"], "label")
    'cxmi'
    """
    if answer_type == "dialogue":
        return "lexical"
    return "cxmi" if answer_type != "short" or are_verdicts(answers) else "strinc"


def shorten_passages(passages: Sequence[Passage], chosen_pieces: Sequence[Piece]) -> list[Passage]:
    """The passages with the chosen pieces as their text. A passage without chosen pieces is left out."""
    pieces_of_rank: dict[int, list[Piece]] = {}
    for piece in sorted(set(chosen_pieces), key=lambda piece: (piece.rank, piece.start)):
        pieces_of_rank.setdefault(piece.rank, []).append(piece)
    return [
        {**passages[rank], "text": " ".join(piece.text for piece in pieces)} for rank, pieces in pieces_of_rank.items()
    ]


def compute_unigram_precision(
    context: str, answers: Sequence[str], answer_measure: AnswerMeasure = PUBLISHED_MEASURE
) -> float:
    """The share of the context's normalised tokens that also occur in the answer, in 0..1 (section 3.2, table 2).

    With several answers, the largest share counts. An empty context gives 0.
    """
    split_tokens = ANSWER_MEASURES[answer_measure].split_tokens
    tokens = Counter(split_tokens(context))
    size = sum(tokens.values())
    shared_counts = (sum((tokens & Counter(split_tokens(answer))).values()) for answer in answers)
    return max(shared_counts, default=0) / size if size else 0.0
