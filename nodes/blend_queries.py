"""BlendFilter's queries: what the model concludes from passages and what it knows by heart, before the question."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.core.state import State
from quorum.core.text import is_unknown, sentences
from quorum.nodes.ask import ask
from quorum.nodes.reason import chain_of_thought
from quorum.parsing.reasoning import free_text, topic_of


async def answer_externally(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> external."""
    asked = await chain_of_thought(state, runtime, free_text, detail="external")
    return {"external": asked.values[0], **asked.update}


async def recall(state: State, runtime: Runtime[Context]) -> State:
    """question -> internal."""
    question = state["question"]
    parse = partial(free_text, question=question)
    asked = await ask("internal", runtime, parse=parse, inputs={"question": question}, passages=None)
    return {"internal": asked.values[0], **asked.update}


async def name_topic(state: State, runtime: Runtime[Context]) -> State:
    """question -> topic."""
    question = state["question"]
    parse = partial(topic_of, question=question)
    asked = await ask("topic", runtime, parse=parse, inputs={"question": question}, passages=None)
    return {"topic": asked.values[0], **asked.update}


async def blend_queries(state: State, runtime: Runtime[Context]) -> State:
    """question, external, internal -> queries."""
    question = state["question"]
    made = {
        "q": question,
        "ex": blended(state.get("external"), question),
        "in": blended(state.get("internal"), question),
    }
    return {"queries": [made[name] for name in settings(runtime).queries.split("+")]}


def blended(generated: str | None, question: str) -> str:
    """The generated text, then the question (Wang et al. 2024, section 3.2). Text that says nothing but that the
    answer is unknown holds no word to search for: the query is the question.
    """
    text = generated or ""
    silent = all(is_unknown(text[start:end]) for start, end in sentences(text))
    return question if silent else f"{text}\n{question}"
