"""Finds out who sends which prompt, from the graphs of the methods and from what the prompts themselves say."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from quorum.graphs.catalogue import list_methods
from quorum.nodes.sent_prompts import find_sent_prompts, list_known_prompts

# Every method has these parts and nodes, whose prompts are sent if a setting asks for it: `sent_by` says which.
SHARED_PARTS = {"retrieve", "reranking"}
SHARED_NODES = {"shorten", "shorten_again"}


@cache
def find_senders() -> dict[str, tuple[str, ...]]:
    """Prompt -> the methods and commands ("quorum ..."), and the settings of any method, that send it or a variant."""
    senders: dict[str, list[str]] = {}
    for name, method in list_methods().items():
        for prompt in find_prompts_of_graph(method.graph):
            senders.setdefault(prompt, []).append(name)
    return {
        variant.name: (*senders.get(variant.name, ()), *prompt.sent_by)
        for prompt in list_known_prompts()
        for variant in prompt.list_all()
    }


def find_prompts_of_graph(graph: Any) -> set[str]:
    """The prompts that the nodes of a graph send, without those of its `SHARED_PARTS` and `SHARED_NODES`."""
    return {prompt for node in list_node_functions(graph) for prompt in find_sent_prompts(node)}


def list_node_functions(graph: Any) -> Iterator[Any]:
    """The functions of a graph's nodes and of the graphs that are its nodes."""
    for name, node in graph.get_graph().nodes.items():
        if name in SHARED_NODES:
            continue
        if hasattr(node.data, "get_graph") and hasattr(node.data, "get_subgraphs"):
            if node.data.get_name() not in SHARED_PARTS:
                yield from list_node_functions(node.data)
        else:
            function = getattr(node.data, "afunc", None) or getattr(node.data, "func", None)
            if function is not None:  # the start and the end have none
                yield function
