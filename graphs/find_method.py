"""Finds a method by its name, or a cascade by the name of its file."""

from quorum.cascades.composed_file import is_composed_file_name
from quorum.graphs.catalogue import Method, find_listed_method


def find_method(name: str) -> Method:
    """The method of that name, or the cascade in that file. Raises a SetupError that suggests the nearest name."""
    if is_composed_file_name(name):
        from quorum.graphs.composed import make_composed_method

        return make_composed_method(name)
    return find_listed_method(name)
