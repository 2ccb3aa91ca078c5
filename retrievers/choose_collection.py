"""Finds the collection that a context asks, and the store that holds it."""

from collections.abc import Mapping
from dataclasses import replace

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.retrievers.collection_names import SAMPLE, check_collection_name
from quorum.retrievers.index_report import ProgressCallback
from quorum.retrievers.metadata import OTHER_PROGRAM
from quorum.retrievers.sample import ensure_sample, find_sample_store
from quorum.retrievers.store import open_store

MAX_NAMES = 20  # how many collections a message names


def locate_collection(context: Context, progress: ProgressCallback | None = None) -> Context:
    """The context with the name of the collection that it asks, and with the store that holds this collection.

    If the context names no collection, it is the store's only one (see `choose_only_collection`). The sample of a
    store that holds none lies in a store of its own beside it, and is made on first use; `progress(done, total, path)`
    then counts its files. Raises `SetupError` if the store holds several collections. The call blocks.
    """
    name = context.collection or choose_only_collection(context.store)
    if check_collection_name(name) != SAMPLE:
        return replace(context, collection=name)
    store = find_sample_store(context.store)
    located_context = replace(context, collection=SAMPLE, store=store)
    ensure_sample(located_context, progress)
    return located_context


def find_present_revision(context: Context) -> str:
    """The revision of the collection that the context asks, which changes whenever its passages change. The call
    blocks. Raises `SetupError` if there is no such collection.
    """
    located_context = locate_collection(context)
    return open_store(located_context.store).fetch_revised_info(str(located_context.collection)).revision


def is_sample_asked(context: Context) -> bool:
    """Whether the context asks the sample: by its name, or because the store holds no collection. The call blocks."""
    return context.collection == SAMPLE or (not context.collection and list_choices(context.store) == [SAMPLE])


def choose_only_collection(store: str) -> str:
    """The name of the only collection of a store; "sample" if it holds none. The call blocks.

    Raises `SetupError`, which names them, if there are several (see `list_choices`).
    """
    names = list_choices(store)
    if len(names) == 1:
        return names[0]
    raise SetupError(
        f"The store {store} holds {len(names)} collections ({format_names(names)}); choose one with --collection NAME, "
        "QUORUM_COLLECTION=NAME, or in Python Context(collection=NAME)."
    )


def list_choices(store: str) -> list[str]:
    """The collections of a store that can be meant if none is named: the users' own; without any, those that
    evaluations made for their own use; without any, those of other programs; without any, "sample" alone. The call
    blocks.
    """
    makers = open_store(store).list_makers()
    for maker in (None, "evaluation", OTHER_PROGRAM):
        if names := list_names_by(makers, maker):
            return names
    return [SAMPLE]


def list_names_by(makers: Mapping[str, str | None], maker: str | None) -> list[str]:
    """The names of the collections that this maker made, in alphabetical order."""
    return sorted(name for name, other in makers.items() if other == maker)


def format_names(names: list[str]) -> str:
    """The first MAX_NAMES names, and how many more there are."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
