"""Chooses a method with settings of its own, as `concat[collection=handbook;k=10]` names it, wherever one is asked."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quorum.core.bracketed_settings import split_brackets
from quorum.core.context import Context, parse_setting
from quorum.core.errors import SetupError
from quorum.graphs.find_method import find_method

if TYPE_CHECKING:
    from collections.abc import Mapping

# Settings that say what is searched, and change nothing where passages are given.
SEARCH_SETTINGS = ("collection", "retriever", "title_key")
SEARCHING_NODES = {"retrieve", "search_and_filter"}  # a method without one of these reads no passages


def choose_method(method: Any, context: Context | None = None, *, given: bool = False) -> tuple[Any, Context]:
    """The method without its brackets, and the context with the settings in them; a graph, and a name without brackets,
    stay as they are. given: whether passages are given, so that nothing is searched.

    Raises `SetupError` for a method or a setting that does not exist, and for a collection or a retriever that would
    not be searched.

    >>> name, context = choose_method("concat[k=3]", Context(collection="handbook"))
    >>> name, context.k, context.collection
    ('concat', 3, 'handbook')
    """
    context = context or Context()
    if not isinstance(method, str):
        return method, context
    name, settings = split_brackets(method)
    if not settings:
        return name, context
    context = replace(context, **{key: parse_setting(key, text) for key, text in settings.items()})
    check_searched_settings(method, settings, context, find_method(name).graph, given=given)
    return name, context


def reads_passages(graph: Any) -> bool:
    """Whether a method's graph searches, or reads given passages; a cascade counts as one that does."""
    return bool(SEARCHING_NODES & set(graph.nodes)) or hasattr(graph, "cascade")


def check_searched_settings(
    name: str, settings: "Mapping[str, str]", context: Context, graph: Any = None, *, given: bool = False
) -> None:
    """Raise `SetupError` if a method has settings in brackets that say what is searched, and would not search it.

    name: the method with its brackets; settings: those in the brackets; context: with these settings; graph: the
    method's, None for a graph of the user's own, which may search as it likes; given: whether passages are given.
    """
    named = [key for key in SEARCH_SETTINGS if key in settings]
    if not named:
        return
    if settings.get("collection") == "":
        raise SetupError(f"{name} names an empty collection; write its name, or leave collection out.")
    if graph is not None and not reads_passages(graph):
        raise SetupError(f"{name} reads no passages, so its setting {named[0]} would change nothing; leave it out.")
    if given:
        raise SetupError(
            f"{name} would not search its {named[0]}, because given passages are read; leave {named[0]} out, or search "
            "a collection in place of the given passages."
        )
    if "collection" in named and not isinstance(context.retriever, str):
        raise SetupError(
            f"{name} would not search the collection that it names, because the context has a retriever of "
            f"yours ({type(context.retriever).__name__}); leave the collection out, or name a retriever in the "
            "brackets, such as retriever=hybrid."
        )
