"""Compiles the graph of a cascade.

begin -> first stage -> end if its test passes, else second stage -> end if its test passes, else third stage
"""

from collections.abc import Sequence
from typing import Any

from quorum.cascades.composed_file import ComposedCascade
from quorum.core.context import MAX_SUPERSTEPS, Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.abstain import abstain
from quorum.nodes.ask_stage import make_stage_node
from quorum.nodes.begin import begin
from quorum.nodes.routes import accept_or_go_on


def compile_cascade(cascade: ComposedCascade, graphs: Sequence[Any]) -> Any:
    """Compile the graph of a cascade. graphs: the compiled graph of each stage."""
    node_names = [name_stage_node(cascade, number) for number in range(len(cascade.stages))]
    graph: Any = MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context).add_node(begin)
    graph.add_node(abstain).add_edge("__start__", "begin").add_edge("begin", node_names[0])
    for number, stage in enumerate(cascade.stages):
        graph.add_node(node_names[number], make_stage_node(cascade, number, graphs))
        if stage.accept is None:
            graph.add_edge(node_names[number], "abstain")
        else:
            paths = {stage.accept.description: "abstain", "else": node_names[number + 1]}
            graph.add_conditional_edges(node_names[number], accept_or_go_on(stage.accept), paths)
    graph.add_edge("abstain", "__end__")
    compiled_graph = graph.compile(name=cascade.graph_name).with_config(recursion_limit=MAX_SUPERSTEPS)
    compiled_graph.cascade = cascade
    compiled_graph.pricing_model_by_stage = {
        stage.name: graph.pricing_model
        for stage, graph in zip(cascade.stages, graphs, strict=True)
        if hasattr(graph, "pricing_model")
    }
    return compiled_graph


def name_stage_node(cascade: ComposedCascade, number: int) -> str:
    """Name the node of stage `number`, from 0: its method, followed by _2, _3 ... if earlier stages have it, too."""
    method = cascade.stages[number].method
    earlier_count = sum(stage.method == method for stage in cascade.stages[:number])
    return f"{method}_{earlier_count + 1}" if earlier_count else method
