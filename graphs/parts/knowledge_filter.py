"""Keep the passages that help to answer the question (Wang et al. 2024, section 3.3). Any graph can use this subgraph.

judge_passages -> choose_passages, or judge_and_choose alone

judge_passages: the model writes for each passage whether it helps. choose_passages: a second call names the passages to
keep. With the setting filter_turns=1, judge_and_choose does both in one call.
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.filter_passages import choose_passages, judge_and_choose, judge_passages
from quorum.nodes.routes import take_one_or_two_turns


class KnowledgeFilterInput(TypedDict, total=False):
    """topic: the topic of the question, which the prompts show; rank: the number of the query that found the passages;
    retrieved: ids of all passages that were found.
    """

    question: str
    topic: str | None
    rank: int
    passages: list[Passage]
    retrieved: list[str] | None


class KnowledgeFilterOutput(Counters, total=False):
    """The passages that help, and the ids of all passages before the filter."""

    passages: list[Passage]
    retrieved: list[str] | None


knowledge_filter = (
    MethodGraph(State, input_schema=KnowledgeFilterInput, output_schema=KnowledgeFilterOutput, context_schema=Context)
    .add_node(judge_passages)
    .add_node(choose_passages)
    .add_node(judge_and_choose)
    .add_conditional_edges(
        "__start__", take_one_or_two_turns, {"two turns": "judge_passages", "one turn": "judge_and_choose"}
    )
    .add_edge("judge_passages", "choose_passages")
    .add_edge("choose_passages", "__end__")
    .add_edge("judge_and_choose", "__end__")
    .compile(name="knowledge_filter")
)
