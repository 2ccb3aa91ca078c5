"""Prepares traces: adds the names of method, model, retriever and prompts; hides secrets and, on request, passages.

LangChain traces to LangSmith by itself when LANGSMITH_TRACING=true. Quorum's runs go through a client that removes
secrets (`clean_trace`); the program's own client, and its other runs, stay as they are. LangSmith's hooks for hiding
see inputs, outputs and metadata, but not errors without an anonymizer, events and descriptions of models, so a run is
cleaned where it is created and updated. QUORUM_HIDE_PASSAGES=1 also hides all text but questions and short answers; the
tree of runs, names, ids, numbers and token counts stay.
"""

import inspect
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import langsmith
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs
from langchain_core.tracers.context import tracing_v2_callback_var
from langchain_core.tracers.langchain import LangChainTracer
from langgraph.config import get_config
from langgraph.types import Send
from langsmith import run_trees
from langsmith.run_helpers import get_tracing_context
from langsmith.utils import tracing_is_enabled
from pydantic import BaseModel

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.redaction import find_environment_secrets, redact_secrets, remove_secrets
from quorum.core.where import format_where

HIDE_VARIABLE = "QUORUM_HIDE_PASSAGES"
# Shown even if passages are hidden. "passage": the id of a passage, in evidence.
SHOWN_FIELDS = frozenset(
    {"question", "id", "passage", "retrieved", "type", "finish_reason", "model_name", "prompt", "node"}
)
ANSWER_FIELDS = frozenset({"answer", "candidates"})
LONGEST_ANSWER = 100  # characters; a longer answer may quote a passage


def hides_passages() -> bool:
    """Whether QUORUM_HIDE_PASSAGES is on: anything but empty, 0, no, off and false."""
    return os.environ.get(HIDE_VARIABLE, "").strip().lower() not in ("", "0", "no", "off", "false")


def copy_without_secrets(value: Any, hide_passages: bool) -> Any:
    """A copy without user names and passwords in URLs, and without the environment's secrets.

    hide_passages: also without the texts of passages.
    """
    return copy_clean(value, hide_passages, find_environment_secrets(), "")


def copy_clean(
    value: Any, hide_passages: bool, secrets: tuple[str, ...], key: str, enclosing_ids: tuple[int, ...] = ()
) -> Any:
    """A cleaned copy of the value. key: the name of the field that holds the value, "" for the outermost value.

    enclosing_ids: the `id()` of each object (other than a dict, list or tuple) that contains the value. Where an
    object occurs inside itself, only its text is searched, not its fields again, so that the recursion ends.
    """
    if isinstance(value, str):
        return (
            remove_secrets(value, secrets, "[secret]")
            if not hide_passages or is_shown(key, value)
            else make_placeholder(value)
        )
    if isinstance(value, Mapping):
        return {
            name: copy_clean(item, hide_passages, secrets, str(name), enclosing_ids) for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        items = [copy_clean(item, hide_passages, secrets, key, enclosing_ids) for item in value]
        return tuple(items) if type(value) is tuple else items
    if value is None or isinstance(value, bool | int | float):
        return value
    parts = str(value) if id(value) in enclosing_ids else get_parts(value)
    cleaned_parts = copy_clean(parts, hide_passages, secrets, key, (*enclosing_ids, id(value)))
    # LangSmith has its own ways to write objects, so an object without secrets stays what it is.
    return cleaned_parts if hide_passages or cleaned_parts != parts else value


def get_parts(value: Any) -> Any:
    """The fields of an object as a dict, if it is a Send, a dataclass or a pydantic model (LangChain's documents and
    messages are pydantic models); for any other object, its text.
    """
    if isinstance(value, BaseModel):
        return value.model_dump(warnings=False)
    if isinstance(value, Send):
        return {"node": value.node, "arg": value.arg}
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    return str(value)


def is_shown(key: str, text: str) -> bool:
    """Whether the text in the field `key` is shown even if passages are hidden."""
    return key in SHOWN_FIELDS or (key in ANSWER_FIELDS and len(text) <= LONGEST_ANSWER)


def make_placeholder(text: str) -> str:
    """The placeholder for a hidden text; an empty text stays empty."""
    return f"[hidden: {len(text):,} characters]" if text else text


class TraceClient(langsmith.Client):
    """A LangSmith client that cleans runs before it sends them, for programs that give their runs a client."""

    def __init__(self, **options: Any) -> None:
        # LangSmith adds parts of the environment to the metadata, and these can hold secrets.
        own_settings = {"hide_metadata": lambda metadata: copy_without_secrets(metadata, hide_passages=False)}
        super().__init__(**own_settings | options)

    def create_run(self, name: str, inputs: dict[str, Any], run_type: Any, **run_fields: Any) -> None:
        """Send the beginning of a run."""
        super().create_run(name, copy_without_secrets(inputs, hides_passages()), run_type, **clean_run(run_fields))

    def update_run(self, run_id: Any, **run_fields: Any) -> None:
        """Send the end of a run."""
        super().update_run(run_id, **clean_run(run_fields))


class CleaningClient:
    """The program's own client: cleans runs before that client sends them, with its server, key and settings."""

    def __init__(self, client: langsmith.Client) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def create_run(self, name: str, inputs: dict[str, Any], run_type: Any, **run_fields: Any) -> None:
        """Send the beginning of a run."""
        inputs = copy_without_secrets(inputs, hides_passages())
        self.client.create_run(name, inputs, run_type, **clean_run(run_fields))

    def update_run(self, run_id: Any, **run_fields: Any) -> None:
        """Send the end of a run."""
        self.client.update_run(run_id, **clean_run(run_fields))


def clean_trace(config: RunnableConfig | None) -> RunnableConfig | None:
    """The config of a run. If the run begins a trace in LangSmith, a tracer is added whose client cleans its runs.

    A tracer that the caller gives, and one of a run around this one, stay as they are.
    """
    if not tracing_is_enabled() or tracing_v2_callback_var.get() is not None:
        return config
    surroundings = get_tracing_context()
    callbacks: Any = ensure_config(config).get("callbacks") or ()
    handlers = getattr(callbacks, "handlers", callbacks)
    if surroundings["parent"] is not None or any(isinstance(handler, LangChainTracer) for handler in handlers):
        return config
    client: Any = surroundings["client"] or run_trees.get_cached_client()
    if not isinstance(client, TraceClient):
        client = CleaningClient(client)
    known = surroundings.keys() & inspect.signature(LangChainTracer).parameters.keys()  # older versions know fewer
    names = known & {"project_name", "address", "tags", "metadata"}
    tracer = LangChainTracer(client=client, **{name: surroundings[name] for name in names})
    return merge_configs(config, {"callbacks": [tracer]})


def clean_run(run_fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a run with cleaned texts. If passages are hidden, an error is sent as its type, not its message."""
    hide, cleaned_run = hides_passages(), dict(run_fields)
    for part in ("inputs", "outputs"):
        if cleaned_run.get(part) is not None:
            cleaned_run[part] = copy_without_secrets(cleaned_run[part], hide)
    for part in ("extra", "serialized", "events"):
        if cleaned_run.get(part) is not None:
            cleaned_run[part] = copy_without_secrets(cleaned_run[part], hide_passages=False)
    if isinstance(cleaned_run.get("error"), str):
        cleaned_run["error"] = (
            re.split(r"\W", cleaned_run["error"], maxsplit=1)[0] if hide else redact_secrets(cleaned_run["error"])
        )
    if hide:
        cleaned_run["serialized"] = None  # a description of the model; that of a scripted model holds its replies
    return cleaned_run


def find_enclosing_runs() -> Iterator[tuple[Any, list[Any]]]:
    """For every active trace: (LangSmith's tracer, the runs that enclose the current code, innermost first)."""
    try:
        callbacks: Any = get_config().get("callbacks")
    except RuntimeError:  # no run encloses the current code
        return
    for tracer in getattr(callbacks, "handlers", ()):
        if isinstance(tracer, LangChainTracer):
            enclosing_runs, parent_id = [], callbacks.parent_run_id
            while (run := tracer.run_map.get(str(parent_id))) is not None:
                enclosing_runs.append(run)
                parent_id = run.parent_run_id
            yield tracer, enclosing_runs


def describe_run_in_traces(context: Context) -> None:
    """Add tags and settings to the graph's run in every active trace. A graph's first node calls this.

    Raises SetupError if passages should be hidden but the tracing client does not hide them.
    """
    for tracer, enclosing_runs in find_enclosing_runs():
        if hides_passages() and not isinstance(tracer.client, TraceClient | CleaningClient):
            raise SetupError(
                f"{HIDE_VARIABLE} is set, but the run is traced by a LangSmith client that hides nothing; create this "
                "client with quorum.models.tracing.TraceClient(), or give none: Quorum then creates its own."
            )
        if len(enclosing_runs) > 1:  # [the run of the first node, the graph's run, ...]
            graph_run, metadata = enclosing_runs[1], enclosing_runs[1].metadata
            method = metadata.get("method") or metadata.get("graph_id") or graph_run.name
            graph_run.extra["metadata"] = {**metadata, **list_settings(context), "method": method, "prompts": {}}
            graph_run.tags = sorted({*(graph_run.tags or []), "quorum", str(method)})


def list_settings(context: Context) -> dict[str, Any]:
    """The settings by which people search for a run: the most important ones, with models and retrievers by name."""
    verifier = {} if context.verifier is None else {"verifier": get_name(context.verifier)}
    collection = {"collection": context.collection} if context.collection else {}
    chosen_settings = {"model": get_name(context.model), "retriever": get_name(context.retriever), "k": context.k}
    where = {"where": format_where(context.where)} if context.where else {}
    return {**chosen_settings, **verifier, **collection, **where, "temperature": context.temperature}


def get_name(thing: Any) -> str:
    """The name of a model or retriever: a text, such as "openai:gpt-4o", is itself the name. An object's name is its
    model_name, or else the name of its class.
    """
    return thing if isinstance(thing, str) else str(getattr(thing, "model_name", None) or type(thing).__name__)


def note_prompt(prompt: str, version: str) -> None:
    """Record in the method's run which version of a prompt it used."""
    for _, enclosing_runs in find_enclosing_runs():
        for run in enclosing_runs:
            versions_by_prompt = (run.extra.get("metadata") or {}).get("prompts")
            if isinstance(versions_by_prompt, dict):
                versions_by_prompt[prompt] = version
                break
