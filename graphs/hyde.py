"""HyDE (Gao et al. 2023, section 3, figure 1): a search for a passage that the model makes up from the question.

write_hypothetical_passage -> retrieve -> concat_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin
from quorum.nodes.hyde import write_hypothetical_passage

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(write_hypothetical_passage)
    .add_node(retrieve)
    .add_node(concat_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "write_hypothetical_passage")
    .add_edge("write_hypothetical_passage", "retrieve")
    .add_edge("retrieve", "concat_answer")
    .shorten_after("concat_answer")
    .end_with_evidence()
    .compile(name="hyde")
)
