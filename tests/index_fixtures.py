"""Fixtures for tests of indexing: a folder for documents, a function that indexes it, and a function that lists the
passages of the collection.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.retrievers import collections
from quorum.retrievers.index import index_documents
from quorum.retrievers.index_report import IndexReport

VECTORS = WordVectors()
IndexFunction = Callable[..., IndexReport]


class Counts(NamedTuple):
    """How many files one indexing run added, replaced, left unchanged and removed.

    passages: how many passages the collection has after the run.
    """

    added: int = 0
    replaced: int = 0
    unchanged: int = 0
    removed: int = 0
    passages: int = 0


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """An empty folder, into which tests write documents."""
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def index(docs: Path, tmp_path: Path) -> IndexFunction:
    """A function that indexes the folder `docs`, or the paths that it gets, into the collection "docs".

    The options of the function are those of `index_documents`.
    """

    def index_paths(*paths: Path, **options: object) -> IndexReport:
        settings = {"collection": "docs", "store": tmp_path / "store", "embeddings": VECTORS} | options
        return index_documents(paths or [docs], **settings)  # type: ignore[arg-type]

    return index_paths


@pytest.fixture
def list_collection(tmp_path: Path) -> Callable[[], list[Passage]]:
    """A function that lists the passages of the collection "docs"."""
    context = Context(store=str(tmp_path / "store"), collection="docs", embeddings=VECTORS)
    return lambda: collections.list_passages(context)


def get_counts(report: IndexReport) -> Counts:
    return Counts(report.added, report.replaced, report.unchanged, report.removed, report.passages)


def make_sentence(number: int) -> str:
    return f"Sentence number {number} tells of ten things and ends here now."
