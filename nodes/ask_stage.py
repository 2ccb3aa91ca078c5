"""A stage of a cascade: a whole method, asked with the settings that it was measured with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.algorithms.vote_key import vote_key
from quorum.core.composed_file import Composed, ComposedStage
from quorum.core.context import Context, get_context
from quorum.core.errors import SetupError
from quorum.core.rehearsal import REHEARSING
from quorum.core.remembered import REMEMBERED, forget, remembered_of
from quorum.core.state import Question, State
from quorum.nodes.describe_settings import HOW, describe_settings
from quorum.nodes.routes import is_accepted
from quorum.prompts import get_version

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

StageNode = Callable[[State, Runtime[Context]], Awaitable[State]]

OF_THE_RUN = HOW | {"collection", "answer_type", "prompts", "calibration"}  # a stage takes these from the context
MODELS = {"model", "verifier"}
BY_IDENTITY = {"context_filter", "embeddings", "examples"}  # described by what identifies them: taken from the context
UNKNOWN: Any = object()


def stage_node(composed: Composed, number: int, graph: "CompiledStateGraph[Any, Any, Any, Any]") -> StageNode:
    """The node that asks stage `number`, from 0, of a cascade."""
    stage = composed.stages[number]

    async def ask_stage(state: State, runtime: Runtime[Context]) -> State:
        """question, provided -> the stage's whole result."""
        context = stage_context(get_context(runtime), composed, stage)
        run = state.get("run") or uuid4().hex
        token = REMEMBERED.set(remembered_of(run, number))
        try:
            asked = Question(question=state["question"], given=state.get("provided"), gold_answers=state.get("oracle"))
            found: Any = await graph.ainvoke(asked, context=context)
        finally:
            REMEMBERED.reset(token)
        earlier = [*(state.get("earlier") or []), "" if found["unknown"] else vote_key(found["answer"])]
        update = {**found, "run": run, "earlier": earlier}
        if stage.accept is None or is_accepted(cast(State, update), stage.accept):
            forget(run)
        return cast(State, {**update, "votes": Overwrite(found.get("votes"))})  # it stands for the value that it sets

    return ask_stage


def stage_context(context: Context, composed: Composed, stage: ComposedStage) -> Context:
    """The context with the settings that the stage was measured with.

    A setting that was given and differs from those, a model, prompt or file that changed since is a `SetupError`. A
    rehearsal has a model of its own.
    """
    rehearsing = REHEARSING.get()
    default, chosen = Context(), {}
    for part in fields(Context):
        recorded = stage.settings.get(part.name, UNKNOWN)
        value = spec_of(recorded) if part.name in MODELS else recorded
        if value is UNKNOWN or part.name in OF_THE_RUN | BY_IDENTITY or (rehearsing and part.name in MODELS):
            continue
        given = getattr(context, part.name)
        if not rehearsing and given not in (getattr(default, part.name), *values_of(composed, part.name)):
            raise changed(composed, stage, part.name, value, given)
        chosen[part.name] = value
    made = replace(context, **chosen, calibration=None)
    if not rehearsing:
        check_unchanged(made, composed, stage)
    return made


def values_of(composed: Composed, name: str) -> list[Any]:
    """What the stages were measured with: a context may have any of them, as of columns that differ in a setting."""
    recorded = [stage.settings.get(name) for stage in composed.stages]
    return [spec_of(one) for one in recorded] if name in MODELS else recorded


def spec_of(recorded: Any) -> Any:
    """The spec of a model from what config.json says of it; UNKNOWN where that does not tell the name."""
    if not isinstance(recorded, Mapping):
        return None if recorded is None else UNKNOWN
    if recorded["provider"] == "embedded":
        return "embedded"
    return UNKNOWN if recorded["provider"] == "transformers" else f"{recorded['provider']}:{recorded['model']}"


def check_unchanged(context: Context, composed: Composed, stage: ComposedStage) -> None:
    """The settings that the stage gets, described as config.json does, are those that it was measured with."""
    now = describe_settings(context, OF_THE_RUN)
    for name, recorded in stage.settings.items():
        if name in now and name not in OF_THE_RUN and now[name] != recorded:
            raise changed(composed, stage, name, recorded, now[name])
    for name, recorded in stage.prompts.items():
        found = get_version(name, context.prompts)
        if found != recorded:
            raise changed(composed, stage, f"prompt {name}", recorded, found)


def changed(composed: Composed, stage: ComposedStage, name: str, recorded: Any, now: Any) -> SetupError:
    return SetupError(
        f"{composed.file} was made for {stage.name} with {name}={shown(recorded)}, and it is {shown(now)} now; give "
        "what it was made with, or compare and compose again."
    )


def shown(value: Any) -> str:
    if isinstance(value, Mapping) and "model" in value:
        return f"{value.get('provider')}:{value['model']}" + (
            f" at {value['base_url']}" if value.get("base_url") else ""
        )
    return str(value)
