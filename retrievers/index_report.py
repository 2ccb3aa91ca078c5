"""What indexing did, and how far it is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from quorum.core.state import Passage

Progress = Callable[[int, int, str], None]


@dataclass
class IndexReport:
    """What indexing did, in files; `passages` is the collection's total. A file of JSON lines counts once.

    `skipped` names each file, or line of a file, that was not read, with the reason.
    """

    added: int = 0
    unchanged: int = 0
    replaced: int = 0
    removed: int = 0
    passages: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)


class Counted:
    """Tells a callback how far indexing is."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def add(self, path: str | Path) -> None:
        self.done = min(self.done + 1, self.total)
        if self.progress:
            self.progress(self.done, self.total, str(path))

    def each(self, passages: Iterable[Passage], path: str) -> Iterator[Passage]:
        for passage in passages:
            yield passage
            self.add(path)
