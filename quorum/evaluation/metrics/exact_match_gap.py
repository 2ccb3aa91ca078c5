"""Detects that exact match hides right answers, because the model writes sentences instead of a few words."""

from collections.abc import Mapping
from typing import Any

LARGEST_GAP = 0.10  # between exact match and contains, as shares of the questions; a larger gap is reported


def describe_exact_match_gap(summary: Mapping[str, Mapping[str, Any]]) -> str | None:
    """A note about the methods whose answers contain a gold answer far more often than they equal one.

    summary: for each method the means in 0..1, as in summary.json. None if EM and contains differ by at most 10
    points for every method.

    >>> describe_exact_match_gap({"concat": {"em": 0.05, "contains": 0.4}})[:66]
    'concat: 40.0% of the answers contain a gold answer, 5.0% equal one'
    >>> describe_exact_match_gap({"concat": {"em": 0.35, "contains": 0.4}}) is None
    True
    """
    gaps = [
        f"{name}: {100 * row['contains']:.1f}% of the answers contain a gold answer, {100 * row['em']:.1f}% equal one"
        for name, row in summary.items()
        if row.get("em") is not None
        and row.get("contains") is not None
        and round(row["contains"] - row["em"], 9) > LARGEST_GAP
    ]
    if not gaps:
        return None
    return (
        f"{'; '.join(gaps)}. The model answers in sentences, which exact match counts as wrong: "
        "let a model judge them with --judge MODEL, or, if the run had shorten=off, run it with --set shorten=auto."
    )
