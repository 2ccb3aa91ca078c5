"""The pictures of a report: in the figure no text lies on another text, a dot or a bar, however many methods it has;
the curves and the table of methods answer to the pointer.
"""

import random
from pathlib import Path

import pytest
from browser import Page

from quorum.evaluation.report.figure_rows import FigureContent, FigureRow, State
from quorum.evaluation.report.page import read_asset, render_figure
from quorum.graphs import METHODS

METHOD_NAMES = [*sorted(METHODS)[:22], "concat[k=10,retriever=hybrid,reranker=none]"]
# JavaScript: a Box for every text, dot and bar of the figure that is shown at the page's width.
BOXES = """[...document.querySelectorAll('svg text, svg circle, svg .bar')]
  .map((one) => [one.getBoundingClientRect(), one.textContent])
  .filter(([box]) => box.width > 0.5)
  .map(([box, text]) => [box.left, box.top, box.right, box.bottom, text])"""
Box = tuple[float, float, float, float, str]  # left, top, right, bottom, text


def make_crowded_content(seed: int, count: int) -> FigureContent:
    """Most methods lie close together, a few far off; some names are long, some costs large or 0."""
    rng, rows = random.Random(seed), []
    names = METHOD_NAMES[-count:]
    states: tuple[State, ...] = ("leader", "behind", "dropped", "over limit", "no answer")
    for place, name in enumerate(names):
        quality = rng.choice([0.25, 0.3, 1.0, rng.uniform(0.2, 0.35), rng.uniform(0.0, 0.4)])
        cost = rng.choice([0.0, 600, 900, rng.uniform(500, 2500), rng.uniform(30, 1_500_000)])
        tag = "recommended" if place == 1 else ""
        state = "leader" if place < 2 else rng.choice(states)
        low, high = max(0.0, quality - 0.04), min(1.0, quality + 0.05)
        rows.append(FigureRow(name, quality, low, high, cost, f"{cost:,.0f} tokens", state, tag))
    rows.sort(key=lambda row: -row.quality)
    return FigureContent("No clear winner yet.", "exact match", "tokens", tuple(rows))


def write_figure_page(folder: Path, content: FigureContent) -> Path:
    """Write a page with only the figure, and return its path."""
    page = folder / "figure.html"
    page.write_text(
        f"<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<style>{read_asset('report.css')}</style><main>{render_figure(content)}</main>",
        encoding="utf-8",
    )
    return page


def list_overlaps(boxes: list[Box]) -> list[tuple[str, str]]:
    """Pairs of boxes that share more than a pixel."""
    return [
        (box[4], other[4])
        for place, box in enumerate(boxes)
        for other in boxes[place + 1 :]
        if min(box[2], other[2]) - max(box[0], other[0]) > 1 and min(box[3], other[3]) - max(box[1], other[1]) > 1
    ]


@pytest.mark.parametrize("width", [1200, 390, 320])
@pytest.mark.parametrize(("seed", "count"), [(1, 23), (2, 23), (3, 5), (4, 2), (5, 1)])
def test_nothing_in_the_figure_lies_on_anything_else(
    page: Page, tmp_path: Path, seed: int, count: int, width: int
) -> None:
    page.set_size(width)
    content = make_crowded_content(seed, count)
    page.open(write_figure_page(tmp_path, content))
    boxes: list[Box] = page.run(BOXES)
    assert list_overlaps(boxes) == []
    texts = " ".join(text for *_, text in boxes)
    assert all(name in texts for name in METHOD_NAMES[-count:-1])
    assert ("recommended" in texts) == (count > 1)
    assert all(box[0] >= 0 and box[2] <= width for box in boxes)
    assert page.run("document.documentElement.scrollWidth") <= width
    scales = page.run(
        "[...document.querySelectorAll('svg')].filter((one) => one.getBoundingClientRect().width > 0)"
        ".map((one) => one.getScreenCTM().a)"
    )
    assert len(scales) == 1  # only one of the two drawings is shown
    assert scales[0] * 11 > 8  # pixels: the height of its smallest letters


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_figure_has_the_colours_of_the_page(page: Page, tmp_path: Path, scheme: str) -> None:
    page.set_size(1200)
    page.set_color_scheme(scheme)
    page.open(write_figure_page(tmp_path, make_crowded_content(1, 23)))
    card = page.run("getComputedStyle(document.querySelector('.figure')).backgroundColor")
    assert page.run("getComputedStyle(document.querySelector('.broad .card')).fill") == card
    ink = page.run("getComputedStyle(document.body).color")
    assert page.run("getComputedStyle(document.querySelector('.broad .name')).fill") == ink
    page.set_color_scheme("light")


def test_pointing_at_a_name_highlights_its_curve(page: Page, report: Path) -> None:
    page.set_size(1200)
    page.open_report(report)
    page.run(
        "document.querySelector('.key.lines [data-method=\"1\"]')"
        ".dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))"
    )
    highlighted_names = "[...document.querySelectorAll('.broad .lit title')].map((one) => one.textContent)"
    assert page.run(highlighted_names) == ["sure"]


@pytest.mark.parametrize("width", [1200, 390])
def test_an_opened_question_has_readable_tables_among_many_methods(page: Page, report: Path, width: int) -> None:
    page.set_size(width)
    page.open_report(report)
    page.run("document.querySelector('.questions').classList.add('many')")
    page.run("document.querySelector('#rows button').click()")
    page.wait_until("document.querySelectorAll('.answers button').length === 3")
    page.run("document.querySelectorAll('.answers button').forEach((one) => one.click())")
    writing_modes = "[...document.querySelectorAll('.answer th')].map((one) => getComputedStyle(one).writingMode)"
    assert set(page.run(writing_modes)) == {"horizontal-tb"}
    widths = "[...document.querySelectorAll('.answer td:first-child')].map((one) => one.getBoundingClientRect().width)"
    assert min(page.run(widths)) > 60
    assert page.run("document.documentElement.scrollWidth") <= width


def test_the_table_of_methods_is_sorted_by_any_column(page: Page, report: Path) -> None:
    page.open_report(report)
    names = "[...document.querySelectorAll('.methods tbody tr')].map((one) => one.cells[0].textContent)"
    page.run("document.querySelectorAll('.methods th button')[1].click()")
    assert page.run(names)[0] == "sure"  # of the highest exact match
    page.run("document.querySelectorAll('.methods th button')[1].click()")
    assert page.run(names)[0] == "concat"
    page.run("document.querySelectorAll('.methods th button')[0].click()")
    assert page.run(names) == ["concat", "post_fusion", "sure"]
    assert page.errors == []
