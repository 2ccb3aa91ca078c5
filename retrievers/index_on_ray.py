"""Indexes files on Ray: workers read, split and embed; this process decides what is new and writes (docs/scale.md)."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray

from quorum.cluster.ray_cluster import connect_cluster, count_cores
from quorum.cluster.ray_workers import WorkerPool, limit_to_one_core, map_items
from quorum.core.state import Passage
from quorum.documents.document import Unreadable
from quorum.documents.pieces import hash_passage, read_file_passages, split_passage
from quorum.documents.read import is_passage_file, read_passage_lines
from quorum.models.embedding_batches import TextsRefused
from quorum.models.embedding_counts import EmbeddingCounts, EmbeddingUsage
from quorum.models.embedding_requests import pay_for_embeddings, tell_finished_requests
from quorum.models.vectors import embed_texts
from quorum.retrievers.embedder import get_embedder
from quorum.retrievers.index_report import IndexReport, ProgressCounter
from quorum.retrievers.ledger import Ledger
from quorum.retrievers.passages import make_indexed_text

LINES_AT_ONCE = 64
Digests = NDArray[np.uint64]
Vector = NDArray[np.float32] | Sequence[float]


@dataclass(frozen=True)
class FilePart:
    """What a worker reads at a time: a document, or some lines of a file of passages.

    lines: for each line its number and either its passage or, as text, the reason why the line is skipped; None for a
    document. stop_reason: why the rest of the file cannot be read; empty if nothing stopped the reading.
    """

    path: Path
    lines: Sequence[tuple[int, Passage | str]] | None = None
    stop_reason: str = ""


@dataclass
class ReadPart:
    """What a worker returns for a `FilePart`.

    passages: (passage, vector); the vector is None if the collection holds the passage already. skipped, notes: as in
    `IndexReport`. line_count: the number of lines that were read; 0 for a document. stop_reason: as in `FilePart`.
    embeddings: the requests for embeddings that were made (see `EmbeddingCounts`).
    """

    path: Path
    passages: list[tuple[Passage, Vector | None]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    line_count: int = 0
    stop_reason: str = ""
    embeddings: EmbeddingUsage = field(default_factory=dict)


def split_files(files: Sequence[Path]) -> Iterator[FilePart]:
    """The files in order, as parts: a document is one part; a file of JSON lines is split into parts of some lines."""
    for path in files:
        if not is_passage_file(path):
            yield FilePart(path)
            continue
        lines: list[tuple[int, Passage | str]] = []
        try:
            for line in read_passage_lines(path):
                lines.append(line)
                if len(lines) == LINES_AT_ONCE:
                    yield FilePart(path, lines)
                    lines = []
            yield FilePart(path, lines)
        except Unreadable as reason:
            yield FilePart(path, lines, str(reason))


class PartReader:
    """Reads, splits and embeds file parts in a worker.

    words: the largest number of words of a passage. digests_reference: a list whose one item is the Ray reference of
    the sorted digests of the collection's passages. folder: the working directory of the process that writes, from
    which relative paths start. batch: the setting embedding_batch. outline: whether passages have a context.
    """

    def __init__(
        self,
        embeddings: str | Embeddings,
        words: int,
        digests_reference: Any,
        folder: str,
        batch: int | None = None,
        outline: bool = False,
    ) -> None:
        import ray

        if os.path.isdir(folder):
            os.chdir(folder)
        with limit_to_one_core():
            self.model = get_embedder(embeddings, batch)
            self.model.embed_query("")  # loads the model now, while only one core is allowed
        self.words, self.outline = words, outline
        self.known_digests: Digests = ray.get(digests_reference[0])

    def __call__(self, part: FilePart) -> ReadPart:
        read_part = ReadPart(part.path, stop_reason=part.stop_reason)
        try:
            is_document = part.lines is None
            found_passages = (
                read_file_passages(part.path, self.words, read_part.notes, outline=self.outline)
                if is_document
                else self.read_lines(part, read_part)
            )
            passages = list(found_passages)
        except Unreadable as reason:
            return replace(read_part, stop_reason=str(reason))
        counts = EmbeddingCounts()
        with pay_for_embeddings(counts):
            vectors = self.compute_vectors([passage for passage in passages if not self.is_known(passage)])
        read_part.embeddings = counts.usage
        read_part.passages = [(passage, vectors.get(make_indexed_text(passage))) for passage in passages]
        return read_part

    def read_lines(self, part: FilePart, read_part: ReadPart) -> Iterator[Passage]:
        """The passages of a part's lines; counts the lines, and records the skipped ones, in `read_part`."""
        for number, passage_or_reason in part.lines or ():
            read_part.line_count += 1
            if isinstance(passage_or_reason, str):
                read_part.skipped.append((f"{part.path}, line {number}", passage_or_reason))
            else:
                yield from split_passage(passage_or_reason, self.words, outline=self.outline)

    def is_known(self, passage: Passage) -> bool:
        digest = digest_passage(passage["id"], hash_passage(passage))
        place = int(np.searchsorted(self.known_digests, digest))
        return place < len(self.known_digests) and bool(self.known_digests[place] == digest)

    def compute_vectors(self, passages: Sequence[Passage]) -> dict[str, Vector]:
        """{a passage's indexed text: its vector}."""
        texts = list(dict.fromkeys(map(make_indexed_text, passages)))
        if not texts:
            return {}
        try:
            vectors = dict(zip(texts, embed_texts(self.model, texts), strict=True))
        except TextsRefused as refusal:  # the process that writes asks for the others again, and leaves them out
            vectors = refusal.vectors
        return {text: np.asarray(vector, dtype=np.float32) for text, vector in vectors.items()}  # as Chroma keeps them


def digest_passage(id_: str, hash_: str) -> np.uint64:
    """A digest of eight bytes for a passage with this id and content hash.

    If a new passage happens to have the digest of a stored one, the workers take it for stored, and the process that
    writes embeds it.
    """
    return np.uint64(int.from_bytes(blake2b(f"{id_}\n{hash_}".encode(), digest_size=8).digest(), "big"))


def read_on_ray(
    files: Sequence[Path],
    words: int,
    report: IndexReport,
    counter: ProgressCounter,
    ledger: Ledger,
    embeddings: str | Embeddings,
    batch: int | None,
) -> Iterator[tuple[Path, Iterator[Passage]]]:
    """(file, its passages), in the files' order. The ledger stores the workers' vectors and need not embed again."""
    import ray

    precomputed_embeddings = ledger.get_model = PrecomputedEmbeddings(ledger.get_model)
    documents = [str(path) for path in files if not is_passage_file(path)]
    # The workers open the documents: check that every machine sees the first one. This process reads the JSON lines.
    with connect_cluster(*documents[:1]):
        digests_reference = ray.put(list_digests(ledger))
        arguments = (embeddings, words, [digests_reference], os.getcwd(), batch, ledger.has_outline)
        pool = WorkerPool(count_cores(), at_once=1, keeps_order=True)
        read_parts: Iterator[ReadPart] = map_items(partial(split_files, files), PartReader, arguments, pool)
        for path, parts in groupby(read_parts, key=lambda read_part: read_part.path):
            yield path, take_passages(parts, ledger, precomputed_embeddings, report, counter)


def take_passages(
    parts: Iterable[ReadPart],
    ledger: Ledger,
    precomputed_embeddings: "PrecomputedEmbeddings",
    report: IndexReport,
    counter: ProgressCounter,
) -> Iterator[Passage]:
    """The passages of one file; puts their vectors into `precomputed_embeddings`.

    Raises `Unreadable` after the last passage if the rest of the file could not be read.
    """
    for read_part in parts:
        tell_finished_requests(read_part.embeddings)
        report.skipped += read_part.skipped
        report.notes += read_part.notes
        for passage, vector in read_part.passages:
            text = make_indexed_text(passage)
            if vector is not None:
                precomputed_embeddings.vectors[text] = vector
            yield passage
            if passage["id"] not in ledger.new_passages:
                precomputed_embeddings.vectors.pop(text, None)  # the passage is stored by now, or needs no vector
        for _ in range(read_part.line_count):
            counter.count_step(read_part.path)
        if read_part.stop_reason:
            raise Unreadable(read_part.stop_reason)


class PrecomputedEmbeddings(Embeddings):
    """Embeddings that return the workers' vectors and embed other texts with the model that `get_model` returns.

    A call returns the object itself, so that the object can replace `Ledger.get_model`.
    """

    def __init__(self, get_model: Callable[[], Embeddings]) -> None:
        self.get_model = get_model
        self.vectors: dict[str, Vector] = {}

    def __call__(self) -> "PrecomputedEmbeddings":
        return self

    @property
    def similarity(self) -> str | None:
        return getattr(self.get_model(), "similarity", None)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        missing = list(dict.fromkeys(text for text in texts if text not in self.vectors))
        if missing:
            self.vectors |= zip(missing, embed_texts(self.get_model(), missing), strict=True)
        vectors = [[float(number) for number in self.vectors[text]] for text in texts]
        for text in texts:
            self.vectors.pop(text, None)
        return vectors

    def embed_query(self, text: str) -> list[float]:
        return self.get_model().embed_query(text)


def list_digests(ledger: Ledger) -> Digests:
    """The sorted digests of the collection's passages. All workers of a machine share one copy of them in memory."""
    return np.sort(
        np.array([digest_passage(id_, entry.hash) for id_, entry in ledger.entries.items()], dtype=np.uint64)
    )
