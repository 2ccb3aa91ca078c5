"""Indexes documents into a collection, with the settings of a context."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorum.core.context import Context
    from quorum.retrievers.index_report import IndexReport


def index(
    paths: str | Path | Iterable[str | Path],
    *,
    collection: str | None = None,
    context: "Context | None" = None,
    words: int = 100,
    prune: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> "IndexReport":
    """Put the passages of files and folders into a collection. If you call it again, it indexes only what has changed.

    It blocks; in async code, `await asyncio.to_thread(quorum.index, ...)`.

    paths: one path or several, of folders and of files of the types in docs/documents.md, such as JSON lines of {"id",
    "title", "text"}. collection: the collection's name, by default the context's. context: its store and embeddings are
    used. words: the largest number of words in a passage. prune: remove documents whose files under the paths no longer
    exist or are now left out by a .gitignore. progress: called with (done, total, path), where done and total count
    files; a file of JSON lines counts as many times as it has lines.

    Returns an IndexReport: the numbers of files `added`, `unchanged`, `replaced` and `removed`, the files `skipped`
    (path and reason), and `passages`, the number of passages in the collection. The docstring of `IndexReport` explains
    the other fields. Raises SetupError for a path that does not exist, a missing, bad or reserved collection
    name, and a collection that was made with other embeddings.

    >>> import pathlib, quorum
    >>> _ = pathlib.Path("travel.md").write_text("Train tickets are booked by Mira Oduya.")
    >>> quorum.index("travel.md", collection="handbook").added
    1
    >>> quorum.answer_sync("Who books train tickets?", context=quorum.Context(collection="handbook"))["answer"]
    'Mira Oduya'
    """
    from quorum.core.context import Context
    from quorum.core.errors import SetupError
    from quorum.retrievers.index import index_documents

    settings = context or Context()
    name = collection or settings.collection
    if not name:
        raise SetupError("No collection is named to index into; give one: quorum.index(PATH, collection=NAME).")
    return index_documents(
        [paths] if isinstance(paths, str | Path) else paths,
        collection=name,
        store=settings.store,
        embeddings=settings.embeddings,
        words=words,
        prune=prune,
        progress=progress,
    )
