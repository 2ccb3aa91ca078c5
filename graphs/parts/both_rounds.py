"""The subgraph that is the node `both_rounds` of concat_pf: its two rounds at the same time, with speculative=true.

concat_answer and passage_answer x k
"""

from typing import Annotated

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State, Vote, append_items
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.answer import concat_answer, passage_answer
from quorum.nodes.routes import ask_all_at_once


class BothRoundsInput(TypedDict):
    """What both rounds are asked about."""

    question: str
    passages: list[Passage]


class BothRoundsOutput(Counters, total=False):
    """The answer of the first round, and the votes of the second."""

    answer: str
    answer_text: str | None
    unknown: bool
    confidence: float | None
    passages: list[Passage]
    votes: Annotated[list[Vote], append_items]


both_rounds = (
    MethodGraph(State, input_schema=BothRoundsInput, output_schema=BothRoundsOutput, context_schema=Context)
    .add_node(concat_answer)
    .add_node(passage_answer)
    .add_conditional_edges(
        "__start__", ask_all_at_once, {"first round": "concat_answer", "each passage": "passage_answer"}
    )
    .shorten_after("concat_answer", then="__end__")
    .add_edge("passage_answer", "__end__")
    .compile(name="both_rounds")
)
