"""What `verify` is in self_verification: one candidate, verified without waiting for the others.

mask_condition -> recover_condition (ten samples)
"""

from quorum.core.context import Context
from quorum.core.state import Claim, Recovery, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.routes import recover_if_masked
from quorum.nodes.self_verification import mask_condition, recover_condition

verification = (
    MethodGraph(State, input_schema=Claim, output_schema=Recovery, context_schema=Context)
    .add_node(mask_condition)
    .add_node(recover_condition)
    .add_edge("__start__", "mask_condition")
    .add_conditional_edges("mask_condition", recover_if_masked)
    .add_edge("recover_condition", "__end__")
    .compile(name="verification")
)
