"""A user's own question-answering systems on the command line: --system NAME=SPEC (docs/own_systems.md)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from quorum.core.errors import SetupError

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.graphs.catalogue import Method

OwnSystems: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        metavar="NAME=SPEC",
        help="Your own system that is a stage of a cascade from quorum compose; repeat the option for several systems.",
    ),
]


def choose_method_with_systems(
    text: str, own_systems: Sequence[str] | None, context: "Context", *, given: bool = False
) -> "tuple[Method, Context]":
    """The method that a text such as concat[k=3] names, and the context with the settings in its brackets. own_systems:
    as in `find_method_with_systems`. given: whether passages are given.
    """
    from quorum.graphs.choose_method import choose_method

    name, context = choose_method(text, context, given=given)
    return find_method_with_systems(name, own_systems), context


def find_method_with_systems(name: str, own_systems: Sequence[str] | None) -> "Method":
    """The method with this name. name: a method, or the path of the composed.json file of a composed method.

    own_systems: the user's own question-answering systems as NAME=SPEC. Only a composed method asks them, in its
    stages.
    """
    from quorum.cascades.composed_file import is_composed_file_name
    from quorum.graphs import find_method

    if not own_systems:
        return find_method(name)
    from quorum.evaluation.run.parse_systems import read_systems
    from quorum.graphs.composed import make_composed_method

    specs = read_systems(own_systems)
    if not is_composed_file_name(name):
        raise SetupError(
            f"--system {next(iter(specs))} is only for a composed method, but the method is {name}; "
            "give --method the composed.json file that quorum compose wrote."
        )
    return make_composed_method(name, specs)
