"""Sends the messages of one turn of the method agent: as many passages as the window has room for, and the tools."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import Passage, Turn
from quorum.models.call import Reply, call
from quorum.models.messages import write_messages
from quorum.models.tools import NO_CALL
from quorum.nodes.agent_calls import TOOLS, iterate_asked
from quorum.nodes.agent_messages import make_messages, order_passages
from quorum.nodes.answer_types import resolve_for_prompt
from quorum.nodes.ask import choose_model, read_prompt_overrides, send_what_fits
from quorum.nodes.fit_window import find_window, warn_of_assumed_window
from quorum.nodes.steps import describe_answer_form
from quorum.prompts import RenderedPrompt, render_prompt
from quorum.prompts.steps import AGENT

TOOLS_TEXT = json.dumps(TOOLS)  # the window must hold the tools, too


@dataclass(frozen=True)
class SentTurn:
    """A turn's reply and what was sent. passages: all that were found, best first; shown: those that fitted;
    shown_numbers: their numbers; context: its answer type is never "auto"; model: None for the context's.
    """

    reply: Reply
    passages: list[Passage]
    shown: list[Passage]
    shown_numbers: set[int]
    context: Context
    model: str | BaseChatModel | None
    overrides: Mapping[str, str]


async def send_turn(question: str, turns: Sequence[Turn], runtime: Runtime[Context], *, may_search: bool) -> SentTurn:
    """Ask for the next turn. may_search: whether the model may call tools; else it must answer."""
    context = resolve_for_prompt(get_context(runtime), AGENT, question)
    model, overrides = choose_model(AGENT, context), await read_prompt_overrides(context)
    kind = describe_answer_form(AGENT, question, runtime)
    instructions = render_prompt(AGENT.name, overrides, kind=kind, max_steps=str(context.max_steps))
    numbered = order_passages(turns)
    passages = [passage for _, passage in numbered]
    number = len([*iterate_asked(turns)]) + 1

    def get_numbers(shown: Sequence[Passage]) -> set[int]:
        return {number for number, _ in numbered[: len(shown)]}

    def write(shown: list[Passage]) -> RenderedPrompt:
        messages = make_messages(instructions.text, question, turns, get_numbers(shown))
        return RenderedPrompt(AGENT.name, f"{write_messages(messages)}\n{TOOLS_TEXT}", instructions.version)

    async def send(rendered_prompt: RenderedPrompt, shown: list[Passage]) -> Sequence[Reply]:
        inputs: dict[str, Any] = {"question": question, "kind": kind, "step": str(number), "passages": shown}
        return await call(
            AGENT.name,
            make_messages(instructions.text, question, turns, get_numbers(shown)),
            context=context,
            prompt_version=rendered_prompt.version,
            call_subject=f"turn {number}",
            inputs=inputs,
            model=model,
            tools=TOOLS,
            tool_choice=None if may_search else NO_CALL,
        )

    asked_model = context.model if model is None else model
    replies, shown = await send_what_fits(write, send, passages, await find_window(context, asked_model))
    if len(shown) < len(passages):
        await warn_of_assumed_window(context, asked_model)
    return SentTurn(replies[0], passages, shown, get_numbers(shown), context, model, overrides)
