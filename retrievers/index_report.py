"""What indexing did, and how far it is."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quorum.core.state import Passage

Progress = Callable[[int, int, str], None]


@dataclass
class IndexReport:
    """What indexing did, in files; `passages` is the collection's total. A file of JSON lines counts once.

    `skipped` names each file, or line of a file, that was not read, with the reason; `notes` has other remarks on a
    file, such as an assumed encoding. `copies`: passages of the collection's files that are not stored because another
    file says the same; `ignored`: files and folders left out by .gitignore.
    """

    added: int = 0
    unchanged: int = 0
    replaced: int = 0
    removed: int = 0
    passages: int = 0
    copies: int = 0
    ignored: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class IndexProgress:
    """How far indexing is: passages read and stored or found unchanged, files done of all, the share of all bytes that
    is done (0 to 1), and the file that is being read.
    """

    passages: int
    files: int
    all_files: int
    share: float
    path: str


Watch = Callable[[IndexProgress], None]


class Counted:
    """Reports indexing progress to two callbacks: one by files and lines, the other by passages and bytes."""

    def __init__(
        self, progress: Progress | None, total: int, watch: Watch | None = None, sizes: Sequence[int] = ()
    ) -> None:
        self.progress, self.total, self.done = progress, total, 0
        self.watch, self.bytes, self.files, self.all_files = watch, sum(sizes) or 1, 0, len(sizes)
        self.passages, self.bytes_done = 0, 0
        self.units: int | None = None  # passages of the file that is being read, as far as they are known

    def add(self, path: str | Path) -> None:
        self.done = min(self.done + 1, self.total)
        if self.progress:
            self.progress(self.done, self.total, str(path))

    def each(self, passages: Iterable[Passage], path: str) -> Iterator[Passage]:
        for passage in passages:
            yield passage
            self.add(path)

    def file(self, passages: Iterable[Passage], path: Path, size: int, units: int | None) -> Iterator[Passage]:
        """The passages of a file of `size` bytes, counted. units: how many there will be, where that is known."""
        self.units = units
        for number, passage in enumerate(passages, start=1):
            self.passages += 1
            self.tell(path, size * min(1.0, number / self.units) if self.units else 0)
            yield passage

    def end_file(self, path: Path, size: int) -> None:
        self.files += 1
        self.bytes_done += size
        self.tell(path, 0)

    def tell(self, path: Path, inside: float) -> None:
        if self.watch:
            share = min(1.0, (self.bytes_done + inside) / self.bytes)
            self.watch(IndexProgress(self.passages, self.files, self.all_files, share, str(path)))
