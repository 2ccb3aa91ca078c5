"""Shared by the tests of nodes and graphs: a question with five passages, a scripted model, and `trace_method`, which
runs a method and returns its steps as a short list.
"""

from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.core.context import Context
from quorum.core.state import Passage, State, Vote
from quorum.core.text import normalize
from quorum.graphs import METHODS
from quorum.models.scripted import ScriptedModel

QUESTION = "When was the Lumen Tower finished?"
PASSAGES = [
    Passage(id="p1", title="Lumen Tower", text="The Lumen Tower was finished in 1931."),
    Passage(id="p2", title="Iron Mast", text="The Iron Mast was painted in 1950."),
    Passage(id="p3", title="Towers", text="Work on the Lumen Tower ended in 1931, after a strike."),
    Passage(id="p4", title="Strikes", text="Builders of the tower struck in 1929."),
    Passage(id="p5", title="1931", text="A year with several new towers."),
]
STATE = State(question=QUESTION, passages=PASSAGES[:3])
# The first steps of most methods, as `trace_method` returns them.
FIRST_STEPS: list[tuple[str, dict[str, Any]]] = [("begin", {}), ("retrieve", {"passages": "p1 p2 p3"})]
# Part of the shortened update of the node that answers, and the last step: the passages p1 and p3 contain the answer.
KNOWN_ANSWER = {"answer": "1931", "unknown": False}
EVIDENCE_STEP: tuple[str, dict[str, Any]] = ("find_evidence", {"evidence": ["p1 32-36", "p3 33-37"]})
NO_EVIDENCE_STEP: tuple[str, dict[str, Any]] = ("find_evidence", {"evidence": []})


def make_runtime(model: ScriptedModel | None = None, **settings: Any) -> Runtime[Context]:
    """The runtime that LangGraph hands to a node."""
    return Runtime(context=Context(model=model or ScriptedModel(), **settings))


def make_votes(*answers: str) -> list[Vote]:
    """A vote for each answer, by the passages p1, p2 and so on. "?" stands for unknown."""
    return [Vote(rank=i, passage=f"p{i + 1}", answer=a, unknown=a == "?") for i, a in enumerate(answers)]


def script_passage_answers(*answers: str | list[str]) -> ScriptedModel:
    """A scripted model with a reply to the prompt `answer` for each passage; a list holds several samples."""
    model = ScriptedModel()
    for number, reply in enumerate(answers, start=1):
        model.on(f"answer: passage {number}", *([reply] if isinstance(reply, str) else reply))
    return model


async def trace_method(
    method: str, model: ScriptedModel, k: int = 3, **settings: Any
) -> list[tuple[str, dict[str, Any]]]:
    """The steps of a run as (node, shortened update) pairs, in order; steps that run at the same time are sorted. A
    step that changes nothing is left out.

    k: how many of PASSAGES are given with the question.
    """
    inputs, context = {"question": QUESTION, "given": PASSAGES[:k]}, Context(model=model, **settings)
    steps: list[tuple[str, dict[str, Any]]] = []
    async for update in METHODS[method].graph.astream(inputs, context=context, stream_mode="updates"):
        steps += [(node, shorten_update(node_update)) for node, node_update in update.items() if node_update]
    return sort_parallel_steps(steps)


def sort_parallel_steps(steps: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Sort neighbouring steps that ran at the same time, by node and votes, because they may end in any order."""
    parallel_nodes = {"concat_answer", "passage_answer"}
    sorted_steps: list[tuple[str, dict[str, Any]]] = []
    parallel_steps: list[tuple[str, dict[str, Any]]] = []
    for step in [*steps, ("", {})]:
        if step[0] in parallel_nodes:
            parallel_steps.append(step)
            continue
        sorted_steps += sorted(parallel_steps, key=lambda step: (step[0], step[1].get("votes", [])))
        parallel_steps = []
        sorted_steps.append(step)
    return sorted_steps[:-1]


def get_votes(update: State) -> list[Vote]:
    """The votes of an update; empty if the update withdraws earlier votes."""
    votes: Any = update["votes"]
    return (votes.value or []) if isinstance(votes, Overwrite) else votes


def has_same_text(update: Any) -> bool:
    """Whether `answer_text` says the same as `answer`, or is null, or belongs to a step that is not the result yet."""
    text = update.get("answer_text")
    return text is None or "answer" not in update or normalize(text) == normalize(update["answer"])


def shorten_update(update: State) -> dict[str, Any]:
    """The update in short form: votes as "rank answer", passages as ids, evidence as "id start-end", and the malformed
    replies of each prompt.

    `usage`, what `find_evidence` reads (`voters`, `quote`), zeros and empty dictionaries are left out; so are
    `retrieved`, `voters_without_evidence` and `temperature_refused` where they say nothing (None, an empty list,
    False), `answer_text` where it says the same as `answer`, or null, and `answer_type` where it is short.
    """
    if "given_passages" in update:  # the update of `begin`, which sets every state key
        return {}
    shortened_update: dict[str, Any] = {
        key: value for key, value in update.items() if key not in ("usage", "votes", "evidence", "voters", "quote")
    }
    if shortened_update.get("retrieved", "") is None:
        del shortened_update["retrieved"]  # the ids of the passages before a filter: no filter has run
    if has_same_text(update):
        shortened_update.pop("answer_text", None)
    if shortened_update.get("answer_type") == "short":
        del shortened_update["answer_type"]
    if "votes" in update:
        shortened_update["votes"] = [
            f"{vote['rank']} {'?' if vote['unknown'] else vote['answer']}" for vote in get_votes(update)
        ]
    # temperature_refused: whether the model refused temperature 0
    for name in ("voters_without_evidence", "temperature_refused"):
        if not shortened_update.get(name):
            shortened_update.pop(name, None)
    if "evidence" in update:
        shortened_update["evidence"] = [f"{e['passage']} {e['start']}-{e['end']}" for e in update["evidence"]]
    if "passages" in update:
        shortened_update["passages"] = " ".join(passage["id"] for passage in update["passages"])
    if "malformed" in update:
        shortened_update["malformed"] = {
            prompt_name: counted["replies"] for prompt_name, counted in update["malformed"].items()
        }
    return {key: value for key, value in shortened_update.items() if value not in ({}, 0) or value is False}
