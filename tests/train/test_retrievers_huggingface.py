"""Embeddings by bi-encoders from a folder give the vectors that transformers computes, with every option."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from numpy.typing import NDArray

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.models import embeddings, get_embedding_name
from quorum.retrievers import search
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

PASSAGES = [
    Passage(id="rhine", title="rhine", text="the rhine flows through basel."),
    Passage(id="danube", title="danube", text="the danube flows through vienna."),
    Passage(id="tiger", title="", text="a tiger hunts deer in the forest."),
]
QUESTION = "which river flows through vienna ?"


@pytest.fixture(scope="session")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("encoders")
    return {
        "first": tiny_models.write_bert(folder / "first", seed=1),
        "second": tiny_models.write_bert(folder / "second", seed=2),
        "questions": tiny_models.write_dpr(folder / "questions", for_passages=False, seed=3),
        "passages": tiny_models.write_dpr(folder / "passages", for_passages=True, seed=4),
    }


def compute_states(folder: Path, text: str) -> NDArray[np.float32]:
    """The last hidden states, (tokens, dimension), computed by transformers alone."""
    from transformers import AutoModel, AutoTokenizer

    model: Any = AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        output: Any = model(**AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt"))
    array: NDArray[np.float32] = output.last_hidden_state[0].numpy()
    return array


def test_pooling_prefixes_and_length_follow_the_options(encoders: dict[str, Path]) -> None:
    first_encoder, second_encoder = encoders["first"], encoders["second"]
    default_embeddings = embeddings(f"huggingface:{first_encoder}")
    assert default_embeddings.embed_query(QUESTION) == pytest.approx(
        compute_states(first_encoder, QUESTION).mean(0), abs=1e-5
    )
    options = "query=query:&passage=passage%3A&pooling=cls&normalize=true"
    pair = embeddings(f"huggingface:{first_encoder}|{second_encoder}?{options}")
    question_vector, passage_vector = (
        compute_states(first_encoder, f"query: {QUESTION}")[0],
        compute_states(second_encoder, "passage: the rhine")[0],
    )
    assert pair.embed_query(QUESTION) == pytest.approx(question_vector / np.linalg.norm(question_vector), abs=1e-5)
    assert pair.embed_documents(["the rhine"])[0] == pytest.approx(
        passage_vector / np.linalg.norm(passage_vector), abs=1e-5
    )
    # The four tokens are [CLS], "the", "river" and [SEP], so the two texts below become equal.
    short_embeddings = embeddings(f"huggingface:{first_encoder}?length=4")
    assert short_embeddings.embed_query("the river rhine") == pytest.approx(
        short_embeddings.embed_query("the river danube"), abs=1e-5
    )
    assert default_embeddings.embed_documents([]) == []


def test_batches_give_the_same_vectors_as_single_texts(encoders: dict[str, Path]) -> None:
    model = embeddings(f"huggingface:{encoders['first']}")
    texts = ["the rhine", "a tiger hunts deer in the forest.", "vienna", "the danube flows through vienna ."]
    single_vectors = [model.embed_documents([text])[0] for text in texts]
    assert np.array(model.embed_documents(texts)) == pytest.approx(np.array(single_vectors), abs=1e-5)


def test_a_models_own_pooling_and_prefixes_are_used(encoders: dict[str, Path], tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    parts = [Transformer(str(encoders["first"])), Pooling(32, "cls"), Normalize()]
    model_folder = tmp_path / "saved"
    SentenceTransformer(modules=parts, prompts={"query": "query: ", "document": "passage: "}).save_pretrained(
        str(model_folder), create_model_card=False
    )
    vector = compute_states(encoders["first"], f"query: {QUESTION}")[0]
    expected = vector / np.linalg.norm(vector)
    assert embeddings(f"huggingface:{model_folder}").embed_query(QUESTION) == pytest.approx(expected, abs=1e-5)
    with_options = embeddings(f"huggingface:{model_folder}?query=&normalize=false&pooling=mean")
    mean_state = compute_states(encoders["first"], QUESTION).mean(0)
    assert with_options.embed_query(QUESTION) == pytest.approx(mean_state, abs=1e-5)


def test_dpr_models_give_the_same_vectors_as_transformers(encoders: dict[str, Path]) -> None:
    from transformers import AutoTokenizer, DPRContextEncoder, DPRQuestionEncoder

    pair = embeddings(f"huggingface:{encoders['questions']}|{encoders['passages']}?similarity=dot")
    for model_class, name, vector in (
        (DPRQuestionEncoder, "questions", pair.embed_query(QUESTION)),
        (DPRContextEncoder, "passages", pair.embed_documents([QUESTION])[0]),
    ):
        model: Any = model_class.from_pretrained(encoders[name]).eval()
        with torch.inference_mode():
            tokens = AutoTokenizer.from_pretrained(encoders[name])(QUESTION, return_tensors="pt")
            assert vector == pytest.approx(model(**tokens).pooler_output[0].numpy(), abs=1e-5)


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
async def test_search_ranks_by_the_similarity_asked_for(
    encoders: dict[str, Path], tmp_path: Path, similarity: str
) -> None:
    spec = f"huggingface:{encoders['first']}|{encoders['second']}?similarity={similarity}"
    store = str(tmp_path / "store")
    index_passages(PASSAGES, collection="rivers", store=store, embeddings=spec)
    context = Context(retriever="chroma", collection="rivers", store=store, embeddings=spec, k=3)
    passages = await search(QUESTION, context)
    model = embeddings(spec)
    texts = ["\n".join(filter(None, (passage["title"], passage["text"]))) for passage in PASSAGES]
    query_vector, passage_vectors = np.array(model.embed_query(QUESTION)), np.array(model.embed_documents(texts))
    scores = passage_vectors @ query_vector
    if similarity == "cosine":
        scores /= np.linalg.norm(passage_vectors, axis=1) * np.linalg.norm(query_vector)
    assert [passage["id"] for passage in passages] == [PASSAGES[i]["id"] for i in np.argsort(-scores)]
    assert [passage["score"] for passage in passages] == pytest.approx(sorted(scores, reverse=True), abs=1e-4)
    info = open_store(store).fetch_info("rivers")
    assert (info.embedding, info.dimension) == (get_embedding_name(spec), 32) == (spec, 32)
    with pytest.raises(SetupError, match="was made with the embeddings"):
        await search(QUESTION, Context(collection="rivers", store=store))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("a|b|c", "names no encoder, or too many"),
        ("a|", "names no encoder, or too many"),
        ("a?pool=cls", "'pool=cls' is not an option .* OPTION is one of: query, passage, pooling"),
        ("a?pooling=first", "pooling='first' does not fit; choose: mean, cls"),
        ("a?normalize=1", "choose: true, false"),
        ("a?length=two", "length='two' does not fit"),
        ("./none", r"There is no model in '\./none'; give the folder"),
    ],
)
def test_an_unusable_spec_is_refused_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        embeddings(f"huggingface:{spec}")


def test_a_missing_model_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"'no/such-model' cannot be loaded .* give the folder of a downloaded model"):
        embeddings("huggingface:no/such-model").embed_query(QUESTION)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SetupError, match="cannot be loaded"):
        embeddings(f"huggingface:{tmp_path / 'empty'}").embed_query(QUESTION)
