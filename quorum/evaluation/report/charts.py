"""The charts of a report as inline SVG. Colours are CSS classes (c0 to c7), which the style sheet of the report defines
for the light and the dark theme.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from quorum.evaluation.compare.format_figures import format_dollars
from quorum.evaluation.compare.recommendation import MethodFigures, get_cost_or_zero
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.report.chart_labels import Box, draw_label, draw_leader, place_labels

COLOUR_COUNT = 8
DIGIT_WIDTH = 6.8  # width of a digit beside an axis


@dataclass(frozen=True)
class Frame:
    """The size of a chart and its margins. The top margin has room for the name and the numbers of the point under the
    pointer.
    """

    width: int
    height: int
    left: int = 52
    right: int = 16
    top: int = 40
    bottom: int = 48

    @property
    def area(self) -> Box:
        """The area in which labels of points may stand."""
        return self.left + 3, self.top + 3, self.width - self.right - 3, self.height - self.bottom - 3


WIDE_FRAME, NARROW_FRAME = Frame(760, 440), Frame(350, 420)


@dataclass(frozen=True)
class Axis:
    """Maps values to positions: from `low` at `start` to `high` at `end`, on a logarithmic scale if `log`."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def find_position(self, value: float) -> float:
        low, high, scaled_value = (
            math.log10(number) if self.log else number for number in (self.low, self.high, value)
        )
        return self.start + (self.end - self.start) * (scaled_value - low) / (high - low)


def get_colour_class(method_number: int) -> str:
    """The CSS classes of a method: its colour, and "dashed" from the ninth method on, "dotted" from the seventeenth on.

    method_number: from 0.
    """
    return f"c{method_number % COLOUR_COUNT}" + ("", " dashed", " dotted")[min(method_number // COLOUR_COUNT, 2)]


def draw_quality_against_cost(
    figures: Sequence[MethodFigures],
    front: Sequence[str],
    unit: str,
    measure: str,
    names_to_label_first: Sequence[str] = (),
    frame: Frame = WIDE_FRAME,
) -> str:
    """A point for each method with its 95% interval; the Pareto front as a line. A point's label is its method's name
    or number (see `place_labels`).

    front: the names of the methods on the front; unit: the cost on the axis, "cost" (dollars) or "tokens"; measure: the
    name on the other axis; names_to_label_first: the methods whose names matter most; the names of the front come next.
    """
    methods_with_answers = [figure for figure in figures if figure.n]
    if not methods_with_answers:
        return ""
    x = make_cost_axis([get_cost_or_zero(figure, unit) for figure in methods_with_answers], frame)
    y = make_share_axis([end for figure in methods_with_answers for end in (figure.low, figure.high)], frame)
    points = {
        figure.name: (x.find_position(get_cost_or_zero(figure, unit)), y.find_position(figure.quality))
        for figure in methods_with_answers
    }
    front_points = [points[name] for name in front if name in points]
    format_cost = format_dollars if unit == "cost" else lambda value: f"{value:,.0f}"
    parts = [
        draw_grid(frame, x, y, format_cost, f"{'cost' if unit == 'cost' else 'tokens'} a question", f"{measure}, %")
    ]
    if len(front_points) > 1:
        parts.append(f'<polyline class="front" points="{format_points(front_points)}"/>')
    labels = place_labels(points, list(dict.fromkeys([*names_to_label_first, *front])), frame.area)
    parts.append('<text class="caption hint" x="8" y="14">Point at a method, or tap it, for its numbers.</text>')
    parts += [draw_leader(label) for label in labels]
    for number, figure in enumerate(figures):
        if figure.n:
            parts.append(draw_marker(figure, number, points[figure.name], y, figure.name in front))
    parts += [draw_label(label) for label in labels]
    return wrap_svg(frame, "Quality against cost, a point for each method", parts)


def draw_risk_coverage(
    calibrations: Mapping[str, Calibration], all_methods: Sequence[str], frame: Frame = WIDE_FRAME
) -> str:
    """A curve for each method that states a confidence: the share of wrong answers among its surest answers.

    all_methods: the names of all methods of the report; a method's place among them decides its colour.
    """
    x = Axis(0, 1, frame.left, frame.width - frame.right)
    y = make_share_axis([0.0, *(r for calibration in calibrations.values() for r in calibration.risk)], frame)
    parts = [
        draw_grid(
            frame, x, y, lambda value: f"{100 * value:.0f}", "questions answered, the surest first, %", "wrong, %"
        )
    ]
    for name, calibration in calibrations.items():
        line = [
            (x.find_position(c), y.find_position(r))
            for c, r in zip(calibration.coverage, calibration.risk, strict=True)
        ]
        ends = "".join(f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>' for a, b in (line[0], line[-1]))
        parts.append(
            f'<g class="line {get_colour_class(all_methods.index(name))}" data-method="{all_methods.index(name)}">'
            f"<title>{escape(name)}</title>"
            f'<polyline class="curve" points="{format_points(line)}"/>{ends}</g>'
        )
    return wrap_svg(frame, "The share of wrong answers among the surest, by coverage", parts)


def draw_marker(figure: MethodFigures, number: int, point: tuple[float, float], y: Axis, is_on_front: bool) -> str:
    """A method's point and interval. On hover or focus, its name and numbers appear in the top margin."""
    left, top = point
    low, high = y.find_position(figure.low), y.find_position(figure.high)
    price = f", {format_dollars(figure.cost)}" if figure.cost else ""
    score = f"{100 * figure.quality:.1f} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
    description = f"{score}, {figure.tokens:,.0f} tokens{price}"
    return (
        f'<g class="marker {get_colour_class(number)}" tabindex="0" role="img" '
        f'aria-label="{escape(f"{figure.name}: {description}")}">'
        f'<line class="interval" x1="{left:.1f}" x2="{left:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        f'<circle class="{"point on-front" if is_on_front else "point"}" cx="{left:.1f}" cy="{top:.1f}" r="6"/>'
        f'<text class="caption" x="8" y="14"><tspan class="caption-name">{escape(figure.name)}</tspan>'
        f'<tspan x="8" dy="16">{escape(description)}</tspan></text></g>'
    )


def make_cost_axis(values: Sequence[float], frame: Frame = WIDE_FRAME) -> Axis:
    """The axis of costs. It begins at zero. But if the highest cost is more than twenty times the lowest, and the
    lowest is not zero, the axis is logarithmic and begins a little below the lowest cost.
    """
    low, high, end = min(values), max(values), frame.width - frame.right
    if low > 0 and high > 20 * low:
        return Axis(low / 1.6, high * 1.6, frame.left, end, log=True)
    return Axis(0.0, (high or 1.0) * 1.12, frame.left, end)


def make_share_axis(values: Sequence[float], frame: Frame = WIDE_FRAME) -> Axis:
    """The axis of shares, from a little below the lowest value to a little above the highest, but not above 1.

    It goes below 0 only to reach a negative value: the worth of a method whose wrong answers cost more than its right
    ones bring.
    """
    low, high = max(min(0.0, min(values)), min(values) - 0.04), min(1.0, max(values) + 0.04)
    return Axis(low, high if high > low else low + 0.1, frame.height - frame.bottom, frame.top)


def choose_ticks(axis: Axis, most_steps: int = 7) -> list[float]:
    """The round numbers on an axis.

    A linear axis has steps of 1, 2 or 5 times a power of ten, and between its ends at most `most_steps` of them. A
    logarithmic axis has 1, 2 and 5 times each power of ten; if `most_steps` is 4 or less, only the powers.
    """
    if axis.log:
        powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
        digits = (1, 2, 5) if most_steps > 4 else (1,)
        candidates = [digit * 10.0**power for power in powers for digit in digits]
        return [tick for tick in candidates if axis.low <= tick <= axis.high]
    smallest_step = (axis.high - axis.low) / most_steps
    power = 10.0 ** math.floor(math.log10(smallest_step))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= smallest_step * 0.999)
    first = math.ceil(axis.low / step - 1e-9)
    return [number * step for number in range(first, math.floor(axis.high / step + 1e-9) + 1)]


def label_ticks(axis: Axis, format_value: Callable[[float], str], right_end: float) -> list[tuple[float, str]]:
    """The numbers below an axis and their positions: as many as fit without touching, none beyond `right_end`."""
    for most_steps in (7, 4, 3, 2):
        labels = [(axis.find_position(tick), format_value(tick)) for tick in choose_ticks(axis, most_steps)]
        extents = [(place - DIGIT_WIDTH * len(text) / 2, place + DIGIT_WIDTH * len(text) / 2) for place, text in labels]
        if all(left[1] + 8 <= right[0] for left, right in pairwise(extents)):
            break
    return [label for label, (_, right) in zip(labels, extents, strict=True) if right <= right_end]


def draw_grid(frame: Frame, x: Axis, y: Axis, format_value: Callable[[float], str], x_title: str, y_title: str) -> str:
    """Grid lines, numbers and titles of both axes."""
    left, end, base = frame.left, frame.width - frame.right, frame.height - frame.bottom
    parts = [f'<rect class="frame" x="{left}" y="{frame.top}" width="{end - left}" height="{base - frame.top}"/>']
    for tick in choose_ticks(y):
        place = y.find_position(tick)
        parts.append(f'<line class="grid" x1="{left}" x2="{end}" y1="{place:.1f}" y2="{place:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{place + 4:.1f}" text-anchor="end">{100 * tick:.0f}</text>')
    for place, text in label_ticks(x, format_value, frame.width):
        parts.append(f'<text class="tick" x="{place:.1f}" y="{base + 18}" text-anchor="middle">{text}</text>')
    parts.append(
        f'<text class="axis" x="{(left + end) / 2}" y="{frame.height - 8}" text-anchor="middle">{x_title}</text>'
    )
    middle = (base + frame.top) / 2
    rotation = f'transform="rotate(-90 14 {middle})"'
    parts.append(f'<text class="axis" x="14" y="{middle}" text-anchor="middle" {rotation}>{escape(y_title)}</text>')
    return "".join(parts)


def format_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{left:.1f},{top:.1f}" for left, top in points)


def wrap_svg(frame: Frame, title: str, parts: Sequence[str]) -> str:
    size = f"0 0 {frame.width} {frame.height}"
    return f'<svg viewBox="{size}" role="group" aria-label="{escape(title)}">{"".join(parts)}</svg>'
