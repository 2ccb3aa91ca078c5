"""The registry of retrievers by name: Quorum's own, and those of installed packages (docs/plugins.md)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quorum.core import plugins
from quorum.core.errors import SetupError
from quorum.core.where import format_where
from quorum.retrievers.collection_names import get_located_collection

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever

    from quorum.core.context import Context
    from quorum.retrievers.langchain_retrievers import BM25Retriever, ChromaRetriever


@dataclass(frozen=True)
class RetrieverKind:
    """A kind of retriever. make: (context, text after the colon in the setting) -> the retriever over the context's
    collection. A call of `make` may block.

    argument: the placeholder that error messages show for that text, such as "MODEL" in "colbert:MODEL";
    empty if the retriever takes no such text.
    """

    make: "Callable[[Context, str], BaseRetriever]"
    argument: str = ""


def make_hybrid(context: "Context", argument: str) -> "BaseRetriever":
    """Dense and lexical retrieval, fused."""
    from quorum.retrievers.langchain_retrievers import HybridRetriever, choose_ranking_depth

    depth = choose_ranking_depth(context.k)
    where = format_where(context.where)
    dense, lexical = make_dense(context, depth), make_lexical(context, depth)
    return HybridRetriever(k=context.k, dense=dense, lexical=lexical, where=where)


def make_chroma(context: "Context", argument: str) -> "BaseRetriever":
    """Dense retrieval."""
    return make_dense(context, context.k)


def make_bm25(context: "Context", argument: str) -> "BaseRetriever":
    """Lexical retrieval."""
    return make_lexical(context, context.k)


def make_colbert(context: "Context", argument: str) -> "BaseRetriever":
    """Late interaction with the model `argument`."""
    from quorum.retrievers.langchain_retrievers import ColbertRetriever

    return ColbertRetriever(
        k=context.k,
        collection=get_located_collection(context),
        store=context.store,
        model=argument,
        title_key=context.title_key,
        where=format_where(context.where),
    )


def make_dense(context: "Context", k: int) -> "ChromaRetriever":
    from quorum.retrievers.langchain_retrievers import ChromaRetriever

    return ChromaRetriever(
        k=k,
        collection=get_located_collection(context),
        store=context.store,
        embeddings=context.embeddings,
        title_key=context.title_key,
        where=format_where(context.where),
    )


def make_lexical(context: "Context", k: int) -> "BM25Retriever":
    from quorum.retrievers.langchain_retrievers import BM25Retriever

    return BM25Retriever(
        k=k,
        collection=get_located_collection(context),
        store=context.store,
        title_key=context.title_key,
        language=context.language,
        where=format_where(context.where),
    )


RETRIEVERS = {
    "hybrid": RetrieverKind(make_hybrid),
    "chroma": RetrieverKind(make_chroma),
    "bm25": RetrieverKind(make_bm25),
    "colbert": RetrieverKind(make_colbert, "MODEL"),
}


def list_retrievers() -> dict[str, RetrieverKind]:
    """{name: kind} of Quorum's own retrievers and, after them, those of installed packages."""
    return plugins.add_plugins(plugins.RETRIEVER_GROUP, RETRIEVERS, accept_plugin_retriever)


def accept_plugin_retriever(name: str, value: object) -> RetrieverKind:
    """The kind of a retriever that a package registers: as a `RetrieverKind`, or as a function context -> retriever.

    Raises `TypeError` for anything else.
    """
    if isinstance(value, RetrieverKind):
        return value
    if not callable(value):
        raise TypeError(
            f"expected a RetrieverKind, or a function of a context that returns a retriever, found {value!r}"
        )
    make = value
    return RetrieverKind(lambda context, argument: make(context))


def find_retriever(text: str) -> tuple[RetrieverKind, str]:
    """(kind, argument) of a setting such as "bm25" or "colbert:MODEL".

    Raises `SetupError` for an unknown retriever, for a missing argument, and for an argument that the retriever does
    not take.

    >>> find_retriever("colbert:my/model")[1]
    'my/model'
    """
    name, _, argument = text.partition(":")
    argument = argument.strip()
    kinds = RETRIEVERS if name in RETRIEVERS else list_retrievers()
    kind = kinds.get(name)
    if kind is None or bool(kind.argument) != bool(argument) or (":" in text and not kind.argument):
        hint = "; 'given' is chosen automatically for a question that comes with passages" if text == "given" else ""
        names = (f"{name}:{kind.argument}" if kind.argument else name for name, kind in list_retrievers().items())
        raise SetupError(f"There is no retriever {text!r}; choose one of: {', '.join(names)}{hint}.")
    return kind, argument
