"""An encoder or a retriever whose packages are missing, and a setting that names no usable encoder or retriever: each
is reported in one sentence.
"""

from importlib.util import find_spec

import pytest
from retriever_names import LISTED_RETRIEVERS

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.models import embeddings, get_embedding_name
from quorum.models.rerankers import check_reranker
from quorum.retrievers import search

without_extras = pytest.mark.skipif(
    find_spec("sentence_transformers") is not None, reason="the packages of the extras are installed here"
)


@without_extras
def test_hugging_face_embeddings_name_the_extra_to_install() -> None:
    with pytest.raises(SetupError, match=r"'huggingface:BAAI/bge-small-en-v1.5' needs .* 'quorum-rag\[huggingface\]'"):
        embeddings("huggingface:BAAI/bge-small-en-v1.5")


@without_extras
@pytest.mark.usefixtures("sample_vectors")
async def test_colbert_names_the_extra_to_install() -> None:
    with pytest.raises(SetupError, match=r"'colbert:colbert-ir/colbertv2.0' needs .* 'quorum-rag\[colbert\]'"):
        await search("Who?", Context(retriever="colbert:colbert-ir/colbertv2.0"))


@without_extras
async def test_a_cross_encoder_names_the_extra_to_install() -> None:
    with pytest.raises(SetupError, match=r"cross_encoder:a/b needs .* 'quorum-rag\[huggingface\]'"):
        await check_reranker(Context(reranker="cross_encoder:a/b"))


def test_a_wrong_name_of_an_encoder_is_reported_even_where_the_packages_are_missing() -> None:
    with pytest.raises(SetupError, match="names no encoder, or too many; write huggingface:MODEL"):
        embeddings("huggingface:a|b|c")
    with pytest.raises(SetupError, match="'pool=cls' is not an option"):
        embeddings("huggingface:a?pool=cls")
    with pytest.raises(SetupError, match=r"'normalize' is not an option .* write OPTION=VALUE"):
        embeddings("huggingface:a?normalize")


def test_the_name_of_an_encoder_is_stripped_and_its_provider_is_lower_case() -> None:
    assert get_embedding_name(" HuggingFace:a|b?similarity=dot ") == "huggingface:a|b?similarity=dot"


@pytest.mark.parametrize("name", ["colbert", "colbert:", "dpr"])
async def test_an_unknown_retriever_or_one_without_its_model_is_refused(name: str) -> None:
    with pytest.raises(SetupError, match=f"choose one of: {LISTED_RETRIEVERS}"):
        await search("Who?", Context(retriever=name))
