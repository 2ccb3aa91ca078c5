"""A stage of a cascade: a whole method, asked with the settings that it was measured with."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.algorithms.vote_key import vote_key
from quorum.cascades.cascade_cache import CASCADE_CACHE, forget_run, get_cache
from quorum.cascades.composed_file import Acceptance, ComposedCascade, ComposedStage
from quorum.cascades.rehearsal import IS_REHEARSAL
from quorum.core.context import Context, get_context
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage, Question, State
from quorum.core.where import conjoin, format_where
from quorum.models.rerankers import is_server_reranker
from quorum.nodes.answer_types import BRIEF_TYPES
from quorum.nodes.describe_settings import (
    SETTINGS_THAT_CHANGE_NO_ANSWER,
    add_unset_silver_settings,
    describe_settings,
    format_setting,
)
from quorum.nodes.documents import check_documents, check_readable
from quorum.prompts import get_version

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

StageNode = Callable[[State, Runtime[Context]], Awaitable[State]]

# Settings whose values a stage takes from the context, not from the cascade's file.
CONTEXT_SETTINGS = SETTINGS_THAT_CHANGE_NO_ANSWER | {
    *("collection", "where", "answer_type", "prompts", "calibration"),
}
MODEL_SETTINGS = {"model", "verifier"}
# Settings for which config.json holds a hash, a name or the content of a file. The value that the user gave, such as a
# path, cannot be restored from it.
IDENTITY_SETTINGS = {"context_filter", "embeddings", "examples"}
MISSING_VALUE: Any = object()
STAND_IN_PASSAGE = Passage(id="stand-in", title="", text="This stands for what would be found.")


def make_stage_node(
    cascade: ComposedCascade, number: int, graphs: "Sequence[CompiledStateGraph[Any, Any, Any, Any]]"
) -> StageNode:
    """Make the node that asks stage `number`, from 0, of a cascade. graphs: those of all stages."""
    stage, graph = cascade.stages[number], graphs[number]
    checked_types: set[str] = set()  # answer types that all later steps are known to serve

    async def ask_stage(state: State, runtime: Runtime[Context]) -> State:
        """question, given_passages, given_gold_answers, cascade_run_id, stage_vote_keys -> the stage's whole result,
        cascade_run_id, stage_vote_keys.
        """
        context = make_stage_context(get_context(runtime), cascade, stage)
        if number == 0 and state.get("given_passages") is None:
            await asyncio.to_thread(check_collection, cascade, context)
        if number == 0 and cascade.is_written and context.answer_type not in {*BRIEF_TYPES, "auto", *checked_types}:
            await check_answer_type(cascade, graphs, get_context(runtime))
            checked_types.add(context.answer_type)
        if number == 0:
            await check_documents_of_later_stages(state, cascade, graphs, get_context(runtime))
        run_id = state.get("cascade_run_id") or uuid4().hex
        token = CASCADE_CACHE.set(get_cache(run_id, number))
        try:
            question_state = Question(
                question=state["question"],
                given=state.get("given_passages"),
                gold_answers=state.get("given_gold_answers"),
            )
            result: Any = await graph.ainvoke(question_state, context=context)
        finally:
            CASCADE_CACHE.reset(token)
        key = "" if result["unknown"] else vote_key(result["answer"])
        stage_vote_keys = [*(state.get("stage_vote_keys") or []), key]
        update = {**result, "cascade_run_id": run_id, "stage_vote_keys": stage_vote_keys}
        if number > 0 and (stage.accept is None or stage.accept.test != "certified"):
            # A replaced passage could have let an earlier stage answer, so the vote's certificate says nothing here.
            update["certified"] = None
        if stage.accept is None or is_accepted(cast(State, update), stage.accept):
            forget_run(run_id)
        # Overwrite, because the state's reducer would append to the votes of the stage before. The cast is needed
        # because State declares `votes` as a list.
        return cast(State, {**update, "votes": Overwrite(result.get("votes"))})

    return ask_stage


async def check_answer_type(cascade: ComposedCascade, graphs: Sequence[Any], context: Context) -> None:
    """Raise a `SetupError` if a later step does not serve the answer type of the context, before a call is paid for.

    A silent stand-in takes the place of the model, and one passage that of the search.
    """
    from langchain_core.language_models import FakeListChatModel

    for stage, graph in zip(cascade.stages[1:], graphs[1:], strict=True):
        unpaid = replace(
            make_step_context(context, stage),
            model=FakeListChatModel(responses=[""]), verifier=None, context_filter=None, reranker=None,
            embeddings="embedded", journal="off", where=None, retriever="bm25", second_retriever=None,
        )  # fmt: skip
        try:
            await graph.ainvoke(Question(question="?", given=[STAND_IN_PASSAGE], gold_answers=[]), context=unpaid)
        except CallError:
            continue  # the stand-in's silence says nothing about the method


async def check_documents_of_later_stages(
    state: State, cascade: ComposedCascade, graphs: Sequence[Any], context: Context
) -> None:
    """Raise a `SetupError` if a later stage could not read its documents, before a call is paid for."""
    for stage, graph in zip(cascade.stages[1:], graphs[1:], strict=True):
        if check_documents.__name__ in graph.nodes:
            await check_readable(state, make_stage_context(context, cascade, stage))


def is_accepted(state: State, accept: Acceptance) -> bool:
    """Whether the answer passes a stage's test. An unknown answer passes no test."""
    if state["unknown"]:
        return False
    if accept.test == "confidence":
        confidence = state.get("confidence")
        return confidence is not None and confidence >= (accept.at_least or 0.0)
    if accept.test == "certified":
        return (state.get("certified") or 0) >= 1  # passages that could be replaced without changing the winner
    if accept.test == "same":
        *earlier_vote_keys, _ = state.get("stage_vote_keys") or [""]
        return vote_key(state["answer"]) in earlier_vote_keys
    return True  # the test "known"


def make_stage_context(context: Context, cascade: ComposedCascade, stage: ComposedStage) -> Context:
    """The context with the settings that the stage was measured with, or those that the user wrote in its brackets.

    A setting that the stage did not record keeps the context's value. With filter_mode=silver, a silver_measure or
    scorer that the stage did not record becomes None, because it was not set. Raises `SetupError` for a recorded
    setting whose value in the context is neither the default nor that of any stage, and if a model, prompt or file has
    changed since. A rehearsal, which asks no paid model, keeps the model and the verifier of its context, and makes no
    such checks.
    """
    rehearsing = IS_REHEARSAL.get()
    if cascade.is_written:
        return make_step_context(context, stage, is_rehearsal=rehearsing)
    recorded_settings = add_unset_silver_settings(stage.settings)
    default_context, chosen_settings = Context(), {}
    for setting in fields(Context):
        recorded_value = recorded_settings.get(setting.name, MISSING_VALUE)
        value = find_model_spec(recorded_value) if setting.name in MODEL_SETTINGS else recorded_value
        if (
            value is MISSING_VALUE
            or setting.name in CONTEXT_SETTINGS | IDENTITY_SETTINGS
            or (rehearsing and setting.name in MODEL_SETTINGS)
        ):
            continue
        present_value = getattr(context, setting.name)
        allowed_values = (getattr(default_context, setting.name), *collect_recorded_values(cascade, setting.name))
        if not rehearsing and present_value not in allowed_values:
            raise make_changed_error(cascade, stage, setting.name, value, present_value)
        chosen_settings[setting.name] = value
    if rehearsing and is_server_reranker(chosen_settings.get("reranker")):
        chosen_settings["reranker"] = "reader"
    # What the stage was measured among, and what may be found now.
    where = conjoin(recorded_settings.get("where"), format_where(context.where))
    stage_context = replace(context, **chosen_settings, where=where, calibration=None)
    if not rehearsing:
        check_unchanged(stage_context, cascade, stage)
    return stage_context


def make_step_context(context: Context, stage: ComposedStage, *, is_rehearsal: bool = False) -> Context:
    """The context with the settings in the brackets of a step. A filter in the brackets narrows that of the context. A
    rehearsal keeps the models of its context.
    """
    settings = dict(stage.settings)
    if is_rehearsal:
        settings = {name: value for name, value in settings.items() if name not in MODEL_SETTINGS}
        if str(settings.get("context_filter") or "").startswith("llm"):
            settings["context_filter"] = "llm"
        if is_server_reranker(settings.get("reranker")):
            settings["reranker"] = "reader"
    where = conjoin(settings.pop("where", None), format_where(context.where))
    return replace(context, **settings, where=where, calibration=None)


def list_step_contexts(cascade: ComposedCascade | None, context: Context) -> list[Context]:
    """The contexts in which a method is asked, given its context: one for each step of a cascade that the user wrote,
    whose brackets may name another model. cascade: the method's, None if it has none.
    """
    if cascade is None or not cascade.is_written:
        return [context]
    return [make_step_context(context, stage) for stage in cascade.stages]


def collect_recorded_values(cascade: ComposedCascade, name: str) -> list[Any]:
    """The values of a setting with which the stages were measured. The context may hold any of them."""
    recorded_values = [stage.settings.get(name) for stage in (*cascade.stages, *cascade.measured)]
    return [find_model_spec(value) for value in recorded_values] if name in MODEL_SETTINGS else recorded_values


def find_model_spec(recorded_value: Any) -> Any:
    """The spec of a model, such as "openai:NAME", from its entry in the settings of config.json.

    None if no model was set; MISSING_VALUE if the entry does not say from where the model can be loaded.
    """
    if not isinstance(recorded_value, Mapping):
        return None if recorded_value is None else MISSING_VALUE
    if recorded_value["provider"] == "embedded":
        return "embedded"
    return (
        MISSING_VALUE
        if recorded_value["provider"] == "transformers"
        else f"{recorded_value['provider']}:{recorded_value['model']}"
    )


def check_unchanged(context: Context, cascade: ComposedCascade, stage: ComposedStage) -> None:
    """Raise a `SetupError` for a setting or prompt that differs from those with which the stage was measured."""
    present_settings = describe_settings(context, CONTEXT_SETTINGS)
    for name, recorded_value in stage.settings.items():
        if name in present_settings and name not in CONTEXT_SETTINGS and present_settings[name] != recorded_value:
            raise make_changed_error(cascade, stage, name, recorded_value, present_settings[name])
    for name, recorded_value in stage.prompts.items():
        version = get_version(name, context.prompts)
        if version != recorded_value:
            raise make_changed_error(cascade, stage, f"prompt {name}", recorded_value, version)


def check_collection(cascade: ComposedCascade, context: Context) -> None:
    """Raise a `SetupError` if the collection has changed since the cascade was measured on it. The call blocks."""
    recorded_collection = cascade.collection or {}
    if recorded_collection.get("revision") is None:
        return
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.store import open_store

    located_context = locate_collection(context)
    name = located_context.collection
    if name is None or name != recorded_collection.get("name"):
        return
    collection = open_store(located_context.store).find_info(name)
    if collection is not None and collection.revision != recorded_collection["revision"]:
        raise SetupError(
            f"{cascade.file} was measured on the collection {name!r}, and its passages have changed "
            "since; compare and compose again."
        )


def make_changed_error(
    cascade: ComposedCascade, stage: ComposedStage, name: str, recorded_value: Any, present_value: Any
) -> SetupError:
    """The error for a setting or prompt that differs from the one that the stage was measured with.

    name: the setting's name, or "prompt NAME".
    """
    return SetupError(
        f"The stage {stage.name!r} of {cascade.file} was measured with {name}={format_setting(recorded_value)}, but "
        f"{name} is {format_setting(present_value)} now; set {name} as it was, or compare and compose again."
    )
