"""Self-Route (Li et al. 2024): the passages found; if they do not hold the answer, the whole documents.

check_documents -> retrieve -> concat_answer -> unknown_check
-> known: end | unknown: find_documents -> documents_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin
from quorum.nodes.documents import check_documents, documents_answer, find_documents
from quorum.nodes.routes import read_documents_if_unknown
from quorum.nodes.unknown import unknown_check

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(check_documents)
    .add_node(retrieve)
    .add_node(concat_answer)
    .add_node(unknown_check)
    .add_node(find_documents)
    .add_node(documents_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "check_documents")
    .add_edge("check_documents", "retrieve")
    .add_edge("retrieve", "concat_answer")
    .shorten_after("concat_answer", then="unknown_check")
    .add_conditional_edges(
        "unknown_check", read_documents_if_unknown, {"known": "find_evidence", "unknown": "find_documents"}
    )
    .add_edge("find_documents", "documents_answer")
    .shorten_after("documents_answer", name="shorten_again")
    .end_with_evidence()
    .compile(name="self_route")
)
