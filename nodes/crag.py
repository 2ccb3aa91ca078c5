"""The nodes of CRAG: whether the passages help, a second search if they do not, and the strips that are kept."""

from dataclasses import replace

from langgraph.runtime import Runtime

from quorum import retrievers
from quorum.algorithms.corrective import choose_action, choose_strips, split_strips
from quorum.algorithms.filco_measures import shorten_passages
from quorum.core.context import MAX_PASSAGES, Context, get_context
from quorum.core.errors import TooLong
from quorum.core.state import Passage, PassageGrade, State
from quorum.models.passage_grades import get_limits, score_texts
from quorum.nodes.ask import ask
from quorum.nodes.filter_context import choose_by_prompt, make_filter_update
from quorum.parsing.grades import GRADES
from quorum.prompts.crag import GRADE, KEYWORDS
from quorum.prompts.filco import FILTER_SENTENCES


async def score_passages(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> grades (one per passage, by an evaluator that scores it with the question)."""
    context = get_context(runtime)
    check_settings(context)
    scores = await score_texts(state["question"], state["passages"], context)
    return {"grades": [PassageGrade(rank=rank, grade=score) for rank, score in enumerate(scores)]}


async def grade_passage(state: State, runtime: Runtime[Context]) -> State:
    """question, rank, passages (one) -> grades (one: yes 1, partly 0, no -1). A passage that is too long is a no."""
    rank = state["rank"]
    check_settings(get_context(runtime))
    try:
        replies = await ask(
            GRADE,
            runtime,
            question=state["question"],
            passages=state["passages"],
            call_subject=f"passage {rank + 1}",
            temperature=0.0,
        )
    except TooLong:
        return {"grades": [PassageGrade(rank=rank, grade=GRADES["No"])], "dropped": 1}
    return {"grades": [PassageGrade(rank=rank, grade=replies.values[0])], **replies.state_update}


async def act_on_grades(state: State, runtime: Runtime[Context]) -> State:
    """grades -> action (correct, ambiguous or incorrect)."""
    upper, lower = get_limits(get_context(runtime))
    return {"action": choose_action([item["grade"] for item in state.get("grades") or []], upper, lower)}


async def write_keywords(state: State, runtime: Runtime[Context]) -> State:
    """question -> search_text (keywords to search for; None: the question)."""
    replies = await ask(KEYWORDS, runtime, question=state["question"], temperature=0.0)
    return {"search_text": ", ".join(replies.values[0]) or None, **replies.state_update}


async def search_again(state: State, runtime: Runtime[Context]) -> State:
    """search_text, passages, action -> passages (at most k new ones; if ambiguous, after the first ones), retrieved.

    A passage that the context filter left out is not new. If an incorrect search is not followed by a better one,
    because nothing new is found, the first passages stay, and the action becomes "nothing new".
    """
    context, first = get_context(runtime), state["passages"]
    query = state.get("search_text") or state["question"]
    wider, given = replace(context, k=min(2 * context.k, MAX_PASSAGES)), state.get("given_passages")
    if context.second_retriever is not None:
        wider, given = replace(wider, retriever=context.second_retriever), None
    found = await retrievers.search(query, wider, given)
    known = dict.fromkeys([*(state.get("retrieved") or []), *(passage["id"] for passage in first)])
    new = [passage for passage in found if passage["id"] not in known][: context.k]
    retrieved = [*known, *(passage["id"] for passage in new)]
    if state["action"] == "ambiguous":
        return {"passages": [*first, *new], "retrieved": retrieved}
    return {"passages": new, "retrieved": retrieved} if new else {"action": "nothing new"}


async def keep_best_strips(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> passages (the strips that the evaluator scores best), retrieved."""
    passages, strips = state["passages"], split_strips(state["passages"])
    if not strips:
        return {}
    texts = [Passage(**{**passages[strip.rank], "text": strip.text}) for strip in strips]
    scores = await score_texts(state["question"], texts, get_context(runtime))
    return make_filter_update(state, shorten_passages(passages, choose_strips(strips, scores)))


async def copy_sentences(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> passages (the sentences that the model copies; all text if it copies none), retrieved."""
    passages = state["passages"]
    copied, counts = await choose_by_prompt(FILTER_SENTENCES, state["question"], passages, runtime)
    return {**make_filter_update(state, copied or passages), **counts}


def check_settings(context: Context) -> None:
    """Raise `SetupError` for limits that do not fit, and for a second retriever that does not exist, before a call is
    made.
    """
    get_limits(context)
    if context.second_retriever is not None:
        retrievers.find_retriever(context.second_retriever)
