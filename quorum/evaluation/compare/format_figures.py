"""Writes numbers, costs and lists of names for people to read."""

import math
from collections.abc import Mapping, Sequence

from quorum.core.text import format_count
from quorum.evaluation.compare.recommendation import COST_UNIT_NAMES, MethodFigures

SHARE_TITLES = ("right", "wrong", "wrongly unknown")  # of the answers; they sum to 100%
SHARE_EXPLANATION = (
    'Where a question has no accepted answer, "unknown" is right; elsewhere it counts as wrongly unknown.'
)


def describe_quality(method: MethodFigures) -> str:
    """The quality with its interval: '71.0% [62.0%, 80.0%]'."""
    return f"{format_percent(method.quality)} [{format_percent(method.low)}, {format_percent(method.high)}]"


def describe_budget(budget: Mapping[str, float]) -> str:
    """A budget, {unit: limit per question}: '$0.01 and 3 calls a question'."""
    parts = [
        f"${limit:g}" if unit == "cost" else f"{limit:,g} {COST_UNIT_NAMES[unit]}" for unit, limit in budget.items()
    ]
    return f"{join_names(parts)} a question"


def describe_costs(method: MethodFigures) -> str:
    """The costs per question: '3.2 calls, 1,240 tokens, $0.000412, 1.20 s (p95)'. Dollars that are 0 or unknown are
    left out.
    """
    cost = [] if method.cost is None or not method.cost else [format_dollars(method.cost)]
    return ", ".join(
        [f"{method.calls:.1f} calls", f"{method.tokens:,.0f} tokens", *cost, f"{method.seconds:.2f} s (p95)"]
    )


def format_dollars(value: float) -> str:
    """Dollars with at least two decimals and at least three significant digits: $12.34, $1.23, $0.000412; $0 for 0."""
    if not value:
        return "$0"
    digits = max(2, 2 - math.floor(math.log10(abs(value))))
    return f"${value:,.{digits}f}"


def describe_bill(cost: float | None, seconds: float) -> str:
    """The expected cost and time: '$1.23, 12 minutes'."""
    money = "no price known" if cost is None else format_dollars(cost)
    return f"{money}, {seconds / 60:,.0f} minutes" if seconds >= 90 else f"{money}, {seconds:,.0f} seconds"


def describe_embeddings(usage: Mapping[str, Mapping[str, int]], cost: float | None) -> str:
    """What embeddings really took, by model: '3 requests for embeddings (openai:a) took 1,200 tokens, $0.000024'."""
    parts = [
        f"{format_count(counts['requests'], 'request')} for embeddings ({model}) took "
        f"{format_count(counts['tokens'], 'token')}"
        for model, counts in usage.items()
    ]
    return f"{join_names(parts)}, {'no price known' if cost is None else format_dollars(cost)}"


def format_percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def format_points(difference: float) -> str:
    """A difference of two shares, in percentage points: '+3.0 points'; 'no difference' if it rounds to 0."""
    return f"{format_signed(difference)} points" if round(100 * difference, 1) else "no difference"


def format_signed(difference: float) -> str:
    """A difference of two shares, in percentage points, with its sign; what rounds to 0 has none.

    >>> format_signed(0.03), format_signed(-0.0004)
    ('+3.0', '0.0')
    """
    points = round(100 * difference, 1) + 0.0
    return f"{points:+.1f}" if points else "0.0"


def format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def join_names(parts: Sequence[str]) -> str:
    """One or more names as a list in words: 'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def join_and_shorten_names(parts: Sequence[str], most: int = 5) -> str:
    """All names if there are at most `most`; else the first `most` - 1 of them, and how many more there are: 'a, b, c,
    d and 2 more (see the table)', which means the report's table.
    """
    if len(parts) <= most:
        return join_names(parts)
    return f"{', '.join(parts[: most - 1])} and {len(parts) - most + 1} more (see the table)"
