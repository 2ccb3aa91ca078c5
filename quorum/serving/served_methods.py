"""The cascades that a server offers as methods. They come from the files that its owner named with --composed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.cascades.composed_file import ComposedCascade, is_composed_file_name, read_composed_cascade
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Usage
from quorum.evaluation.metrics.prices import Prices
from quorum.graphs.catalogue import Method, list_methods
from quorum.serving.cost_bounds import bound_request

if TYPE_CHECKING:
    from quorum.evaluation.run.columns import Column

NAME_PATTERN = re.compile(r"[A-Za-z][\w.-]{0,63}")


@dataclass(frozen=True)
class ServedCascade:
    """A cascade under the name that clients use.

    method: the cascade as a method, with this name and a description; graph: built when the server starts.
    """

    method: Method
    graph: Any

    @property
    def cascade(self) -> ComposedCascade:
        cascade: ComposedCascade = self.graph.cascade
        return cascade

    def make_column(self, context: Context, prices: Prices) -> "Column":
        """The cascade as a column of an evaluation. The column computes what the cascade's calls cost."""
        from quorum.evaluation.run.columns import Column

        return Column(self.method.name, self.method.name, {}, context, own_graph=self.graph, prices=prices)

    def compute_cost(self, context: Context, usage: Mapping[str, Usage], prices: Prices) -> float | None:
        """Dollars for the calls of one answer; None if a price is missing."""
        return self.make_column(context, prices).compute_cost(usage)

    def bound_cost(self, context: Context, question: str, prices: Prices) -> float:
        """The most dollars that a question may cost: all stages are asked."""
        column = self.make_column(context, prices)
        return sum(
            bound_request(prices, stage.method, column.make_stage_context(stage), question)
            for stage in self.cascade.stages
            if stage.method in list_methods()
        )


def read_cascades(
    files: Sequence[str], own_systems: Mapping[str, str], server_context: Context
) -> dict[str, ServedCascade]:
    """{name: cascade}. Each text in `files` is FILE or NAME=FILE; without NAME=, the cascade gets the file's name
    without .json.

    own_systems: {name: spec} of the owner's own systems, which a cascade may ask in its stages. Raises `SetupError` for
    an invalid name, for a name in use, for a file without a cascade, for a cascade that was measured with other
    settings than the server's, and for a cascade whose collection has changed since it was measured.
    """
    cascades: dict[str, ServedCascade] = {}
    for text in files:
        given_name, equals, file = text.partition("=")
        if not equals:
            given_name, file = Path(text).stem, text
        name = given_name.strip()
        if not is_composed_file_name(file):
            raise SetupError(f"--composed {text!r} names no .json file; give one that quorum compose wrote.")
        if not NAME_PATTERN.fullmatch(name) or name in list_methods() or name in cascades:
            raise SetupError(
                f"--composed {text!r} needs a valid name that is not in use; write --composed NAME={file}, "
                "where NAME has at most 64 characters: first a letter, then letters, digits, '_', '.' or '-'."
            )
        cascades[name] = make_cascade(name, file, own_systems)
        check_measured_settings(cascades[name], server_context)
    return cascades


def make_cascade(name: str, file: str, own_systems: Mapping[str, str]) -> ServedCascade:
    """The cascade in a file. Error messages call it by its name, so that clients do not learn where the file lies."""
    from quorum.graphs.composed import build_graph, make_composed_method

    cascade = replace(read_composed_cascade(file), file=name)
    return ServedCascade(replace(make_composed_method(file, own_systems), name=name), build_graph(cascade, own_systems))


def check_measured_settings(served_cascade: ServedCascade, server_context: Context) -> None:
    """Raise `SetupError` if a stage was measured with other settings than the server's, or if the collection has
    changed since then.
    """
    from quorum.nodes.ask_stage import check_collection, make_stage_context

    cascade = served_cascade.cascade
    for stage in cascade.stages:
        make_stage_context(server_context, cascade, stage)
    check_collection(cascade, server_context)
