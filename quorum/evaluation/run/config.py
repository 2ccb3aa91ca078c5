"""The configuration of an evaluation, written to config.json. Runs with the same configuration can share a folder."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from typing import Any

from quorum.core.text import AnswerMeasure
from quorum.evaluation.metrics.registry import list_plugin_metrics
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.corpus_files import compute_short_hash
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.langsmith_questions import read_origin
from quorum.nodes.ask_stage import make_step_context
from quorum.nodes.describe_settings import SETTINGS_THAT_CHANGE_NO_ANSWER, describe_settings
from quorum.prompts import BUILT_IN, get_version

# Settings that change nothing if the passages are given. "embeddings" is not one of them, because given passages are
# ordered and weighted by embeddings, too.
SEARCH_SETTINGS = {"retriever", "collection"}


def make_config(
    dataset: DataSet,
    columns: Sequence[Column],
    source: dict[str, Any],
    extra_config: Mapping[str, Any],
    answer_measure: AnswerMeasure,
) -> dict[str, Any]:
    """Everything that may change a result. Settings that cannot change a result (store, journal, limits) are left out.
    So is the collection, because `source` describes it.

    source: where the passages come from, {"passages": "given"} if each question has its own. extra_config: entries that
    the caller adds, such as the experiment's name. answer_measure: how answers are compared with accepted ones.
    """
    omitted_settings = SETTINGS_THAT_CHANGE_NO_ANSWER | (
        SEARCH_SETTINGS if source == {"passages": "given"} else {"collection"}
    )
    return {
        "quorum": find_quorum_version(),
        "data": {
            "file": dataset.path.name,
            "sha256": dataset.sha256,
            "limit": dataset.limit,
            **({"langsmith": asdict(origin)} if (origin := read_origin(dataset.path)) else {}),
            # How many broken records were skipped.
            **({"skipped": dataset.skipped} if dataset.skipped else {}),
        },
        "source": source,
        "answer_measure": answer_measure,
        **extra_config,
        **({"metrics": plugin_metrics} if (plugin_metrics := list_plugin_metrics()) else {}),
        "prompts": {name: get_version(name) for name in BUILT_IN},
        "methods": {
            column.name: {
                "method": column.method,
                **(
                    {"graph": compute_short_hash(describe_graph(column.own_graph))}
                    if column.own_graph is not None
                    else {}
                ),
                # Only the graph of a user's own system (`quorum.graphs.own_system`) has the attribute `spec_hash`.
                **({"system": system} if (system := getattr(column.own_graph, "spec_hash", None)) else {}),
                **describe_settings(column.context, omitted_settings),
                **describe_steps(column),
                **({"top": column.passages_read} if column.passages_read else {}),
                **({"gold": column.gold_position} if column.gold_position else {}),
            }
            for column in columns
        },
    }


def describe_steps(column: Column) -> dict[str, Any]:
    """For a cascade that the user wrote, {"steps": by step, the settings in its brackets}, if a step has any."""
    cascade = column.cascade
    if cascade is None or not cascade.is_written:
        return {}
    steps = {
        stage.name: {
            name: value
            for name, value in describe_settings(make_step_context(column.context, stage), ()).items()
            if name in stage.settings
        }
        for stage in cascade.stages
        if stage.settings
    }
    return {"steps": steps} if steps else {}


def describe_graph(graph: Any) -> str:
    """The user's own graph as text: its drawing and, where they can be read, the sources of its nodes and routers."""
    parts = [graph.get_graph().draw_mermaid()]
    for node in graph.builder.nodes.values():
        is_nested = hasattr(node.runnable, "builder")
        parts.append(describe_graph(node.runnable) if is_nested else get_source_code(node.runnable))
    parts += [
        get_source_code(branch.path) for branches in graph.builder.branches.values() for branch in branches.values()
    ]
    return "\n".join(parts)


def get_source_code(runnable: Any) -> str:
    """The source code of the function that a node or router calls; "" if it cannot be read."""
    function: Any = getattr(runnable, "afunc", None) or getattr(runnable, "func", None)
    try:
        return inspect.getsource(getattr(function, "func", function))  # for a partial, the function that it calls
    except (TypeError, OSError):  # not a function, or a function that is not in a file
        return ""


def find_quorum_version() -> str:
    """The version of the installed package; "unknown" if Quorum runs without being installed."""
    try:
        return metadata.version("quorum-rag")
    except metadata.PackageNotFoundError:
        return "unknown"
