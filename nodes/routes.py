"""Every branch of every graph. A router reads the state and says for what reason the graph goes on where; nothing else
decides.

A router returns a reason in a few words, such as "unknown". The graph file maps each reason to a node, or to "__end__",
and the drawing shows it on the edge. A router of a fan-out returns a list of `Send`, which name their node themselves;
the graph file gives this edge a reason, too. Several reasons in a list run their nodes in parallel.

Routers run on the event loop (`MethodGraph.add_conditional_edges`), so they wait for nothing and read no file.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from quorum.cascades.composed_file import Acceptance
from quorum.core.context import Context, get_context, get_filter_model
from quorum.core.conversation import ConversationState
from quorum.core.state import State
from quorum.models.passage_grades import BY_PROMPT
from quorum.nodes.answer_types import get_answer_type, resolve_sure_answer_type
from quorum.nodes.ask_stage import is_accepted
from quorum.nodes.fan_out import (
    list_ranks_to_ask,
    send_comparisons,
    send_passages,
    send_tool_calls,
    send_validations,
)
from quorum.nodes.rank_passages import find_window_start
from quorum.nodes.steps import get_steps

Router = Callable[[State, Runtime[Context]], Hashable | Sequence[Hashable]]


def grade_by_scores_or_prompt(
    state: State, runtime: Runtime[Context]
) -> list[Send] | Literal["by scores", "no passage"]:
    """By an evaluator that scores all passages; or fan out: one `grade_passage` per passage (evaluator=llm)."""
    passages = state["passages"]
    if get_context(runtime).evaluator != BY_PROMPT:
        return "by scores" if passages else "no passage"
    return send_passages("grade_passage", state, range(len(passages))) or "no passage"


def search_again_unless_correct(
    state: State, runtime: Runtime[Context]
) -> Literal["ambiguous or incorrect", "correct, by scores", "correct, by a prompt"]:
    """Search again unless a passage was found correct; then keep what helps, as `keep_by_scores_or_prompt` says."""
    if state["action"] != "correct":
        return "ambiguous or incorrect"
    return "correct, by a prompt" if get_context(runtime).evaluator == BY_PROMPT else "correct, by scores"


def keep_by_scores_or_prompt(
    state: State, runtime: Runtime[Context]
) -> Literal["by scores", "by a prompt", "no passage"]:
    """What chooses the text to keep: the evaluator that scored the passages, or the model (evaluator=llm)."""
    if not state["passages"]:
        return "no passage"
    return "by a prompt" if get_context(runtime).evaluator == BY_PROMPT else "by scores"


def rewrite_follow_up(state: ConversationState) -> Literal["follow-up question", "first question"]:
    """Whether something was said before the question."""
    return "follow-up question" if state["history"] else "first question"


def choose_filter(
    state: State, runtime: Runtime[Context]
) -> Literal["by scores", "by a prompt", "by the gold answers", "nothing to filter"]:
    """By the gold answers (filter_mode=silver), by a prompt to a model that copies or chooses what to keep, or by a
    model's scores. Nothing to filter: filter_mode is full, or there are no passages.
    """
    context = get_context(runtime)
    if context.filter_mode == "full" or not state["passages"]:
        return "nothing to filter"
    if context.filter_mode == "silver":
        return "by the gold answers"
    return "by scores" if get_filter_model(context) is None else "by a prompt"


def filter_if_chosen(state: State, runtime: Runtime[Context]) -> Literal["filter set", "no filter"]:
    """Whether the user chose a filter (context_filter)."""
    return "filter set" if get_context(runtime).context_filter else "no filter"


def rerank_if_chosen(state: State, runtime: Runtime[Context]) -> Literal["reranker set", "no reranker"]:
    """Whether the user chose a reranker, and there are two passages or more."""
    return "reranker set" if get_context(runtime).reranker and len(state["passages"]) > 1 else "no reranker"


def rerank_or_filter(state: State, runtime: Runtime[Context]) -> Literal["reranker set", "filter set", "neither set"]:
    """Whether a reranker or else a filter has work to do."""
    if rerank_if_chosen(state, runtime) == "reranker set":
        return "reranker set"
    return "filter set" if filter_if_chosen(state, runtime) == "filter set" else "neither set"


def choose_reranker(
    state: State, runtime: Runtime[Context]
) -> Literal["by the question", "by a rationale", "by a summary", "by a list", "by pairs"]:
    """By what the reranker that the user chose orders the passages. By pairs: it scores each passage with the
    question.
    """
    basis_of_reranker: dict[str | None, Literal["by the question", "by a rationale", "by a summary", "by a list"]] = {
        "question": "by the question",
        "rationale": "by a rationale",
        "summary": "by a summary",
        "listwise": "by a list",
    }
    return basis_of_reranker.get(get_context(runtime).reranker, "by pairs")


def reorder_if_explained(state: State) -> Literal["rationale", "no candidate"]:
    """Whether SuRe found a candidate, whose summary is the rationale."""
    return "rationale" if state.get("rationale") else "no candidate"


def continue_windows(state: State) -> Literal["windows left", "all windows ranked"]:
    """Rank windows until the one that begins at rank 0 was ranked."""
    return (
        "windows left"
        if find_window_start(len(state["passages"]), state.get("finished_rounds", 0) - 1)
        else "all windows ranked"
    )


def shorten_if_wordy(state: State) -> Literal["wordy", "not wordy"]:
    """Whether the reply leaves a wordy answer, in which neither rules nor the embedded reader found a short one."""
    return "wordy" if state.get("draft") else "not wordy"


def shorten_or(router: Router) -> Router:
    """A router that goes to `shorten` with a wordy answer, and else where this router goes."""

    def shorten_or_go_on(state: State, runtime: Runtime[Context]) -> Hashable | Sequence[Hashable]:
        return "wordy" if state.get("draft") else router(state, runtime)

    return shorten_or_go_on


def abstain_if_calibrated(state: State, runtime: Runtime[Context]) -> Literal["calibration set", "no calibration"]:
    """Whether the user set a calibration, by which an unsure answer is withheld."""
    return "calibration set" if get_context(runtime).calibration else "no calibration"


def ask_all_passages(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["no passage"]:
    """Fan out: one `passage_answer` per passage, also with vote=staged."""
    return send_passages("passage_answer", state, range(len(state["passages"]))) or "no passage"


def ask_passages(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["no passage"]:
    """Fan out: one `passage_answer` per passage or, in a staged vote, for as many passages as could decide it."""
    return send_passages("passage_answer", state, list_ranks_to_ask(state, get_context(runtime))) or "no passage"


def continue_vote(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["decided"]:
    """Ask the next passages while a staged vote is undecided. It is decided if no further vote can change it, or all
    passages were asked.
    """
    return send_passages("passage_answer", state, list_ranks_to_ask(state, get_context(runtime))) or "decided"


def start_one_or_both_rounds(state: State, runtime: Runtime[Context]) -> Literal["first round", "speculative"]:
    """The first round alone or, with speculative=true, both rounds at the same time."""
    return "speculative" if get_context(runtime).speculative else "first round"


def ask_all_at_once(state: State, runtime: Runtime[Context]) -> list[Send | Literal["first round"]]:
    """Both rounds at once: `concat_answer`, and a `passage_answer` for each passage that `ask_passages` asks about."""
    return ["first round", *send_passages("passage_answer", state, list_ranks_to_ask(state, get_context(runtime)))]


def fall_back_if_unknown(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["none left to ask", "known"]:
    """Unknown: ask the passages, as `ask_passages` says, unless they were asked at the same time as the first round."""
    if not state["unknown"]:
        return "known"
    asked_passages = "no passage" if state.get("votes") else ask_passages(state, runtime)
    return "none left to ask" if asked_passages == "no passage" else asked_passages


def read_documents_if_unknown(state: State) -> Literal["known", "unknown"]:
    """Whether the passages found gave an answer; if not, their documents are read."""
    return "unknown" if state["unknown"] else "known"


def distill_if_answered(state: State) -> Literal["some answered", "none answered"]:
    """Whether a passage gave an answer."""
    return "some answered" if state.get("candidates") else "none answered"


def act_on_thought(state: State, runtime: Runtime[Context]) -> Literal["no action", "search", "final answer or limit"]:
    """A thought without an action, or else as `search_or_finish` says."""
    step = get_steps(state)[-1]
    return "no action" if step["query"] is None and step["answer"] is None else search_or_finish(state, runtime)


def search_or_finish(state: State, runtime: Runtime[Context]) -> Literal["search", "final answer or limit"]:
    """A search, at most max_steps times. An answer, no action or one search too many ends the method."""
    is_search = get_steps(state)[-1]["query"] is not None
    return (
        "search" if is_search and len(get_steps(state)) <= get_context(runtime).max_steps else "final answer or limit"
    )


def search_first_if_set(state: State, runtime: Runtime[Context]) -> Literal["seed_search set", "no search yet"]:
    """Whether the setting seed_search is on: search for the question itself before the model is asked."""
    return "seed_search set" if get_context(runtime).seed_search else "no search yet"


def follow_tool_calls(
    state: State, runtime: Runtime[Context]
) -> list[Send] | Literal["no call to carry out", "final answer"]:
    """Fan out: one `search_tool` or `open_document` per call of the last turn that is carried out. A last step with an
    answer is the final one.
    """
    steps = get_steps(state)
    if steps and steps[-1]["answer"] is not None:
        return "final answer"
    return send_tool_calls(state) or "no call to carry out"


def search_or_conclude(state: State, runtime: Runtime[Context]) -> Literal["search", "no final answer", "final answer"]:
    """A follow-up question, or no step yet: search for it, or for the question. A final answer ends the method.

    If the model gives neither after an intermediate answer, a final answer must be forced.
    """
    steps = get_steps(state)
    if not steps or steps[-1]["answer"] is None:
        return "search"
    return "final answer" if steps[-1]["query"] is None else "no final answer"


def answer_follow_up_or_question(
    state: State, runtime: Runtime[Context]
) -> Literal["found for a follow-up", "found for the question"]:
    """Whether the passages were searched for a follow-up question or for the question itself."""
    return "found for a follow-up" if get_steps(state) else "found for the question"


def continue_follow_ups(state: State, runtime: Runtime[Context]) -> Literal["may ask more", "limit reached"]:
    """Whether fewer than max_steps follow-up questions were asked."""
    return "may ask more" if len(get_steps(state)) < get_context(runtime).max_steps else "limit reached"


def continue_rounds(state: State, runtime: Runtime[Context]) -> Literal["rounds left", "last round"]:
    """Whether rounds are left. The round that just ended is not among `steps` yet."""
    return "rounds left" if len(get_steps(state)) + 1 < get_context(runtime).iterations else "last round"


def continue_reading(state: State) -> Literal["passages left", "all read"]:
    """Whether a passage was not read yet."""
    return "passages left" if state.get("finished_rounds", 0) < len(state["passages"]) else "all read"


def verify_if_candidates_differ(state: State) -> list[Send] | Literal["at most one candidate"]:
    """Fan out: one verification per candidate. With one candidate or none there is nothing to verify."""
    candidates, shared_state = state["candidates"] or [], {"question": state["question"], "passages": state["passages"]}
    sends = [Send("verify", {**shared_state, "rank": rank, "answer": answer}) for rank, answer in enumerate(candidates)]
    return sends if len(sends) > 1 else "at most one candidate"


def recover_if_masked(state: State) -> Literal["words hidden", "no statement"]:
    """Whether there is a statement with hidden words. Without one the candidate scores 0."""
    return "words hidden" if state.get("masked_statement") else "no statement"


def summarize_each_candidate(state: State) -> list[Send] | Literal["nothing to summarize"]:
    """Fan out: one summary per candidate, also for a single one."""
    candidates = state["candidates"] or []
    shared_state = {"question": state["question"], "passages": state["passages"], "candidates": candidates}
    return [
        Send("summarize_candidate", {**shared_state, "rank": rank}) for rank in range(len(candidates))
    ] or "nothing to summarize"


def summarize_candidates(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["nothing to summarize"]:
    """Fan out: one summary per candidate. A single candidate needs one only if the summary will be the answer."""
    needs_summaries = (
        len(state["candidates"] or []) > 1
        or resolve_sure_answer_type(get_context(runtime), state["question"]).answer_type == "long"
    )
    return summarize_each_candidate(state) if needs_summaries else "nothing to summarize"


def compare_for_rationale(state: State) -> list[Send] | Literal["one candidate"]:
    """Fan out: all validity checks and comparisons, whatever SuRe's settings say. A single candidate needs none."""
    return [*send_validations(state), *send_comparisons(state, lazy=False)] or "one candidate"


def judge_summaries(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["summaries only", "one candidate"]:
    """Fan out: validity checks and comparisons, as SuRe's settings say. A single candidate needs none. Summaries only:
    sure_parts=summaries answers from them.

    With ranking="lazy" the comparisons wait for the validity checks, if there are any.
    """
    context = get_context(runtime)
    if context.sure_parts == "summaries":
        return "summaries only"
    with_validity = context.sure_parts == "validity+ranking"
    if with_validity and context.ranking == "lazy":
        return send_validations(state) or "one candidate"
    comparisons = send_comparisons(state, lazy=context.ranking == "lazy")
    return [*(send_validations(state) if with_validity else []), *comparisons] or "one candidate"


def continue_comparisons(state: State) -> list[Send] | Literal["decided"]:
    """Ask the comparisons that lazy ranking postponed, if they can still change the choice."""
    return send_comparisons(state, lazy=True) or "decided"


def choose_if_candidates_differ(state: State) -> Literal["several candidates", "at most one candidate"]:
    """Two or more candidates are offered as choices. A single one is the answer; without any the answer is unknown."""
    return "several candidates" if len(state["candidates"] or []) > 1 else "at most one candidate"


def retrieve_if_set(state: State, runtime: Runtime[Context]) -> Literal["with passages", "from memory"]:
    """Whether the setting retrieve is on."""
    return "with passages" if get_context(runtime).retrieve else "from memory"


def retrieve_or_write_knowledge(
    state: State, runtime: Runtime[Context]
) -> list[Literal["search first", "own knowledge", "topic for the filter"]]:
    """Search for the question first, unless the only query is made from the model's own knowledge (queries=in).

    In that case write this knowledge, and name the topic if the filter needs it.
    """
    context = get_context(runtime)
    if context.queries != "in":
        return ["search first"]
    return ["own knowledge", "topic for the filter"] if needs_topic(context, state["question"]) else ["own knowledge"]


def prepare_queries(
    state: State, runtime: Runtime[Context]
) -> list[Literal["passages' knowledge", "own knowledge", "topic for the filter", "question alone"]]:
    """Ask in parallel for the knowledge that the queries are made from, and for the topic if the filter needs it.

    If nothing is needed, make the queries at once.
    """
    context = get_context(runtime)
    reasons: list[Literal["passages' knowledge", "own knowledge", "topic for the filter", "question alone"]] = []
    if "ex" in context.queries:
        reasons.append("passages' knowledge")
    if "in" in context.queries:
        reasons.append("own knowledge")
    if needs_topic(context, state["question"]):
        reasons.append("topic for the filter")
    return reasons or ["question alone"]


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
) -> Literal["nothing found yet", "filter each query", "filter later or nothing"]:
    """Whether a query has no passages yet; if it has some, go on as `filter_or_collect` says."""
    return filter_or_collect(state, runtime) if state.get("passages") else "nothing found yet"


def filter_or_collect(
    state: State, runtime: Runtime[Context]
) -> Literal["filter each query", "filter later or nothing"]:
    """Filter this query's passages, unless there are none or filter_union filters the passages of all queries later."""
    filters_now = state.get("passages") and not get_context(runtime).filter_union
    return "filter each query" if filters_now else "filter later or nothing"


def take_one_or_two_turns(state: State, runtime: Runtime[Context]) -> Literal["two turns", "one turn"]:
    """Whether two calls do a step of blendfilter, or one (the setting filter_turns): judge the passages, then choose
    among them; reason, then extract the answer.
    """
    return "two turns" if get_context(runtime).filter_turns == 2 else "one turn"


def filter_or_reason(state: State, runtime: Runtime[Context]) -> Literal["filter all at once", "two turns", "one turn"]:
    """Filter the merged passages if the setting filter_union is on and there are passages. Otherwise go on as
    `take_one_or_two_turns` says. With filter_union off, the passages were already filtered query by query.

    The node `filter_union` is BlendFilter's own filter, not the one that the setting context_filter names.
    """
    if get_context(runtime).filter_union and state["passages"]:
        return "filter all at once"
    return take_one_or_two_turns(state, runtime)


def accept_or_go_on(accept: Acceptance) -> Router:
    """Make the router after a cascade's stage. It returns the description of the stage's test if the answer passes the
    test, otherwise "else". The graph maps the description to its end, and "else" to the next stage.
    """

    def route(state: State, runtime: Runtime[Context]) -> Hashable:
        return accept.description if is_accepted(state, accept) else "else"

    return route
