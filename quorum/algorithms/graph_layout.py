"""Lays out a directed graph in layers, from top to bottom, as Sugiyama, Tagawa and Toda (1981) do.

Edges that lead back and close a cycle are turned round, nodes get the layer of their longest path, a long edge and the
words at an edge get places of their own in the layers between, the order in each layer follows from barycenters, and
positions minimise the squared distances from the neighbours' middle, by isotonic regression. So boxes and words never
overlap. Nothing is random: the same graph always gets the same layout.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP = 24.0  # between neighbours in a layer
SWEEPS = 12
Edge = tuple[str, str, str]  # source, target, words or ""


@dataclass
class Place:
    """A node, the words of an edge, or a bend. width: of its box; x: its middle; before, after: the places above and
    below that it is connected to.
    """

    layer: int
    width: float
    x: float = 0.0
    before: list["Place"] = field(default_factory=list)
    after: list["Place"] = field(default_factory=list)


@dataclass(frozen=True)
class Route:
    """The way of an edge. points: (x, layer), from the source to the target; words_at: the index of the point where its
    words stand, or None without words; is_back: whether it leads upwards.
    """

    edge: Edge
    points: Sequence[tuple[float, int]]
    words_at: int | None
    is_back: bool = False


@dataclass(frozen=True)
class Layout:
    """A layout. nodes: the middle and the layer of each node, every second layer having nodes; routes: the edges, but
    for those from a node to itself; width: of the whole, from 0; layers: their number.
    """

    nodes: Mapping[str, tuple[float, int]]
    routes: Sequence[Route]
    width: float
    layers: int


def lay_out(widths: Mapping[str, float], edges: Sequence[Edge], measure: Callable[[str], float]) -> Layout:
    """Lay out a graph. widths: of the nodes' boxes; an edge to a node that is listed earlier may close a cycle;
    measure: the width of an edge's words.

    >>> layout = lay_out({"a": 40, "b": 40}, [("a", "b", "known")], lambda words: 6.0 * len(words))
    >>> layout.nodes["a"], layout.nodes["b"], layout.routes[0].words_at
    ((20.0, 0), (20.0, 2), 1)
    """
    edges = [edge for edge in edges if edge[0] != edge[1]]
    back = find_back_edges(list(widths), edges)
    depths = find_depths(list(widths), [turn(edge) if edge in back else edge for edge in edges])
    places = {name: Place(2 * depths[name], width) for name, width in widths.items()}
    layers: list[list[Place]] = [[] for _ in range(2 * max(depths.values(), default=0) + 1)]
    for place in places.values():
        layers[place.layer].append(place)
    chains = [make_chain(edge, edge in back, places, layers, measure) for edge in edges]
    order_layers(layers)
    position_layers(layers)
    shift = min((place.x - place.width / 2 for layer in layers for place in layer), default=0.0)
    for layer in layers:
        for place in layer:
            place.x = round(place.x - shift, 1)
    width = max((place.x + place.width / 2 for layer in layers for place in layer), default=0.0)
    routes = [make_route(edge, edge in back, chain) for edge, chain in zip(edges, chains, strict=True)]
    return Layout({name: (place.x, place.layer) for name, place in places.items()}, routes, width, len(layers))


def turn(edge: Edge) -> Edge:
    return edge[1], edge[0], edge[2]


def find_back_edges(nodes: Sequence[str], edges: Sequence[Edge]) -> set[Edge]:
    """The edges that lead back, as the nodes are listed, and so close a cycle.

    >>> find_back_edges(["a", "b", "c"], [("a", "b", ""), ("c", "b", ""), ("b", "a", "again")])
    {('b', 'a', 'again')}
    """
    targets: dict[str, set[str]] = {name: {target for source, target, _ in edges if source == name} for name in nodes}
    number = {name: index for index, name in enumerate(nodes)}

    def reaches(start: str, end: str) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            new = targets[waiting.pop()] - seen
            seen |= new
            waiting += new
        return end in seen

    return {edge for edge in edges if number[edge[1]] < number[edge[0]] and reaches(edge[1], edge[0])}


def find_depths(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """The number of edges on the longest path to each node. The edges form no cycle."""
    depths = dict.fromkeys(nodes, 0)
    for _ in nodes:
        changed = False
        for source, target, _ in edges:
            if depths[target] <= depths[source]:
                depths[target], changed = depths[source] + 1, True
        if not changed:
            break
    return depths


def make_chain(
    edge: Edge, is_back: bool, places: Mapping[str, Place], layers: list[list[Place]], measure: Callable[[str], float]
) -> list[Place]:
    """The places of an edge from top to bottom: its nodes, and one in each layer between. Its words stand in the first
    layer after its source.
    """
    upper, lower = (places[name] for name in (edge[:2] if not is_back else turn(edge)[:2]))
    between = [Place(layer, 0.0) for layer in range(upper.layer + 1, lower.layer)]
    if edge[2]:
        between[-1 if is_back else 0].width = measure(edge[2])
    chain = [upper, *between, lower]
    for above, below in pairwise(chain):
        above.after.append(below)
        below.before.append(above)
    for place in between:
        layers[place.layer].append(place)
    return chain


def order_layers(layers: list[list[Place]]) -> None:
    """Sort the places in each layer by the middle of their neighbours' numbers, downwards and upwards in turn."""
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            number_layers(layers)
            neighbours = [place.before if downwards else place.after for place in layer]
            middles = [
                sum(item.x for item in items) / len(items) if items else place.x
                for place, items in zip(layer, neighbours, strict=True)
            ]
            order = sorted(range(len(layer)), key=middles.__getitem__)
            layer[:] = [layer[index] for index in order]
    number_layers(layers)


def number_layers(layers: list[list[Place]]) -> None:
    """Give each place its number in its layer as x, from -1 to 1, so that layers of different length compare."""
    for layer in layers:
        for number, place in enumerate(layer):
            place.x = (2 * number + 1) / len(layer) - 1


def position_layers(layers: list[list[Place]]) -> None:
    """Move the places of each layer under the middle of their neighbours, as far as their widths allow."""
    for layer in layers:
        spread(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        for layer in layers if downwards else reversed(layers):
            wishes = []
            for place in layer:
                neighbours = (place.before if downwards else place.after) or [place]
                wishes.append(sum(item.x for item in neighbours) / len(neighbours))
            spread(layer, wishes)


def spread(layer: Sequence[Place], wishes: Sequence[float]) -> None:
    """Set x as near to the wishes as the order and the widths of the places allow (least squares)."""
    offsets, offset = [], 0.0
    for left, place in zip([None, *layer], layer, strict=False):
        offset += 0.0 if left is None else (left.width + place.width) / 2 + GAP
        offsets.append(offset)
    blocks: list[tuple[float, int]] = []  # (mean, how many): pool adjacent violators
    for wish, start in zip(wishes, offsets, strict=True):
        blocks.append((wish - start, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (mean, count), (last, last_count) = blocks[-2], blocks[-1]
            blocks[-2:] = [((mean * count + last * last_count) / (count + last_count), count + last_count)]
    values = [mean for mean, count in blocks for _ in range(count)]
    for place, value, start in zip(layer, values, offsets, strict=True):
        place.x = value + start


def make_route(edge: Edge, is_back: bool, chain: Sequence[Place]) -> Route:
    """The way of an edge, from its own source to its own target."""
    points = [(place.x, place.layer) for place in chain]
    return Route(edge, points[::-1] if is_back else points, 1 if edge[2] else None, is_back)
