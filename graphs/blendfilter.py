"""BlendFilter (Wang et al. 2024, section 3, figure 1): three queries, each with its passages filtered by the model.

retrieve -> write_external_knowledge, write_internal_knowledge, name_topic -> blend_queries ->
search_and_filter x 3 -> merge_passages -> reason -> extract_answer

search_and_filter: retrieve -> judge_passages -> choose_passages. With the setting filter_union, the node filter_union
filters the passages of all queries at once, after merge_passages, and search_and_filter does not filter. With
filter_turns=1, one call does the work of judge_passages and choose_passages, and one call, in the node cot_answer, does
the work of reason and extract_answer. In this case name_topic is skipped, because only the prompts of judge_passages
and choose_passages show the topic.
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.knowledge_filter import knowledge_filter
from quorum.graphs.parts.passages_of_query import passages_of_query
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin
from quorum.nodes.blend_queries import blend_queries, name_topic, write_external_knowledge, write_internal_knowledge
from quorum.nodes.merge_passages import merge_passages
from quorum.nodes.reason import cot_answer, extract_answer, reason
from quorum.nodes.routes import (
    filter_or_reason,
    prepare_queries,
    retrieve_or_write_knowledge,
    search_each_query,
    take_one_or_two_turns,
)

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(write_external_knowledge)
    .add_node(write_internal_knowledge)
    .add_node(name_topic)
    .add_node(blend_queries)
    .add_node("search_and_filter", passages_of_query)
    .add_node(merge_passages)
    .add_node("filter_union", knowledge_filter)
    .add_node(reason)
    .add_node(extract_answer)
    .add_node(cot_answer)
    .add_edge("__start__", "begin")
    .add_conditional_edges(
        "begin",
        retrieve_or_write_knowledge,
        {"search first": "retrieve", "own knowledge": "write_internal_knowledge", "topic for the filter": "name_topic"},
    )
    .add_conditional_edges(
        "retrieve",
        prepare_queries,
        {
            "passages' knowledge": "write_external_knowledge",
            "own knowledge": "write_internal_knowledge",
            "topic for the filter": "name_topic",
            "question alone": "blend_queries",
        },
    )
    .add_edge("write_external_knowledge", "blend_queries")
    .add_edge("write_internal_knowledge", "blend_queries")
    .add_edge("name_topic", "blend_queries")
    .add_conditional_edges("blend_queries", search_each_query, {"each query": "search_and_filter"})
    .add_edge("search_and_filter", "merge_passages")
    .add_conditional_edges(
        "merge_passages",
        filter_or_reason,
        {"filter all at once": "filter_union", "two turns": "reason", "one turn": "cot_answer"},
    )
    .add_conditional_edges("filter_union", take_one_or_two_turns, {"two turns": "reason", "one turn": "cot_answer"})
    .add_edge("reason", "extract_answer")
    .shorten_after("extract_answer", "cot_answer")
    .end_with_evidence()
    .compile(name="blendfilter")
)
