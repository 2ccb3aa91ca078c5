"""Measures on text: SQuAD normalisation, exact match, token F1, the unknown predicate, sentences."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence

from quorum.core.sentences import sentences as sentences
from quorum.core.unknown import UNKNOWN as UNKNOWN
from quorum.core.unknown import is_unknown as is_unknown

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """Lower-case, no punctuation, no articles, single spaces (SQuAD's definition; Rajpurkar et al. 2016)."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1.0 when the normalised prediction equals any normalised gold answer, else 0.0."""
    return float(any(normalize(prediction) == normalize(gold) for gold in golds))


def f1(prediction: str, golds: Sequence[str]) -> float:
    """Token-multiset F1 in 0..1, the best over the gold answers; two empty texts agree."""
    return max((token_f1(normalize(prediction).split(), normalize(gold).split()) for gold in golds), default=0.0)


def token_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    if not prediction or not gold:
        return float(list(prediction) == list(gold))
    common = sum((Counter(prediction) & Counter(gold)).values())
    return 2 * common / (len(prediction) + len(gold))


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether any answer occurs in the text, on normalised token boundaries ('US' is not in 'must')."""
    hay = f" {normalize(text)} "
    return any(f" {needle} " in hay for needle in map(normalize, answers) if needle)


def counted(count: int, one: str, many: str | None = None) -> str:
    """'1 call', '6 calls'."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
