"""The layout of graphs: boxes and words never overlap, edges lead down unless they close a cycle."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.graph_layout import GAP, Layout, lay_out

NAMES = ("a", "b", "c", "d", "e", "f", "g")
WORDS = st.sampled_from(["", "yes", "no more"])
EDGE = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), WORDS)
EDGES = st.lists(EDGE, unique_by=lambda edge: edge[:2])


def measure(words: str) -> float:
    return 7.0 * len(words)


def list_boxes(layout: Layout, widths: dict[str, float]) -> list[tuple[int, float, float]]:
    """(layer, left, right) of all nodes and words."""
    boxes = [(layer, x - widths[name] / 2, x + widths[name] / 2) for name, (x, layer) in layout.nodes.items()]
    for route in layout.routes:
        if route.words_at is not None:
            x, layer = route.points[route.words_at]
            width = measure(route.edge[2])
            boxes.append((layer, x - width / 2, x + width / 2))
    return sorted(boxes)


@given(EDGES, st.lists(st.floats(10, 200), min_size=len(NAMES), max_size=len(NAMES)))
def test_nothing_overlaps_and_edges_end_at_their_nodes(edges: list[tuple[str, str, str]], sizes: list[float]) -> None:
    widths = dict(zip(NAMES, sizes, strict=True))
    layout = lay_out(widths, edges, measure)
    boxes = list_boxes(layout, widths)
    assert all(left >= -0.1 and right <= layout.width + 0.1 for _, left, right in boxes)
    for (layer, _, right), (next_layer, left, _) in pairwise(boxes):
        assert layer != next_layer or left - right >= GAP - 0.2
    assert len(layout.routes) == len([edge for edge in edges if edge[0] != edge[1]])
    for route in layout.routes:
        assert (route.points[0], route.points[-1]) == (layout.nodes[route.edge[0]], layout.nodes[route.edge[1]])
        layers = [layer for _, layer in route.points]
        assert layers == sorted(layers, reverse=route.is_back)
    assert layout == lay_out(widths, edges, measure)


def test_an_edge_leads_back_only_to_a_node_that_is_listed_earlier() -> None:
    edges = [("a", "b", ""), ("b", "c", ""), ("c", "b", "again"), ("c", "d", "")]
    layout = lay_out(dict.fromkeys("abcd", 40.0), edges, measure)
    assert [route.edge for route in layout.routes if route.is_back] == [("c", "b", "again")]
    assert [layer for _, layer in layout.nodes.values()] == [0, 2, 4, 6]
