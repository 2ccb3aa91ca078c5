"""The subgraph that is the node `verify` of self_verification. It verifies one candidate without waiting
for the others.

In `mask_condition` the model joins question and candidate into a statement in which [MASK] hides a condition: a detail
of the question. In `recover_condition` the model tries ten times to recover the hidden words.

mask_condition -> a masked statement: recover_condition | no statement: end
"""

from typing import Annotated

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State, VerifiedCandidate, append_items
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.routes import recover_if_masked
from quorum.nodes.self_verification import mask_condition, recover_condition


class VerificationInput(TypedDict, total=False):
    """rank: the candidate's number, from 0; answer: the candidate."""

    question: str
    passages: list[Passage]
    rank: int
    answer: str


class VerificationOutput(Counters, total=False):
    """verified_candidates: one item, for this candidate; none if there is no masked statement."""

    verified_candidates: Annotated[list[VerifiedCandidate], append_items]


verification = (
    MethodGraph(State, input_schema=VerificationInput, output_schema=VerificationOutput, context_schema=Context)
    .add_node(mask_condition)
    .add_node(recover_condition)
    .add_edge("__start__", "mask_condition")
    .add_conditional_edges(
        "mask_condition", recover_if_masked, {"words hidden": "recover_condition", "no statement": "__end__"}
    )
    .add_edge("recover_condition", "__end__")
    .compile(name="verification")
)
