"""What an evaluation is, as config.json says it: two runs with the same configuration may share a folder."""

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import metadata
from typing import Any

from quorum.core.context import Context
from quorum.datasets.examples import read_examples
from quorum.evaluation.metrics.registry import plugin_metrics
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.models import embedding_name, identity
from quorum.models.context_filters import filter_identity
from quorum.prompts import BUILT_IN, get_version, load_overrides

CALL_SETTINGS = {"store", "journal", "timeout", "attempts", "concurrency", "requests_per_minute", "tokens_per_minute"}
SEARCH_SETTINGS = {"retriever", "collection"}  # embeddings order and weigh passages that were given, too


def configuration(
    dataset: DataSet, columns: Sequence[Column], source: dict[str, Any], about: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything that may change a result. How calls are made (store, journal, limits) may not, and is left out.

    about: what the caller adds, such as the experiment that it is.
    """
    left_out = CALL_SETTINGS | (SEARCH_SETTINGS if source == {"passages": "given"} else {"collection"})
    return {
        "quorum": quorum_version(),
        "data": {
            "file": dataset.path.name,
            "sha256": dataset.sha256,
            "limit": dataset.limit,
            **({"skipped": dataset.skipped} if dataset.skipped else {}),
        },
        "source": source,
        **about,
        **({"metrics": added} if (added := plugin_metrics()) else {}),
        "prompts": {name: get_version(name) for name in BUILT_IN},
        "methods": {
            column.name: {
                "method": column.method,
                **({"graph": short_hash(graph_text(column.own))} if column.own is not None else {}),
                **describe_settings(column.context, left_out),
                **({"top": column.top} if column.top else {}),
                **({"gold": column.gold} if column.gold else {}),
            }
            for column in columns
        },
    }


def describe_settings(context: Context, left_out: set[str]) -> dict[str, Any]:
    """The settings as plain data: models by what identifies them, overriding prompts by their versions."""
    values = {part.name: getattr(context, part.name) for part in fields(context) if part.name not in left_out}
    return {name: as_json_value(name, value, context) for name, value in values.items()}


def as_json_value(name: str, value: Any, context: Context) -> Any:
    """A setting as JSON can hold it."""
    if name in ("model", "verifier") and value is not None:
        return identity(value, context) or class_name(value)
    if name == "context_filter" and value is not None:
        return filter_identity(value)
    if name == "embeddings":
        return embedding_name(value)
    if name == "examples" and value is not None:
        return [dict(example) for example in read_examples(value)]
    if name == "prompts":
        return {one: get_version(one, value) for one in load_overrides(value)}
    return value if value is None or isinstance(value, str | int | float | bool) else class_name(value)


def graph_text(graph: Any) -> str:
    """A graph of the user's own, as far as it can be read: its drawing, and the source of its nodes and routers."""
    parts = [graph.get_graph().draw_mermaid()]
    for node in graph.builder.nodes.values():
        nested = hasattr(node.runnable, "builder")
        parts.append(graph_text(node.runnable) if nested else source_of(node.runnable))
    parts += [source_of(one.path) for branches in graph.builder.branches.values() for one in branches.values()]
    return "\n".join(parts)


def source_of(runnable: Any) -> str:
    function: Any = getattr(runnable, "afunc", None) or getattr(runnable, "func", None)
    try:
        return inspect.getsource(getattr(function, "func", function))  # of a partial, what it calls
    except (TypeError, OSError):  # no function, or one without a file
        return ""


def class_name(value: Any) -> str:
    return value if isinstance(value, str) else type(value).__name__


def short_hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def quorum_version() -> str:
    try:
        return metadata.version("quorum-rag")
    except metadata.PackageNotFoundError:
        return "unknown"
