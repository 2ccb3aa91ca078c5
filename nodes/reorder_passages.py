"""Nodes that order passages by their similarity to a text."""

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import State, select_counters
from quorum.nodes.summarize_candidate import summarize
from quorum.retrievers.similarity import compute_similarities


async def use_query_as_question(state: State) -> State:
    """question, query -> question (the text with which the passages were searched)."""
    return {"question": state.get("query") or state["question"]}


async def summarize_passages(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale (a summary of what is relevant to the question).

    The state's passages stay as they are, so those that did not fit into the prompt can be reordered, too.
    """
    update = await summarize(state, runtime)
    return {"rationale": (update["summaries"] or [""])[0], **select_counters(update)}


async def reorder(state: State, runtime: Runtime[Context]) -> State:
    """rationale (else question), passages -> passages, by falling similarity of embeddings; ties keep their order."""
    passages, context = state["passages"], get_context(runtime)
    similarities = await compute_similarities(
        state.get("rationale") or state["question"], passages, context.embeddings, context.embedding_batch
    )
    order = sorted(range(len(passages)), key=lambda index: -similarities[index])
    return {"passages": [passages[index] for index in order]}
