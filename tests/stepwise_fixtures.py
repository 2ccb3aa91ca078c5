"""For tests of react, self_ask and iter_retgen: a question of two steps, its passages, a run as a readable list."""

from typing import Any

from method_fixtures import has_same_text

from quorum.core.context import Context
from quorum.core.state import Passage, Result, State, Step
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel

QUESTION = "SuperMansion starred the actress who had a recurring role as whom on Workaholics?"
PASSAGES = [
    Passage(id="jan", title="Jan Hooks", text="Jan Hooks was a comedian with a recurring role on Designing Women."),
    Passage(id="work", title="Workaholics", text="Workaholics follows three friends who sell things by telephone."),
    Passage(id="mansion", title="SuperMansion", text="SuperMansion is a puppet animation; Jillian Bell starred in it."),
    Passage(id="bell", title="Jillian Bell", text="Jillian Bell had a recurring role on Workaholics, as Jillian Belk."),
    Passage(id="tea", title="Tea", text="Tea came to Europe in 1610."),
]
CAST_QUESTION = "Which actress starred in SuperMansion?"
ROLE_QUESTION = "Which role did Jillian Bell have on Workaholics?"


async def trace_stepwise_method(method: str, model: ScriptedModel, **settings: Any) -> list[tuple[str, dict[str, Any]]]:
    """Run the method on QUESTION. Returns (node, shortened update) pairs: see `shorten_state_update`."""
    inputs, context = {"question": QUESTION, "given": PASSAGES}, Context(model=model, **{"k": 2, **settings})
    return [
        (node, shorten_state_update(node_update))
        async for update in METHODS[method].graph.astream(inputs, context=context, stream_mode="updates")
        for node, node_update in update.items()
    ]


def shorten_state_update(update: State) -> dict[str, Any]:
    """The update without `usage`, without values that are {} or None, without a `dropped` of 0 or a
    `temperature_refused` of False, and without an `answer_text` that says the same as `answer`.

    Steps become "query -> ids of its passages: answer", passages and evidence become ids, and malformed replies become
    {prompt: replies}.
    """
    if "given_passages" in update:  # the update of `begin`, which sets every state key
        return {}
    shortened_update: dict[str, Any] = {
        key: value for key, value in update.items() if key != "usage" and value not in ({}, None)
    }
    if has_same_text(update):
        shortened_update.pop("answer_text", None)
    if shortened_update.get("answer_type") == "short":
        del shortened_update["answer_type"]
    for name in ("dropped", "temperature_refused"):
        if not shortened_update.get(name):
            shortened_update.pop(name, None)
    if "steps" in update:
        shortened_update["steps"] = [
            f"{s['query']} -> {join_ids(s['passages'])}: {s['answer']}" for s in update["steps"]
        ]
    if "passages" in update:
        shortened_update["passages"] = join_ids(update["passages"])
    if "evidence" in update:
        shortened_update["evidence"] = [evidence["passage"] for evidence in update["evidence"]]
    if "malformed" in shortened_update:
        shortened_update["malformed"] = {prompt: counts["replies"] for prompt, counts in update["malformed"].items()}
    return shortened_update


def join_ids(passages: list[Passage]) -> str:
    return " ".join(passage["id"] for passage in passages)


def make_step(query: str | None = None, answer: str | None = None, *passages: Passage) -> Step:
    """A step without a thought. query: None in a step that gives the final answer; answer: None if the query has no
    answer yet.
    """
    return Step(thought="", query=query, passages=list(passages), answer=answer)


async def ask(method: str, model: ScriptedModel, passages: list[Passage] = PASSAGES, **settings: Any) -> Result:
    return await answer(QUESTION, method, Context(model=model, **settings), given=passages)
