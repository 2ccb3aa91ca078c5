"""Where the passages of an evaluation come from: the questions bring them, or a corpus or collection is searched."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from quorum.core.cancellation import STOP_OF_THREAD
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.datasets.questions import read_questions
from quorum.datasets.records import read_passages
from quorum.evaluation.run.column_collections import (
    NamedCollection,
    check_passages_of_others,
    find_named_collections,
    names_collection,
)
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.corpus_files import (
    GIVEN_SOURCE,
    POOL_SOURCE,
    compute_short_hash,
    hash_corpus,
    is_split_corpus,
)
from quorum.evaluation.run.corpus_indexes import CorpusIndexes, list_indexed
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.options import Options
from quorum.graphs.choose_method import reads_passages
from quorum.models import get_embedding_name

if TYPE_CHECKING:
    from quorum.retrievers.index_settings import IndexSettings

LOG = logging.getLogger("quorum")
MADE_FOR = "evaluation"  # marks collections made by evaluations, which `quorum collections clear` removes


class ProgressCallback(Protocol):
    """A callback that receives the progress of the work.

    stage: for example "index", "estimate", "ask", "judge" or "report". done: how many steps of the stage are done.
    total: how many steps the stage has; None if this is not known.
    """

    def __call__(self, stage: str, done: int, total: int | None) -> None: ...


def ignore_progress(stage: str, done: int, total: int | None) -> None:
    """A progress callback that shows nothing."""


@dataclass(frozen=True)
class Source:
    """Where passages come from. Without a corpus, a collection and a retriever, every question brings its own passages.

    corpus: a path, or "pool" for the passages of all questions together; sha256: identifies the content of the corpus;
    both are None without a corpus. collection: the name of a collection; revision: identifies its content; both are
    None without a collection. skip_bad: leave broken questions out of the pool. retriever: what identifies the user's
    own retriever, which searches what only it knows, if every method asks this one. named: by column, the collection
    that its own settings name, and which it searches in place of what the others search. indexes: of the corpus, which
    are among the named collections; None: the corpus has one, which the other columns search.
    """

    corpus: str | None
    collection: str | None
    sha256: str | None
    skip_bad: bool = False
    revision: str | None = None
    retriever: str | None = None
    named: Mapping[str, NamedCollection] = field(default_factory=dict)
    indexes: CorpusIndexes | None = None

    @property
    def retrieves(self) -> bool:
        named_sources = (self.corpus, self.collection, self.retriever)
        return bool(self.named) or any(source is not None for source in named_sources)

    def describe(self) -> dict[str, Any]:
        """The source as config.json records it."""
        if not self.named:
            return self.describe_common()
        common = self.describe_common() if replace(self, named={}).retrieves else {"passages": "collections"}
        indexed = {} if self.indexes is None else {"indexes": [item.chosen for item in self.indexes.settings]}
        collections = {column: asdict(collection) for column, collection in self.named.items()}
        return {**common, **indexed, "collections": collections}

    def describe_common(self) -> dict[str, Any]:
        """What the columns search that name no collection of their own."""
        if self.collection is not None:
            revision = {} if self.revision is None else {"revision": self.revision}
            return {"passages": "collection", "collection": self.collection, **revision}
        if self.corpus is not None:
            return {"passages": "corpus", "corpus": Path(self.corpus).name, "sha256": self.sha256}
        if self.retriever is not None:
            return {"passages": "retriever", "retriever": self.retriever}
        return {"passages": "given"}


def find_passage_source(
    dataset: DataSet, options: Options, columns: Sequence[Column] = (), indexes: CorpusIndexes | None = None
) -> Source:
    """The source that `options` names; the retriever of the user's that all columns ask; the collection that the
    context asks if they name none and no question brings passages. Blocks while it reads the corpus.

    Raises `SetupError` if the options name no source although some questions bring no passages, if they name both a
    corpus and a collection, or one of them beside a retriever that does not search it, or if the named corpus does not
    exist or cannot be used.
    """
    corpus = options.corpus
    if named := find_named_collections(columns, indexes):
        check_passages_of_others(named, dataset, columns, options)
        others = [column for column in columns if not names_collection(column)]
        nothing = Source(
            options.corpus if indexes else None, None, indexes.sha256 if indexes else None, dataset.skip_bad
        )
        common = find_passage_source(dataset, options, others) if others else nothing
        return replace(common, named=named, indexes=indexes)
    if corpus != GIVEN_SOURCE and (own_retrievers := list_own_retrievers(columns)):
        if all(not isinstance(column.context.retriever, str) for column in columns):
            return make_retriever_source(own_retrievers, dataset, options)
        if corpus is None and options.collection is None:  # the others search a collection
            options = replace(options, collection=find_context_collection(options.context))
    collection = find_searched_collection(dataset, corpus, options.collection, options.context)
    if corpus == GIVEN_SOURCE:
        check_given_passages(dataset, options.retrievers)
    if corpus is not None and collection is not None:
        raise SetupError(f"Both a corpus ({corpus}) and a collection ({collection}) are named; give one of them.")
    if corpus == GIVEN_SOURCE:
        corpus = None
    if corpus is None and collection is None and dataset.count_with_passages < dataset.count:
        raise SetupError(
            f"{dataset.count - dataset.count_with_passages} of {dataset.count} questions in {dataset.path} have no "
            "passages of their own; name a collection or a corpus to search: --collection NAME or --corpus PATH."
        )
    if corpus == POOL_SOURCE and not dataset.count_with_passages:
        raise SetupError(f"{dataset.path} has no passages to pool; give --corpus PATH or --collection NAME.")
    if corpus is not None and corpus != POOL_SOURCE and not Path(corpus).exists():
        raise SetupError(
            f"There is no corpus {corpus}; give a folder of documents, a .jsonl or .jsonl.gz file, or the word 'pool'."
        )
    pool_hash = dataset.sha256 if corpus == POOL_SOURCE else None
    sha256 = pool_hash or (hash_corpus(Path(corpus)) if corpus is not None else None)
    revision = None if collection is None else find_revision(collection, options.context)
    return Source(corpus, collection, sha256, dataset.skip_bad, revision)


def list_own_retrievers(columns: Sequence[Column]) -> list[str]:
    """What identifies the retrievers of the user's that the columns ask, each once."""
    from quorum.retrievers.identity import identify_retriever

    retrievers = [column.context.retriever for column in columns]
    return list(dict.fromkeys(identify_retriever(item) for item in retrievers if not isinstance(item, str)))


def make_retriever_source(names: Sequence[str], dataset: DataSet, options: Options) -> Source:
    """The source of columns that all ask retrievers of the user's. Raises `SetupError` if the options name passages."""
    named = options.corpus if options.collection is None else options.collection
    if named is not None:
        kind = "corpus" if options.collection is None else "collection"
        raise SetupError(
            f"The {kind} {named} would not be searched, because the context has a retriever of yours ({names[0]}); "
            f"leave the {kind} out (in compare: None), or set retriever to a name such as 'hybrid'."
        )
    return Source(None, None, None, dataset.skip_bad, retriever=", ".join(names))


def find_context_collection(context: Context) -> str | None:
    """The name of the collection that the context asks; the sample is not made yet. The call blocks."""
    from quorum.retrievers.choose_collection import choose_only_collection

    return context.collection or choose_only_collection(context.store)


def find_searched_collection(
    dataset: DataSet, corpus: str | None, collection: str | None, context: Context
) -> str | None:
    """The collection that the options name. If they name neither a collection nor a corpus, and no question brings
    passages, it is the one that the context asks (see `quorum.retrievers.choose_collection`). The call blocks.
    """
    if collection is not None or corpus is not None or dataset.count_with_passages:
        return collection
    return find_context_collection(context)


def find_revision(collection: str, context: Context) -> str | None:
    """The revision of a collection, which changes whenever its passages change; None if there is no such collection."""
    from quorum.retrievers.choose_collection import locate_collection
    from quorum.retrievers.store import open_store

    located_context = locate_collection(replace(context, collection=collection))
    store = open_store(located_context.store)
    return None if store.find_info(collection) is None else store.fetch_revised_info(collection).revision


def check_given_passages(dataset: DataSet, retrievers: Sequence[str]) -> None:
    """Raises `SetupError` if a question has no passages of its own, or if retrievers are named, which would have
    nothing to search.
    """
    if dataset.count_with_passages < dataset.count:
        pool_advice = ", or 'pool' for the passages of all questions" if dataset.count_with_passages else ""
        raise SetupError(
            f"{dataset.count - dataset.count_with_passages} of {dataset.count} questions in {dataset.path} have no "
            f"passages of their own; name a corpus in place of 'given'{pool_advice}."
        )
    if retrievers:
        raise SetupError(
            f"--retrievers {','.join(retrievers)} would search nothing, because the questions bring their "
            "passages; leave out --retrievers, or name 'pool' in place of 'given'."
        )


def name_collections(source: Source, columns: Sequence[Column]) -> list[Column]:
    """The columns (methods with their settings), each with the collection that it searches. Nothing is indexed yet."""
    if source.corpus is None and source.collection is None:
        return list(columns)
    names = (
        column.context.collection if names_collection(column) else make_collection_name(source, column.context)
        for column in columns
    )
    return [
        replace(column, context=replace(column.context, collection=name))
        for column, name in zip(columns, names, strict=True)
    ]


def make_collection_name(source: Source, context: Context) -> str:
    """The name of the collection that a source uses. For a corpus, it is derived from its files and the embeddings."""
    if source.collection is not None:
        return source.collection
    return f"corpus-{compute_short_hash([source.sha256, get_embedding_name(context.embeddings)])}"


async def fill_collections(
    source: Source, dataset: DataSet, columns: Sequence[Column], progress: ProgressCallback
) -> None:
    """Index the corpus for each store and each embedding model, unless it is indexed already."""
    if source.corpus is None:
        return
    for context, settings in list_collections_to_fill(source, columns):
        await fill_collection(source, dataset.path, context, progress, settings)


def list_collections_to_fill(source: Source, columns: Sequence[Column]) -> "list[tuple[Context, IndexSettings | None]]":
    """The collections of the corpus that the columns search, each once: a context that asks it, and the settings of its
    index, None for the default ones. If several columns search one, the context is that of the first of them.
    """
    found: dict[tuple[str, str | None], tuple[Context, IndexSettings | None]] = {}
    for column in columns:
        context, settings = column.context, None
        if names_collection(column):
            settings = list_indexed(source.indexes, context).get(str(context.collection))
            if settings is None:
                continue
        elif column.own_graph is None and not reads_passages(column.graph):
            continue
        found.setdefault((context.store, context.collection), (context, settings))
    return list(found.values())


async def fill_collection(
    source: Source,
    data: Path | None,
    context: Context,
    progress: ProgressCallback,
    settings: "IndexSettings | None" = None,
) -> None:
    """Index the corpus into the context's collection. data: if the corpus is the pool, the file of its questions.
    settings: of the index; None: the default ones.
    """
    await run_on_thread(index_corpus, source, data, context, context.collection, settings, progress=progress)


async def run_on_thread(work: Callable[..., None], *args: Any, progress: ProgressCallback) -> None:
    """Call `work(*args, report)` on a thread; `report` passes its arguments on to `progress`.

    If this task is cancelled, the next call of `report` raises `InterruptedError`, which stops `work`.
    """
    cancel_event = threading.Event()
    STOP_OF_THREAD.set(cancel_event)  # the thread's own waits end, too

    def report(stage: str, done: int, total: int | None) -> None:
        if cancel_event.is_set():
            raise InterruptedError
        progress(stage, done, total)

    try:
        await asyncio.to_thread(work, *args, report)
    except asyncio.CancelledError:
        cancel_event.set()
        raise
    finally:
        STOP_OF_THREAD.set(None)


def index_corpus(
    source: Source,
    data: Path | None,
    context: Context,
    collection: str,
    settings: "IndexSettings | None",
    progress: ProgressCallback,
) -> None:
    """Index the corpus. If it is a file of JSON lines or the pool, its passages stay whole and keep their ids;
    documents are split into passages. Passages already indexed are left unchanged. data: for a pool, the question file.
    """
    from quorum.retrievers.index import index_documents, index_passages

    corpus = str(source.corpus)
    pool_file = data if corpus == POOL_SOURCE else None
    path = Path(corpus)
    if pool_file is None and is_split_corpus(path):
        report = index_documents(
            [corpus],
            collection=collection,
            store=context.store,
            embeddings=context.embeddings,
            progress=lambda done, total, path: progress("index", done, total),
            made_for=MADE_FOR,
            made_from=path.name,
            embedding_batch=context.embedding_batch,
            **({} if settings is None else settings.parameters),
        )
        for skipped_file, reason in report.skipped:
            LOG.warning("%s of the corpus is left out: %s", skipped_file, reason)
        if not report.passages:
            raise SetupError(f"The corpus {corpus} holds nothing that can be read; give a folder of documents.")
        return
    report = index_passages(
        read_passages(Path(corpus)) if pool_file is None else pool_passages(pool_file, [] if source.skip_bad else None),
        collection=collection,
        store=context.store,
        embeddings=context.embeddings,
        source=collection,
        progress=lambda done, total, path: progress("index", done, total),
        made_for=MADE_FOR,
        made_from=path.name if pool_file is None else pool_file.name,
        embedding_batch=context.embedding_batch,
    )
    for _, note in report.notes:
        LOG.warning("The corpus %s: %s", corpus, note)
    if report.skipped:
        skipped_file, reason = report.skipped[0]
        raise SetupError(
            f"The corpus {corpus} cannot be indexed completely: {skipped_file}: {reason}; correct it, then run "
            "the command again."
        )
    if not report.passages:
        raise SetupError(f"The corpus {corpus} holds no passages; expected JSON lines of id, title and text.")


def pool_passages(data: Path, problems: list[str] | None = None) -> list[Passage]:
    """The passages of all questions, each once. problems: receives the message of each bad record, which is skipped;
    None: a bad record raises `SetupError`.
    """
    passages = (passage for record in read_questions(data, problems=problems) for passage in record["passages"])
    return list({(passage["id"], passage["title"], passage["text"]): passage for passage in passages}.values())
