"""Nodes that read whole documents in place of the passages found."""

import asyncio

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import State
from quorum.nodes.answer import answer_from_all
from quorum.nodes.choose_documents import choose_passages, order_for_dropping
from quorum.nodes.document_budget import check_all_fit, choose_layout, compute_budget
from quorum.prompts.post_fusion import ANSWER
from quorum.retrievers.documents import check_documents_are_ordered, load_documents

DOCUMENTS_SUBJECT = "whole documents"  # what the call is about, for traces


async def check_documents(state: State, runtime: Runtime[Context]) -> State:
    """question, given_passages -> nothing. Documents that cannot be read are refused before a call is paid for."""
    await check_readable(state, get_context(runtime))
    return {}


async def check_readable(state: State, context: Context) -> None:
    """Raise a `SetupError` if nothing says in which order the passages of documents stand, or if documents=all asks for
    more than fits.
    """
    given_passages = state.get("given_passages")
    if given_passages is None:
        await asyncio.to_thread(check_documents_are_ordered, context)
    if context.documents == "all":
        passages = (await load_documents(context)).passages if given_passages is None else given_passages
        await check_all_fit(passages, state["question"], context)


async def find_documents(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, retrieved, given_passages -> passages (of documents, in order), retrieved, dropped."""
    context, found, given_passages = get_context(runtime), state["passages"], state.get("given_passages")
    retrieved = state.get("retrieved") or [passage["id"] for passage in found]
    if given_passages is not None:
        return {"passages": given_passages, "retrieved": retrieved}
    documents = await load_documents(context)
    if context.documents == "all":
        return {"passages": documents.passages, "retrieved": retrieved}
    chosen, left_out = choose_passages(found, documents, await compute_budget(state["question"], context))
    return {"passages": chosen, "retrieved": retrieved, "dropped": left_out}


async def documents_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, retrieved -> answer (the most frequent of the samples), passages (those shown)."""
    return await answer_from_all(
        ANSWER,
        state,
        runtime,
        layout=choose_layout(state["question"], get_context(runtime)),
        drop_order=order_for_dropping(state["passages"], state.get("retrieved") or []),
        call_subject=DOCUMENTS_SUBJECT,
    )
