"""Vector indexes that a crash has truncated are reported in one sentence, and the next indexing rebuilds them."""

import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers.index import index_passages
from quorum.retrievers.index_recovery import is_index_error, keep_write_mark, read_boot_id
from quorum.retrievers.store import OPEN_STORES, Store, open_store
from quorum.retrievers.store_failures import make_damaged_index_error

COLLECTION_NAME = "towers"
# Chroma writes its vector index to disk after 1,000 vectors.
PASSAGES = [Passage(id=f"p{n}", title="Numbers", text=f"Number {n}.") for n in range(1100)]


class NumberEmbeddings(Embeddings):
    """Embeds a text by the number at its end, as a point of a Fibonacci sphere.

    These points are so far from each other that even an approximate index finds each of them. `texts_left`: how many
    more texts it embeds before it fails.
    """

    texts_left = 10_000

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts_left -= len(texts)
        if self.texts_left < 0:
            raise SetupError("The embeddings are gone; start them.")
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        number = float(text.rstrip(".").split()[-1])
        height, angle = 1 - 2 * number / len(PASSAGES), number * math.pi * (3 - math.sqrt(5))
        radius = math.sqrt(1 - height**2)
        return [radius * math.cos(angle), radius * math.sin(angle), height]


def index(folder: Path, model: Embeddings) -> None:
    """Index PASSAGES with these embeddings into the collection of the store in `folder`."""
    index_passages(PASSAGES, collection=COLLECTION_NAME, store=folder, embeddings=model)


def reopen_store(folder: Path) -> Store:
    """Open the store as a new process does: without the client and the cache of this process."""
    store = open_store(folder)
    if store.client is not None:
        store.client.clear_system_cache()
    OPEN_STORES.get().get.cache_clear()
    return open_store(folder)


def truncate_file(folder: Path, file_name: str, byte_count: int = 1000) -> None:
    """Cut the last `byte_count` bytes off a file of the vector index."""
    (path,) = folder.glob(f"chroma/*/{file_name}")
    os.truncate(path, max(0, path.stat().st_size - byte_count))


def remove_file(folder: Path, file_name: str) -> None:
    (path,) = folder.glob(f"chroma/*/{file_name}")
    path.unlink()


def find_nearest(store: Store, number: int) -> list[str]:
    """The ids of the two passages whose numbers' vectors are nearest to that of `number`.

    The search asks for 100 passages, because the index is approximate: a search for only two can miss the nearest.
    """
    vector = NumberEmbeddings().embed_query(str(number))
    return [passage["id"] for passage in store.query(COLLECTION_NAME, vector, 100)][:2]


def finds_all_parts(store: Store) -> bool:
    """Whether the passages of 16 numbers, spread over all of PASSAGES, are found by their own vectors.

    One of them may be missed: after vectors were stored twice, Chroma's index has lost about 1 in 3,000 vectors, and no
    search finds these.
    """
    numbers = range(0, len(PASSAGES), 70)
    return sum(find_nearest(store, number)[0] == f"p{number}" for number in numbers) >= len(numbers) - 1


@pytest.fixture(scope="module")
def whole_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with the collection. Chroma has written the collection's vector index to disk."""
    folder = tmp_path_factory.mktemp("whole")
    index(folder, NumberEmbeddings())
    reopen_store(folder)
    return folder


@pytest.fixture
def store_folder(whole_store: Path, tmp_path: Path) -> Path:
    """The folder of a copy of the whole store, which a test may damage."""
    return shutil.copytree(whole_store, tmp_path / "store")


@pytest.mark.parametrize("byte_count", [1, 1000, 100_000])
@pytest.mark.parametrize(
    "file_name", ["index_metadata.pickle", "data_level0.bin", "length.bin", "header.bin", "link_lists.bin"]
)
def test_a_file_truncated_anywhere_is_detected(store_folder: Path, file_name: str, byte_count: int) -> None:
    assert not reopen_store(store_folder).has_damaged_vectors(COLLECTION_NAME)
    truncate_file(store_folder, file_name, byte_count)
    assert reopen_store(store_folder).has_damaged_vectors(COLLECTION_NAME)


@pytest.mark.parametrize(
    ("damage", "file_name"),
    [
        (truncate_file, "index_metadata.pickle"),
        (remove_file, "data_level0.bin"),
    ],
)
def test_a_damaged_index_is_rebuilt(
    store_folder: Path, damage: Callable[[Path, str], None], file_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    info = reopen_store(store_folder).fetch_info(COLLECTION_NAME)
    damage(store_folder, file_name)
    damaged_store = reopen_store(store_folder)
    with pytest.raises(SetupError, match=r"is damaged \(.*\); index any document into the collection with"):
        damaged_store.query(COLLECTION_NAME, [1.0, 0.0, 0.0], 2)
    model = NumberEmbeddings()
    index(store_folder, model)
    assert model.texts_left == 10_000 - len(PASSAGES)
    assert [record.getMessage() for record in caplog.records] == [
        f"The vector index of {COLLECTION_NAME!r} was damaged by a crash; its 1100 passages are embedded again."
    ]
    rebuilt_store = reopen_store(store_folder)
    assert (
        rebuilt_store.count_passages(COLLECTION_NAME),
        rebuilt_store.fetch_info(COLLECTION_NAME).is_rebuilding_vectors,
        rebuilt_store.fetch_info(COLLECTION_NAME).is_being_changed,
    ) == (
        len(PASSAGES),
        None,
        False,
    )
    assert rebuilt_store.fetch_info(COLLECTION_NAME).embedding == info.embedding
    assert finds_all_parts(rebuilt_store)
    unused_model = NumberEmbeddings()
    index(store_folder, unused_model)
    assert unused_model.texts_left == 10_000


def test_an_interrupted_rebuild_of_vectors_starts_again(store_folder: Path) -> None:
    truncate_file(store_folder, "index_metadata.pickle")
    failing_model = NumberEmbeddings()
    failing_model.texts_left = 500
    with pytest.raises(SetupError, match="The embeddings are gone"):
        index(store_folder, failing_model)
    half_rebuilt_store = reopen_store(store_folder)
    with pytest.raises(SetupError, match="being computed again; wait until that is done, or index"):
        find_nearest(half_rebuilt_store, 3)
    index(store_folder, NumberEmbeddings())
    assert finds_all_parts(reopen_store(store_folder))


def find_mark_and_file(store_folder: Path) -> tuple[Path, Path]:
    """The path of the mark file that an unfinished write would leave, and the path of a file of the vector index."""
    (links,) = store_folder.glob("chroma/*/link_lists.bin")
    mark = store_folder / f"writing-{open_store(store_folder).get_client().get_collection(COLLECTION_NAME).id}"
    return mark, links


def test_an_unfinished_write_is_detected(store_folder: Path) -> None:
    """Files that look complete count as damaged if there is a mark and one of two things is true: a file is younger
    than the mark, or the machine has restarted since the mark was set.
    """
    reopen_store(store_folder)
    mark, links = find_mark_and_file(store_folder)
    # As if the process was killed before Chroma wrote its vectors: no file is younger than the mark.
    mark.write_text(read_boot_id(), "utf-8")
    assert not reopen_store(store_folder).has_damaged_vectors(COLLECTION_NAME)
    assert not mark.exists()
    # A search checks the mark, too, and removes it if the index is complete.
    mark.write_text(read_boot_id(), "utf-8")
    assert finds_all_parts(reopen_store(store_folder))
    assert not mark.exists()
    # As if the process was killed while Chroma wrote its vectors: a file is younger than the mark.
    mark.write_text(read_boot_id(), "utf-8")
    links.touch()
    with pytest.raises(
        SetupError,
        match=rf"is damaged \(the index of the collection '{COLLECTION_NAME}': its last write did not finish\)",
    ):
        reopen_store(store_folder).query(COLLECTION_NAME, [1.0, 0.0, 0.0], 2)
    assert reopen_store(store_folder).has_damaged_vectors(COLLECTION_NAME)
    index(store_folder, NumberEmbeddings())
    assert not mark.exists()
    assert finds_all_parts(reopen_store(store_folder))
    # As if the machine has restarted since the mark was set: no file is younger, but the mark has another boot id.
    mark.write_text("another start of the machine", "utf-8")
    assert reopen_store(store_folder).has_damaged_vectors(COLLECTION_NAME)


def test_only_a_failed_write_leaves_its_mark(store_folder: Path) -> None:
    reopen_store(store_folder)
    mark, _ = find_mark_and_file(store_folder)
    collection = open_store(store_folder).get_client().get_collection(COLLECTION_NAME)
    with pytest.raises(OSError, match="full"), keep_write_mark(collection, store_folder / "chroma"):
        raise OSError("The disk is full.")
    assert mark.exists()
    with keep_write_mark(collection, store_folder / "chroma"):
        assert mark.read_text("utf-8") == read_boot_id()
    assert not mark.exists()


@pytest.mark.parametrize("name", ["a#b", "a?b", "a%41b", "ä b"])
def test_the_folder_of_a_store_can_have_any_name(tmp_path: Path, name: str) -> None:
    passages = PASSAGES[:3]
    index_passages(passages, collection=COLLECTION_NAME, store=tmp_path / name, embeddings=NumberEmbeddings())
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert find_nearest(reopen_store(tmp_path / name), 2)[0] == "p2"


def test_a_damaged_index_on_a_server_must_be_restored_there() -> None:
    assert "restore them there" in str(make_damaged_index_error("http://localhost:8000", "cut"))


@pytest.mark.parametrize(
    ("error_text", "is_damage"),
    [
        ("Error creating hnsw segment reader: Error deserializing pickle file: eval error at offset 819", True),
        ("Error creating hnsw segment reader: Too many open files (os error 24)", False),
        ("database disk image is malformed", False),
    ],
)
def test_only_the_error_of_an_unreadable_index_counts_as_damage(error_text: str, is_damage: bool) -> None:
    assert is_index_error(RuntimeError(error_text)) is is_damage


def test_a_collection_that_was_deleted_and_made_again_is_checked_again(store_folder: Path) -> None:
    first_store = reopen_store(store_folder)
    assert finds_all_parts(first_store)
    first_store.delete(COLLECTION_NAME)
    for leftover_index in store_folder.glob("chroma/*/"):  # Chroma leaves the files of the deleted index in the store
        shutil.rmtree(leftover_index)
    OPEN_STORES.get().get.cache_clear()  # as if another process made the collection again and crashed
    index(store_folder, NumberEmbeddings())
    truncate_file(store_folder, "data_level0.bin")
    with pytest.raises(SetupError, match="is damaged"):
        find_nearest(first_store, 7)
