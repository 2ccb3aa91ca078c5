"""CRAG (Yan et al. 2024, section 4, figure 2): grade the passages, search again if they do not help, keep what does.

retrieve -> score_passages -> act_on_grades -> keep_best_strips -> concat_answer

Ambiguous or incorrect passages lead from act_on_grades to write_keywords -> search_again. With the setting
evaluator=llm, the node grade_passage asks the model about each passage in place of score_passages, and copy_sentences
replaces keep_best_strips.
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin
from quorum.nodes.crag import (
    act_on_grades,
    copy_sentences,
    grade_passage,
    keep_best_strips,
    score_passages,
    search_again,
    write_keywords,
)
from quorum.nodes.routes import grade_by_scores_or_prompt, keep_by_scores_or_prompt, search_again_unless_correct

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(score_passages)
    .add_node(grade_passage)
    .add_node(act_on_grades)
    .add_node(write_keywords)
    .add_node(search_again)
    .add_node(keep_best_strips)
    .add_node(copy_sentences)
    .add_node(concat_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges(
        "retrieve",
        grade_by_scores_or_prompt,
        {"by scores": "score_passages", "each passage": "grade_passage", "no passage": "act_on_grades"},
    )
    .add_edge("score_passages", "act_on_grades")
    .add_edge("grade_passage", "act_on_grades")
    .add_conditional_edges(
        "act_on_grades",
        search_again_unless_correct,
        {
            "ambiguous or incorrect": "write_keywords",
            "correct, by scores": "keep_best_strips",
            "correct, by a prompt": "copy_sentences",
        },
    )
    .add_edge("write_keywords", "search_again")
    .add_conditional_edges(
        "search_again",
        keep_by_scores_or_prompt,
        {"by scores": "keep_best_strips", "by a prompt": "copy_sentences", "no passage": "concat_answer"},
    )
    .add_edge("keep_best_strips", "concat_answer")
    .add_edge("copy_sentences", "concat_answer")
    .shorten_after("concat_answer")
    .end_with_evidence()
    .compile(name="crag")
)
