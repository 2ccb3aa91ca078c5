"""Draws a method's graph as SVG, with its edges' reasons. The picture has no style of its own but classes and plain
attributes, so that a page can colour the nodes of a run, and no page needs to allow inline styles.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from quorum.algorithms.graph_layout import Edge, Layout, Route, lay_out

BOX_HEIGHT, LAYER_HEIGHT, MARGIN = 30, 36, 12
WORDS_GAP = 9  # half the height of the gap that a line leaves for words
LETTER_WIDTH, LABEL_LETTER_WIDTH, BOX_PADDING = 7.4, 6.4, 24
END_NAMES = {"__start__": "start", "__end__": "end"}


def list_graph(graph_of_method: Any, *, is_open: bool = False) -> dict[str, Any]:
    """The nodes of a graph in the order of the method's figure, and its edges: {source, target, words, conditional}.

    is_open: also those inside the nodes that are graphs themselves.
    """
    graph = graph_of_method.get_graph(xray=1 if is_open else False)
    edges = [
        {"source": edge.source, "target": edge.target, "words": str(edge.data or ""), "conditional": edge.conditional}
        for edge in graph.edges
    ]
    return {"nodes": list(graph.nodes), "edges": edges}


@lru_cache(128)
def draw_graph(name: str, graph_of_method: Any, is_open: bool = False) -> str:
    """A method's graph as an SVG document. Nodes are groups of the class `node` with the attribute `data-node`."""
    graph = list_graph(graph_of_method, is_open=is_open)
    edges = [(edge["source"], edge["target"], edge["words"]) for edge in graph["edges"]]
    conditional = {edge[:2] for edge, item in zip(edges, graph["edges"], strict=True) if item["conditional"]}
    loops = [edge for edge in edges if edge[0] == edge[1]]
    room = {node: sum(measure_loop(edge) for edge in loops if edge[0] == node) for node in graph["nodes"]}
    widths = {node: measure_box(node) + room[node] for node in graph["nodes"]}
    layout = lay_out(widths, edges, measure_words)
    parts = [draw_route(route, route.edge[:2] in conditional) for route in layout.routes]
    parts += [draw_node(node, *layout.nodes[node]) for node in graph["nodes"]]
    parts += [draw_loop(edge, *layout.nodes[edge[0]]) for edge in loops]
    return wrap(name, layout, parts)


def measure_box(name: str) -> float:
    return LETTER_WIDTH * len(END_NAMES.get(name, name)) + BOX_PADDING


def measure_words(words: str) -> float:
    return LABEL_LETTER_WIDTH * len(words) + 8


def measure_loop(edge: Edge) -> float:
    """How much wider a node's place is for an edge to itself; the room is on both sides, so that the box is centred."""
    return 2 * (measure_words(edge[2]) + 30)


def get_y(layer: int) -> int:
    """The middle of a layer."""
    return MARGIN + BOX_HEIGHT // 2 + layer * LAYER_HEIGHT


def draw_node(name: str, x: float, layer: int) -> str:
    width, y = measure_box(name), get_y(layer)
    corner = BOX_HEIGHT / 2 if name in END_NAMES else 6
    kind = "node end" if name in END_NAMES else "node"
    return (
        f'<g class="{kind}" data-node={quoteattr(name)}>'
        f'<rect x="{x - width / 2 + MARGIN:.1f}" y="{y - BOX_HEIGHT / 2:g}" '
        f'width="{width:.1f}" height="{BOX_HEIGHT}" rx="{corner:g}" fill="none" stroke="currentColor"/>'
        f'<text x="{x + MARGIN:.1f}" y="{y + 4.5:g}" text-anchor="middle" font-size="13" fill="currentColor">'
        f"{escape(END_NAMES.get(name, name))}</text></g>"
    )


def draw_route(route: Route, is_conditional: bool) -> str:
    """An edge: a line through its places, an arrow at its end, and its words on the way."""
    direction = -1 if route.is_back else 1
    half = BOX_HEIGHT / 2
    points = [(x + MARGIN, float(get_y(layer))) for x, layer in route.points]
    points[0] = points[0][0], points[0][1] + direction * half
    points[-1] = points[-1][0], points[-1][1] - direction * half
    line = f"M{points[0][0]:.1f} {points[0][1]:g}"
    for number, ((x1, y1), (x2, y2)) in enumerate(pairwise(points)):
        y1 += WORDS_GAP * direction * (number == route.words_at)
        y2 -= WORDS_GAP * direction * (number + 1 == route.words_at)
        middle = (y1 + y2) / 2
        line += f" M{x1:.1f} {y1:g}" if number == route.words_at else ""
        line += f" C{x1:.1f} {middle:g} {x2:.1f} {middle:g} {x2:.1f} {y2:g}"
    words = "" if route.words_at is None else draw_words(route.edge[2], *points[route.words_at])
    return draw_edge(route.edge, line, points[-1], direction, is_conditional, words)


def draw_loop(edge: Edge, x: float, layer: int) -> str:
    """An edge from a node to itself, at its right."""
    right, y = x + measure_box(edge[0]) / 2 + MARGIN, get_y(layer)
    line = f"M{right:.1f} {y - 8:g} C{right + 26:.1f} {y - 22:g} {right + 26:.1f} {y + 22:g} {right:.1f} {y + 8:g}"
    words = draw_words(edge[2], right + 26 + measure_words(edge[2]) / 2, y) if edge[2] else ""
    return draw_edge(edge, line, (right, y + 8), 0, True, words)


def draw_edge(edge: Edge, line: str, tip: tuple[float, float], direction: int, is_conditional: bool, words: str) -> str:
    """The group of an edge. tip: where the arrow points to; direction: 1 for down, -1 for up, 0 for left."""
    dashes = ' stroke-dasharray="4 3"' if is_conditional else ""
    wings = f"l-3.5 {-6 * direction} h7" if direction else "l6 -3.5 v7"
    arrow = f'<path d="M{tip[0]:.1f} {tip[1]:g} {wings} z" fill="currentColor"/>'
    source, target = quoteattr(edge[0]), quoteattr(edge[1])
    return (
        f'<g class="edge" data-source={source} data-target={target}>'
        f'<path d="{line}" fill="none" stroke="currentColor"{dashes}/>{arrow}{words}</g>'
    )


def draw_words(words: str, x: float, y: float) -> str:
    """The words of an edge, in the gap that its line leaves."""
    return (
        f'<text class="words" x="{x:.1f}" y="{y + 4:g}" text-anchor="middle" font-size="11" fill="currentColor">'
        f"{escape(words)}</text>"
    )


def wrap(name: str, layout: Layout, parts: Sequence[str]) -> str:
    """The document."""
    width, height = layout.width + 2 * MARGIN, get_y(layout.layers - 1) + BOX_HEIGHT / 2 + MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="sans-serif"><title>{escape(name)}</title>{"".join(parts)}</svg>'
    )
