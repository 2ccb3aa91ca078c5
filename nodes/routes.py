"""Every branch of every graph. A router reads the state and names the next node; nothing else decides."""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from quorum.algorithms.sure_choice import every_pair, next_pairs, validity_of
from quorum.algorithms.votes import next_stage
from quorum.core.context import Context, settings, writing_filter
from quorum.core.state import State
from quorum.nodes.rank_passages import window_start

Router = Callable[[State, Runtime[Context]], Hashable | Sequence[Hashable]]


def refine_or(then: str | Router) -> Router:
    """A router behind `retrieve`: to the context's reranker and filter or, where neither has anything to do, at once to
    what comes `then`, a node or whatever another router says. The same follows `refine`.
    """

    def route(state: State, runtime: Runtime[Context]) -> Hashable | Sequence[Hashable]:
        if rerank_or_filter(state, runtime) != "__end__":
            return "refine"
        return then if isinstance(then, str) else then(state, runtime)

    route.__name__ = f"refine_or_{then if isinstance(then, str) else then.__name__}"
    return route


def how_to_filter(
    state: State, runtime: Runtime[Context]
) -> Literal["filter_by_model", "filter_by_prompt", "filter_by_answers", "__end__"]:
    """Passages are cut down by the gold answers, by a model that writes or by one that scores; or kept in full."""
    context = settings(runtime)
    if context.filter_mode == "full" or not state["passages"]:
        return "__end__"
    if context.filter_mode == "silver":
        return "filter_by_answers"
    return "filter_by_model" if writing_filter(context) is None else "filter_by_prompt"


def filter_if_chosen(state: State, runtime: Runtime[Context]) -> Literal["filter_context", "__end__"]:
    """The context's filter, if it names one."""
    return "filter_context" if settings(runtime).context_filter else "__end__"


def every_passage(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["keep_answered"]:
    """Fan out: one `passage_answer` per passage, which keeps its rank."""
    return sends("passage_answer", state, range(len(state["passages"]))) or "keep_answered"


def each_passage(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote"]:
    """Fan out to all passages or, when the vote is staged, to as many as could decide it."""
    return sends("passage_answer", state, to_ask(state, settings(runtime))) or "vote"


def more_votes(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["__end__"]:
    """A staged vote that is open: the next passages. Decided, or all asked: end."""
    return sends("passage_answer", state, to_ask(state, settings(runtime))) or "__end__"


def one_or_both_rounds(state: State, runtime: Runtime[Context]) -> list[Send | Literal["concat_answer"]]:
    """The first round; when speculative, with the fallback's questions at the same time."""
    context = settings(runtime)
    ahead = to_ask(state, context) if context.speculative else []
    return ["concat_answer", *sends("passage_answer_ahead", state, ahead)]


def fall_back_if_unknown(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote", "__end__"]:
    """Known answer: end. Unknown: ask every passage, or vote at once where they were asked ahead."""
    if not state["unknown"]:
        return "__end__"
    return "vote" if state.get("votes") else each_passage(state, runtime)


def act_on_thought(state: State, runtime: Runtime[Context]) -> Literal["ask_action", "retrieve", "finish"]:
    """A thought without an action: ask for it. An action: take it."""
    step = state["steps"][-1]
    return "ask_action" if step["query"] is None and step["answer"] is None else search_or_finish(state, runtime)


def search_or_finish(state: State, runtime: Runtime[Context]) -> Literal["retrieve", "finish"]:
    """A search while there are any left; an answer, no action after all, or one search too many: finish."""
    searches = state["steps"][-1]["query"] is not None
    return "retrieve" if searches and len(state["steps"]) <= settings(runtime).max_steps else "finish"


def follow_up_or_answer(state: State) -> Literal["retrieve", "forced_answer", "conclude"]:
    """A follow-up question, or none at all: look it up, or the question itself. A final answer: conclude. Neither after
    intermediate answers: force it.
    """
    steps = state["steps"]
    if not steps or steps[-1]["answer"] is None:
        return "retrieve"
    return "conclude" if steps[-1]["query"] is None else "forced_answer"


def answer_what_was_asked(state: State, runtime: Runtime[Context]) -> Literal["intermediate_answer", "forced_answer"]:
    """The passages of a follow-up question answer it; those of the question itself give the final answer."""
    return "intermediate_answer" if state["steps"] else "forced_answer"


def more_follow_ups(state: State, runtime: Runtime[Context]) -> Literal["follow_up", "forced_answer"]:
    """On, while follow-up questions are left."""
    return "follow_up" if len(state["steps"]) < settings(runtime).max_steps else "forced_answer"


def more_rounds(state: State, runtime: Runtime[Context]) -> Literal["next_query", "__end__"]:
    """On, while rounds are left; `steps` are those before the one that just ended."""
    return "next_query" if len(state["steps"]) + 1 < settings(runtime).iterations else "__end__"


def every_passage_votes(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote"]:
    """Fan out to all passages: a weighted vote is never staged."""
    return sends("passage_answer", state, range(len(state["passages"]))) or "vote"


def more_to_read(state: State) -> Literal["infer", "cite"]:
    """On, while passages are left."""
    return "infer" if state["turn"] < len(state["passages"]) else "cite"


def verify_if_they_differ(state: State) -> list[Send] | Literal["choose_verified"]:
    """Fan out: one verification per candidate, which keeps its number. One candidate, or none: nothing to verify."""
    candidates, shared = state["candidates"] or [], {"question": state["question"], "passages": state["passages"]}
    claims = [Send("verify", {**shared, "rank": rank, "answer": answer}) for rank, answer in enumerate(candidates)]
    return claims if len(claims) > 1 else "choose_verified"


def recover_if_masked(state: State) -> Literal["recover_condition", "__end__"]:
    """A statement that hides something: recover it. None: the candidate scores nothing."""
    return "recover_condition" if state["masked"] else "__end__"


def rerank_if_chosen(state: State, runtime: Runtime[Context]) -> Literal["rerank", "__end__"]:
    """The context's reranker, if it names one and there is an order to choose."""
    return "rerank" if settings(runtime).reranker and len(state["passages"]) > 1 else "__end__"


def rerank_first(state: State, runtime: Runtime[Context]) -> Literal["rerank", "filter_context"]:
    """The context's reranker, if it has anything to do, and then the method's own filter."""
    return "filter_context" if rerank_if_chosen(state, runtime) == "__end__" else "rerank"


def rerank_or_filter(state: State, runtime: Runtime[Context]) -> Literal["rerank", "filter_context", "__end__"]:
    """The context's reranker, its filter, or neither."""
    reranked = rerank_if_chosen(state, runtime)
    return filter_if_chosen(state, runtime) if reranked == "__end__" else reranked


def by_reranker(state: State, runtime: Runtime[Context]) -> Literal["reorder", "rationalize", "gist", "rank_window"]:
    """What the passages are to be ordered by."""
    kinds: dict[str | None, Literal["rationalize", "gist", "rank_window"]] = {
        "rationale": "rationalize",
        "summary": "gist",
        "listwise": "rank_window",
    }
    return kinds.get(settings(runtime).reranker, "reorder")


def reorder_if_explained(state: State) -> Literal["reorder", "__end__"]:
    """No candidate, no rationale: the order of retrieval stays."""
    return "reorder" if state.get("rationale") else "__end__"


def each_candidate_for_rationale(state: State) -> list[Send] | Literal["select"]:
    """Fan out: one summary per candidate, of a single one too. No candidate: there is nothing to explain."""
    candidates = state["candidates"] or []
    shared = {"question": state["question"], "passages": state["passages"], "candidates": candidates}
    return [Send("summarize_candidate", {**shared, "rank": rank}) for rank in range(len(candidates))] or "select"


def compare_for_rationale(state: State) -> list[Send] | Literal["select"]:
    """Fan out: the validity of each summary and all comparisons, whatever the context says of SuRe. One: select it."""
    return [*validations(state), *comparisons(state, lazy=False)] or "select"


def each_candidate(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["select"]:
    """Fan out: one summary per candidate. A single one is the answer as it is, unless a summary is to be the answer."""
    enough = len(state["candidates"] or []) > 1 or settings(runtime).answer_type == "long"
    return each_candidate_for_rationale(state) if enough else "select"


def judge_summaries(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["answer_from_summaries", "select"]:
    """Fan out: each summary's validity and, unless that may be enough, the comparisons; or the ablation's answer."""
    context = settings(runtime)
    if context.sure_parts == "summaries":
        return "answer_from_summaries"
    checked = context.sure_parts == "validity+ranking"
    if checked and context.ranking == "lazy":
        return validations(state) or "select"
    compared = comparisons(state, lazy=context.ranking == "lazy")
    return [*(validations(state) if checked else []), *compared] or "select"


def more_comparisons(state: State) -> list[Send] | Literal["__end__"]:
    """Comparisons that were put off and can still change the choice; none: end."""
    return comparisons(state, lazy=True) or "__end__"


def validations(state: State) -> list[Send]:
    """One `validate` per candidate of two or more, with its own summary and nothing of the others."""
    candidates, summaries = state["candidates"] or [], state["summaries"] or []
    return [
        Send("validate", {"question": state["question"], "rank": rank, "candidates": [one], "summaries": [summary]})
        for rank, (one, summary) in enumerate(zip(candidates, summaries, strict=True))
        if len(candidates) > 1
    ]


def comparisons(state: State, lazy: bool) -> list[Send]:
    """One `rank_pair` for both orders of each pair of summaries; when lazy, those to ask next."""
    summaries = state.get("summaries") or []
    known = validity_of(state.get("verdicts") or []), state.get("preferences") or []
    pairs = next_pairs(len(summaries), *known) if lazy else every_pair(len(summaries))
    return [
        Send("rank_pair", {"question": state["question"], "pair": [*pair], "summaries": [summaries[n] for n in pair]})
        for pair in pairs
    ]


def choose_if_they_differ(state: State) -> Literal["answer_from_choices", "select"]:
    """Two candidates or more are choices. One is the answer, and none is unknown."""
    return "answer_from_choices" if len(state["candidates"] or []) > 1 else "select"


def more_windows(state: State) -> Literal["rank_window", "__end__"]:
    """On, until a window has begun at the front."""
    return "rank_window" if window_start(len(state["passages"]), state["turn"] - 1) else "__end__"


def to_ask(state: State, context: Context) -> list[int]:
    """The ranks of the passages to ask now: all that were not asked or, when staged, the next that could decide."""
    votes = state.get("votes") or []
    asked = {vote["rank"] for vote in votes}
    waiting = [rank for rank in range(len(state["passages"])) if rank not in asked]
    return waiting[: next_stage(votes, len(waiting), context.samples)] if context.vote == "staged" else waiting


def sends(node: str, state: State, ranks: range | list[int]) -> list[Send]:
    """One `node` for each passage, with the part of the state that it needs."""
    passages = state["passages"]
    return [Send(node, {"question": state["question"], "rank": rank, "passages": [passages[rank]]}) for rank in ranks]


def direct_with_passages(state: State, runtime: Runtime[Context]) -> Literal["retrieve", "direct_from_memory"]:
    """With passages, or from memory."""
    return "retrieve" if settings(runtime).retrieve else "direct_from_memory"


def cot_with_passages(state: State, runtime: Runtime[Context]) -> Literal["retrieve", "cot_from_memory"]:
    """With passages, or from memory."""
    return "retrieve" if settings(runtime).retrieve else "cot_from_memory"


def search_first(state: State, runtime: Runtime[Context]) -> list[Literal["retrieve", "recall", "name_topic"]]:
    """The question's own passages, where it is a query or a query is made from them; else what else is needed."""
    context = settings(runtime)
    if context.queries != "in":
        return ["retrieve"]
    return ["recall", "name_topic"] if has_topic(context) else ["recall"]


def what_queries_need(
    state: State, runtime: Runtime[Context]
) -> list[Literal["answer_externally", "recall", "name_topic", "blend_queries"]]:
    """All that is asked before the queries, at the same time; nothing: on to the queries."""
    context = settings(runtime)
    needed: list[Literal["answer_externally", "recall", "name_topic", "blend_queries"]] = []
    if "ex" in context.queries:
        needed.append("answer_externally")
    if "in" in context.queries:
        needed.append("recall")
    if has_topic(context):
        needed.append("name_topic")
    return needed or ["blend_queries"]


def has_topic(context: Context) -> bool:
    """The judge of passages is told the question's topic: not for yes or no, nor where it chooses in the same call."""
    return context.filter_turns == 2 and context.answer_type != "yes_no"


def each_query(state: State) -> list[Send]:
    """Fan out: one `gather` per query, which keeps its rank. What the question itself found is there already."""
    question = state["question"]
    common = {key: state.get(key) for key in ("question", "provided", "oracle", "topic")}
    found = {"query": None, "passages": state["passages"], "retrieved": state.get("retrieved")}
    return [
        Send("gather", {**common, "rank": rank, **(found if query == question else {"query": query, "passages": []})})
        for rank, query in enumerate(state.get("queries") or [])
    ]


def search_unless_found(state: State, runtime: Runtime[Context]) -> Literal["retrieve", "filter", "collect"]:
    """A query without passages searches."""
    return filter_or_collect(state, runtime) if state.get("passages") else "retrieve"


def filter_or_collect(state: State, runtime: Runtime[Context]) -> Literal["filter", "collect"]:
    """Each query's passages are filtered on their own, unless all are united first or there are none."""
    return "filter" if state.get("passages") and not settings(runtime).filter_union else "collect"


def one_or_two_turns(state: State, runtime: Runtime[Context]) -> Literal["judge", "judge_and_choose"]:
    """A judgement and then the choice, or both in one call."""
    return "judge" if settings(runtime).filter_turns == 2 else "judge_and_choose"


def filter_or_generate(state: State, runtime: Runtime[Context]) -> Literal["filter", "reason", "cot_answer"]:
    """United passages that were not filtered yet, if there are any; else on to the answer."""
    return "filter" if settings(runtime).filter_union and state["passages"] else generate(state, runtime)


def generate(state: State, runtime: Runtime[Context]) -> Literal["reason", "cot_answer"]:
    """Reasoning and then the answer, or both in one call."""
    return "reason" if settings(runtime).filter_turns == 2 else "cot_answer"
