"""Knowledge filtering: the model keeps the passages that help (Wang et al. 2024, section 3.3)."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.core.state import Passage, State
from quorum.nodes.ask import ask
from quorum.nodes.demonstrations import variant
from quorum.parsing.passage_ids import passage_ids
from quorum.parsing.reasoning import free_text


async def judge(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, topic -> judgement, passages (shown), retrieved."""
    prompt = variant("judge", runtime)
    asked = await ask(
        prompt,
        runtime,
        parse=partial(free_text, question=state["question"]),
        inputs=matter(prompt, state),
        passages=state["passages"],
        detail=which(state, runtime),
    )
    return {"judgement": asked.values[0], "passages": asked.shown, "retrieved": before(state), **asked.update}


async def choose(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, topic, judgement -> passages (those that help)."""
    prompt = variant("choose", runtime)
    asked = await ask(
        prompt,
        runtime,
        parse=partial(passage_ids, count=len(state["passages"])),
        inputs={**matter(prompt, state), "judgement": state.get("judgement") or ""},
        passages=state["passages"],
        detail=which(state, runtime),
    )
    return {"passages": kept(asked.values[0], asked.shown), **asked.update}


async def judge_and_choose(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> passages (those that help), retrieved."""
    found = state["passages"]
    asked = await ask(
        variant("judge_and_choose", runtime),
        runtime,
        parse=partial(passage_ids, count=len(found)),
        inputs={"question": state["question"]},
        passages=found,
        detail=which(state, runtime),
    )
    return {"passages": kept(asked.values[0], asked.shown), "retrieved": before(state), **asked.update}


def matter(prompt: str, state: State) -> dict[str, str]:
    """What both turns are told: the question and, for a short answer, its topic."""
    question = state["question"]
    return {"question": question} if prompt.endswith("_yes_no") else {"question": question, "topic": topic(state)}


def topic(state: State) -> str:
    return state.get("topic") or state["question"]


def which(state: State, runtime: Runtime[Context]) -> str:
    """The query that found the passages, for traces; nothing where they are of no one query."""
    rank = state.get("rank")
    return "" if rank is None else settings(runtime).queries.split("+")[rank]


def kept(numbers: list[int], shown: list[Passage]) -> list[Passage]:
    """The passages of those numbers, in their order; a number beyond those shown names none."""
    return [shown[number - 1] for number in numbers if number <= len(shown)]


def before(state: State) -> list[str]:
    """The ids of what was retrieved: a filter before this one has noted them."""
    noted = state.get("retrieved")
    return [passage["id"] for passage in state["passages"]] if noted is None else noted
