"""The charts of a report as inline SVG. Colours are classes (c0 to c7), which the page's style gives light and dark."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from evaluation.recommend import Figures, dollars
from evaluation.uncertainty import Calibration

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 18, 48
COLOURS = 8
LETTER, LINE = 7.2, 15.0  # of a label: width of a letter, height of a line


@dataclass(frozen=True)
class Axis:
    """Values to places: from `low` at `start` to `high` at `end`, on a logarithmic scale where `log`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high, here = (math.log10(one) if self.log else one for one in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (here - low) / (high - low)


def colour(place: int) -> str:
    """The class of a method's colour; dashed from the ninth on."""
    return f"c{place % COLOURS}" + (" dashed" if place >= COLOURS else "")


def quality_against_cost(figures: Sequence[Figures], front: Sequence[str], unit: str, measure: str) -> str:
    """A point for each method with its 95% interval; the Pareto front as a line."""
    shown = [one for one in figures if one.n]
    if not shown:
        return ""
    x = cost_axis([one.of(unit) or 0.0 for one in shown])
    y = share_axis([end for one in shown for end in (one.low, one.high)])
    by_name = {one.name: one for one in shown}
    steps = [(x.at(by_name[name].of(unit) or 0.0), y.at(by_name[name].quality)) for name in front if name in by_name]
    said = dollars if unit == "cost" else lambda value: f"{value:,.0f}"
    parts = [grid(x, y, said, f"{'cost' if unit == 'cost' else 'tokens'} a question", f"{measure}, %")]
    if len(steps) > 1:
        parts.append(f'<polyline class="front" points="{points(steps)}"/>')
    taken: list[tuple[float, float, float, float]] = []
    places = {one.name: (x.at(one.of(unit) or 0.0), y.at(one.quality)) for one in shown}
    taken += [(left - 7, top - 7, left + 7, top + 7) for left, top in places.values()]
    for number, one in enumerate(figures):
        if one.n:
            parts.append(marker(one, number, places[one.name], y, one.name in front))
    for one in shown:
        parts.append(label(one.name, *places[one.name], taken))
    return svg("Quality against cost, a point for each method", parts)


def risk_coverage(calibrations: Mapping[str, Calibration], names: Sequence[str]) -> str:
    """A curve for each method: the share that is wrong among the surest answers."""
    x, y = Axis(0, 1, LEFT, WIDTH - RIGHT), share_axis([0.0, *(r for one in calibrations.values() for r in one.risk)])
    parts = [grid(x, y, lambda value: f"{100 * value:.0f}", "questions answered, the surest first, %", "wrong, %")]
    for name, found in calibrations.items():
        line = [(x.at(c), y.at(r)) for c, r in zip(found.coverage, found.risk, strict=True)]
        kind = colour(names.index(name))
        parts.append(f'<polyline class="curve {kind}" points="{points(line)}"/>')
        parts += [f'<circle class="dot {kind}" cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>' for a, b in (line[0], line[-1])]
    return svg("The share of wrong answers among the surest, by coverage", parts)


def marker(one: Figures, number: int, place: tuple[float, float], y: Axis, best: bool) -> str:
    """A point and its interval, with the numbers as a tooltip."""
    left, top = place
    low, high = y.at(one.low), y.at(one.high)
    said = f"{one.name}: {100 * one.quality:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}], {one.tokens:,.0f} tokens"
    return (
        f'<g class="{colour(number)}"><title>{escape(said)}</title>'
        f'<line class="interval" x1="{left:.1f}" x2="{left:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        f'<circle class="{"point best" if best else "point"}" cx="{left:.1f}" cy="{top:.1f}" r="6"/></g>'
    )


def label(name: str, left: float, top: float, taken: list[tuple[float, float, float, float]]) -> str:
    """A name beside its point, where it covers nothing; if it must, to the right."""
    wide = LETTER * len(name)
    tried = [
        (left + sign * 11, top + rise, "start" if sign > 0 else "end")
        for rise in (4, -11, 19, -26, 34, -41, 49)
        for sign in (1, -1)
    ]
    boxes = [box(*one, wide) for one in tried]
    free = [
        number
        for number, one in enumerate(boxes)
        if one[0] >= LEFT and one[2] <= WIDTH - 2 and one[1] >= 0 and not any(overlap(one, other) for other in taken)
    ]
    chosen = free[0] if free else 0
    taken.append(boxes[chosen])
    x, y, anchor = tried[chosen]
    return f'<text class="name" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(name)}</text>'


def box(x: float, y: float, anchor: str, wide: float) -> tuple[float, float, float, float]:
    left = x if anchor == "start" else x - wide
    return left, y - LINE + 4, left + wide, y + 4


def overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def cost_axis(values: Sequence[float]) -> Axis:
    """From zero, or logarithmic where the dearest takes twenty times as much as the cheapest."""
    low, high = min(values), max(values)
    if low > 0 and high > 20 * low:
        return Axis(low / 1.6, high * 1.6, LEFT, WIDTH - RIGHT, log=True)
    return Axis(0.0, (high or 1.0) * 1.12, LEFT, WIDTH - RIGHT)


def share_axis(values: Sequence[float]) -> Axis:
    """Shares, a little beyond the values on both sides."""
    low, high = max(0.0, min(values) - 0.04), min(1.0, max(values) + 0.04)
    return Axis(low, high if high > low else low + 0.1, HEIGHT - BOTTOM, TOP)


def ticks(axis: Axis) -> list[float]:
    """Round numbers, three to eight of them."""
    if axis.log:
        powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
        every = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        return [one for one in every if axis.low <= one <= axis.high]
    rough = (axis.high - axis.low) / 7
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough * 0.999)
    first = math.ceil(axis.low / step - 1e-9)
    return [number * step for number in range(first, math.floor(axis.high / step + 1e-9) + 1)]


def grid(x: Axis, y: Axis, said: Callable[[float], str], below: str, beside: str) -> str:
    """Lines, numbers and titles of both axes."""
    parts = [f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{x.end - x.start:.0f}" height="{y.start - y.end:.0f}"/>']
    for one in ticks(y):
        place = y.at(one)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{place + 4:.1f}" text-anchor="end">{100 * one:.0f}</text>')
    for one in ticks(x):
        place = x.at(one)
        parts.append(
            f'<text class="tick" x="{place:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{said(one)}</text>'
        )
    parts.append(f'<text class="axis" x="{(x.start + x.end) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{below}</text>')
    middle = (y.start + y.end) / 2
    turned = f'transform="rotate(-90 14 {middle})"'
    parts.append(f'<text class="axis" x="14" y="{middle}" text-anchor="middle" {turned}>{escape(beside)}</text>')
    return "".join(parts)


def points(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in places)


def svg(title: str, parts: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
