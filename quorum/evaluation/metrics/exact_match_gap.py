"""Detects that exact match hides right answers, because the model writes sentences instead of a few words."""

from collections.abc import Collection, Mapping
from typing import Any

LARGEST_GAP = 0.10  # between exact match and contains, as shares of the questions; a larger gap is reported


def describe_exact_match_gap(
    summary: Mapping[str, Mapping[str, Any]], *, is_judged: bool, without_shortening: Collection[str] = ()
) -> str | None:
    """A note about the methods whose answers contain a gold answer far more often than they equal one, and what helps.

    summary: for each method the means in 0..1, as in summary.json. is_judged: whether a model judged the answers;
    without_shortening: the methods that ran with shorten=off. What was on already is no advice. None if EM and contains
    differ by at most 10 points for every method.

    >>> describe_exact_match_gap({"concat": {"em": 0.05, "contains": 0.4}}, is_judged=False)[:66]
    'concat: 40.0% of the answers contain a gold answer, 5.0% equal one'
    >>> describe_exact_match_gap({"concat": {"em": 0.35, "contains": 0.4}}, is_judged=False) is None
    True
    """
    gaps = {
        name: f"{name}: {100 * row['contains']:.1f}% of the answers contain a gold answer, {100 * row['em']:.1f}% "
        "equal one"
        for name, row in summary.items()
        if row.get("em") is not None
        and row.get("contains") is not None
        and round(row["contains"] - row["em"], 9) > LARGEST_GAP
    }
    if not gaps:
        return None
    advice = [] if is_judged else ["let a model judge them with --judge MODEL"]
    if any(name in without_shortening for name in gaps):
        advice.append("run it with --set shorten=auto, which asks once more for a short answer")
    note = f"{'; '.join(gaps.values())}. The model answers in sentences, which exact match counts as wrong"
    return f"{note}: {', or '.join(advice)}." if advice else f"{note}."
