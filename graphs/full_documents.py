"""Long context (Li et al. 2024): one prompt over the whole documents of the passages found, or over all.

check_documents -> retrieve -> find_documents -> documents_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin
from quorum.nodes.documents import check_documents, documents_answer, find_documents

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(check_documents)
    .add_node(retrieve)
    .add_node(find_documents)
    .add_node(documents_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "check_documents")
    .add_edge("check_documents", "retrieve")
    .add_edge("retrieve", "find_documents")
    .add_edge("find_documents", "documents_answer")
    .shorten_after("documents_answer")
    .end_with_evidence()
    .compile(name="full_documents")
)
