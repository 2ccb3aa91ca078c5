"""Places the labels of a chart's points so that they do not cover a point, one another or the labels of the axes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

# Lengths are in units of the chart's SVG.
LETTER_WIDTH = 7.6  # width of a letter of a name
DIGIT_WIDTH = 7.0  # width of a digit of a number
LINE_HEIGHT = 16.0
NUMBER_CLASS = 'class="name number"'
TEXT_MARGIN = 1.5  # free space on each side of a text
HALF_MARKER = 7.0  # half the side of the square that a point's marker takes
MOST_NAMED_POINTS = 8  # if a chart has no more points than this, every point gets its name as its label

Box = tuple[float, float, float, float]  # left, top, right, bottom
Point = tuple[float, float]  # x, y


@dataclass(frozen=True)
class Label:
    """A text beside its point. anchor: whether the start, middle or end of the text is at x; has_leader: a line
    connects the text to the point.
    """

    text: str
    is_number: bool
    point: Point
    x: float
    y: float
    anchor: str
    has_leader: bool

    @property
    def box(self) -> Box:
        width = (DIGIT_WIDTH if self.is_number else LETTER_WIDTH) * len(self.text)
        left = self.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        return left - TEXT_MARGIN, self.y - LINE_HEIGHT + 4, left + width + TEXT_MARGIN, self.y + 4


def place_labels(points: Mapping[str, Point], names_to_label_first: Sequence[str], area: Box) -> list[Label]:
    """A label for every point that has room for one.

    The points in `names_to_label_first` get their labels first. Their labels are their names. If there are at most
    MOST_NAMED_POINTS points, all other labels are names, too; if there are more, they are numbers. A point's number is
    its place in the order of `points`, counted from 1. A point whose name does not fit gets its number.
    """
    occupied_boxes: list[Box] = [
        (x - HALF_MARKER, y - HALF_MARKER, x + HALF_MARKER, y + HALF_MARKER) for x, y in points.values()
    ]
    numbers = {name: str(number) for number, name in enumerate(points, 1)}
    names_placed_first = [name for name in names_to_label_first if name in points]
    others = [name for name in points if name not in names_placed_first]
    labels: list[Label] = []
    for name in [*names_placed_first, *others]:
        texts = [(name, False)] if name in names_placed_first or len(points) <= MOST_NAMED_POINTS else []
        candidates = (
            candidate
            for text, is_number in [*texts, (numbers[name], True)]
            for candidate in list_label_candidates(text, is_number, points[name])
        )
        label = next((candidate for candidate in candidates if is_free(candidate.box, area, occupied_boxes)), None)
        if label is not None:
            labels.append(label)
            occupied_boxes.append(label.box)
    return labels


def list_label_candidates(text: str, is_number: bool, point: Point) -> Iterator[Label]:
    """The label at each position that it may take, the nearest first."""
    x, y = point
    for dx, dy, anchor in (
        *((11, 4, "start"), (-11, 4, "end"), (0, -12, "middle"), (0, 20, "middle")),
        *((9, -8, "start"), (-9, -8, "end"), (9, 16, "start"), (-9, 16, "end")),
    ):
        yield Label(text, is_number, point, x + dx, y + dy, anchor, has_leader=False)
    for distance in (24, 36, 50, 66, 84, 104, 126):
        for step in range(12):
            x_offset, y_offset = (distance * component(math.pi * step / 6) for component in (math.cos, math.sin))
            anchor = "start" if x_offset > 4 else "end" if x_offset < -4 else "middle"
            yield Label(text, is_number, point, x + x_offset, y + y_offset + 4, anchor, has_leader=True)


def is_free(box: Box, area: Box, occupied_boxes: Sequence[Box]) -> bool:
    """Whether a box lies within the area and overlaps nothing."""
    inside = box[0] >= area[0] and box[1] >= area[1] and box[2] <= area[2] and box[3] <= area[3]
    return inside and not any(boxes_overlap(box, other) for other in occupied_boxes)


def boxes_overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def draw_leader(label: Label) -> str:
    """The line from a point to its label; empty if the label is beside the point."""
    (x, y), end_y = label.point, label.y - 4
    return (
        f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{label.x:.1f}" y2="{end_y:.1f}"/>'
        if label.has_leader
        else ""
    )


def draw_label(label: Label) -> str:
    kind = NUMBER_CLASS if label.is_number else 'class="name"'
    return f'<text {kind} x="{label.x:.1f}" y="{label.y:.1f}" text-anchor="{label.anchor}">{escape(label.text)}</text>'
