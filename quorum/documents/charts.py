"""Reads the data of charts in Office files."""

from typing import Any

from quorum.documents.document import Block, join_lines, remove_unstorable
from quorum.documents.tables import make_table_blocks

CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
MAX_POINTS = 10_000


def make_chart_blocks(root: Any, page: int | None = None) -> list[Block]:
    """A chart's title and a row for each series, "Orl; 2022: 90; 2023: 95". root: the root of the chart's XML part."""
    title = root.find(f".//{CHART}chart/{CHART}title")
    text = "" if title is None else join_lines("".join(part.text or "" for part in title.iter(f"{DRAWING}t")))
    blocks = [Block(remove_unstorable(text), page=page)] if text else []
    rows: list[list[str]] = []
    names: list[str] = []
    for series in root.iter(f"{CHART}ser"):
        points = read_points(series, "cat") or read_points(series, "xVal")
        values = read_points(series, "val") or read_points(series, "yVal")
        places = sorted(values)[:MAX_POINTS]
        row_names = [points.get(place, str(place + 1)) for place in places]
        if names and row_names != names:
            blocks += make_table_blocks([["", *names], *rows], name_rows=1, page=page)
            rows = []
        names = row_names
        label = series.find(f"{CHART}tx")
        label_texts = [] if label is None else [value.text or "" for value in label.iter(f"{CHART}v")]
        rows.append([" ".join(label_texts), *(values[place] for place in places)])
    return blocks + (make_table_blocks([["", *names], *rows], name_rows=1, page=page) if rows else [])


def read_points(series: Any, name: str) -> dict[int, str]:
    """Place -> text of the points that a series keeps under this name."""
    data = series.find(f"{CHART}{name}")
    if data is None:
        return {}
    points = (point for point in data.iter(f"{CHART}pt") if (point.get("idx") or "").isdecimal())
    return {int(point.get("idx")): join_lines(point.findtext(f"{CHART}v") or "") for point in points}
