"""The node `shorten`: which answers pass through it, and which are shortened where they are written."""

from typing import Any

import pytest
from method_fixtures import EVIDENCE_STEP, FIRST_STEPS, PASSAGES, QUESTION, trace_method

from quorum.core.context import Context
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel

WORDY = "According to the passages that were given to me, the tower was finished in the year 1931 by Ada Moreau"
# method -> the prompt and the reply that gives the final answer
FINAL_REPLIES = {
    "concat": ("answer", WORDY),
    "base": ("answer_base", WORDY),
    "direct": ("direct", WORDY),
    "cot": ("reason", f"So it is. So the answer is {WORDY}."),
    "zero_shot_cot": ("zero_shot_cot", f"So it is.\nAnswer: {WORDY}"),
    "react": ("react", f"So.\nAction: Finish[{WORDY}]"),
    "self_ask": ("self_ask", f"No.\nSo the final answer is: {WORDY}"),
    "pf_concat": ("answer_candidates", WORDY),
}


def make_model(shortened: str = "1931", **replies: str) -> ScriptedModel:
    """A model that cuts every wordy answer to `shortened`; replies: prompt -> what it replies to it."""
    model = ScriptedModel().on("shorten", lambda _: shortened)
    for prompt, reply in replies.items():
        model.on(prompt, lambda _, reply=reply: reply)
    return model


async def list_nodes(method: str, model: ScriptedModel, **settings: Any) -> list[str]:
    return [node for node, _ in await trace_method(method, model, shorten="model", **settings)]


async def test_a_wordy_answer_is_drafted_then_cut_then_looked_for_in_the_passages() -> None:
    steps = await trace_method("concat", make_model(answer=WORDY), shorten="model")
    assert steps[:2] == FIRST_STEPS
    (node, drafted), (next_node, cut), last_step = steps[2:]
    assert (node, drafted["answer"], drafted["draft"]["to_cut"]) == ("concat_answer", WORDY, [WORDY])
    assert next_node == "shorten"
    assert cut == {
        "answer": "1931",
        "answer_text": WORDY,
        "unknown": False,
        "confidence": None,
        "passages": "p1 p2 p3",
        "draft": None,
    }
    assert last_step == EVIDENCE_STEP


@pytest.mark.parametrize("method", FINAL_REPLIES)
async def test_a_final_answer_passes_through_the_node_only_if_it_is_wordy(method: str) -> None:
    prompt, reply = FINAL_REPLIES[method]
    replies = {"answer": "1931", prompt: reply}
    assert (await list_nodes(method, make_model(**replies))).count("shorten") == 1
    result = await answer(QUESTION, method, Context(model=make_model(**replies), shorten="model"), given=PASSAGES)
    assert (result["answer"], result["usage"]["shorten"]["calls"]) == ("1931", 1)
    assert WORDY not in (result["rationale"] or "")
    short_replies = {"answer": "1931", prompt: reply.replace(WORDY, "1931")}
    assert "shorten" not in await list_nodes(method, make_model(**short_replies))


async def test_votes_are_shortened_where_they_are_written() -> None:
    model = make_model(answer=WORDY)
    assert "shorten" not in await list_nodes("post_fusion", model)
    assert [sent.prompt_name for sent in model.history].count("shorten") == 3
    # Of both rounds at the same time, the votes do not wait for the node, and the graph goes on once.
    steps = await trace_method("concat_pf", make_model(answer=WORDY), shorten="model", speculative=True)
    assert [node for node, _ in steps][2:] == ["both_rounds", "unknown_check", "find_evidence"]
    assert (steps[2][1]["answer"], steps[2][1]["votes"]) == ("1931", ["0 1931", "1 1931", "2 1931"])


async def test_each_round_of_iter_retgen_may_be_shortened() -> None:
    model = make_model(reason=f"So it is. So the answer is {WORDY}.")
    nodes = await list_nodes("iter_retgen", model, iterations=2)
    assert nodes[1:] == [
        *("retrieve", "cot_answer", "shorten", "next_query"),
        *("retrieve", "cot_answer", "shorten", "find_evidence"),
    ]
    assert model.history[-2].prompt_name == "reason"


async def test_several_samples_are_cut_together_and_the_most_frequent_wins() -> None:
    model = ScriptedModel().on("answer", WORDY, "1950", f"{WORDY}, I think").on("shorten", "1931", "1931")
    steps = await trace_method("concat", model, shorten="model", samples=3, temperature=0.7)
    assert steps[3][0] == "shorten"
    assert (steps[3][1]["answer"], steps[3][1]["confidence"]) == ("1931", 2 / 3)


async def test_a_leaked_answer_is_found_after_the_cut() -> None:
    leaked = "It seems quite clear to me from everything I know that Robert Hooke is the one who did it all"
    context = Context(model=make_model(shortened="Robert Hooke", answer=leaked), shorten="model")
    result = await answer(QUESTION, "concat", context, given=PASSAGES)
    assert (result["answer"], result["answer_text"], len(result["passages"])) == ("unknown", None, 5)
    assert result["malformed"] == {"answer": {"count": 1, "replies": [leaked]}}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_ends_with_its_evidence(method: str) -> None:
    edges = {(edge.source, edge.target): edge.data for edge in METHODS[method].graph.get_graph().edges}
    into_end = {source for source, target in edges if target == "__end__"}
    assert into_end == {"find_evidence", "abstain"}
    assert edges["find_evidence", "abstain"] == "calibration set"
