"""The report of an indexing run, and its progress."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from quorum.core.state import Passage
from quorum.models.embedding_counts import EmbeddingCounts
from quorum.models.embedding_requests import pay_for_embeddings

ProgressCallback = Callable[[int, int, str], None]  # called with (steps done, all steps, path); see ProgressCounter


@dataclass
class IndexReport:
    """The numbers of an indexing run. A file of JSON lines counts as one file."""

    added: int = 0
    """Files that are new in the collection."""
    unchanged: int = 0
    """Files whose passages the collection had already."""
    replaced: int = 0
    """Files whose passages differ from those of the last run."""
    removed: int = 0
    """Files that were removed because they no longer exist (`prune`)."""
    passages: int = 0
    """How many passages the collection now has."""
    copies: int = 0
    """How many passages are not stored because another file has the same passage, or nearly the same."""
    ignored: int = 0
    """How many files and folders .gitignore leaves out."""
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """Pairs (what was not read, reason); the first part names a file or a line of a file."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Pairs (name, remark), where the name is that of a file or of the collection; the remark is, for example, that an
    encoding was assumed.
    """
    embeddings: dict[str, dict[str, int]] = field(default_factory=dict)
    """For the embeddings of a server, by name, the `requests` that were made and their `tokens`; cached vectors take
    none.
    """


@contextmanager
def count_embeddings(report: IndexReport) -> Iterator[None]:
    """Put the requests for embeddings that the block makes into the report."""
    counts = EmbeddingCounts()
    try:
        with pay_for_embeddings(counts):
            yield
    finally:
        report.embeddings = counts.usage


@dataclass(frozen=True)
class IndexProgress:
    """The progress of indexing."""

    passages: int
    """How many passages are stored or were found unchanged."""
    files: int
    """How many files are done."""
    all_files: int
    """How many files there are."""
    share: float
    """The share of all bytes that is done, from 0 to 1."""
    path: str
    """The file that is being read."""


WatchCallback = Callable[[IndexProgress], None]


class ProgressCounter:
    """Reports indexing progress to two callbacks: `progress` gets the number of steps, `watch` an `IndexProgress`.

    A step is a file, a line of a file of JSON lines, or a passage that comes from no file. total: the number of all
    steps; sizes: the bytes of each file.
    """

    def __init__(
        self,
        progress: ProgressCallback | None,
        total: int,
        watch: WatchCallback | None = None,
        sizes: Sequence[int] = (),
    ) -> None:
        self.progress, self.total, self.done = progress, total, 0
        self.watch, self.all_bytes, self.files, self.all_files = watch, sum(sizes) or 1, 0, len(sizes)
        self.passages, self.bytes_done = 0, 0
        self.expected_passages: int | None = None  # passages of the file that is being read, if their number is known

    def count_step(self, path: str | Path) -> None:
        """Count one more step as done, and tell `progress`."""
        self.done = min(self.done + 1, self.total)
        if self.progress:
            self.progress(self.done, self.total, str(path))

    def report_each_passage(self, passages: Iterable[Passage], path: str) -> Iterator[Passage]:
        """Yield the passages, and tell `progress` after each. For passages that come from no file."""
        for passage in passages:
            yield passage
            self.count_step(path)

    def count_file(
        self, passages: Iterable[Passage], path: Path, size: int, expected_passages: int | None
    ) -> Iterator[Passage]:
        """Yield the passages of a file of `size` bytes and count them. expected_passages: about how many, if known."""
        self.expected_passages = expected_passages  # index.take_passages replaces it when a document has been read
        for number, passage in enumerate(passages, start=1):
            self.passages += 1
            self.report(path, size * min(1.0, number / self.expected_passages) if self.expected_passages else 0)
            yield passage

    def finish_file(self, path: Path, size: int) -> None:
        """Count a file of `size` bytes as done, and tell `watch`."""
        self.files += 1
        self.bytes_done += size
        self.report(path, 0)

    def report(self, path: Path, bytes_read: float) -> None:
        """Tell `watch` the progress.

        bytes_read: about how many bytes of the file `path` have been read; 0 if that is unknown, or if `bytes_done`
        includes the file already.
        """
        if self.watch:
            share = min(1.0, (self.bytes_done + bytes_read) / self.all_bytes)
            self.watch(IndexProgress(self.passages, self.files, self.all_files, share, str(path)))
