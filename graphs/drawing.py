"""Drawings of graphs whose subgraphs are open (`get_graph(xray=True)`)."""

from collections.abc import Sequence

from langchain_core.runnables.graph import Edge, Graph, Node

SEPARATOR = ":"  # LangGraph writes a node's id as the names of the nodes that contain it, then its own name


def close_repeated_subgraphs(graph: Graph) -> Graph:
    """The drawing with every subgraph open only once. Where a subgraph's name comes again, it is a single node.

    Mermaid needs a name of its own for each open subgraph, and readers need not read `retrieve` twice. Of several
    places the outermost stays open; of equally deep ones, the first.
    """
    paths = list(dict.fromkeys(path for id_ in graph.nodes for path in list_containers(id_)))
    open_names: set[str] = set()
    closed_paths: list[str] = []
    for path in sorted(paths, key=lambda path: path.count(SEPARATOR)):  # a stable sort
        name = path.rpartition(SEPARATOR)[2]
        if find_closed_path(path, closed_paths) is None:
            if name in open_names:
                closed_paths.append(path)
            open_names.add(name)
    return close_subgraphs(graph, closed_paths)


def close_subgraphs(graph: Graph, closed_paths: Sequence[str]) -> Graph:
    """The drawing with a single node in place of each subgraph at one of these paths."""
    closed_graph = Graph()
    for id_, node in graph.nodes.items():
        path = find_closed_path(id_, closed_paths)
        if path is None:
            closed_graph.nodes[id_] = node
        else:
            closed_graph.nodes.setdefault(path, Node(path, path.rpartition(SEPARATOR)[2], None, None))
    edges: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        source, target = (find_closed_path(id_, closed_paths) or id_ for id_ in (edge.source, edge.target))
        if source == edge.source or source != target:  # otherwise the edge is inside a closed subgraph
            edges.setdefault((source, target), edge.copy(source=source, target=target))
    closed_graph.edges.extend(edges.values())
    return closed_graph


def list_containers(id_: str) -> list[str]:
    """The paths of the subgraphs that contain a node, the outermost first.

    >>> list_containers("search_and_filter:retrieve:search")
    ['search_and_filter', 'search_and_filter:retrieve']
    """
    names = id_.split(SEPARATOR)[:-1]
    return [SEPARATOR.join(names[: count + 1]) for count in range(len(names))]


def find_closed_path(id_: str, closed_paths: Sequence[str]) -> str | None:
    """Which of the paths is that of a subgraph which contains the node; None if none is."""
    return next((path for path in closed_paths if id_.startswith(path + SEPARATOR)), None)
