"""What Quorum uses of other projects that is not public, in the versions for which it was tried (docs/dependencies.md).

A test that fails here after an upgrade names the file to read against the new version, before it is allowed.
"""

import inspect
import sqlite3
from importlib.metadata import version
from pathlib import Path

from langchain_openai.chat_models.base import BaseChatOpenAI
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from wordvectors import WordVectors

from quorum.core.state import Passage
from quorum.models.openai_chat import OpenAIChat
from quorum.retrievers import index_recovery
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

VECTORS = WordVectors(16)


def advise(package: str, tried: str, file: str) -> str:
    """What to do about a test that fails."""
    return (
        f"{package} {version(package)} is not what {file} was written for ({package} {tried}); read that file against "
        f"{package}'s code before allowing this version."
    )


def test_langchain_openai_calls_the_methods_that_keep_the_reasoning_and_check_replies() -> None:
    advice = advise("langchain-openai", "1.0.0 and 1.7.3", "quorum/models/openai_chat.py")
    source = inspect.getsource(BaseChatOpenAI)
    for name, parameters in {
        "_create_chat_result": ["self", "response", "generation_info"],
        "_convert_chunk_to_generation_chunk": ["self", "chunk", "default_chunk_class", "base_generation_info"],
    }.items():
        assert list(inspect.signature(getattr(BaseChatOpenAI, name)).parameters) == parameters, advice
        assert f"self.{name}(" in source, advice
        assert name in vars(OpenAIChat)
    assert "if not isinstance(chunk, dict):" in source, advice


def test_chroma_keeps_a_collections_vectors_in_the_files_whose_damage_is_detected(tmp_path: Path) -> None:
    passages = [Passage(id=str(number), title="", text=f"otter {number}") for number in range(1200)]
    index_passages(passages, collection="facts", store=tmp_path, embeddings=VECTORS)
    advice = advise("chromadb", "1.5.2 and 1.5.9", "retrievers/index_recovery.py")
    with open_store(tmp_path).open_client() as client:
        id_ = str(client.get_collection("facts", embedding_function=None).id)
    indexes = index_recovery.find_index_folders(tmp_path / "chroma", id_)
    assert len(indexes) == 1, advice
    files = {path.name for path in indexes[0].iterdir()}
    assert {"header.bin", "data_level0.bin", "length.bin", "link_lists.bin"} <= files, advice
    assert 1000 <= index_recovery.read_header(indexes[0])[0] <= 1200, advice  # Chroma writes some vectors later
    assert not index_recovery.is_truncated(indexes[0]), advice
    assert not index_recovery.has_truncated_links(indexes[0]), advice


def test_a_database_of_an_unknown_form_says_nothing_about_damage(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "chroma.sqlite3") as database:
        database.execute("CREATE TABLE other (id TEXT)")
    database.close()
    assert index_recovery.find_index_folders(tmp_path, "c1") == []


def test_uvicorns_protocol_has_the_parts_by_which_silent_clients_are_told() -> None:
    advice = advise("uvicorn", "0.32.1 and 0.54.0", "quorum/serving/patient_protocol.py")
    source = inspect.getsource(AutoHTTPProtocol)
    for method in ("connection_made", "data_received", "on_response_complete", "connection_lost"):
        assert callable(getattr(AutoHTTPProtocol, method, None)), advice
    for attribute in ("self.cycle", "self.loop", "self.transport"):
        assert attribute in source, advice
    module_source = inspect.getsource(inspect.getmodule(AutoHTTPProtocol))  # type: ignore[arg-type]
    for attribute in ("self.more_body", "self.response_complete"):
        assert attribute in module_source, advice
