"""The subgraph that is the node `answer_from_summaries` of sure: the paper's ablation without checks and comparisons.

summaries_answer (sure_parts=summaries)
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.answer_from_candidates import summaries_answer


class SummariesInput(TypedDict):
    """The summaries of all candidates, and the passages, which the prompt shows first."""

    question: str
    passages: list[Passage]
    summaries: list[str] | None


class SummariesOutput(Counters, total=False):
    """The answer, and the passages that the prompt showed."""

    answer: str
    answer_text: str | None
    answer_type: str | None
    unknown: bool
    passages: list[Passage]


answer_from_summaries = (
    MethodGraph(State, input_schema=SummariesInput, output_schema=SummariesOutput, context_schema=Context)
    .add_node(summaries_answer)
    .add_edge("__start__", "summaries_answer")
    .shorten_after("summaries_answer", then="__end__")
    .compile(name="answer_from_summaries")
)
