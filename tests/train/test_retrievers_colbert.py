"""Late interaction over a collection: MaxSim follows its definition, the index is kept on disk, and only the vectors of
new passages are computed.
"""

import threading
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.models.token_embeddings import TokenEncoder, get_token_encoder
from quorum.retrievers import search
from quorum.retrievers.colbert import TokenIndex
from quorum.retrievers.colbert_cache import FORMAT_VERSION, LOADED_INDEXES, load_token_index
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import Store, open_store

PASSAGES = [
    Passage(id="rhine", title="rhine", text="the rhine flows through basel."),
    Passage(id="danube", title="danube", text="the danube flows through vienna."),
    Passage(id="tiger", title="", text="a tiger hunts deer in the forest."),
]
QUESTION = "which river flows through vienna ?"


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.write_colbert(tmp_path_factory.mktemp("late") / "model")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    LOADED_INDEXES.clear()
    index_rivers(tmp_path / "store", PASSAGES)
    return open_store(tmp_path / "store")


def index_rivers(store_folder: Path, passages: list[Passage]) -> None:
    """Make these passages the content of the collection `rivers`."""
    index_passages(passages, collection="rivers", store=store_folder, embeddings=WordVectors())


class RecordingEncoder(TokenEncoder):
    """Records the passages that it encodes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.encoded_texts: list[str] = []

    def encode_passages(self, texts: list[str]) -> list[np.ndarray]:  # type: ignore[type-arg]
        self.encoded_texts += texts
        return super().encode_passages(texts)


async def test_search_ranks_by_maxsim(store: Store, model: Path) -> None:
    context = Context(retriever=f"colbert:{model}", collection="rivers", store=store.location, k=2)
    passages = await search(QUESTION, context)
    encoder = get_token_encoder(str(model))
    texts = ["rhine\nthe rhine flows through basel.", "danube\nthe danube flows through vienna.", PASSAGES[2]["text"]]
    query_vectors = encoder.encode_question(QUESTION)
    scores = [float((query_vectors @ tokens.T).max(axis=1).sum()) for tokens in encoder.encode_passages(texts)]
    order = np.argsort(-np.array(scores))[:2]
    assert [passage["id"] for passage in passages] == [PASSAGES[i]["id"] for i in order]
    assert [passage["score"] for passage in passages] == pytest.approx([scores[i] for i in order], abs=0.02)


@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(st.integers(0, 5), min_size=1, max_size=12), tokens_at_once=st.integers(1, 9), data=st.data())
def test_scores_follow_the_definition_with_any_number_of_tokens_at_once(
    lengths: list[int], tokens_at_once: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    passage_vectors = [rng.normal(size=(length, 4)).astype(np.float16) for length in lengths]
    question = rng.normal(size=(3, 4)).astype(np.float32)
    passages = [Passage(id=str(i), title="", text="") for i in range(len(lengths))]
    starts = np.cumsum([0, *lengths]).astype(np.int64)
    index = TokenIndex(passages, np.concatenate(passage_vectors), starts, tokens_at_once=tokens_at_once)
    scores = index.compute_scores(question)
    for vectors, score in zip(passage_vectors, scores, strict=True):
        if len(vectors):
            assert score == pytest.approx((question @ vectors.astype(np.float32).T).max(axis=1).sum(), abs=1e-4)
        else:
            # a passage without tokens ranks below all passages with tokens
            assert all(score < other_score for other_score, length in zip(scores, lengths, strict=True) if length)


def test_the_index_is_made_once_and_only_new_passages_are_encoded(store: Store, model: Path) -> None:
    encoder = RecordingEncoder(str(model))
    first_index = load_token_index(store, "rivers", encoder)
    assert len(encoder.encoded_texts) == 3
    LOADED_INDEXES.clear()  # from here as in another process, which finds only the index on disk
    assert np.array_equal(load_token_index(store, "rivers", encoder).vectors, first_index.vectors)
    assert len(encoder.encoded_texts) == 3
    index_rivers(store.folder, [*PASSAGES[1:], Passage(id="volga", title="", text="the volga flows through kazan.")])
    new_index = load_token_index(store, "rivers", encoder)
    assert encoder.encoded_texts[3:] == ["the volga flows through kazan."]
    assert {passage["id"] for passage in new_index.passages} == {"danube", "tiger", "volga"}
    (folder,) = (store.folder / "colbert").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["lock", f"{store.fetch_info('rivers').revision}.{FORMAT_VERSION}"]
    )


def test_files_left_by_a_killed_process_are_not_read(store: Store, model: Path) -> None:
    encoder = RecordingEncoder(str(model))
    expected = load_token_index(store, "rivers", encoder).find_best(QUESTION, 3, encoder)
    (folder,) = (store.folder / "colbert").glob("rivers-*")
    (folder / "new-left").mkdir()
    vectors = folder / f"{store.fetch_info('rivers').revision}.{FORMAT_VERSION}" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-40])  # an incomplete file
    LOADED_INDEXES.clear()
    assert load_token_index(store, "rivers", encoder).find_best(QUESTION, 3, encoder) == expected
    assert not (folder / "new-left").exists()


def test_threads_share_one_built_index(store: Store, model: Path) -> None:
    encoder = RecordingEncoder(str(model))
    threads = [threading.Thread(target=load_token_index, args=(store, "rivers", encoder)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(encoder.encoded_texts) == 3


async def test_unusable_models_are_refused_in_one_sentence(store: Store, tmp_path: Path) -> None:
    plain_bert = tiny_models.write_bert(tmp_path / "plain")
    for name, message in (
        (str(plain_bert), "was not trained for late interaction; give a ColBERT model"),
        (str(tmp_path / "none"), "There is no model in"),
        ("no/such-model", r"'no/such-model' cannot be loaded \(its config.json was not found"),
        (" ", "There is no retriever"),
    ):
        with pytest.raises(SetupError, match=message):
            await search(QUESTION, Context(retriever=f"colbert:{name}", collection="rivers", store=store.location))
    assert not list((store.folder / "colbert").glob("*/new-*"))
