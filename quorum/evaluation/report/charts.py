"""The chart of confidence in a report, as inline SVG. Colours are CSS classes (c0 to c7), which the style sheet of the
report defines for the light and the dark theme.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.report.axes import Axis, choose_ticks, label_ticks, make_share_axis

COLOUR_COUNT = 8


@dataclass(frozen=True)
class Frame:
    """The size of a chart and its margins."""

    width: int
    height: int
    left: int = 52
    right: int = 16
    top: int = 16
    bottom: int = 48


WIDE_FRAME, NARROW_FRAME = Frame(760, 400), Frame(350, 380)


def get_colour_class(method_number: int) -> str:
    """The CSS classes of a method: its colour, and "dashed" from the ninth method on, "dotted" from the seventeenth on.

    method_number: from 0.
    """
    return f"c{method_number % COLOUR_COUNT}" + ("", " dashed", " dotted")[min(method_number // COLOUR_COUNT, 2)]


def draw_risk_coverage(calibrations: Mapping[str, Calibration], frame: Frame = WIDE_FRAME) -> str:
    """A curve for each method that states a confidence: the share of wrong answers among its surest answers."""
    x = Axis(0, 1, frame.left, frame.width - frame.right)
    y = make_share_axis(
        [0.0, *(r for calibration in calibrations.values() for r in calibration.risk)],
        frame.height - frame.bottom,
        frame.top,
    )
    parts = [
        draw_grid(
            frame, x, y, lambda value: f"{100 * value:.0f}", "questions answered, the surest first, %", "wrong, %"
        )
    ]
    for number, (name, calibration) in enumerate(calibrations.items()):
        line = [
            (x.find_position(c), y.find_position(r))
            for c, r in zip(calibration.coverage, calibration.risk, strict=True)
        ]
        ends = "".join(f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>' for a, b in (line[0], line[-1]))
        parts.append(
            f'<g class="line {get_colour_class(number)}" data-method="{number}">'
            f"<title>{escape(name)}</title>"
            f'<polyline class="curve" points="{format_points(line)}"/>{ends}</g>'
        )
    return wrap_svg(frame, "The share of wrong answers among the surest, by coverage", parts)


def draw_grid(frame: Frame, x: Axis, y: Axis, format_value: Callable[[float], str], x_title: str, y_title: str) -> str:
    """Grid lines, numbers and titles of both axes."""
    left, end, base = frame.left, frame.width - frame.right, frame.height - frame.bottom
    parts = [f'<rect class="frame" x="{left}" y="{frame.top}" width="{end - left}" height="{base - frame.top}"/>']
    for tick in choose_ticks(y):
        place = y.find_position(tick)
        parts.append(f'<line class="grid" x1="{left}" x2="{end}" y1="{place:.1f}" y2="{place:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{place + 4:.1f}" text-anchor="end">{100 * tick:.0f}</text>')
    for place, text in label_ticks(x, format_value):
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
