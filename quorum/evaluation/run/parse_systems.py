"""Reads the user's own question-answering systems from a command's options.

A user names a system as NAME=SPEC: `mine=http://localhost:8000/v1#llama`.
"""

import re
from collections.abc import Sequence
from typing import Any

from quorum.core.errors import SetupError
from quorum.models.systems import SPEC_EXAMPLES

SYSTEM_ITEM = re.compile(r"\s*(?P<name>[A-Za-z][\w.-]*)=(?P<spec>(?:https?|langgraph|python):\S+)\s*")
COMMA_OUTSIDE_BRACKETS = re.compile(r",(?![^\[\]]*\])")


def split_systems(methods: str) -> tuple[str, dict[str, str]]:
    """(the text `methods` without the user's own systems, {name: spec} of these systems).

    methods: methods and systems, with commas between them. Raises `SetupError` if two systems have the same name.

    >>> split_systems("concat,sure[k=3],mine=http://localhost:8000/v1#llama")
    ('concat,sure[k=3]', {'mine': 'http://localhost:8000/v1#llama'})
    """
    names, systems = [], dict[str, str]()
    for item in COMMA_OUTSIDE_BRACKETS.split(methods):
        match = SYSTEM_ITEM.fullmatch(item)
        if match is None:
            names.append(item)
        elif match["name"] in systems:
            raise SetupError(f"The system {match['name']!r} is named twice; give each a name of its own.")
        else:
            systems[match["name"]] = match["spec"]
    return ",".join(names), systems


def make_system_graph(name: str, spec: str) -> Any:
    """The graph that asks the user's own system `name`. `quorum.graphs.own_system` is imported only here, when a
    command names a system.
    """
    from quorum.graphs.own_system import make_own_system_graph

    return make_own_system_graph(name, spec)


def read_systems(texts: Sequence[str]) -> dict[str, str]:
    """{name: spec} of systems, given as NAME=SPEC. Raises `SetupError` for a text of another form.

    >>> read_systems(["mine=http://localhost:8000/v1#llama"])
    {'mine': 'http://localhost:8000/v1#llama'}
    """
    other_items, systems = split_systems(",".join(texts))
    if other_items:
        raise SetupError(f"The system {other_items.split(',')[0]!r} cannot be read; write for example {SPEC_EXAMPLES}.")
    return systems
