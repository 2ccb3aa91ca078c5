"""Nodes for few-shot chains of thought: the model writes its reasoning first, then the answer (Wei et al. 2022)."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import note_brief_answer_type
from quorum.nodes.ask import ParsedReplies, ask
from quorum.nodes.demonstrations import choose_variant, format_demonstrations
from quorum.nodes.evidence import find_evidence
from quorum.parsing.answers import Parsed, ReasonedAnswer, parse_short_answer
from quorum.parsing.reasoning import parse_conclusion, parse_free_text, parse_yes_no_conclusion
from quorum.parsing.yes_no import parse_yes_no

T = TypeVar("T")


async def reason(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> reasoning, passages (those in the prompt)."""
    replies = await ask_for_reasoning(state, runtime, parse_free_text)
    return {"reasoning": replies.values[0], "passages": replies.shown, **replies.state_update}


async def extract_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, reasoning, passages -> answer, rationale, evidence."""
    question, reasoning = state["question"], state.get("reasoning") or ""
    prompt = choose_variant("extract_answer", question, runtime)
    parse = parse_yes_no if prompt.endswith("_yes_no") else parse_short_answer
    inputs = {"question": question, "reasoning": reasoning}
    replies = await ask(prompt, runtime, parse=partial(parse, question=question), inputs=inputs, passages=None)
    return {
        **make_answer(replies.values[0], text=replies.texts[0]),
        **note_brief_answer_type("extract_answer", question, runtime),
        "rationale": parse_conclusion(reasoning, question).value.rationale or reasoning or None,
        "evidence": find_evidence(replies.values[0], state["passages"]),
        **replies.state_update,
    }


async def cot_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale, answer, evidence, passages (those in the prompt)."""
    replies = await ask_for_reasoning(state, runtime, get_conclusion_parser(state["question"], runtime))
    return {
        **make_outcome(replies),
        **note_brief_answer_type("reason", state["question"], runtime),
        "passages": replies.shown,
    }


async def cot_from_memory(state: State, runtime: Runtime[Context]) -> State:
    """question -> rationale, answer, evidence (empty)."""
    return make_outcome(
        await ask_for_reasoning(state, runtime, get_conclusion_parser(state["question"], runtime), from_memory=True)
    )


async def ask_for_reasoning(
    state: State,
    runtime: Runtime[Context],
    parse: Callable[[str, str], Parsed[T]],
    *,
    call_subject: str = "",
    from_memory: bool = False,
) -> ParsedReplies[T]:
    """Send the prompt for reasoning once: with the state's passages, or, if `from_memory`, without any.

    parse: a parser of (the reply, the question); call_subject: what this call is about, for traces.
    """
    question = state["question"]
    demonstrations = await format_demonstrations(question, runtime, with_reasoning=True, with_passages=not from_memory)
    return await ask(
        choose_variant("reason_from_memory" if from_memory else "reason", question, runtime),
        runtime,
        parse=lambda reply: parse(reply, question),
        inputs={"question": question, "demonstrations": demonstrations},
        passages=None if from_memory else state["passages"],
        call_subject=call_subject,
    )


def get_conclusion_parser(question: str, runtime: Runtime[Context]) -> Callable[[str, str], Parsed[ReasonedAnswer]]:
    """The parser of a chain of thought that ends in an answer of the question's type."""
    return (
        parse_yes_no_conclusion if choose_variant("reason", question, runtime).endswith("_yes_no") else parse_conclusion
    )


def make_outcome(replies: ParsedReplies[ReasonedAnswer]) -> State:
    """The update after a chain of thought: answer, rationale, evidence and counters."""
    parsed_reply = replies.values[0]
    return {
        **make_answer(parsed_reply.answer, text=replies.texts[0]),
        "rationale": parsed_reply.rationale,
        "evidence": find_evidence(parsed_reply.answer, replies.shown),
        **replies.state_update,
    }
