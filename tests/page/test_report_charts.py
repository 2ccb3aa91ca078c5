"""The charts of a report with many methods: no label overlaps another label, a point, or a
number or title of an axis."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from browser import Page
from report_folder import make_decision

from quorum.evaluation.compare.recommend import find_pareto_front
from quorum.evaluation.compare.recommendation import MethodFigures
from quorum.evaluation.report.page import read_asset, render_cost_section
from quorum.graphs import METHODS

METHOD_NAMES = [*sorted(METHODS)[:23], "blendfilter[filter_turns=1]"]
# JavaScript: a LabelBox for every label and point of the charts that are shown at the page's width.
BOXES = """[...document.querySelectorAll('svg .name, svg .tick, svg .axis, svg .point')]
  .map((one) => [one.getBoundingClientRect(), one.textContent || 'a point', one.classList[0]])
  .filter(([box]) => box.width > 0)
  .map(([box, text, kind]) => [box.left, box.top, box.right, box.bottom, text, kind])"""
LabelBox = tuple[float, float, float, float, str, str]  # left, top, right, bottom, text, kind (the CSS class)


def make_crowded_figures(seed: int, count: int) -> list[MethodFigures]:
    """Figures as comparisons give them: most methods lie close together, a few far off, some on one point."""
    rng, figures = random.Random(seed), []
    for name in METHOD_NAMES[:count]:
        tokens = rng.choice([600, 900, 1000, rng.uniform(500, 2500), rng.uniform(30, 15_000)])
        quality = rng.choice([0.25, 0.3, rng.uniform(0.2, 0.35), rng.uniform(0.0, 0.4)])
        low, high = max(0.0, quality - 0.04), quality + 0.05
        figures.append(
            MethodFigures(
                name, n=400, errors=0, quality=quality, low=low, high=high, calls=1, tokens=tokens, cost=None, seconds=1
            )
        )
    return figures


def write_charts_page(folder: Path, seed: int, count: int) -> Path:
    """Write a page with only the charts of `make_crowded_figures(seed, count)`, and return its path."""
    figures, decision = make_crowded_figures(seed, count), make_decision(folder, 12, hostile_text="")
    best = max(figures, key=lambda figure: figure.quality).name
    recommendation = replace(
        decision.recommendation,
        best=best,
        cheapest=best,
        pareto_front=find_pareto_front(figures, "tokens"),
        unit="tokens",
    )
    page = folder / "charts.html"
    body = render_cost_section(figures, recommendation, baseline=decision.scores.comparisons[0]["baseline"])
    page.write_text(
        f"<!doctype html><meta charset=utf-8><style>{read_asset('report.css')}</style><main>{body}</main>",
        encoding="utf-8",
    )
    return page


def list_overlaps(boxes: list[LabelBox]) -> list[tuple[str, str]]:
    """Pairs of labels, or of a label and a point, that share more than a pixel; points may lie on points."""
    return [
        (box[4], other[4])
        for place, box in enumerate(boxes)
        for other in boxes[place + 1 :]
        if (box[5], other[5]) != ("point", "point")
        and min(box[2], other[2]) - max(box[0], other[0]) > 1
        and min(box[3], other[3]) - max(box[1], other[1]) > 1
    ]


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize(("seed", "count"), [(1, 24), (2, 24), (3, 24), (4, 12), (5, 5)])
def test_no_label_lies_on_another(page: Page, tmp_path: Path, seed: int, count: int, width: int) -> None:
    page.set_size(width)
    page.open(write_charts_page(tmp_path, seed, count))
    boxes: list[LabelBox] = page.run(BOXES)
    assert list_overlaps(boxes) == []
    label_texts = {text for *_, text, kind in boxes if kind == "name"}
    best = max(make_crowded_figures(seed, count), key=lambda figure: figure.quality).name
    assert best in label_texts or width == 390
    # Where a name does not fit, the label is the method's number in the list below the chart.
    numbers = {str(number) for number in range(1, count + 1)}
    assert label_texts <= numbers | set(METHOD_NAMES)
    # Points at the same place may leave no room for two of the labels.
    assert len([box for box in boxes if box[5] == "name"]) >= count - 2
    assert all(box[0] >= 0 and box[2] <= width for box in boxes)
    assert page.run("document.documentElement.scrollWidth") <= width
    scales = page.run("[...document.querySelectorAll('svg')].map((one) => one.getScreenCTM()?.a || 9)")
    # At this scale, letters of 11px, the smallest in report.css, are over 9 pixels high. A hidden chart gives scale 9.
    assert min(scales) > 0.85


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chosen_point_shows_its_name_and_numbers(page: Page, tmp_path: Path, scheme: str) -> None:
    page.set_size(1200)
    page.set_color_scheme(scheme)
    page.open(write_charts_page(tmp_path, 1, 24))
    visible_tips = (
        "[...document.querySelectorAll('.broad .caption')].filter((one) => one.getBoundingClientRect().width > 0)"
    )
    assert page.run(f"{visible_tips}.map((one) => one.textContent)") == [
        "Point at a method, or tap it, for its numbers."
    ]
    page.send("Emulation.setFocusEmulationEnabled", enabled=True)
    page.run("document.querySelectorAll('.broad .marker')[10].focus()")
    (tip,) = page.run(f"{visible_tips}.map((one) => one.textContent)")
    assert tip.startswith(METHOD_NAMES[10])
    assert tip.endswith(" tokens")
    assert page.run("[...document.querySelectorAll('.broad .names li')][10].textContent") == METHOD_NAMES[10]


def test_pointing_at_a_name_highlights_its_curve(page: Page, report: Path) -> None:
    page.set_size(1200)
    page.open(report)
    page.run(
        "document.querySelector('.key.lines [data-method=\"2\"]')"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    highlighted_names = "[...document.querySelectorAll('.broad .lit title')].map((one) => one.textContent)"
    assert page.run(highlighted_names) == ["sure"]


@pytest.mark.parametrize("width", [1200, 390])
def test_an_opened_question_has_readable_tables_among_many_methods(page: Page, report: Path, width: int) -> None:
    page.set_size(width)
    page.open(report)
    page.run("document.querySelector('.questions').classList.add('many')")
    page.run("document.querySelector('#rows button').click()")
    page.wait_until("document.querySelectorAll('.answer').length === 3")
    writing_modes = "[...document.querySelectorAll('.answer th')].map((one) => getComputedStyle(one).writingMode)"
    assert set(page.run(writing_modes)) == {"horizontal-tb"}
    widths = "[...document.querySelectorAll('.answer td:first-child')].map((one) => one.getBoundingClientRect().width)"
    assert min(page.run(widths)) > 60
    assert page.run("document.documentElement.scrollWidth") <= width


def test_the_table_of_methods_is_sorted_by_any_column(page: Page, report: Path) -> None:
    page.open(report)
    names = "[...document.querySelectorAll('.methods tbody tr')].map((one) => one.cells[0].textContent)"
    page.run("document.querySelectorAll('.methods th button')[2].click()")
    assert page.run(names)[0] == "sure"
    page.run("document.querySelectorAll('.methods th button')[2].click()")
    assert page.run(names)[0] == "concat"
    page.run("document.querySelectorAll('.methods th button')[0].click()")
    assert page.run(names) == ["concat", "post_fusion", "sure"]
    assert page.errors == []
