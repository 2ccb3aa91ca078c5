"""A user's own question-answering systems on the command line: --system NAME=SPEC (docs/own_systems.md)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.graphs.catalogue import Method

Systems: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--system", metavar="NAME=SPEC", help="A system of your own that a composed method asks."),
]


def find_method_with_systems(name: str, systems: Sequence[str] | None) -> "Method":
    """The method with this name. For a composed.json file: the method in the file, which asks these systems."""
    from quorum.core.composed_file import is_composed_file_name
    from quorum.graphs import find_method

    if not systems:
        return find_method(name)
    from quorum.evaluation.run.columns import read_systems
    from quorum.graphs.composed import make_composed_method

    specs = read_systems(systems)
    if not is_composed_file_name(name):
        raise SetupError(f"--system {next(iter(specs))} is for a composed method; give its file with --method.")
    return make_composed_method(name, specs)
