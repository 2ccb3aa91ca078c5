"""Scorers of the passages that a method read: pure functions, as in `quorum.evaluation.metrics.answers`.

`passages` of a result are the final passages, as shortened by a filter; `retrieved` are the ids before a filter.
Measures based on gold passages are None if the data name none; measures based on the texts need answers.
"""

from collections.abc import Sequence

from quorum.algorithms.filco_measures import unigram_precision
from quorum.core import text
from quorum.core.state import Result
from quorum.evaluation.metrics.answers import Reference
from quorum.models.token_estimate import estimate_tokens


def list_shown_ids(outputs: Result) -> list[str]:
    """The ids of the passages that the answer was read from, best first, each once."""
    return list(dict.fromkeys(passage["id"] for passage in outputs.get("passages") or []))


def recall(outputs: Result, reference_outputs: Reference) -> float | None:
    """The share of the gold passages that are among the final ones."""
    return compute_recall(list_shown_ids(outputs), reference_outputs)


def precision(outputs: Result, reference_outputs: Reference) -> float | None:
    """The share of the final passages that are gold; 0 if no passage is left."""
    return compute_precision(list_shown_ids(outputs), reference_outputs)


def s_precision(outputs: Result, reference_outputs: Reference) -> float | None:
    """S-Precision: whether the final passages are exactly the gold ones (BlendFilter, section 4)."""
    return compute_s_precision(list_shown_ids(outputs), reference_outputs)


def recall_before(outputs: Result, reference_outputs: Reference) -> float | None:
    """Recall before filtering; None for a method without a filter."""
    return compute_recall(outputs.get("retrieved"), reference_outputs)


def precision_before(outputs: Result, reference_outputs: Reference) -> float | None:
    """Precision before filtering."""
    return compute_precision(outputs.get("retrieved"), reference_outputs)


def s_precision_before(outputs: Result, reference_outputs: Reference) -> float | None:
    """S-Precision before filtering."""
    return compute_s_precision(outputs.get("retrieved"), reference_outputs)


def compute_recall(ids: Sequence[str] | None, reference_outputs: Reference) -> float | None:
    gold = set(reference_outputs.get("gold") or ())
    return None if ids is None or not gold else len(gold & set(ids)) / len(gold)


def compute_precision(ids: Sequence[str] | None, reference_outputs: Reference) -> float | None:
    gold = set(reference_outputs.get("gold") or ())
    if ids is None or not gold:
        return None
    return len(gold & set(ids)) / len(set(ids)) if ids else 0.0


def compute_s_precision(ids: Sequence[str] | None, reference_outputs: Reference) -> float | None:
    gold = set(reference_outputs.get("gold") or ())
    return None if ids is None or not gold else float(set(ids) == gold)


def hit_at_1(outputs: Result, reference_outputs: Reference) -> float | None:
    """Whether the first passage that was found is a gold one."""
    rank = reciprocal_rank(outputs, reference_outputs)
    return None if rank is None else float(rank == 1)


def reciprocal_rank(outputs: Result, reference_outputs: Reference) -> float | None:
    """One over the rank of the first gold passage found, 0 if there is none; the mean is MRR."""
    gold, before = set(reference_outputs.get("gold") or ()), outputs.get("retrieved")
    found = list_shown_ids(outputs) if before is None else before
    ranks = (1 / rank for rank, id_ in enumerate(found, start=1) if id_ in gold)
    return next(ranks, 0.0) if gold else None


def answer_in_passages(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether a final passage contains an accepted answer; the mean is FILCO's recall (table 2)."""
    if not reference_outputs["answers"]:
        return None
    return any(holds_answer(outputs, index, reference_outputs) for index in range(len(outputs.get("passages") or [])))


def answer_on_top(outputs: Result, reference_outputs: Reference) -> bool | None:
    """Whether the first passage contains an accepted answer: a positive passage (FILCO, section 4.4)."""
    if not reference_outputs["answers"]:
        return None
    return bool(outputs.get("passages")) and holds_answer(outputs, 0, reference_outputs)


def holds_answer(outputs: Result, index: int, reference_outputs: Reference) -> bool:
    return text.contains_answer(outputs["passages"][index]["text"], reference_outputs["answers"])


def context_tokens(outputs: Result, reference_outputs: Reference | None = None) -> int:
    """Tokens of the final passages' titles and texts, at three bytes a token (`quorum.models.token_estimate`)."""
    return sum(estimate_tokens(f"{one['title']}\n{one['text']}") for one in outputs.get("passages") or [])


def context_precision(outputs: Result, reference_outputs: Reference) -> float | None:
    """The share of the words of the final passages that are words of the answer, counted as often as there (FILCO's
    unigram precision, section 4.5, table 3): the best over the gold answers. None where no passage is left.
    """
    words, golds = " ".join(one["text"] for one in outputs.get("passages") or []), reference_outputs["answers"]
    return unigram_precision(words, golds) if text.normalize(words) and golds else None
