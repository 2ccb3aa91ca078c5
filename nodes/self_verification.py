"""Self-verification's nodes (Weng et al. 2023): if an answer is right, the question can be recovered from it."""

from langgraph.runtime import Runtime

from quorum.algorithms.vote_key import VOTE_KEYS
from quorum.core.context import Context, get_context
from quorum.core.state import State, VerifiedCandidate
from quorum.core.text import UNKNOWN, is_unknown, normalize
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import get_answer_converter, note_brief_answer_type
from quorum.nodes.ask import ask
from quorum.prompts.baselines import MASK_CONDITION, RECOVER_CONDITION, ZERO_SHOT_COT

CHAINS, CHAIN_TEMPERATURE = 5, 0.3  # the number of chains of thought, and their temperature
RECOVERY_CALLS, RECOVERY_TEMPERATURE = 10, 0.2  # the number of calls for each candidate, and their temperature


async def sample_answers(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> candidates (distinct, not unknown), candidate_texts, rationales, confidence, passages.

    confidence: if there is only one candidate, the share of samples that gave it; otherwise null.
    """
    question, convert_answer = state["question"], get_answer_converter(ZERO_SHOT_COT, state["question"], runtime)
    replies = await ask(
        ZERO_SHOT_COT,
        runtime,
        question=question,
        passages=state["passages"],
        n=CHAINS,
        temperature=CHAIN_TEMPERATURE,
    )
    answers = [
        (convert_answer(sample.answer), text, sample.rationale)
        for sample, text in zip(replies.values, replies.texts, strict=True)
    ]
    known_answers = [sample for sample in answers if not is_unknown(sample[0])]
    key = VOTE_KEYS[get_context(runtime).answer_measure]
    distinct: dict[str, tuple[str, str, str | None]] = {}
    for sample in known_answers:
        distinct.setdefault(key(sample[0]), sample)
    return {
        "candidates": [answer for answer, _, _ in distinct.values()],
        "candidate_texts": [text for _, text, _ in distinct.values()],
        "rationales": [rationale for _, _, rationale in distinct.values()],
        **note_brief_answer_type(ZERO_SHOT_COT, question, runtime),
        "confidence": len(known_answers) / CHAINS if len(distinct) == 1 else None,
        "passages": replies.shown,
        **replies.state_update,
    }


async def mask_condition(state: State, runtime: Runtime[Context]) -> State:
    """question, answer (a candidate), rank -> masked_statement.

    The statement joins question and answer, and [MASK] hides a condition of the question: a name, a date or another
    detail. masked_statement is null if the reply gives no such statement.
    """
    replies = await ask(
        MASK_CONDITION,
        runtime,
        question=state["question"],
        answer=state["answer"],
        call_subject=f"candidate {state['rank'] + 1}",
    )
    return {"masked_statement": replies.values[0], **replies.state_update}


async def recover_condition(state: State, runtime: Runtime[Context]) -> State:
    """masked_statement, passages, rank -> verified_candidates (one: how many replies recover the hidden words)."""
    masked_statement, rank = state.get("masked_statement"), state["rank"]
    assert masked_statement is not None  # recover_if_masked routes here only with a statement
    replies = await ask(
        RECOVER_CONDITION,
        runtime,
        statement=masked_statement["statement"],
        passages=state["passages"],
        call_subject=f"candidate {rank + 1}",
        n=RECOVERY_CALLS,
        temperature=RECOVERY_TEMPERATURE,
    )
    hidden = normalize(masked_statement["hidden_words"])
    recovered_count = sum(normalize(words) == hidden for words in replies.values)
    return {"verified_candidates": [VerifiedCandidate(rank=rank, recovered=recovered_count)], **replies.state_update}


async def choose_verified(state: State) -> State:
    """candidates, candidate_texts, rationales, verified_candidates -> answer, rationale, scores, confidence.

    The answer is the candidate whose hidden words were recovered most often; in a tie, the first of these candidates.
    scores: for each candidate, how often its hidden words were recovered. confidence: the difference between the two
    highest scores, divided by RECOVERY_CALLS. A single candidate is the answer without a check, with the confidence
    from `sample_answers`. If there is no candidate, the answer is unknown.
    """
    candidates, rationales = state["candidates"] or [UNKNOWN], state.get("rationales") or [None]
    texts = state.get("candidate_texts") or [""] * len(candidates)
    recovered_counts = {check["rank"]: check["recovered"] for check in state.get("verified_candidates") or []}
    scores = [float(recovered_counts.get(rank, 0)) for rank in range(len(candidates))]
    best = scores.index(max(scores))
    chosen_update: State = {
        **make_answer(candidates[best], text=texts[best]),
        "rationale": rationales[best],
    }
    if len(candidates) == 1:
        return chosen_update
    margin = scores[best] - max(scores[:best] + scores[best + 1 :])
    return {**chosen_update, "scores": scores, "confidence": margin / RECOVERY_CALLS}
