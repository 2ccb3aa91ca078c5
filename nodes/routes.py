"""Every branch of every graph. A router reads the state and decides where the graph goes on; nothing else decides.

A router returns the next node's name, "__end__" to end the graph or subgraph, or a list of nodes and `Send`s that run
in parallel. Two routers return a label that the graph maps to a node: `rewrite_follow_up`, and the router that
`accept_or_go_on` makes.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from quorum.cascades.composed_file import Acceptance
from quorum.core.context import Context, get_context, get_filter_model
from quorum.core.conversation import ConversationState
from quorum.core.state import State
from quorum.nodes.answer_types import get_answer_type, resolve_sure_answer_type
from quorum.nodes.ask_stage import is_accepted
from quorum.nodes.fan_out import list_ranks_to_ask, send_comparisons, send_passages, send_validations
from quorum.nodes.rank_passages import find_window_start

Router = Callable[[State, Runtime[Context]], Hashable | Sequence[Hashable]]


def rewrite_follow_up(state: ConversationState) -> Literal["follow-up", "first"]:
    """Whether something was said before the question: "follow-up" if so, else "first". The graph maps these labels to
    nodes.
    """
    return "follow-up" if state["history"] else "first"


def refine_or(next_step: str | Router) -> Router:
    """Make the router that follows `retrieve`: to `refine` if a reranker or filter has work to do, else to `next_step`.

    `next_step` is a node's name or another router. In the graph, the edge from `refine` must lead to
    `next_step`, too.
    """

    def route(state: State, runtime: Runtime[Context]) -> Hashable | Sequence[Hashable]:
        if rerank_or_filter(state, runtime) != "__end__":
            return "refine"
        return next_step if isinstance(next_step, str) else next_step(state, runtime)

    route.__name__ = f"refine_or_{next_step if isinstance(next_step, str) else next_step.__name__}"
    return route


def choose_filter(
    state: State, runtime: Runtime[Context]
) -> Literal["filter_by_scores", "filter_by_prompt", "filter_by_answers", "__end__"]:
    """Filter by the gold answers (filter_mode=silver), by a prompt to a model that copies or chooses what to keep, or
    by a model's scores. If filter_mode is full, or if there are no passages: end.
    """
    context = get_context(runtime)
    if context.filter_mode == "full" or not state["passages"]:
        return "__end__"
    if context.filter_mode == "silver":
        return "filter_by_answers"
    return "filter_by_scores" if get_filter_model(context) is None else "filter_by_prompt"


def filter_if_chosen(state: State, runtime: Runtime[Context]) -> Literal["filter_context", "__end__"]:
    """Go to the filter if the user chose one; else end."""
    return "filter_context" if get_context(runtime).context_filter else "__end__"


def ask_passages_then_keep_answered(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["keep_answered"]:
    """Fan out: one `passage_answer` per passage. Without passages: `keep_answered`."""
    return send_passages("passage_answer", state, range(len(state["passages"]))) or "keep_answered"


def ask_passages(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote"]:
    """Fan out: one `passage_answer` per passage or, in a staged vote, for as many passages as could decide it. Without
    passages: `vote`.
    """
    return send_passages("passage_answer", state, list_ranks_to_ask(state, get_context(runtime))) or "vote"


def continue_vote(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["__end__"]:
    """Ask the next passages while a staged vote is undecided; end if it is decided or all passages were asked."""
    return send_passages("passage_answer", state, list_ranks_to_ask(state, get_context(runtime))) or "__end__"


def start_one_or_both_rounds(state: State, runtime: Runtime[Context]) -> list[Send | Literal["concat_answer"]]:
    """Start the first round (`concat_answer`). If speculative is set, start the fallback round at the same time: one
    `passage_answer_early` for each passage that `ask_passages` would ask about.
    """
    context = get_context(runtime)
    early_ranks = list_ranks_to_ask(state, context) if context.speculative else []
    return ["concat_answer", *send_passages("passage_answer_early", state, early_ranks)]


def fall_back_if_unknown(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote", "__end__"]:
    """Known answer: end. Unknown: continue as `ask_passages` says, or vote at once if the passages were asked about at
    the same time as the first round.
    """
    if not state["unknown"]:
        return "__end__"
    return "vote" if state.get("votes") else ask_passages(state, runtime)


def act_on_thought(state: State, runtime: Runtime[Context]) -> Literal["ask_action", "retrieve", "finish"]:
    """A thought without an action: ask for the action. A thought with an action: search or finish."""
    step = state["steps"][-1]
    return "ask_action" if step["query"] is None and step["answer"] is None else search_or_finish(state, runtime)


def search_or_finish(state: State, runtime: Runtime[Context]) -> Literal["retrieve", "finish"]:
    """Retrieve for a search, at most max_steps times. An answer, no action or one search too many: finish."""
    is_search = state["steps"][-1]["query"] is not None
    return "retrieve" if is_search and len(state["steps"]) <= get_context(runtime).max_steps else "finish"


def search_or_conclude(state: State) -> Literal["retrieve", "forced_answer", "conclude"]:
    """No step yet: retrieve for the question. A follow-up question: retrieve for it. A final answer: conclude.

    If the model gives neither after an intermediate answer, force a final answer.
    """
    steps = state["steps"]
    if not steps or steps[-1]["answer"] is None:
        return "retrieve"
    return "conclude" if steps[-1]["query"] is None else "forced_answer"


def answer_follow_up_or_question(
    state: State, runtime: Runtime[Context]
) -> Literal["intermediate_answer", "forced_answer"]:
    """Passages for a follow-up question: answer it. Passages for the question itself: give the final answer."""
    return "intermediate_answer" if state["steps"] else "forced_answer"


def continue_follow_ups(state: State, runtime: Runtime[Context]) -> Literal["follow_up", "forced_answer"]:
    """Continue while fewer than max_steps follow-up questions were asked; then force a final answer."""
    return "follow_up" if len(state["steps"]) < get_context(runtime).max_steps else "forced_answer"


def continue_rounds(state: State, runtime: Runtime[Context]) -> Literal["next_query", "__end__"]:
    """Continue while rounds are left. The round that just ended is not among `steps` yet."""
    return "next_query" if len(state["steps"]) + 1 < get_context(runtime).iterations else "__end__"


def ask_all_passages(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote"]:
    """Fan out: one `passage_answer` per passage, also with vote=staged."""
    return send_passages("passage_answer", state, range(len(state["passages"]))) or "vote"


def continue_reading(state: State) -> Literal["infer", "cite"]:
    """Read the next passage (`infer`) while passages are left; then `cite`."""
    return "infer" if state["finished_rounds"] < len(state["passages"]) else "cite"


def verify_if_candidates_differ(state: State) -> list[Send] | Literal["choose_verified"]:
    """Fan out: one verification per candidate. With one candidate or none there is nothing to verify."""
    candidates, shared_state = state["candidates"] or [], {"question": state["question"], "passages": state["passages"]}
    sends = [Send("verify", {**shared_state, "rank": rank, "answer": answer}) for rank, answer in enumerate(candidates)]
    return sends if len(sends) > 1 else "choose_verified"


def recover_if_masked(state: State) -> Literal["recover_condition", "__end__"]:
    """Recover the hidden words of the statement. If there is no statement: end; the candidate scores 0."""
    return "recover_condition" if state["masked_statement"] else "__end__"


def rerank_if_chosen(state: State, runtime: Runtime[Context]) -> Literal["rerank", "__end__"]:
    """Go to the reranker if the user chose one and there are two passages or more; else end."""
    return "rerank" if get_context(runtime).reranker and len(state["passages"]) > 1 else "__end__"


def rerank_if_chosen_then_filter(state: State, runtime: Runtime[Context]) -> Literal["rerank", "filter_context"]:
    """Go to the reranker if the user chose one and there are two passages or more; else to the method's own filter."""
    return "filter_context" if rerank_if_chosen(state, runtime) == "__end__" else "rerank"


def rerank_or_filter(state: State, runtime: Runtime[Context]) -> Literal["rerank", "filter_context", "__end__"]:
    """Go to the reranker if the user chose one and there are two passages or more; else as `filter_if_chosen` says."""
    next_node = rerank_if_chosen(state, runtime)
    return filter_if_chosen(state, runtime) if next_node == "__end__" else next_node


def choose_reranker(
    state: State, runtime: Runtime[Context]
) -> Literal["reorder", "rationalize", "summarize_passages", "rank_window"]:
    """Go to the first node of the reranker that the setting reranker names; for reranker=question it is `reorder`."""
    node_of_reranker: dict[str | None, Literal["rationalize", "summarize_passages", "rank_window"]] = {
        "rationale": "rationalize",
        "summary": "summarize_passages",
        "listwise": "rank_window",
    }
    return node_of_reranker.get(get_context(runtime).reranker, "reorder")


def reorder_if_explained(state: State) -> Literal["reorder", "__end__"]:
    """Reorder by the rationale (the summary of SuRe's best candidate). If SuRe found no candidates: end."""
    return "reorder" if state.get("rationale") else "__end__"


def summarize_each_candidate(state: State) -> list[Send] | Literal["select_candidate"]:
    """Fan out: one summary per candidate, also for a single one. Without candidates there is nothing to summarize."""
    candidates = state["candidates"] or []
    shared_state = {"question": state["question"], "passages": state["passages"], "candidates": candidates}
    return [
        Send("summarize_candidate", {**shared_state, "rank": rank}) for rank in range(len(candidates))
    ] or "select_candidate"


def compare_for_rationale(state: State) -> list[Send] | Literal["select_candidate"]:
    """Fan out: all validity checks and comparisons, whatever SuRe's settings say. A single candidate: select it."""
    return [*send_validations(state), *send_comparisons(state, lazy=False)] or "select_candidate"


def summarize_candidates(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["select_candidate"]:
    """Fan out: one summary per candidate. A single candidate needs one only if the summary will be the answer."""
    needs_summaries = (
        len(state["candidates"] or []) > 1
        or resolve_sure_answer_type(get_context(runtime), state["question"]).answer_type == "long"
    )
    return summarize_each_candidate(state) if needs_summaries else "select_candidate"


def judge_summaries(
    state: State, runtime: Runtime[Context]
) -> list[Send] | Literal["answer_from_summaries", "select_candidate"]:
    """Fan out: validity checks and comparisons, as SuRe's settings say; if sure_parts=summaries, neither: answer from
    the summaries.

    With ranking="lazy" the comparisons wait for the validity checks, if there are any.
    """
    context = get_context(runtime)
    if context.sure_parts == "summaries":
        return "answer_from_summaries"
    with_validity = context.sure_parts == "validity+ranking"
    if with_validity and context.ranking == "lazy":
        return send_validations(state) or "select_candidate"
    comparisons = send_comparisons(state, lazy=context.ranking == "lazy")
    return [*(send_validations(state) if with_validity else []), *comparisons] or "select_candidate"


def continue_comparisons(state: State) -> list[Send] | Literal["__end__"]:
    """Ask the comparisons that lazy ranking postponed, if they can still change the choice; else end."""
    return send_comparisons(state, lazy=True) or "__end__"


def choose_if_candidates_differ(state: State) -> Literal["answer_from_choices", "select_candidate"]:
    """Offer two or more candidates as choices.

    A single candidate is the answer; without candidates the answer is unknown.
    """
    return "answer_from_choices" if len(state["candidates"] or []) > 1 else "select_candidate"


def continue_windows(state: State) -> Literal["rank_window", "__end__"]:
    """Rank the next window, until a window that begins at rank 0 was ranked."""
    return "rank_window" if find_window_start(len(state["passages"]), state["finished_rounds"] - 1) else "__end__"


def retrieve_or_direct(state: State, runtime: Runtime[Context]) -> Literal["retrieve", "direct_from_memory"]:
    """Retrieve passages first, or answer from memory if the setting retrieve is off."""
    return "retrieve" if get_context(runtime).retrieve else "direct_from_memory"


def retrieve_or_cot(state: State, runtime: Runtime[Context]) -> Literal["retrieve", "cot_from_memory"]:
    """Retrieve passages first, or answer from memory if the setting retrieve is off."""
    return "retrieve" if get_context(runtime).retrieve else "cot_from_memory"


def retrieve_or_write_knowledge(
    state: State, runtime: Runtime[Context]
) -> list[Literal["retrieve", "write_internal_knowledge", "name_topic"]]:
    """Retrieve for the question, unless the only query is made from internal knowledge (queries=in).

    In that case write this knowledge, and name the topic if the filter needs it.
    """
    context = get_context(runtime)
    if context.queries != "in":
        return ["retrieve"]
    return (
        ["write_internal_knowledge", "name_topic"]
        if needs_topic(context, state["question"])
        else ["write_internal_knowledge"]
    )


def prepare_queries(
    state: State, runtime: Runtime[Context]
) -> list[Literal["write_external_knowledge", "write_internal_knowledge", "name_topic", "blend_queries"]]:
    """Ask in parallel for the knowledge that the queries are made from, and for the topic if the filter needs it.

    If nothing is needed, make the queries at once.
    """
    context = get_context(runtime)
    next_nodes: list[
        Literal["write_external_knowledge", "write_internal_knowledge", "name_topic", "blend_queries"]
    ] = []
    if "ex" in context.queries:
        next_nodes.append("write_external_knowledge")
    if "in" in context.queries:
        next_nodes.append("write_internal_knowledge")
    if needs_topic(context, state["question"]):
        next_nodes.append("name_topic")
    return next_nodes or ["blend_queries"]


def needs_topic(context: Context, question: str) -> bool:
    """Whether the filter's prompts show the question's topic: only in two turns, and not for yes or no."""
    return context.filter_turns == 2 and get_answer_type(context, question) != "yes_no"


def search_each_query(state: State) -> list[Send]:
    """Fan out: one `search_and_filter` per query. The query that is the question itself already has its passages."""
    question = state["question"]
    shared_state = {key: state.get(key) for key in ("question", "given_passages", "given_gold_answers", "topic")}
    result_for_question = {"query": None, "passages": state["passages"], "retrieved": state.get("retrieved")}
    return [
        Send(
            "search_and_filter",
            {
                **shared_state,
                "rank": rank,
                **(result_for_question if query == question else {"query": query, "passages": []}),
            },
        )
        for rank, query in enumerate(state.get("queries") or [])
    ]


def search_unless_found(
    state: State, runtime: Runtime[Context]
) -> Literal["retrieve", "filter_knowledge", "collect_passages"]:
    """Retrieve for a query that has no passages yet; else go on as `filter_or_collect` says."""
    return filter_or_collect(state, runtime) if state.get("passages") else "retrieve"


def filter_or_collect(state: State, runtime: Runtime[Context]) -> Literal["filter_knowledge", "collect_passages"]:
    """Filter this query's passages, unless there are none or filter_union filters the passages of all queries later."""
    return "filter_knowledge" if state.get("passages") and not get_context(runtime).filter_union else "collect_passages"


def judge_in_one_or_two_turns(state: State, runtime: Runtime[Context]) -> Literal["judge_passages", "judge_and_choose"]:
    """Judge the passages and then choose among them in a second call (filter_turns=2), or do both in one call."""
    return "judge_passages" if get_context(runtime).filter_turns == 2 else "judge_and_choose"


def filter_or_reason(state: State, runtime: Runtime[Context]) -> Literal["filter_union", "reason", "cot_answer"]:
    """Filter the merged passages if the setting filter_union is on and there are passages. Otherwise go on as
    `reason_in_one_or_two_turns` says. With filter_union off, the passages were already filtered query by query.

    The node `filter_union` is BlendFilter's own filter, not the one that the setting context_filter names.
    """
    return (
        "filter_union"
        if get_context(runtime).filter_union and state["passages"]
        else reason_in_one_or_two_turns(state, runtime)
    )


def reason_in_one_or_two_turns(state: State, runtime: Runtime[Context]) -> Literal["reason", "cot_answer"]:
    """Reason and then extract the answer in a second call (filter_turns=2), or do both in one call.

    The setting filter_turns decides this, although nothing is filtered here.
    """
    return "reason" if get_context(runtime).filter_turns == 2 else "cot_answer"


def accept_or_go_on(accept: Acceptance) -> Router:
    """Make the router after a cascade's stage. It returns the description of the stage's test if the answer passes the
    test, otherwise "else". The graph maps the description to its end, and "else" to the next stage.
    """

    def route(state: State, runtime: Runtime[Context]) -> Hashable:
        return accept.description if is_accepted(state, accept) else "else"

    return route
