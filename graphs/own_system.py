"""A user's own system as a graph, so that a comparison can show the system beside the methods.

begin -> the system
"""

from hashlib import sha256
from typing import Any

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.ask_system import make_system_node
from quorum.nodes.begin import begin


def make_own_system_graph(name: str, spec: str) -> Any:
    """Make the compiled graph of a user's system. The graph has two more attributes: `pricing_model`, the spec of the
    model whose price applies to the system's tokens, and `spec_hash`, a hash that identifies the system.

    name: the user's name for the system; spec: where it is, "http://localhost:8000/v1#model",
    "langgraph:http://localhost:2024#assistant" or "python:module:function". The node's name contains the hash, so that
    a folder of results is only continued with the same system.
    """
    spec_hash, (ask_system, pricing_model) = sha256(spec.encode()).hexdigest()[:8], make_system_node(name, spec)
    node = f"system_{spec_hash}"
    builder: Any = MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    graph = (
        builder.add_node(begin)
        .add_node(node, ask_system)
        .add_edge("__start__", "begin")
        .add_edge("begin", node)
        .add_edge(node, "find_evidence")
        .end_with_evidence()
        .compile(name=name)
    )
    graph.pricing_model, graph.spec_hash = pricing_model, spec_hash
    return graph
