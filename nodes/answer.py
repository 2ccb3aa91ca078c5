"""Nodes that answer the question: from all passages in one prompt, or from one passage."""

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from quorum.algorithms.vote_key import VOTE_KEYS
from quorum.algorithms.votes import find_most_frequent
from quorum.core.context import Context, get_context
from quorum.core.errors import TooLong
from quorum.core.labels import is_unknown_for_type
from quorum.core.state import State, Vote
from quorum.core.text import UNKNOWN, is_unknown
from quorum.nodes.answer_types import (
    choose_variant,
    get_answer_converter,
    note_brief_answer_type,
    resolve_answer_type,
)
from quorum.nodes.ask import ask
from quorum.nodes.citations import number_as_in_result
from quorum.parsing.answers import ReasonedAnswer
from quorum.prompts.post_fusion import ANSWER, ANSWER_CANDIDATES, PRUNING, SUMMARY
from quorum.prompts.prompt import Prompt


async def concat_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer (the most frequent of the samples), passages (all if unknown, else those shown)."""
    update = await answer_from_all(ANSWER, state, runtime)
    is_open = update["unknown"] or update.get("draft")  # a wordy answer may yet turn out to be unknown
    return update | {"passages": state["passages"]} if is_open else update


async def distill_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, candidates -> answer. Without candidates it sends the prompt of `concat_answer`."""
    candidates = state.get("candidates")
    return await answer_from_all(ANSWER_CANDIDATES if candidates else ANSWER, state, runtime, candidates)


async def passage_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, rank, passages (one) -> votes (one per sample). A passage that is too long votes unknown."""
    question, rank, passages, samples = (
        state["question"],
        state["rank"],
        state["passages"],
        get_context(runtime).samples,
    )
    try:
        replies = await ask(
            choose_variant(ANSWER, question, runtime),
            runtime,
            question=question,
            passages=passages,
            call_subject=f"passage {rank + 1}",
            n=samples,
        )
    except TooLong:
        unknown_vote = Vote(rank=rank, passage=passages[0]["id"], answer=UNKNOWN, answer_text=None, unknown=True)
        return {"votes": [unknown_vote] * samples, "dropped": 1}
    context, passage_id = resolve_answer_type(get_context(runtime), question), passages[0]["id"]
    votes = [
        Vote(
            rank=rank,
            passage=passage_id,
            answer=answer,
            answer_text=number_as_in_result(text, rank, context),
            unknown=is_unknown_for_type(answer, context.answer_type),
        )
        for answer, text in zip(replies.values, replies.texts, strict=True)
    ]
    return {"votes": votes, **replies.state_update}


async def pruned_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale (which passages do not help), answer."""
    return await answer_with_reasoning(PRUNING, state, runtime)


async def summarized_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale (a summary of the passages), answer."""
    return await answer_with_reasoning(SUMMARY, state, runtime)


async def answer_from_all(
    prompt: Prompt[str],
    state: State,
    runtime: Runtime[Context],
    candidates: list[str] | None = None,
    **how_to_ask: Any,
) -> State:
    """Ask one prompt over all passages. The most frequent answer of the samples wins (Wang et al. 2022).

    With several samples, the confidence is the share of the samples that gave this answer. how_to_ask: further
    parameters of `ask`.
    """
    question, samples = state["question"], get_context(runtime).samples
    more_inputs: dict[str, Any] = {"candidates": candidates} if candidates else {}
    replies = await ask(
        choose_variant(prompt, question, runtime),
        runtime,
        question=question,
        passages=state["passages"],
        n=samples,
        cuts_later=True,
        **how_to_ask,
        **more_inputs,
    )
    context = resolve_answer_type(get_context(runtime), question)
    return {
        **choose_sample(replies.values, replies.texts, context),
        "passages": replies.shown,
        **replies.state_update,
    }


async def answer_with_reasoning(prompt: Prompt[ReasonedAnswer], state: State, runtime: Runtime[Context]) -> State:
    """Ask for a chain of thought that ends in the answer.

    Raises a SetupError unless the answer type is short or yes_no.
    """
    question = state["question"]
    convert_answer = get_answer_converter(prompt, question, runtime)
    replies = await ask(prompt, runtime, question=question, passages=state["passages"], cuts_later=True)
    parsed_reply = replies.values[0]
    answer = convert_answer(parsed_reply.answer)
    return {
        **make_answer(answer, text=replies.texts[0]),
        **note_brief_answer_type(prompt, question, runtime),
        "rationale": parsed_reply.rationale,
        "passages": replies.shown,
        **replies.state_update,
    }


def choose_sample(answers: Sequence[str], texts: Sequence[str], context: Context) -> State:
    """The update with the most frequent answer of several samples; their share is the confidence.

    context: its answer type is never "auto". texts: the answers as the model wrote them.
    """
    unknown_flags = [is_unknown_for_type(answer, context.answer_type) for answer in answers]
    index, share = find_most_frequent(answers, unknown_flags, VOTE_KEYS[context.answer_measure])
    return {
        **make_answer(answers[index], unknown_flags[index], text=texts[index]),
        "confidence": share if len(answers) > 1 else None,
    }


def make_answer(answer: str, unknown: bool | None = None, *, text: str | None = None) -> State:
    """The update of `answer`, `answer_text` and `unknown`. An unknown answer, in whatever wording, becomes "unknown".

    unknown: whether the answer is unknown; None: `is_unknown` finds this out. text: the answer as the model wrote it.
    Without it, `answer_text` is the answer, or null if the answer is unknown.
    """
    unknown = is_unknown(answer) if unknown is None else unknown
    return {
        "answer": UNKNOWN if unknown else answer,
        "answer_text": text or (None if unknown else answer),
        "unknown": unknown,
    }
