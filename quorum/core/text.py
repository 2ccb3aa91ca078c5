"""Compares texts as SQuAD's published measure does: its normalisation, exact match and token F1.

The measure for a user's own data is in `quorum.algorithms.answer_measures`. This file re-exports functions of
`sentences` and `unknown`, too.
"""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from quorum.core.refusals.unknown import UNKNOWN as UNKNOWN
from quorum.core.refusals.unknown import is_unknown as is_unknown
from quorum.core.sentences import find_sentences as find_sentences

# How answers are compared with accepted ones: `quorum.algorithms.answer_measures` has the first, this file the second.
AnswerMeasure = Literal["exact_match", "squad_exact_match"]
PUBLISHED_MEASURE: AnswerMeasure = "squad_exact_match"
ARTICLES = re.compile(r"\b(a|an|the)\b")
LONGEST_CACHED_TEXT = 20_000  # characters
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """The text in lower case without punctuation and articles, with single spaces (Rajpurkar et al. 2016, SQuAD).

    >>> normalize("The Eiffel Tower!")
    'eiffel tower'
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


normalize_cached = lru_cache(maxsize=1024)(normalize)  # several methods look for answers in the same passages


def squad_exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 if the prediction equals any gold answer after normalisation, else 0.0.

    >>> squad_exact_match("the Tower!", ["tower"]), squad_exact_match("35", ["3.5"])
    (1.0, 1.0)
    """
    return float(any(normalize(prediction) == normalize(gold) for gold in golds))


def squad_f1(prediction: str, golds: Sequence[str]) -> float:
    """F1 over the tokens of prediction and gold answer, in 0..1, the highest over the gold answers.

    Two texts that are both empty after normalisation give 1; no gold answer gives 0.

    >>> squad_f1("tower in Paris", ["Paris tower"])
    0.8
    """
    return max((token_f1(normalize(prediction).split(), normalize(gold).split()) for gold in golds), default=0.0)


def token_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """F1 over two lists of tokens, in 0..1. A token that one list has twice and the other once is shared once."""
    if not prediction or not gold:
        return float(list(prediction) == list(gold))
    common = sum((Counter(prediction) & Counter(gold)).values())
    return 2 * common / (len(prediction) + len(gold))


def squad_contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether the text contains an answer as whole words, after normalisation ('US' is not in 'must')."""
    padded_text = f" {normalize(text) if len(text) > LONGEST_CACHED_TEXT else normalize_cached(text)} "
    return any(f" {answer} " in padded_text for answer in map(normalize, answers) if answer)


def format_count(count: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: '1 call', '6 calls'."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"
