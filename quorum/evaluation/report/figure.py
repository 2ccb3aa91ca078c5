"""The figure of a comparison as SVG: a row for each method, with its quality as a dot and an interval, and its cost as
a bar. report.html, figure.svg and notebooks show what `draw_figure` draws.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from quorum.evaluation.report.axes import Axis, label_ticks, make_share_axis
from quorum.evaluation.report.figure_rows import STATE_MEANINGS, FigureContent, FigureRow

# Lengths are in units of the SVG.
WIDE, NARROW = 720, 350  # widths
NARROWEST_WITH_NAMES_BESIDE = 500  # a narrower figure has each name above its dot and bar
LONGEST_NAME_BESIDE = 32  # letters; so do figures with longer names
PAD = 12
GAP = 14  # between columns
LETTER_WIDTH, BOLD_LETTER_WIDTH = 8.0, 9.1  # of a name, in a wide typeface
SMALL_LETTER_WIDTH = 7.0  # of a tag, a title of a column, and the legend
NUMBER_WIDTH = 8.4  # of a digit of a score or cost
SCORE_WIDTH = 46
ROW_HEIGHT, TALL_ROW_HEIGHT = 25, 46
HEAD_HEIGHT = 46
# The colours stand in the figure itself, so that the file shows as the page does. The class keeps them to the figure.
STYLE = (
    ".quorum-figure{--paper:#fff;--ink:#1c1b19;--soft:#625e57;--line:#dcd7cd;--accent:#1f5fa8;--tint:#eaf1f9;"
    "--bar:#b9b2a5;"
    "font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}"
    "@media screen and (prefers-color-scheme:dark){.quorum-figure{--paper:#1f1e1b;--ink:#ece8e1;--soft:#aba59a;"
    "--line:#3b3833;--accent:#86b7f0;--tint:#222f3e;--bar:#6f695f}}"
    ".quorum-figure text{font-size:13px;fill:var(--ink);font-variant-numeric:tabular-nums}"
    ".quorum-figure .small{font-size:11px;fill:var(--soft)}"
    ".quorum-figure .chosen .name{font-weight:700}"
    ".quorum-figure .tag{font-size:11px;fill:var(--accent);font-weight:600}"
    ".quorum-figure .card{fill:var(--paper)}.quorum-figure .tint{fill:var(--tint)}"
    ".quorum-figure .grid{stroke:var(--line)}"
    ".quorum-figure .interval{stroke:var(--soft);stroke-width:2}.quorum-figure .bar{fill:var(--bar)}"
    ".quorum-figure .dot{fill:var(--paper);stroke:var(--soft);stroke-width:2}"
    ".quorum-figure .leader .dot{fill:var(--ink);stroke:var(--ink)}.quorum-figure .leader .interval{stroke:var(--ink)}"
    ".quorum-figure .chosen .dot{fill:var(--accent);stroke:var(--accent)}"
    ".quorum-figure .chosen .interval{stroke:var(--accent)}.quorum-figure .chosen .bar{fill:var(--accent)}"
    ".quorum-figure .dropped .interval,.quorum-figure .dropped .dot{stroke-dasharray:3 2}"
    ".quorum-figure .over-limit .dot{stroke:var(--bar)}.quorum-figure .over-limit .interval{stroke:var(--bar)}"
)


@dataclass(frozen=True)
class Figure:
    """The picture of a comparison: each method's quality with its interval, and its cost. A notebook shows it."""

    svg: str
    """The picture as SVG, in light and dark colours as the reader's screen has them."""

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file (SVG), and return its path."""
        file = Path(path)
        file.write_text(self.svg, encoding="utf-8")
        return file

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class Layout:
    """Where the columns of a figure stand. is_stacked: whether each name stands above its dot and bar."""

    width: int
    is_stacked: bool
    plot: tuple[float, float]
    score_end: float
    bar: tuple[float, float]

    @property
    def row_height(self) -> int:
        return TALL_ROW_HEIGHT if self.is_stacked else ROW_HEIGHT


def make_layout(content: FigureContent, width: int) -> Layout:
    """Columns from left to right: the name (if it is beside), the plot, the score, the bar, the cost."""
    name_width = max(measure_label(row) for row in content.rows)
    is_stacked = width < NARROWEST_WITH_NAMES_BESIDE or name_width > LONGEST_NAME_BESIDE * LETTER_WIDTH
    cost_width = max(NUMBER_WIDTH * len(write_cost(row)) for row in content.rows) + 6
    left = PAD if is_stacked else PAD + name_width + GAP
    free_width = width - PAD - left - SCORE_WIDTH - GAP - cost_width
    plot_end = left + 0.66 * free_width
    score_end = plot_end + SCORE_WIDTH
    return Layout(width, is_stacked, (left, plot_end), score_end, (score_end + GAP, width - PAD - cost_width))


def measure_label(row: FigureRow) -> float:
    """The width of a row's name with its tag."""
    return get_letter_width(row) * len(row.name) + measure_tag(row)


def get_letter_width(row: FigureRow) -> float:
    return BOLD_LETTER_WIDTH if row.tag else LETTER_WIDTH


def measure_tag(row: FigureRow) -> float:
    return SMALL_LETTER_WIDTH * len(row.tag) + 8 if row.tag else 0.0


def write_cost(row: FigureRow) -> str:
    return row.cost_text.removesuffix(" tokens")


def draw_figure(content: FigureContent, width: int = WIDE) -> str:
    """The figure as SVG. width: WIDE or NARROW, for a narrow screen; a figure holds at least one method.

    Every text is escaped. The picture has a title and a description, and each row the figures in words.
    """
    layout = make_layout(content, width)
    rows = list(draw_rows(content, layout))
    legend = list(draw_legend(content, layout, HEAD_HEIGHT + layout.row_height * len(content.rows) + 20))
    height = HEAD_HEIGHT + layout.row_height * len(content.rows) + (16 * count_legend_lines(content, layout) + 14)
    identity = f"quorum-figure-{width}"
    best = content.rows[0]
    about = (
        f"For each of {len(content.rows)} methods, the highest {content.measure} first: a dot at its mean with a 95% "
        f"interval, and a bar for its {content.unit} a question. First: {best.description}."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="quorum-figure" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="{identity} {identity}-about">'
        f'<title id="{identity}">{escape(content.headline)}</title><desc id="{identity}-about">{escape(about)}</desc>'
        f'<style>{STYLE}</style><rect class="card" width="{width}" height="{height}"/>'
        f"{''.join(draw_head(content, layout))}{''.join(rows)}{''.join(legend)}</svg>"
    )


def make_axis(content: FigureContent, layout: Layout) -> Axis:
    ends = [end for row in content.rows if row.state != "no answer" for end in (row.low, row.high, row.quality)]
    return make_share_axis(ends or [0.0, 1.0], *layout.plot)


def draw_head(content: FigureContent, layout: Layout) -> Iterator[str]:
    """The titles of the columns, the numbers of the axis, and the grid."""
    axis = make_axis(content, layout)
    bottom = HEAD_HEIGHT + layout.row_height * len(content.rows)
    yield write_text(layout.plot[0], 17, f"{content.measure}, %", "small")
    yield write_text(layout.width - PAD, 17, f"{content.unit} a question", "small", "end")
    for place, text in label_ticks(axis, lambda value: f"{100 * value:.0f}"):
        yield f'<line class="grid" x1="{place:.1f}" x2="{place:.1f}" y1="{HEAD_HEIGHT - 8}" y2="{bottom}"/>'
        yield write_text(place, HEAD_HEIGHT - 12, text, "small", "middle")


def draw_rows(content: FigureContent, layout: Layout) -> Iterator[str]:
    axis, most = make_axis(content, layout), max(row.cost for row in content.rows) or 1.0
    for number, row in enumerate(content.rows):
        top = HEAD_HEIGHT + layout.row_height * number
        yield f'<g class="row {row.state.replace(" ", "-")}{" chosen" if row.tag else ""}">'
        yield f"<title>{escape(row.description)}</title>{''.join(draw_row(row, layout, axis, most, top))}</g>"


def draw_row(row: FigureRow, layout: Layout, axis: Axis, most: float, top: float) -> Iterator[str]:
    """A row: its name, dot, interval, score, bar and cost. most: the highest cost."""
    middle = top + (32 if layout.is_stacked else ROW_HEIGHT / 2)
    text_line = middle + 4.5
    if row.tag:
        height = layout.row_height - 2
        yield f'<rect class="tint" x="4" y="{top + 1}" width="{layout.width - 8}" height="{height}" rx="4"/>'
    room = layout.width - 2 * PAD if layout.is_stacked else layout.plot[0] - PAD
    name = shorten(row.name, int((room - measure_tag(row)) / get_letter_width(row) + 1e-6))
    name_line = top + 16 if layout.is_stacked else text_line
    tag = f'<tspan class="tag" dx="8">{row.tag}</tspan>' if row.tag else ""
    yield f'<text class="name" x="{PAD}" y="{name_line:.1f}">{escape(name)}{tag}</text>'
    if row.state == "no answer":
        yield write_text(layout.plot[0], text_line, "no answer", "small")
        return
    low, high, place = (axis.find_position(value) for value in (row.low, row.high, row.quality))
    yield f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{middle:.1f}" y2="{middle:.1f}"/>'
    yield f'<circle class="dot" cx="{place:.1f}" cy="{middle:.1f}" r="4.5"/>'
    yield write_text(layout.score_end, text_line, f"{100 * row.quality:.1f}", "", "end")
    start, end = layout.bar
    length = (end - start) * row.cost / most
    yield f'<rect class="bar" x="{start:.1f}" y="{middle - 5:.1f}" width="{length:.1f}" height="10" rx="2"/>'
    yield write_text(layout.width - PAD, text_line, write_cost(row), "", "end")


def shorten(name: str, most: int) -> str:
    """A name of at most `most` letters; of a longer one the beginning and the end.

    >>> shorten("concat[k=10,retriever=hybrid]", 20)
    'concat[k=10,…hybrid]'
    """
    if len(name) <= most:
        return name
    end = (most - 1) * 2 // 5
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def list_legend(content: FigureContent) -> list[tuple[str, str]]:
    """The classes and the meanings of the dots that the figure has."""
    states = {row.state for row in content.rows} - {"no answer"}
    return [(state.replace(" ", "-"), meaning) for state, meaning in STATE_MEANINGS.items() if state in states]


def count_legend_lines(content: FigureContent, layout: Layout) -> int:
    entries = list_legend(content)
    return len(entries) + 1 if layout.width < NARROWEST_WITH_NAMES_BESIDE else 1


def draw_legend(content: FigureContent, layout: Layout, line: float) -> Iterator[str]:
    """What the dots mean; below one another in a narrow figure."""
    is_narrow = layout.width < NARROWEST_WITH_NAMES_BESIDE
    x = float(PAD)
    for state, meaning in list_legend(content):
        yield f'<g class="{state}"><circle class="dot" cx="{x + 5:.1f}" cy="{line - 4:.1f}" r="4.5"/></g>'
        yield write_text(x + 15, line, meaning, "small")
        if is_narrow:
            line += 16
        else:
            x += 15 + SMALL_LETTER_WIDTH * len(meaning) + 18
    yield write_text(x, line, "line: 95% interval", "small")


def write_text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    kind_attribute = f' class="{kind}"' if kind else ""
    return f'<text{kind_attribute} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
