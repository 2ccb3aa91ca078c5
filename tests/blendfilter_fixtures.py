"""Shared by the tests of BlendFilter: the paper's example question, our own passages and a scripted run."""

from typing import Any

from method_fixtures import has_same_text

from quorum.core.context import Context
from quorum.core.state import Passage, Result
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel

QUESTION = "SuperMansion starred the actress who had a recurring role as whom on Workaholics?"
PASSAGES = [
    Passage(
        id="mansion",
        title="SuperMansion",
        text="SuperMansion is an animated series about elderly heroes who share a house. Jillian Bell speaks Cooch.",
    ),
    Passage(id="jones", title="Gillian Jones", text="Gillian Jones is an Australian actress of stage and television."),
    Passage(
        id="office",
        title="Workaholics",
        text="Workaholics is a comedy about three friends who sell things by telephone.",
    ),
    Passage(id="hooks", title="Jan Hooks", text="Jan Hooks was an American actress and comedian."),
    Passage(
        id="bell",
        title="Jillian Bell",
        text="Jillian Bell is a comedian who had a recurring role as Jillian Belk, a colleague of the three friends.",
    ),
    Passage(id="tea", title="Tea", text="Tea is a drink made from leaves."),
]
EXTERNAL_REPLY = "SuperMansion has the voice of Jillian Bell. So the answer is Unknown."
INTERNAL_REPLY = "The comedy Workaholics is about three friends; Jillian Bell played a colleague."
REASONING_REPLY = "SuperMansion starred Jillian Bell. Jillian Bell played Jillian Belk. So the answer is Jillian Belk."

# The name of a call -> its reply. "judge" and "choose" are called for each query: q is the question, ex the query with
# external knowledge, in the query with internal knowledge. "reason: external" writes the external knowledge, "internal"
# the internal knowledge, and "reason" the reasoning for the answer.
REPLIES = {
    "reason: external": EXTERNAL_REPLY,
    "internal": INTERNAL_REPLY,
    "topic": "Television comedies",
    "judge: q": "Passage 1: relevant, it names the series. Passage 2: not relevant.",
    "judge: ex": "Passage 1 and passage 2 bear on it.",
    "judge: in": "Passage 1 helps, passage 2 is beside the point.",
    "choose: q": "1",
    "choose: ex": "Passages 1 and 2",
    "choose: in": "[1]",
    "reason": REASONING_REPLY,
    "extract_answer": "Jillian Belk",
}


def make_blend_model(replaced_replies: dict[str, str] | None = None) -> ScriptedModel:
    """A model that has a reply for every step of BlendFilter.

    Of the two passages that each query finds, it keeps the first for the question and for the query with internal
    knowledge, and both for the query with external knowledge.

    replaced_replies: {name of a call: its reply instead of the one in `REPLIES`}.
    """
    model = ScriptedModel()
    for call_name, reply in (REPLIES | (replaced_replies or {})).items():
        model.on(call_name, reply)
    return model


async def run_blendfilter(model: ScriptedModel, question: str = QUESTION, **settings: Any) -> Result:
    context = Context(model=model, **{"k": 2, **settings})
    return await answer(question, "blendfilter", context, given=PASSAGES)


async def trace_blendfilter(model: ScriptedModel, **settings: Any) -> list[tuple[str, dict[str, Any]]]:
    """The run as (node, shortened update) pairs. Steps that ran at the same time are sorted."""
    context = Context(model=model, **{"k": 2, **settings})
    inputs: Any = {"question": QUESTION, "given": PASSAGES}
    updates: list[tuple[str, dict[str, Any]]] = []
    async for update in METHODS["blendfilter"].graph.astream(inputs, context=context, stream_mode="updates"):
        updates += [(node, shorten_update(node_update)) for node, node_update in update.items() if node_update]
    parallel_nodes = ("write_external_knowledge", "write_internal_knowledge", "name_topic")
    positions = {node: position for position, (node, _) in reversed(list(enumerate(updates)))}
    first_position = min((positions[node] for node in parallel_nodes if node in positions), default=0)
    return sorted(
        updates,
        key=lambda step: (
            (first_position, parallel_nodes.index(step[0])) if step[0] in parallel_nodes else (positions[step[0]], 0),
            step[1].get("passages_by_query", ""),
        ),
    )


def shorten_update(update: dict[str, Any]) -> dict[str, Any]:
    """The update in short: without `usage`, `votes`, empty values, and an `answer_text` that says the same as `answer`;
    passages as ids; a query's passages as "number of the query: retrieved ids -> kept ids"; of `malformed`, only the
    replies by prompt.
    """
    if "given_passages" in update:  # the update of `begin`, which sets every state key
        return {}
    shortened_update = {key: value for key, value in update.items() if key not in ("usage", "votes")}
    if not shortened_update.get("temperature_refused"):  # a flag: the model refused temperature 0
        shortened_update.pop("temperature_refused", None)
    shortened_update = {
        key: value for key, value in shortened_update.items() if value not in ({}, 0, None) or value is False
    }
    if has_same_text(update):
        shortened_update.pop("answer_text", None)
    if shortened_update.get("answer_type") == "short":
        del shortened_update["answer_type"]
    if "passages" in shortened_update:
        shortened_update["passages"] = join_ids(shortened_update["passages"])
    if "passages_by_query" in shortened_update:
        (result,) = shortened_update["passages_by_query"]
        shortened_update["passages_by_query"] = (
            f"{result['rank']}: {' '.join(result['retrieved'])} -> {join_ids(result['passages'])}"
        )
    if "malformed" in shortened_update:
        shortened_update["malformed"] = {
            prompt: counts["replies"] for prompt, counts in shortened_update["malformed"].items()
        }
    return shortened_update


def join_ids(passages: list[Passage]) -> str:
    return " ".join(passage["id"] for passage in passages)
