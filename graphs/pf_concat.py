"""Every passage answers, then one prompt distils the answers (Liu et al. 2024, section 3.3, figure 2 bottom).

retrieve -> passage_answer x k -> keep_answered -> some answered: distill_answer | none answered: concat_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import concat_answer, distill_answer, passage_answer
from quorum.nodes.begin import begin
from quorum.nodes.keep_answered import keep_answered
from quorum.nodes.routes import ask_all_passages, distill_if_answered

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(passage_answer)
    .add_node(keep_answered)
    .add_node(distill_answer)
    .add_node(concat_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges(
        "retrieve", ask_all_passages, {"each passage": "passage_answer", "no passage": "keep_answered"}
    )
    .add_edge("passage_answer", "keep_answered")
    .add_conditional_edges(
        "keep_answered", distill_if_answered, {"some answered": "distill_answer", "none answered": "concat_answer"}
    )
    .shorten_after("distill_answer", "concat_answer")
    .end_with_evidence()
    .compile(name="pf_concat")
)
