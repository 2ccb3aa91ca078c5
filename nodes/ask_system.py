"""The node that asks a user's own system."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from langgraph.runtime import Runtime

from quorum.cascades.rehearsal import IS_REHEARSAL
from quorum.core.context import Context, get_context
from quorum.core.labels import is_unknown_for_type
from quorum.core.state import State, Usage
from quorum.core.text import UNKNOWN, is_unknown
from quorum.models.systems import NO_TOKENS, SYSTEM_CALL_NAME, ChatServer, System, read_system
from quorum.models.token_estimate import estimate_tokens
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import choose_variant, resolve_answer_type
from quorum.nodes.ask import read_answer_text
from quorum.nodes.read_answer import draft_answer, read_answer_async
from quorum.prompts.post_fusion import ANSWER


async def read_system_answer(question: str, reply: str, parsed_answer: str, context: Context) -> str:
    """The answer in a system's reply: a short one is read as those of the methods are, but no model is called for it.

    parsed_answer: what the parser of the answer type read.
    """
    if context.answer_type != "short" or context.shorten == "off" or is_unknown(parsed_answer):
        return parsed_answer
    if context.shorten == "model":
        return draft_answer(question, reply).answer
    return (await read_answer_async(question, reply)).answer


def guess_usage(system: System, question: str, context: Context) -> Usage:
    """The call and the tokens that a system's answer is assumed to take. Only chat servers report tokens."""
    if not isinstance(system, ChatServer):
        return NO_TOKENS
    reply_tokens = ANSWER.for_answer_type(context.answer_type).reply_tokens
    return Usage(calls=1, input_tokens=estimate_tokens(question), output_tokens=int(reply_tokens), cached_tokens=0)


def make_system_node(name: str, spec: str) -> tuple[Callable[[State, Runtime[Context]], Awaitable[State]], str]:
    """Make the node that asks the user's system `name`. spec: as in `read_system`, for example "http://HOST/v1#MODEL".

    Returns the node, and the spec of the model whose price applies to the system's tokens.
    In a rehearsal (the run that estimates a comparison) the node answers "unknown" without asking the system, because
    asking it may cost money or have side effects, and counts the call that the comparison will make.
    """
    system = read_system(name, spec)

    async def ask_system(state: State, runtime: Runtime[Context]) -> State:
        """question, given_passages -> answer, passages, usage; in a rehearsal answer and usage."""
        question = state["question"]
        context = resolve_answer_type(get_context(runtime), question)
        if IS_REHEARSAL.get():
            usage = guess_usage(system, question, context)
            return {**make_answer(UNKNOWN, unknown=True), "usage": {SYSTEM_CALL_NAME: usage}}
        # Without the journal: the system may have changed since it gave an earlier reply.
        reply = await system.ask(question, state.get("given_passages"), replace(context, journal="off"))
        parsed_reply = choose_variant(ANSWER, question, runtime).parse(reply.text, question)
        answer = await read_system_answer(question, reply.text, parsed_reply.value, context)
        text = read_answer_text(reply.text, parsed_reply, question, context)
        return {
            **make_answer(answer, is_unknown_for_type(answer, context.answer_type), text=text),
            "passages": reply.passages,
            "usage": {SYSTEM_CALL_NAME: reply.usage},
        }

    return ask_system, system.pricing_model
