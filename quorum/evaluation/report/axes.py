"""Axes of the figures: they map values to places, and have round numbers on them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

DIGIT_WIDTH = 6.8  # width of a digit beside an axis


@dataclass(frozen=True)
class Axis:
    """Maps values to positions: from `low` at `start` to `high` at `end`."""

    low: float
    high: float
    start: float
    end: float

    def find_position(self, value: float) -> float:
        return self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low)


def make_share_axis(values: Sequence[float], start: float, end: float) -> Axis:
    """The axis of shares, from a little below the lowest value to a little above the highest, but not above 1.

    It goes below 0 only to reach a negative value: the worth of a method whose wrong answers cost more than its right
    ones bring.
    """
    low, high = max(min(0.0, min(values)), min(values) - 0.04), min(1.0, max(values) + 0.04)
    return Axis(low, high if high > low else low + 0.1, start, end)


def choose_ticks(axis: Axis, most_steps: int = 7) -> list[float]:
    """The round numbers on an axis: steps of 1, 2 or 5 times a power of ten, at most `most_steps` of them."""
    smallest_step = (axis.high - axis.low) / most_steps
    power = 10.0 ** math.floor(math.log10(smallest_step))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= smallest_step * 0.999)
    first = math.ceil(axis.low / step - 1e-9)
    return [number * step for number in range(first, math.floor(axis.high / step + 1e-9) + 1)]


def label_ticks(axis: Axis, format_value: Callable[[float], str]) -> list[tuple[float, str]]:
    """The numbers beside a horizontal axis and their positions: as many as fit without touching."""
    labels: list[tuple[float, str]] = []
    for most_steps in (7, 4, 3, 2, 1):
        labels = [(axis.find_position(tick), format_value(tick)) for tick in choose_ticks(axis, most_steps)]
        extents = [(place - DIGIT_WIDTH * len(text) / 2, place + DIGIT_WIDTH * len(text) / 2) for place, text in labels]
        if all(left[1] + 8 <= right[0] for left, right in pairwise(extents)):
            break
    return labels
