"""Indexes documents into a collection, with the settings of a context: files, or LangChain's documents."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from quorum.core.same_parameters import takes_parameters_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from quorum.core.context import Context
    from quorum.retrievers.index_report import IndexReport


def index(
    paths: str | Path | Iterable[str | Path] | None = None,
    *,
    documents: "Document | Iterable[Document] | AsyncIterable[Document] | None" = None,
    split: bool = True,
    collection: str | None = None,
    context: "Context | None" = None,
    words: int = 100,
    add_context: str | None = None,
    prune: bool = False,
    metadata: Mapping[str, Any] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> "IndexReport":
    """Put the passages of files and folders, or of LangChain's documents, into a collection. If you call it again, it
    indexes only what has changed.

    It blocks; in async code, `await quorum.aindex(...)`.

    paths: one path or several, of folders and of files of the types in docs/documents.md, such as JSON lines of {"id",
    "title", "text"}. documents, in place of paths: LangChain's documents, from any loader or splitter, in a list or a
    generator of any length (docs/recipes.md). split: split documents of more than `words` words; False: each document
    is one passage, as your splitter has made it. Files are always split. collection: the collection's name, by default
    the context's. context: its store, embeddings, embedding_batch and title_key are used. words: the largest number of
    words in a passage. add_context: what is indexed with each passage beside its title, headings and text, though never
    shown: "outline" for the first sentence of its section, "none" for nothing; by default as the collection has it, and
    "none" for a new one (docs/retrievers.md). prune: remove documents whose files under the paths no longer exist or
    are now left out by a .gitignore; with documents, those of earlier calls that are not among them. metadata: of all
    these passages, beside what files and documents say of themselves; the setting `where` filters by them
    (docs/documents.md). progress: called with (done, total, path), where done and total count files or documents; a
    file of JSON lines counts as many times as it has lines.

    A document of LangChain keeps its metadata and its id; without an id, it gets a hash of its content. Documents with
    the same metadata `source` belong together: when a source is given again, its former passages are replaced.

    Returns an IndexReport: the numbers of files (or sources) `added`, `unchanged`, `replaced` and `removed`, the files
    `skipped` (path and reason), and `passages`, the number of passages in the collection. The docstring of
    `IndexReport` explains the other fields. Raises SetupError for a path that does not exist, an item that is not a
    document, a missing, bad or reserved collection name, and a collection of other embeddings or another context.

    >>> import pathlib, quorum
    >>> _ = pathlib.Path("travel.md").write_text("Train tickets are booked by Mira Oduya.")
    >>> quorum.index("travel.md", collection="handbook").added
    1
    >>> quorum.answer_sync("Who books train tickets?", context=quorum.Context(collection="handbook"))["answer"]
    'Mira Oduya'
    >>> from langchain_core.documents import Document
    >>> pages = [Document("The quay of Brae was laid by Ivo Tarn.", metadata={"source": "quays.pdf", "page": 3})]
    >>> quorum.index(documents=pages, collection="quays").passages
    1
    """
    from quorum.core.context import Context
    from quorum.core.errors import SetupError
    from quorum.retrievers.index import index_documents
    from quorum.retrievers.index_given import index_given

    settings = context or Context()
    name = collection or settings.collection
    if (paths is None) == (documents is None):
        given = "Neither paths nor documents are" if paths is None else "Both paths and documents are"
        raise SetupError(
            f"{given} given to index; give one of them: quorum.index(PATH, ...) or quorum.index(documents=[...], ...)."
        )
    if isinstance(documents, AsyncIterable):
        raise SetupError(
            f"The documents come from an asynchronous {type(documents).__name__}, which a blocking call cannot read; "
            "use `await quorum.aindex(documents=...)`, or the loader's lazy_load()."
        )
    if not name:
        raise SetupError("No collection is named to index into; give one: quorum.index(PATH, collection=NAME).")
    options: Any = {"collection": name, "store": settings.store, "embeddings": settings.embeddings, "prune": prune}
    options |= {"embedding_batch": settings.embedding_batch, "metadata": metadata, "add_context": add_context}
    if documents is not None:
        return index_given(
            documents, **options, words=words if split else None, title_key=settings.title_key, progress=progress
        )
    path_list = [paths] if isinstance(paths, str | Path) else paths
    return index_documents(cast("Iterable[str | Path]", path_list), **options, words=words, progress=progress)


@takes_parameters_of(index)
async def aindex(*args: Any, **options: Any) -> "IndexReport":
    """`index` for asynchronous code: the same parameters, result and errors. The event loop stays free.

    documents: may also come from an asynchronous generator, such as a loader's `alazy_load()`. If the task is
    cancelled, indexing stops before the next document; what is stored stays, and the next call completes it.

    >>> import asyncio, quorum
    >>> from langchain_core.documents import Document
    >>> pages = [Document("The quay of Brae was laid by Ivo Tarn.", metadata={"source": "quays.pdf", "page": 3})]
    >>> asyncio.run(quorum.aindex(documents=pages, collection="async-quays")).added
    1
    """
    from quorum.core.cancellation import run_on_daemon_thread

    loop, given_progress = asyncio.get_running_loop(), options.get("progress")
    documents = options.get("documents")
    if isinstance(documents, AsyncIterable):
        options["documents"] = read_on_loop(aiter(documents), loop)

    def report(done: int, total: int, path: str) -> None:
        stop_if_cancelled()
        if given_progress is not None:
            given_progress(done, total, path)

    options["progress"] = report
    return await run_on_daemon_thread(lambda: index(*args, **options))


def stop_if_cancelled() -> None:
    """Raise InterruptedError if nobody waits any more for the work of this thread."""
    from quorum.core.cancellation import STOP_OF_THREAD

    stop = STOP_OF_THREAD.get()
    if stop is not None and stop.is_set():
        raise InterruptedError


def read_on_loop(documents: "AsyncIterator[Document]", loop: asyncio.AbstractEventLoop) -> "Iterator[Document]":
    """The documents of an asynchronous iterator, for a thread; they are read on the event loop."""
    from quorum.core.cancellation import SECONDS_BETWEEN_LOOKS

    async def read_next() -> "tuple[Document, ...]":
        try:
            return (await anext(documents),)
        except StopAsyncIteration:  # a task cannot raise it
            return ()

    while True:
        next_item = asyncio.run_coroutine_threadsafe(read_next(), loop)
        try:
            while not wait([next_item], SECONDS_BETWEEN_LOOKS).done:
                stop_if_cancelled()
        except InterruptedError:
            next_item.cancel()
            raise
        if not (items := next_item.result()):
            return
        yield from items
