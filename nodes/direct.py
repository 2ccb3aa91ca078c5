"""Few-shot answering without reasoning (Brown et al. 2020)."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import Passage, State
from quorum.nodes.answer import answered
from quorum.nodes.ask import ask
from quorum.nodes.demonstrations import demonstrations, variant
from quorum.nodes.evidence import evidence_for
from quorum.parsing.answers import short_answer
from quorum.parsing.yes_no import yes_no_answer
from quorum.prompts.passages import numbered_or_none


async def direct_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer, evidence, passages (shown)."""
    return await direct(state, runtime, state["passages"])


async def direct_from_memory(state: State, runtime: Runtime[Context]) -> State:
    """question -> answer."""
    return await direct(state, runtime, None)


async def direct(state: State, runtime: Runtime[Context], passages: list[Passage] | None) -> State:
    question = state["question"]
    prompt = variant("direct_from_memory" if passages is None else "direct", runtime)
    shots = await demonstrations(runtime, reasoned=False, passages=passages is not None)
    parse = yes_no_answer if prompt.endswith("_yes_no") else short_answer
    asked = await ask(
        prompt,
        runtime,
        parse=partial(parse, question=question),
        inputs={"question": question, "demonstrations": shots},
        passages=passages,
        layout=numbered_or_none,
    )
    return {
        **answered(asked.values[0]),
        "evidence": evidence_for(asked.values[0], asked.shown),
        "passages": asked.shown,
        **asked.update,
    }
