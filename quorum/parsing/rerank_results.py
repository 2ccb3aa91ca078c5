"""Reads the scores in the response of a server that ranks documents."""

import json
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RerankResults:
    """scores: one for each document, None for those without one; malformed: whether the response broke its form."""

    scores: list[float | None]
    malformed: bool


def parse_rerank_results(text: str, count: int) -> RerankResults:
    """The scores of `count` documents in a response: {"results": [{"index": 0, "relevance_score": 0.9}, ...]}.

    Of each index the first finite score counts. The response is malformed if an index is out of range or stands there
    twice, if a document has no score, or a score that is no finite number. Never raises.

    >>> parse_rerank_results('{"results": [{"index": 1, "relevance_score": 0.9}]}', 2)
    RerankResults(scores=[None, 0.9], malformed=True)
    """
    try:
        results: Any = json.loads(text)["results"]
    except (ValueError, TypeError, KeyError):
        results = None
    scores: list[float | None] = [None] * count
    is_malformed = not isinstance(results, list)
    for item in results if isinstance(results, list) else ():
        item = item if isinstance(item, dict) else {}
        index, score = item.get("index"), read_score(item.get("relevance_score"))
        is_known = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < count
        if not is_known or score is None or scores[int(index or 0)] is not None:
            is_malformed = True
        else:
            scores[int(index or 0)] = score
    return RerankResults(scores, is_malformed or None in scores)


def read_score(value: Any) -> float | None:
    """A finite number as it is; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
