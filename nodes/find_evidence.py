"""The node that looks for the evidence of an answer, once the answer is final."""

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import State
from quorum.nodes.answer_types import set_answer_type
from quorum.nodes.citations import CITING_TYPES, find_citations
from quorum.nodes.evidence import list_evidence, split_voters


async def find_evidence(state: State, runtime: Runtime[Context]) -> State:
    """question, answer, answer_text, answer_type, quote, voters, passages -> evidence, citations,
    voters_without_evidence.
    """
    answer, answer_type, passages = state["answer"], state.get("answer_type") or "short", state["passages"]
    update: State = {}
    if answer_type in CITING_TYPES:
        context = set_answer_type(get_context(runtime), answer_type)
        text = state.get("answer_text") or ""
        update["citations"] = await find_citations(state["question"], text, passages, context)
    voters = state.get("voters")
    if not voters:
        return {**update, "evidence": list_evidence(state.get("quote") or answer, passages)}
    wordings = [(voter["answer"], passages[voter["rank"]]) for voter in voters]
    evidence, unsupported_ids = split_voters(answer, wordings, answer_type)
    return {**update, "evidence": evidence, "voters_without_evidence": unsupported_ids}
