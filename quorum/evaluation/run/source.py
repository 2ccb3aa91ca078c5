"""Where the passages of an evaluation come from: the questions bring them, or a corpus or collection is searched."""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.questions import read_questions
from quorum.datasets.records import read_passages
from quorum.evaluation.run.columns import MethodRun
from quorum.evaluation.run.config import short_hash
from quorum.evaluation.run.dataset import DataSet, file_hash
from quorum.models import embedding_name

LOG = logging.getLogger("quorum")
POOL = "pool"


class Progress(Protocol):
    """Told of a stage ("index" or "ask"), the steps done and the steps in all (None: not known)."""

    def __call__(self, stage: str, done: int, total: int | None) -> None: ...


def silent(stage: str, done: int, total: int | None) -> None:
    """No progress shown."""


@dataclass(frozen=True)
class Source:
    """`corpus` and `collection` are both None when every question brings its own passages. skip_bad: broken questions
    are left out of a pool.
    """

    corpus: str | None
    collection: str | None
    sha256: str | None
    skip_bad: bool = False

    @property
    def retrieves(self) -> bool:
        return self.corpus is not None or self.collection is not None

    def described(self) -> dict[str, Any]:
        """For config.json."""
        if self.collection is not None:
            return {"passages": "collection", "collection": self.collection}
        if self.corpus is not None:
            return {"passages": "corpus", "corpus": Path(self.corpus).name, "sha256": self.sha256}
        return {"passages": "given"}


def passage_source(dataset: DataSet, corpus: str | None, collection: str | None) -> Source:
    """The source that was asked for; data without passages need one."""
    if corpus is not None and collection is not None:
        raise SetupError(f"Both a corpus ({corpus}) and a collection ({collection}) are named; give one of them.")
    if corpus is None and collection is None and dataset.given < dataset.count:
        raise SetupError(
            f"{dataset.count - dataset.given} of {dataset.count} questions in {dataset.path} have no passages of "
            "their own; name where to look with --collection NAME or --corpus FILE."
        )
    if corpus == POOL and not dataset.given:
        raise SetupError(f"{dataset.path} has no passages to pool; give --corpus FILE or --collection NAME.")
    if corpus is not None and corpus != POOL and not Path(corpus).exists():
        raise SetupError(
            f"There is no corpus {corpus}; give a folder of documents, a .jsonl or .jsonl.gz file, or the word 'pool'."
        )
    pooled = dataset.sha256 if corpus == POOL else None
    sha256 = pooled or (corpus_hash(Path(corpus)) if corpus is not None else None)
    return Source(corpus, collection, sha256, dataset.skip_bad)


def corpus_hash(corpus: Path) -> str:
    """The sha256 of a file's bytes, or of the names and bytes of all files in a folder."""
    if corpus.is_file():
        return file_hash(corpus)
    from quorum.documents.find_files import absolute, find_files

    root = absolute(corpus)
    files, _ = find_files([root])
    return short_hash([(str(path.relative_to(root)), file_hash(path)) for path in files if path.is_relative_to(root)])


async def in_collection(
    source: Source, dataset: DataSet, runs: Sequence[MethodRun], progress: Progress
) -> list[MethodRun]:
    """The runs, each with the collection that it searches; a corpus is indexed where it is not there yet."""
    if source.collection is not None:
        return [replace(run, context=replace(run.context, collection=source.collection)) for run in runs]
    made: dict[tuple[str, str], str] = {}
    placed = []
    for run in runs:
        key = (run.context.store, embedding_name(run.context.embeddings))
        if key not in made:
            made[key] = await indexed(source, dataset.path, run.context, progress)
        placed.append(replace(run, context=replace(run.context, collection=made[key])))
    return placed


async def indexed(source: Source, data: Path | None, context: Context, progress: Progress) -> str:
    """The collection of a corpus, filled where it is not there yet; `data` holds the questions of a pool."""
    collection = f"corpus-{short_hash([source.sha256, embedding_name(context.embeddings)])}"
    await interruptible(index_corpus, source, data, context, collection, progress=progress)
    return collection


async def interruptible(work: Callable[..., None], *args: Any, progress: Progress) -> None:
    """Run `work` on a thread; when this task is cancelled, it ends at its next step instead of at its last."""
    cancelled = threading.Event()

    def tell(stage: str, done: int, total: int | None) -> None:
        if cancelled.is_set():
            raise InterruptedError
        progress(stage, done, total)

    try:
        await asyncio.to_thread(work, *args, tell)
    except asyncio.CancelledError:
        cancelled.set()
        raise


def index_corpus(source: Source, data: Path | None, context: Context, collection: str, progress: Progress) -> None:
    """Index the corpus: the passages of a file whole and under their own ids, documents in passages of their own. What
    is there already is found unchanged.
    """
    from quorum.documents.read import CONVERTED, TEXT
    from quorum.retrievers.index import index_documents, index_passages

    corpus = str(source.corpus)
    pooled = data if corpus == POOL else None
    if pooled is None and (Path(corpus).is_dir() or Path(corpus).suffix.lower() in TEXT | CONVERTED):
        documents = index_documents(
            [corpus],
            collection=collection,
            store=context.store,
            embeddings=context.embeddings,
            progress=lambda done, total, path: progress("index", done, total),
        )
        for path, reason in documents.skipped:
            LOG.warning("The corpus goes without %s: %s", path, reason)
        if not documents.passages:
            raise SetupError(f"The corpus {corpus} holds nothing that can be read; give a folder of documents.")
        return
    report = index_passages(
        read_passages(Path(corpus)) if pooled is None else pool(pooled, [] if source.skip_bad else None),
        collection=collection,
        store=context.store,
        embeddings=context.embeddings,
        source=collection,
        progress=lambda done, total, path: progress("index", done, total),
    )
    if report.skipped:
        which, reason = report.skipped[0]
        raise SetupError(
            f"The corpus {corpus} cannot be indexed whole: {which}: {reason}; mend it, then run this again."
        )
    if not report.passages:
        raise SetupError(f"The corpus {corpus} holds no passages; expected JSON lines of id, title and text.")


def pool(data: Path, bad: list[str] | None = None) -> list[Passage]:
    """The passages of all questions, each once."""
    every = (passage for record in read_questions(data, bad=bad) for passage in record["passages"])
    return list({(passage["id"], passage["title"], passage["text"]): passage for passage in every}.values())
