"""A corpus on disk: what its content is, and whether it is made of documents or of passages."""

import hashlib
import json
from pathlib import Path
from typing import Any

from quorum.evaluation.run.dataset import hash_file

POOL_SOURCE = "pool"  # the word for the passages of all questions, in place of a path
GIVEN_SOURCE = "given"  # the word for each question's own passages


def hash_corpus(corpus: Path) -> str:
    """The sha256 of a file's bytes; for a folder, a short hash of the names and contents of all its files."""
    if corpus.is_file():
        return hash_file(corpus)
    from quorum.documents.find_files import find_files, resolve_path

    root = resolve_path(corpus)
    files, _ = find_files([root])
    return compute_short_hash(
        [(str(path.relative_to(root)), hash_file(path)) for path in files if path.is_relative_to(root)]
    )


def is_split_corpus(path: Path) -> bool:
    """Whether a corpus is made of documents, which are split into passages, and not of passages, which stay whole."""
    from quorum.documents.read import has_reader

    return path.is_dir() or (has_reader(path) and path.suffix.lower() != ".json")


def compute_short_hash(value: Any) -> str:
    """12 hex digits that are the same for values with the same JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
