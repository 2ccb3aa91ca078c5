"""The indexes kept on disk beside a collection. An index that was truncated is not used; if an index cannot be written,
search still works.
"""

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.retrievers import bm25_cache, search
from quorum.retrievers.colbert_cache import convert_rows_to_npy, load_index
from quorum.retrievers.index import index_passages

SUBJECTS = ["river", "tiger", "opera"]
CORPUS = [Passage(id=name, title=name.title(), text=f"All about the {name}.") for name in SUBJECTS]
VECTORS = WordVectors(64)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    index_passages(CORPUS, collection="facts", store=tmp_path, embeddings=VECTORS)
    return Context(store=str(tmp_path), collection="facts", embeddings=VECTORS, retriever="bm25", k=3)


@pytest.mark.parametrize("kept_lines", [0, 1, 2])
async def test_a_bm25_index_that_was_truncated_between_lines_is_built_again(
    context: Context, tmp_path: Path, kept_lines: int
) -> None:
    """A loss of power may leave a file that is too short, but can still be read."""
    expected = await search("opera", context)
    (path,) = (tmp_path / "bm25").glob("*/*/passages.jsonl")
    path.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:kept_lines]), "utf-8")
    bm25_cache.LOADED_INDEXES.clear()
    assert await search("opera", context) == expected
    bm25_cache.LOADED_INDEXES.clear()  # so that the next search reads the rebuilt index from the disk
    assert await search("opera", context) == expected


async def test_search_works_if_the_index_cannot_be_stored(
    context: Context, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = await search("opera", context)
    (folder,) = (path for path in (tmp_path / "bm25").glob("*/*") if path.is_dir())
    shutil.rmtree(folder)
    folder.write_text("a file where the index's folder should be")
    bm25_cache.LOADED_INDEXES.clear()
    with caplog.at_level(logging.WARNING, "quorum"):
        assert await search("opera", context) == expected
    assert "cannot be saved" in caplog.text
    assert not list((tmp_path / "bm25").glob("*/new-*"))


def test_a_colbert_index_with_too_few_passages_is_not_loaded(tmp_path: Path) -> None:
    rows = np.arange(12, dtype=np.float16).reshape(4, 3)
    (tmp_path / "rows").write_bytes(rows.tobytes())
    convert_rows_to_npy(tmp_path, 4, 3)
    np.save(tmp_path / "starts.npy", np.array([0, 1, 4]))
    # two passages, for the two ranges of rows that starts.npy describes
    (tmp_path / "passages.jsonl").write_text('{"id": "a"}\n{"id": "b"}', "utf-8")
    whole_index = load_index(tmp_path)
    assert whole_index is not None
    assert np.array_equal(whole_index.vectors, rows)
    (tmp_path / "passages.jsonl").write_text('{"id": "a"}', "utf-8")
    assert load_index(tmp_path) is None
