"""What the screen before a race found and dropped."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.text import format_count
from quorum.evaluation.metrics.measure_titles import MEASURE_NAMES

SCREEN_TITLES = ("searches of", "k", "found, %", "outcome")
SCREEN_EXPLANATION = (
    "Before the race, every question was searched for without a model. Within each k, only the methods with the best "
    "searches were raced."
)
MOST_COLUMNS = 60  # what the screen before a race was simulated with


@dataclass(frozen=True)
class ScreenedSearch:
    """A search, and how well it finds. methods: that search so, with their settings; mean, low, high: of its recall,
    with a 95% interval; kept: whether these methods are raced.
    """

    methods: tuple[str, ...]
    k: int
    mean: float
    low: float
    high: float
    kept: bool


def check_screen(columns: Sequence[object], *, retrieves: bool) -> None:
    """Raise `SetupError` for more columns than the screen was tried with, and if nothing is searched."""
    if len(columns) > MOST_COLUMNS:
        raise SetupError(
            f"--screen takes up to {MOST_COLUMNS} methods with their settings, and these are {len(columns)}; compare "
            "fewer."
        )
    if not retrieves:
        raise SetupError(
            "--screen would search nothing, because each question's own passages are read; leave it out, or name a "
            "corpus."
        )


@dataclass(frozen=True)
class Screening:
    """The screen of a race. keep: how many searches it keeps within each k; measure: what it compares them by;
    method_count: of all methods, with those that it dropped.
    """

    keep: int
    measure: str
    method_count: int
    searches: tuple[ScreenedSearch, ...]

    def list_rows(self) -> list[list[str]]:
        """The cells below SCREEN_TITLES of every search, the best of each k first."""
        return [
            [
                ", ".join(search.methods),
                f"{search.k:,}",
                f"{100 * search.mean:.1f} [{100 * search.low:.1f}, {100 * search.high:.1f}]",
                "raced" if search.kept else "not raced",
            ]
            for search in sorted(self.searches, key=lambda search: (search.k, -search.mean))
        ]

    @property
    def dropped_methods(self) -> frozenset[str]:
        """The methods that are not raced."""
        return frozenset(name for search in self.searches if not search.kept for name in search.methods)

    def to_json(self) -> dict[str, Any]:
        """The content of screen.json."""
        return {**asdict(self), "searches": [asdict(search) for search in self.searches]}

    def describe(self) -> list[str]:
        """What the screen did and what it does not promise, in sentences."""
        raced = self.method_count - len(self.dropped_methods)
        measure = MEASURE_NAMES[self.measure]
        if not self.dropped_methods:
            return [
                f"The screen dropped no method: no k has more than {format_count(self.keep, 'search', 'searches')}."
            ]
        return [
            f"The screen raced {raced} of {self.method_count} methods: within each k, those with the {self.keep} best "
            f"searches by {measure}, for which no model was asked ({self.describe_limits()}).",
            f"The screen is a heuristic: what is said of the best is said of the {raced} methods raced.",
        ]

    def describe_limits(self) -> str:
        """For each k at which something was dropped: 'k=3: kept from 61.0%, dropped from 60.2% down'."""
        parts = []
        for k in sorted({search.k for search in self.searches}):
            kept = [search.mean for search in self.searches if search.k == k and search.kept]
            dropped = [search.mean for search in self.searches if search.k == k and not search.kept]
            if dropped:
                parts.append(f"k={k}: {100 * min(kept):.1f}% or more kept, {100 * max(dropped):.1f}% or less dropped")
        return "; ".join(parts)
