"""Indexes files: splits them into passages and stores these in a collection. Unchanged files are not stored again."""

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from quorum.cluster.ray_cluster import check_engine
from quorum.core.errors import SetupError
from quorum.core.files import escape_name
from quorum.core.state import Passage
from quorum.core.store_folder import DEFAULT_FOLDER
from quorum.documents.document import Unreadable
from quorum.documents.find_files import FileChoice, choose_files, explain_irregular_path, is_below, resolve_roots
from quorum.documents.guarded_reading import TIME_LIMIT, FilePassages, GuardedReader, get_shared_reader, read_ahead
from quorum.documents.metadata import add_file_metadata
from quorum.documents.pieces import split_passage
from quorum.documents.read import count_lines, is_passage_file, read_passage_lines
from quorum.models import get_embedding_name
from quorum.retrievers.added_context import check_added_context
from quorum.retrievers.collection_names import check_collection_name, check_own_collection_name
from quorum.retrievers.embedder import get_indexing_embedder
from quorum.retrievers.index_report import (
    IndexReport,
    ProgressCallback,
    ProgressCounter,
    WatchCallback,
    count_embeddings,
)
from quorum.retrievers.ledger import Change, Ledger
from quorum.retrievers.originals import hash_path
from quorum.retrievers.store import open_store

GONE = "no longer exists; its passages stay in the collection, and --prune removes them"


def index_documents(
    paths: Iterable[str | Path],
    *,
    collection: str,
    store: str | Path = DEFAULT_FOLDER,
    embeddings: str | Embeddings = "embedded",
    words: int = 100,
    add_context: str | None = None,
    prune: bool = False,
    engine: str = "local",
    progress: ProgressCallback | None = None,
    watch: WatchCallback | None = None,
    choice: FileChoice | None = None,
    made_for: str | None = None,
    made_from: str | None = None,
    time_limit: float = TIME_LIMIT,
    embedding_batch: int | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> IndexReport:
    """Index files and folders into a collection, which is created if it does not exist. The call blocks.

    Documents of the types in `quorum.documents.readers` are split into passages of at most `words` words (see
    `quorum.documents.pieces`). The id of such a passage is a hash of its content. In jsonl and jsonl.gz every line
    {"id", "title", "text"} is a passage and keeps its id; a line of more than 3 x `words` words is split into passages
    id#1, id#2, ... If two lines have the same id and different texts, the first stays.

    A passage that occurs in several documents, perhaps with small differences in writing, is stored once with all its
    places (see `quorum.documents.duplicates`). It is removed together with the last of these documents.

    A file that cannot be read is skipped; passages that were indexed from it before stay. If indexing is killed
    and started again, the collection ends up the same.

    add_context: what is indexed with each passage beside its title, headings and text, though never shown: "outline"
    for the first sentence of its section, "none" for nothing; None: as the collection has it, "none" for a new one.

    choice: which files in the folders are read. prune: remove documents whose files below the given paths no longer
    exist or are left out by `choice`.

    engine: "ray" reads and embeds in many processes and gives the same collection (docs/scale.md).
    progress: called with (done, total, path), where done and total count files; a file of JSON lines counts as many
    times as it has lines. watch: called with an `IndexProgress`, which states passages, files and the share of
    the bytes that is done.

    made_for: "evaluation" if an evaluation makes the collection for its own use; made_from: the name of the file or
    folder that the evaluation makes it from.

    time_limit: seconds of processor time for reading one file, and 5 s more for each megabyte; a file that takes longer
    is skipped (see `quorum.documents.guarded_reading`; not with engine "ray").

    embedding_batch: the most texts in one request for embeddings; None: as many as the server takes. A passage whose
    text the embeddings refuse is left out, and its file named as skipped.

    metadata: for all passages of these files, beside what the files say (see `quorum.core.metadata`).

    Files that are gone are named in the report's notes, and a path that is neither file nor folder among its skipped
    ones. Raises `SetupError` if none of the paths exists (unless `prune` removes documents of one), for a collection
    made with other embeddings or another context, and a bad name.
    """
    check_own_collection_name(collection)
    options = IndexOptions(
        words,
        prune,
        engine,
        choice or FileChoice(),
        made_for=made_for,
        made_from=made_from,
        time_limit=time_limit,
        embedding_batch=embedding_batch,
        metadata=metadata or {},
        add_context=add_context,
    )
    return add_documents(paths, collection, str(store), embeddings, options, progress, watch)


def index_passages(
    passages: Sequence[Passage],
    *,
    collection: str,
    store: str | Path = DEFAULT_FOLDER,
    embeddings: str | Embeddings = "embedded",
    source: str = "passages",
    progress: ProgressCallback | None = None,
    made_for: str | None = None,
    made_from: str | None = None,
    embedding_batch: int | None = None,
) -> IndexReport:
    """Index passages unchanged, with their ids.

    source: the name of the document that these passages are stored under. Passages that the collection already has
    under this name and that are not among `passages` are removed. made_for, made_from, embedding_batch: as in
    `index_documents`. A passage whose text the embeddings refuse is left out, and the report's notes say so.
    """
    check_collection_name(collection)
    report, opened_store = IndexReport(), open_store(store)
    with count_embeddings(report), opened_store.hold_writer_lock():
        embedding_name = get_embedding_name(embeddings)
        embedder = get_indexing_embedder(embeddings, embedding_name, opened_store.folder, embedding_batch)
        with closing(
            Ledger(opened_store, collection, embedding_name, lambda: embedder, made_for=made_for, made_from=made_from)
        ) as ledger:
            counter = ProgressCounter(progress, len(passages))
            count_change(report, ledger.replace(source, counter.report_each_passage(passages, source), report.skipped))
            report.passages = ledger.finish()
            report.notes += ledger.refused
    return report


@dataclass(frozen=True)
class IndexOptions:
    """How documents are indexed.

    sample_hash: for the sample collection, a hash of its files that is stored with it; None for any other collection.
    base: a folder above the files, from which the passages' metadata name them; by default the given folder. The other
    fields are the parameters of `index_documents`.
    """

    words: int = 100
    prune: bool = False
    engine: str = "local"
    choice: FileChoice = field(default_factory=FileChoice)
    sample_hash: str | None = None
    made_for: str | None = None
    made_from: str | None = None
    time_limit: float = TIME_LIMIT
    embedding_batch: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    add_context: str | None = None
    base: Path | None = None


def add_documents(
    paths: Iterable[str | Path],
    collection: str,
    store: str,
    embeddings: str | Embeddings,
    options: IndexOptions,
    progress: ProgressCallback | None = None,
    watch: WatchCallback | None = None,
) -> IndexReport:
    """Index files as `index_documents` does, into any collection, also the sample."""
    check_engine(options.engine)
    check_words(options.words)
    check_added_context(options.add_context)
    report, opened_store, roots = IndexReport(), open_store(store), resolve_roots(paths)
    with count_embeddings(report), opened_store.hold_writer_lock():
        # An empty hash marks the collection as the sample collection while its indexing is not finished.
        sample_hash_until_finished = None if options.sample_hash is None else ""
        embedding_name = get_embedding_name(embeddings)
        embedder = get_indexing_embedder(embeddings, embedding_name, opened_store.folder, options.embedding_batch)
        made_for, made_from = options.made_for, options.made_from
        with closing(
            Ledger(
                opened_store,
                collection,
                embedding_name,
                lambda: embedder,
                sample_hash_until_finished,
                made_for,
                made_from,
                options.add_context,
            )
        ) as ledger:
            existing_roots, mistaken_roots = check_roots(roots, ledger, options.prune)
            name_roots = existing_roots if options.base is None else [options.base]
            files = choose_files(existing_roots, opened_store.folder, options.choice)
            report.skipped, report.notes = [*mistaken_roots, *files.skipped], files.notes
            report.ignored = files.ignored_count
            if ledger.has_older_format:
                report.notes.append(
                    (
                        collection,
                        "made by an older version; the passages of files that are read better now are replaced",
                    )
                )
            sizes = {path: read_size(path) for path in files.files}
            step_counts = {path: count_progress_steps(path) for path in files.files}
            counter = ProgressCounter(progress, sum(step_counts.values()), watch, list(sizes.values()))
            # The files of the sample make no parser hang, so they need no guarded reader.
            reader = get_shared_reader(options.time_limit) if options.sample_hash is None else None
            passages_by_file = read_files(options, files.files, report, counter, ledger, embeddings, reader)
            with closing(passages_by_file):
                for path, passages in passages_by_file:
                    complete_passages = add_file_metadata(passages, path, name_roots, options.metadata)
                    line_count = step_counts[path] if is_passage_file(path) else None
                    counted_passages = counter.count_file(complete_passages, path, sizes[path], line_count)
                    try:
                        file_hash = hash_path(path) if options.sample_hash is None else None
                        change = ledger.replace(str(path), counted_passages, report.skipped, file_hash)
                        count_change(report, change)
                    except Unreadable as reason:
                        report.skipped.append((str(path), str(reason)))
                    except UnicodeEncodeError:
                        report.skipped.append((escape_name(str(path)), "its name is not UTF-8; rename it"))
                    counter.finish_file(path, sizes[path])
                    if not is_passage_file(path):
                        counter.count_step(path)
            present_paths = [*map(str, files.files), *(path for path, _ in report.skipped)]
            missing_sources = find_missing(ledger, roots, present_paths)
            if options.prune:
                for source in missing_sources:
                    ledger.remove_document(source)
                report.removed = len(missing_sources)
            else:
                report.notes += [(source, GONE) for source in missing_sources if not os.path.lexists(source)]
            report.passages = ledger.finish(options.sample_hash)
            report.skipped += ledger.refused
            report.copies = ledger.copy_count
    return report


def check_words(words: int) -> None:
    """Raise `SetupError` for too few words of a passage."""
    if words < 5:
        raise SetupError(f"words={words} is too few for a passage; give 5 or more (100 is usual).")


def check_roots(roots: Sequence[Path], ledger: Ledger, prune: bool) -> tuple[list[Path], list[tuple[str, str]]]:
    """(the given paths that can be indexed, (path, reason) of each other one).

    Raises `SetupError` if that leaves nothing to do. With `prune`, a missing path is no mistake if the collection has
    documents below it, which are then removed.
    """
    good_roots: list[Path] = []
    mistakes: list[tuple[str, str]] = []
    missing_roots = [root for root in roots if not root.exists()]
    known_roots = [root for root in missing_roots if any(is_below(source, [root]) for source in ledger.sources)]
    for root in roots:
        if root not in missing_roots:
            reason = "" if root.is_dir() else explain_irregular_path(root)
            if reason:
                mistakes.append((str(root), reason))
            else:
                good_roots.append(root)
        elif root not in known_roots:
            mistakes.append((str(root), "there is no such file or folder; check the path"))
        elif not prune:
            mistakes.append((str(root), GONE))
    if mistakes and not good_roots and not (prune and known_roots):
        root = Path(mistakes[0][0])
        if root in missing_roots:
            hint = "; --prune removes its passages" if root in known_roots else "; check the path"
            raise SetupError(f"There is no file or folder {escape_name(root)}{hint}.")
        raise SetupError(f"{escape_name(root)} cannot be indexed ({mistakes[0][1]}); give files or folders.")
    return good_roots, mistakes


def read_files(
    options: IndexOptions,
    files: list[Path],
    report: IndexReport,
    counter: "ProgressCounter",
    ledger: Ledger,
    embeddings: str | Embeddings,
    reader: GuardedReader | None,
) -> Generator[tuple[Path, Iterator[Passage]], None, None]:
    """(file, its passages) for each file.

    A file of JSON lines is read while the caller iterates over its passages; other documents are read one file ahead.
    """
    words = options.words
    if options.engine == "ray":
        from quorum.retrievers.index_on_ray import read_on_ray

        yield from read_on_ray(files, words, report, counter, ledger, embeddings, options.embedding_batch)
        return
    documents = [path for path in files if not is_passage_file(path)]
    outline = ledger.has_outline
    with closing(read_ahead(documents, words, reader, outline=outline)) as read_documents:
        for path in files:
            if is_passage_file(path):
                yield path, read_line_passages(path, words, report, counter, outline)
            else:
                yield path, take_passages(next(read_documents)[1], report, counter)


def take_passages(future: "Future[FilePassages]", report: IndexReport, counter: "ProgressCounter") -> Iterator[Passage]:
    """The passages of a document. Waits, when the first is asked for, until the document has been read."""
    passages, notes = future.result()
    report.notes += notes
    counter.expected_passages = len(passages)
    yield from passages


def read_size(path: Path) -> int:
    """The bytes of a file; 0 if it no longer exists."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def count_progress_steps(path: Path) -> int:
    """How many steps of the progress a file takes: one for each line if it holds JSON lines, else one."""
    return count_lines(path) if is_passage_file(path) else 1


def find_missing(ledger: Ledger, roots: list[Path], present_paths: list[str]) -> list[str]:
    """The documents below the roots that are not among the present paths.

    present_paths: the files that were indexed, and the files and folders that were skipped.
    """
    present_sources = set(present_paths)
    # If a present path is a folder, it was skipped: what it holds is unknown, so its documents stay.
    skipped_folders = [Path(path) for path in present_paths if Path(path).is_dir()]
    return [
        source
        for source in ledger.sources
        if source not in present_sources and is_below(source, roots) and not is_below(source, skipped_folders)
    ]


def read_line_passages(
    path: Path, words: int, report: IndexReport, counter: "ProgressCounter", outline: bool
) -> Iterator[Passage]:
    """The passages of a file of JSON lines. Lines that are far too long are split. outline: as in `split_passage`."""
    for number, passage_or_reason in read_passage_lines(path):
        if isinstance(passage_or_reason, str):  # the reason why the line is skipped
            report.skipped.append((f"{path}, line {number}", passage_or_reason))
        else:
            yield from split_passage(passage_or_reason, words, outline=outline)
        counter.count_step(path)


def count_change(report: IndexReport, change: Change) -> None:
    """Count a document in the field of the report that its change names; "empty" is not counted."""
    if change != "empty":
        setattr(report, change, getattr(report, change) + 1)
