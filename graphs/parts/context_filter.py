"""A context filter cuts the passages down to what helps with the question (Wang et al. 2023, FILCO, figure 2 left).

filter_by_scores | filter_by_prompt | filter_by_answers | nothing to filter: end

filter_by_scores keeps the sentences that a filter scores high enough, filter_by_prompt those that a model copies out
when a prompt asks for them, and filter_by_answers those that a measure chooses by the gold answers. With
filter_mode="psg" the first two nodes keep whole passages, not sentences.
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.filter_context import filter_by_answers, filter_by_prompt, filter_by_scores
from quorum.nodes.routes import choose_filter


class FilterInput(TypedDict, total=False):
    """The passages to cut down, and what they must help with: `query`, or `question` if there is no query.

    given_gold_answers: the gold answers, by which filter_by_answers chooses. retrieved: ids of the passages that
    earlier searches for the same question found.
    """

    question: str
    query: str | None
    passages: list[Passage]
    given_gold_answers: list[str] | None
    retrieved: list[str] | None


class FilterOutput(Counters, total=False):
    """passages: those that remain, cut down. retrieved: the ids that the input brought, then those of all passages
    before the filter.
    """

    passages: list[Passage]
    retrieved: list[str] | None


context_filter = (
    MethodGraph(State, input_schema=FilterInput, output_schema=FilterOutput, context_schema=Context)
    .add_node(filter_by_scores)
    .add_node(filter_by_prompt)
    .add_node(filter_by_answers)
    .add_conditional_edges(
        "__start__",
        choose_filter,
        {
            "by scores": "filter_by_scores",
            "by a prompt": "filter_by_prompt",
            "by the gold answers": "filter_by_answers",
            "nothing to filter": "__end__",
        },
    )
    .add_edge("filter_by_scores", "__end__")
    .add_edge("filter_by_prompt", "__end__")
    .add_edge("filter_by_answers", "__end__")
    .compile(name="context_filter")
)
