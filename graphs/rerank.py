"""Votes weighted by TF-IDF (Lazaridou et al. 2022, as in Kim et al. 2024, section 4.1).

Despite its name, the method does not sort the passages again: it weighs the votes.

retrieve -> passage_answer x k -> weigh_by_words -> vote
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import passage_answer
from quorum.nodes.begin import begin
from quorum.nodes.routes import ask_all_passages
from quorum.nodes.vote import vote
from quorum.nodes.weigh_votes import weigh_by_words

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(passage_answer)
    .add_node(weigh_by_words)
    .add_node(vote)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges("retrieve", ask_all_passages, {"each passage": "passage_answer", "no passage": "vote"})
    .add_edge("passage_answer", "weigh_by_words")
    .add_edge("weigh_by_words", "vote")
    .add_edge("vote", "find_evidence")
    .end_with_evidence()
    .compile(name="rerank")
)
