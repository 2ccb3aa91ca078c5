"""The base prompt without passages (Kim et al. 2024, section 4.1, listing 10 with N = 0 passages).

closed_book_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.base_prompt import closed_book_answer
from quorum.nodes.begin import begin

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(closed_book_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "closed_book_answer")
    .shorten_after("closed_book_answer")
    .end_with_evidence()
    .compile(name="no_retrieval")
)
