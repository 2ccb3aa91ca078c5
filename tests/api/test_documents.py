"""`quorum.index` puts documents into a collection, with the settings of a context."""

import asyncio
from pathlib import Path

import pytest

from quorum import Context, SetupError, answer, answer_sync, index

TEXT = "Train tickets are booked by Mira Oduya."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder_path = tmp_path / "handbook"
    folder_path.mkdir()
    (folder_path / "travel.md").write_text(TEXT, encoding="utf-8")
    return folder_path


def test_questions_are_answered_from_indexed_documents(folder: Path) -> None:
    report = index(folder, collection="handbook")
    assert (report.added, report.passages, report.skipped) == (1, 1, [])
    assert index([folder / "travel.md"], collection="handbook").unchanged == 1
    result = answer_sync("Who books train tickets?", context=Context(collection="handbook"))
    assert result["answer"] == "Mira Oduya"


def test_the_context_names_collection_and_store(folder: Path, tmp_path: Path) -> None:
    context = Context(collection="handbook", store=str(tmp_path / "elsewhere"))
    assert index(str(folder), context=context).passages == 1
    assert (tmp_path / "elsewhere").is_dir()
    assert not (tmp_path / ".quorum").exists()
    assert answer_sync("Who books train tickets?", context=context)["answer"] == "Mira Oduya"


def test_prune_removes_deleted_documents(folder: Path) -> None:
    index(folder, collection="handbook")
    (folder / "travel.md").unlink()
    (folder / "kitchen.txt").write_text("The coffee machine is cleaned on Fridays.", encoding="utf-8")
    report = index(folder, collection="handbook", prune=True)
    assert (report.added, report.removed, report.passages) == (1, 1, 1)


async def test_indexing_works_inside_a_running_loop(folder: Path) -> None:
    events: list[tuple[int, int]] = []
    report = index(folder, collection="handbook", progress=lambda done, total, path: events.append((done, total)))
    second_report = await asyncio.to_thread(index, folder, collection="handbook")
    assert (report.added, second_report.unchanged, events) == (1, 1, [(1, 1)])
    assert (await answer("Who books train tickets?", context=Context(collection="handbook")))["answer"] == "Mira Oduya"


def test_invalid_input_is_a_setup_error(folder: Path) -> None:
    with pytest.raises(SetupError, match="no file or folder"):
        index(folder / "missing", collection="handbook")
    with pytest.raises(SetupError, match="No collection is named"):
        index(folder)
    with pytest.raises(SetupError, match="reserved for the sample documents"):
        index(folder, collection="sample")
    with pytest.raises(SetupError, match="words=1"):
        index(folder, collection="handbook", words=1)
