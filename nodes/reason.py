"""Nodes for few-shot chains of thought: the model writes its reasoning first, then the answer (Wei et al. 2022)."""

from typing import TypeVar

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import choose_variant, note_brief_answer_type
from quorum.nodes.ask import ParsedReplies, ask
from quorum.nodes.demonstrations import format_demonstrations
from quorum.parsing.answers import ReasonedAnswer
from quorum.parsing.reasoning import parse_conclusion, parse_free_text
from quorum.prompts.blendfilter import EXTRACT_ANSWER, REASON, REASON_FROM_MEMORY
from quorum.prompts.prompt import Prompt

T = TypeVar("T")


async def reason(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> reasoning, passages (those in the prompt)."""
    prompt = choose_variant(REASON, state["question"], runtime).read_with(parse_free_text)
    replies = await ask_for_reasoning(prompt, state, runtime)
    return {"reasoning": replies.values[0], "passages": replies.shown, **replies.state_update}


async def extract_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, reasoning -> answer, rationale."""
    question, reasoning = state["question"], state.get("reasoning") or ""
    prompt = choose_variant(EXTRACT_ANSWER, question, runtime)
    replies = await ask(prompt, runtime, question=question, reasoning=reasoning, cuts_later=True)
    return {
        **make_answer(replies.values[0], text=replies.texts[0]),
        **note_brief_answer_type(EXTRACT_ANSWER, question, runtime),
        "rationale": parse_conclusion(reasoning, question).value.rationale or reasoning or None,
        **replies.state_update,
    }


async def cot_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale, answer, passages (those in the prompt)."""
    replies = await ask_for_reasoning(choose_variant(REASON, state["question"], runtime), state, runtime)
    return {
        **make_outcome(replies),
        **note_brief_answer_type(REASON, state["question"], runtime),
        "passages": replies.shown,
    }


async def cot_from_memory(state: State, runtime: Runtime[Context]) -> State:
    """question -> rationale, answer."""
    prompt = choose_variant(REASON_FROM_MEMORY, state["question"], runtime)
    return make_outcome(await ask_for_reasoning(prompt, state, runtime, from_memory=True))


async def ask_for_reasoning(
    prompt: Prompt[T], state: State, runtime: Runtime[Context], *, call_subject: str = "", from_memory: bool = False
) -> ParsedReplies[T]:
    """Send a prompt for reasoning once: with the state's passages, or, if `from_memory`, without any.

    call_subject: what this call is about, for traces.
    """
    question = state["question"]
    demonstrations = await format_demonstrations(question, runtime, with_reasoning=True, with_passages=not from_memory)
    return await ask(
        prompt,
        runtime,
        question=question,
        demonstrations=demonstrations,
        passages=None if from_memory else state["passages"],
        call_subject=call_subject,
        cuts_later=True,
    )


def make_outcome(replies: ParsedReplies[ReasonedAnswer]) -> State:
    """The update after a chain of thought: answer, rationale and counters."""
    parsed_reply = replies.values[0]
    return {
        **make_answer(parsed_reply.answer, text=replies.texts[0]),
        "rationale": parsed_reply.rationale,
        **replies.state_update,
    }
