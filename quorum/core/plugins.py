"""Finds what installed packages add by entry points: methods, retrievers, metrics, readers of files.

A package names its additions in its pyproject.toml (docs/plugins.md shows a complete package):

    [project.entry-points."quorum.methods"]
    echo = "my_package:method"

Each group of entry points, such as quorum.methods, is looked up once per process, when it is first needed. A package
that cannot be used causes a warning that names it, never an error: Quorum works without it.
"""

import logging
from collections.abc import Callable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

METHOD_GROUP = "quorum.methods"
RETRIEVER_GROUP = "quorum.retrievers"
METRIC_GROUP = "quorum.metrics"
READER_GROUP = "quorum.readers"

LOG = logging.getLogger("quorum")
T = TypeVar("T")
LOADED_PLUGINS: "dict[str, dict[str, tuple[EntryPoint, object]]]" = {}
CONVERTED_PLUGINS: dict[str, dict[str, object]] = {}
LOOKUP_LOCK = RLock()


def load_plugins(group: str) -> dict[str, object]:
    """{name: object} of the entry points in `group`, in alphabetical order; empty if no installed package adds any.

    Imports the packages the first time, and answers from memory afterwards. An entry point that fails to load, or whose
    name another package has taken already, is left out with a warning.

    >>> load_plugins("quorum.nothing")
    {}
    """
    return {name: value for name, (_, value) in load_entry_points(group).items()}


def load_entry_points(group: str) -> "dict[str, tuple[EntryPoint, object]]":
    """{name: (entry point, object)}: what `load_plugins` returns, with the entry point that gave each object."""
    with LOOKUP_LOCK:
        if group not in LOADED_PLUGINS:
            LOADED_PLUGINS[group] = read_entry_points(group)
        return LOADED_PLUGINS[group]


def add_plugins(group: str, built_in: Mapping[str, T], convert: Callable[[str, object], T]) -> dict[str, T]:
    """{name: item} of a group, such as all methods: the built-in items and, after them, those of installed packages.

    convert: makes the item from (name, object of the package), and raises an exception if the object does not fit. Such
    an object, and one with the name of a built-in item, is left out with a warning.
    """
    with LOOKUP_LOCK:
        if group not in CONVERTED_PLUGINS:
            CONVERTED_PLUGINS[group] = convert_plugins(group, built_in, convert)
        return {**built_in, **cast("dict[str, T]", CONVERTED_PLUGINS[group])}


def forget_plugins() -> None:
    """Look up the installed packages again at the next use: for tests, and for notebooks after an installation."""
    with LOOKUP_LOCK:
        LOADED_PLUGINS.clear()
        CONVERTED_PLUGINS.clear()


def read_entry_points(group: str) -> "dict[str, tuple[EntryPoint, object]]":
    """Load the objects of a group, in alphabetical order of their names. If several packages use a name, take the first
    package, in alphabetical order, whose object loads.
    """
    from importlib.metadata import entry_points

    loaded_objects: dict[str, tuple[EntryPoint, object]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, get_package_name(point))):
        if point.name in loaded_objects:
            warn_about_plugin(group, point, f"another installed package has a {get_kind(group)} of that name")
            continue
        try:
            loaded_objects[point.name] = point, point.load()
        except Exception as error:  # noqa: BLE001  a package may fail in any way; Quorum works without it
            warn_about_plugin(group, point, f"{type(error).__name__}: {error}")
    return loaded_objects


def convert_plugins(group: str, built_in: Mapping[str, T], convert: Callable[[str, object], T]) -> dict[str, object]:
    """{name: item}: what installed packages add to a group (see `add_plugins`)."""
    converted_plugins: dict[str, object] = {}
    for name, (point, value) in load_entry_points(group).items():
        if name in built_in:
            warn_about_plugin(group, point, f"Quorum has a {get_kind(group)} of that name; choose another")
            continue
        try:
            converted_plugins[name] = convert(name, value)
        except Exception as error:  # noqa: BLE001  the object may be anything
            warn_about_plugin(group, point, str(error) or type(error).__name__)
    return converted_plugins


def warn_about_plugin(group: str, point: "EntryPoint", reason: str) -> None:
    """Log one warning: that the entry point cannot be used, of which package it is, and the reason."""
    subject = f"The {get_kind(group)} {point.name!r} of the package {get_package_name(point)!r}"
    LOG.warning("%s cannot be used (%s = %s): %s", subject, point.name, point.value, " ".join(reason.split()))


def get_package_name(point: "EntryPoint") -> str:
    """The name by which the package was installed."""
    return point.dist.name if point.dist is not None else "unknown"


def get_kind(group: str) -> str:
    """What a group contains: "method" for the group "quorum.methods"."""
    return group.rpartition(".")[2].removesuffix("s")
