"""Indexing: files -> passages in a collection. Running it again changes only what changed."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.files import shown_name
from quorum.core.ray_cluster import check_engine
from quorum.core.state import Passage
from quorum.documents.document import Unreadable
from quorum.documents.find_files import Choice, choose_files, lies_in, roots_of
from quorum.documents.pieces import pieces_of, pieces_of_passage
from quorum.documents.read import count_lines, is_lines, read_lines
from quorum.models import embedding_name
from quorum.retrievers.collection_names import SAMPLE, check_name
from quorum.retrievers.embedder import embedder
from quorum.retrievers.index_report import Counted, IndexReport, Progress, Watch
from quorum.retrievers.ledger import Change, Ledger
from quorum.retrievers.store import DEFAULT_FOLDER, open_store


def index_documents(
    paths: Iterable[str | Path],
    *,
    collection: str,
    store: str | Path = DEFAULT_FOLDER,
    embeddings: str | Embeddings = "embedded",
    words: int = 100,
    prune: bool = False,
    engine: str = "local",
    progress: Progress | None = None,
    watch: Watch | None = None,
    choice: Choice | None = None,
    made_for: str | None = None,
) -> IndexReport:
    """Put the passages of files and folders into a collection, which is made if it is new. Blocks.

    Documents of the types in `quorum.documents.readers` are split into passages of at most `words` words (see
    `quorum.documents.pieces`), named by a hash of what they say. In jsonl and jsonl.gz every line {"id", "title",
    "text"} is a passage and keeps its id; only a line of more than 3 x `words` words is split, into passages named
    id#1, id#2, ... A passage that several documents hold, also where it is written a little differently, is stored once
    with all its places and goes when the last of them does (see `quorum.documents.duplicates`). Of two texts with one
    id the first stays.

    `choice` says which files of a folder are read. `prune` removes documents that lay under the given paths and are
    gone. `progress(done, total, path)` counts files and lines, `watch` passages and bytes. A file that cannot be read
    is skipped, and what was indexed of it before stays. Killed and started again, this ends with the same collection.
    engine: "ray" reads and embeds in many processes, and ends with the same collection, too (docs/scale.md). made_for:
    what makes the collection for its own use, such as a comparison. A path that does not exist, a collection made with
    other embeddings and a bad name are a `SetupError`.
    """
    if check_name(collection) == SAMPLE:
        raise SetupError(f"The collection {SAMPLE!r} is kept for the sample; give another name with --collection.")
    options = Options(words, prune, engine, choice or Choice(), made_for=made_for)
    return add_documents(paths, collection, str(store), embeddings, options, progress, watch)


def index_passages(
    passages: Sequence[Passage],
    *,
    collection: str,
    store: str | Path = DEFAULT_FOLDER,
    embeddings: str | Embeddings = "embedded",
    source: str = "passages",
    progress: Progress | None = None,
    made_for: str | None = None,
) -> IndexReport:
    """Put passages unchanged, with their ids, into a collection; passages that `source` no longer has are removed."""
    check_name(collection)
    report, where = IndexReport(), open_store(store)
    with where.writer():
        model = embedding_name(embeddings)
        ledger = Ledger(where, collection, model, lambda: embedder(embeddings), made_for=made_for)
        done = Counted(progress, len(passages))
        count_change(report, ledger.replace(source, done.each(passages, source), report.skipped))
        report.passages = ledger.finish()
    return report


@dataclass(frozen=True)
class Options:
    """How documents are indexed. `sample` is stored with the collection at the end."""

    words: int = 100
    prune: bool = False
    engine: str = "local"
    choice: Choice = field(default_factory=Choice)
    sample: str | None = None
    made_for: str | None = None


def add_documents(
    paths: Iterable[str | Path],
    collection: str,
    store: str,
    embeddings: str | Embeddings,
    options: Options,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> IndexReport:
    """`index_documents` for any collection."""
    check_engine(options.engine)
    if options.words < 5:
        raise SetupError(f"words={options.words} is too few for a passage; give 5 or more (100 is usual).")
    report, where, roots = IndexReport(), open_store(store), roots_of(paths)
    with where.writer():
        mark = None if options.sample is None else ""
        model = embedding_name(embeddings)
        ledger = Ledger(where, collection, model, lambda: embedder(embeddings), mark, options.made_for)
        present = roots_there(roots, ledger, options.prune)
        found = choose_files(present, where.folder, options.choice)
        report.skipped, report.notes, report.ignored = found.skipped, found.notes, found.ignored
        if ledger.is_older:
            report.notes.append((collection, "made by an older version: files that are read better now are replaced"))
        sizes = {path: size_of(path) for path in found.files}
        lengths = {path: length_of(path) for path in found.files}
        done = Counted(progress, sum(lengths.values()), watch, list(sizes.values()))
        with closing(read_by(options.engine, found.files, options.words, report, done, ledger, embeddings)) as read:
            for path, pieces in read:
                counted = done.file(pieces, path, sizes[path], lengths[path] if is_lines(path) else None)
                try:
                    count_change(report, ledger.replace(str(path), counted, report.skipped))
                except Unreadable as reason:
                    report.skipped.append((str(path), str(reason)))
                done.end_file(path, sizes[path])
                if not is_lines(path):
                    done.add(path)
        if options.prune:
            here = [*map(str, found.files), *(path for path, _ in report.skipped)]
            report.removed = prune_gone(ledger, roots, here)
        report.passages = ledger.finish(options.sample)
        report.copies = ledger.copied
    return report


def roots_there(roots: Sequence[Path], ledger: Ledger, prune: bool) -> list[Path]:
    """The given paths that exist. One that does not is a `SetupError`, unless its documents are to be removed."""
    gone = [root for root in roots if not root.exists()]
    lost = [root for root in gone if not (prune and any(lies_in(source, [root]) for source in ledger.sources))]
    if lost:
        raise SetupError(f"There is no file or folder {shown_name(lost[0])}; check the path.")
    return [root for root in roots if root not in gone]


def read_by(
    engine: str,
    files: list[Path],
    words: int,
    report: IndexReport,
    done: "Counted",
    ledger: Ledger,
    embeddings: str | Embeddings,
) -> Generator[tuple[Path, Iterator[Passage]], None, None]:
    """Each file with its passages; these are read lazily."""
    if engine == "ray":
        from quorum.retrievers.index_on_ray import read_on_ray

        yield from read_on_ray(files, words, report, done, ledger, embeddings)
        return
    for path in files:
        yield path, lines_of(path, words, report, done) if is_lines(path) else document_of(path, words, report, done)


def document_of(path: Path, words: int, report: IndexReport, done: "Counted") -> Iterator[Passage]:
    """The passages of a document, read when the first is taken."""
    pieces = list(pieces_of(path, words, report.notes))
    done.units = len(pieces)
    yield from pieces


def size_of(path: Path) -> int:
    """Bytes of a file; 0 for one that is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def length_of(path: Path) -> int:
    """A file's weight in the progress: 1, or its number of lines."""
    return count_lines(path) if is_lines(path) else 1


def prune_gone(ledger: Ledger, roots: list[Path], here: list[str]) -> int:
    """Remove the documents that lay under the roots and are gone; returns their number."""
    kept = set(here)
    folders = [Path(path) for path in here if Path(path).is_dir()]  # that could not be read
    gone = [
        source
        for source in ledger.sources
        if source not in kept and lies_in(source, roots) and not lies_in(source, folders)
    ]
    for source in gone:
        ledger.remove(source)
    return len(gone)


def lines_of(path: Path, words: int, report: IndexReport, done: "Counted") -> Iterator[Passage]:
    """The passages of a file of JSON lines; those far too long in parts."""
    for number, found in read_lines(path):
        if isinstance(found, str):
            report.skipped.append((f"{path}, line {number}", found))
        else:
            yield from pieces_of_passage(found, words)
        done.add(path)


def count_change(report: IndexReport, change: Change) -> None:
    if change != "empty":
        setattr(report, change, getattr(report, change) + 1)
