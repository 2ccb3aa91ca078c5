"""Post-fusion (Liu et al. 2024, section 3.2.1, equation 2, figure 1b): every passage answers alone, the majority wins.

retrieve -> passage_answer x k -> vote
(vote=staged: passage_answer for a few passages at a time, until the vote is decided)
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import passage_answer
from quorum.nodes.begin import begin
from quorum.nodes.routes import ask_passages, continue_vote
from quorum.nodes.vote import certified_vote

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(passage_answer)
    .add_node("vote", certified_vote)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges("retrieve", ask_passages, {"each passage": "passage_answer", "no passage": "vote"})
    .add_edge("passage_answer", "vote")
    .add_conditional_edges("vote", continue_vote, {"still undecided": "passage_answer", "decided": "find_evidence"})
    .end_with_evidence()
    .compile(name="post_fusion")
)
