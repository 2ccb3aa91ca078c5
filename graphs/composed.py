"""A cascade of methods, from the file that `quorum compose` writes.

begin -> first stage -> end if its test passes, else second stage -> end if its test passes, else third stage
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from quorum.cascades.composed_file import (
    ComposedCascade,
    ComposedStage,
    is_composed_file_name,
    read_composed_cascade,
)
from quorum.cascades.written_cascade import is_written_cascade
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.graphs.catalogue import Method, find_listed_method, list_methods
from quorum.graphs.compile_cascade import compile_cascade
from quorum.graphs.written import make_written_method
from quorum.nodes.ask_stage import find_model_spec


def composed_graph(file: str, systems: Mapping[str, str] | None = None) -> Any:
    """The compiled graph of the cascade in a file; `quorum.graphs.answer` and Studio take it like any other graph.

    systems: {name: spec} of your own systems that are stages. The caller must name them, because a file must not make a
    program open an address or load code. Raises `SetupError` if the spec of a system is missing, or differs from the
    spec with which the system was measured.

    graph = composed_graph("results/questions-1a2b3c/composed.json", {"mine": "http://localhost:8000/v1#model"})
    """
    return build_graph(read_composed_cascade(file), systems or {})


@dataclass(frozen=True)
class ComposedMethod(Method):
    """A cascade as a method. name: the path of the cascade's file; systems: see `composed_graph`."""

    systems: Mapping[str, str] = field(default_factory=dict)

    @property
    def graph(self) -> Any:
        """The compiled graph, built from the file at each access."""
        return composed_graph(self.name, self.systems)


def make_composed_method(file: str, systems: Mapping[str, str] | None = None) -> ComposedMethod:
    """Make a method, like those of the catalogue, from the cascade in a file."""
    stages = read_composed_cascade(file).stages
    stage_texts = [
        stage.method + (f" (accepted: {stage.accept.description})" if stage.accept else "") for stage in stages
    ]
    return ComposedMethod(
        name=file,
        paper="composed and certified on your questions (docs/decisions.md)",
        summary=f"A cascade: {', else '.join(stage_texts)}.",
        calls=" + ".join("1" if stage.own_system_hash else f"({find_stage_method(stage).calls})" for stage in stages),
        depth=" + ".join("1" if stage.own_system_hash else find_stage_method(stage).depth for stage in stages),
        systems=dict(systems or {}),
    )


def build_graph(cascade: ComposedCascade, systems: Mapping[str, str]) -> Any:
    """Build and compile the graph of a cascade."""
    return compile_cascade(cascade, [find_stage_graph(cascade, stage, systems) for stage in cascade.stages])


def find_stage_method(stage: ComposedStage) -> Method:
    """The method of a stage that is not a user's own system: a listed method, or a cascade, in a file or written."""
    if is_written_cascade(stage.method) and stage.method not in list_methods():
        return make_written_method(stage.method)
    return (
        make_composed_method(stage.method) if is_composed_file_name(stage.method) else find_listed_method(stage.method)
    )


def find_stage_graph(cascade: ComposedCascade, stage: ComposedStage, systems: Mapping[str, str]) -> Any:
    """The graph of a stage: the graph of a method, or of a system whose spec is in `systems`."""
    if stage.method in list_methods() or (stage.own_system_hash is None and stage.method not in systems):
        return find_stage_method(stage).graph
    if stage.method not in systems:
        raise SetupError(
            f"{cascade.file} asks the system {stage.method!r}, but a file must not say where a system is; give the "
            f"spec with which it was measured: --system {stage.method}=SPEC, or {stage.method}=SPEC in --methods."
        )
    from quorum.graphs.own_system import make_own_system_graph

    graph = make_own_system_graph(stage.method, systems[stage.method])
    if stage.own_system_hash not in (None, graph.spec_hash):
        raise SetupError(
            f"{cascade.file} was measured with another system {stage.method!r} than the one given; give the spec of "
            "the measured system, or compare and compose again."
        )
    return graph


def get_composed_cascade(graph: Any) -> ComposedCascade | None:
    """The cascade that a graph was built from; None for any other graph."""
    return getattr(graph, "cascade", None)


def use_measured_model(graph: Any, context: Context) -> Context:
    """The context with its model replaced by that of the cascade's first stage, unless the user chose a model."""
    spec = find_model_spec(graph.cascade.stages[0].settings.get("model"))
    user_chose_model = context.model != Context().model
    return replace(context, model=spec) if isinstance(spec, str) and not user_chose_model else context
