"""Finds a method by its name, a cascade by the name of its file, or one that the user writes: `concat>post_fusion`."""

from quorum.cascades.composed_file import is_composed_file_name
from quorum.cascades.written_cascade import is_written_cascade
from quorum.graphs.catalogue import Method, find_listed_method, list_methods


def find_method(name: str) -> Method:
    """The method of that name, the cascade in that file, or the cascade that is written there. Raises a SetupError that
    suggests the nearest name.
    """
    if is_written_cascade(name) and name not in list_methods():
        from quorum.graphs.written import make_written_method

        return make_written_method(name)
    if is_composed_file_name(name):
        from quorum.graphs.composed import make_composed_method

        return make_composed_method(name)
    return find_listed_method(name)
