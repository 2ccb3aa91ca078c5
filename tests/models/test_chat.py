"""Models from specs such as openai:NAME: which specs are refused, which identity a model has in the journal, what
embedding requests send, and the scripted model of the tests.
"""

import re
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from openai_server import EMBEDDINGS_PATH, OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.models import chat_model, embedded, embeddings, get_embedding_name, get_model_identity
from quorum.models.call import call
from quorum.models.embedded import get_reader_name, get_weights_hash, make_reader_name, read_manifest
from quorum.models.embedded.chat import EmbeddedReader
from quorum.models.embeddings import CheckedEmbeddings
from quorum.models.scripted import NoReplyError, ScriptedModel


def test_openai_without_key_or_server_names_both_variables() -> None:
    for make_model in (lambda: chat_model("openai:x"), lambda: embeddings("openai:x")):
        with pytest.raises(SetupError, match=r"OPENAI_API_KEY.*OPENAI_BASE_URL") as caught:
            make_model()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_a_users_own_server_needs_no_key(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://localhost:9/v1/")
    model = chat_model("openai:org/name:tag", Context(timeout=7))
    assert (model.model_name, model.max_retries, model.stream_usage, model.request_timeout) == (
        "org/name:tag",
        0,
        True,
        7,
    )
    assert model.root_async_client.api_key == "none"
    assert get_model_identity("openai:org/name:tag") == {
        "provider": "openai",
        "base_url": "http://localhost:9/v1",
        "model": "org/name:tag",
    }


def test_identity_holds_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://user:word@localhost:9/v1")
    assert get_model_identity("openai:m") == {"provider": "openai", "base_url": "http://localhost:9/v1", "model": "m"}
    assert get_model_identity("anthropic:m") == {"provider": "anthropic", "base_url": None, "model": "m"}
    assert get_model_identity(FakeListChatModel(responses=[])) is None


@pytest.mark.parametrize(
    ("spec", "variable", "address", "shown_address"),
    [
        ("ollama:m", "OLLAMA_HOST", "10.0.0.5:11434", "10.0.0.5:11434"),
        ("ollama:m", "OLLAMA_HOST", "user:w@rd@box:11434", "box:11434"),
        ("azure-openai:m", "AZURE_OPENAI_ENDPOINT", "https://mine.example/", "https://mine.example/"),
        ("anthropic:m", "ANTHROPIC_BASE_URL", "http://u:p@gate:1/v1?at=@", "http://gate:1/v1?at=@"),
    ],
)
def test_a_provider_at_another_address_has_another_identity(
    spec: str, variable: str, address: str, shown_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, address)
    assert (get_model_identity(spec) or {})["base_url"] == shown_address


def test_the_embedded_readers_name_depends_on_weights_calibration_and_code() -> None:
    manifest = read_manifest()
    name = make_reader_name(manifest, b"code")
    other_calibration = manifest["calibration"] | {"threshold_one_passage": 0.123}
    names = {
        name,
        make_reader_name(manifest, b"other code"),
        make_reader_name({**manifest, "calibration": other_calibration}, b"code"),
        make_reader_name({**manifest, "sha256": "0" * 64}, b"code"),
    }
    assert len(names) == 4
    assert (
        get_model_identity("embedded")
        == get_model_identity(EmbeddedReader())
        == get_model_identity(EmbeddedReader(seed=4))
    )
    assert str((get_model_identity("embedded") or {})["model"]).startswith(f"{get_weights_hash()}-")


@pytest.mark.parametrize("head", ["sentences.json", "sentences.onnx", "verdict.json"])
def test_another_head_gives_the_embedded_reader_another_name(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = get_reader_name()
    for file in [*embedded.FOLDER.glob("*.py"), *embedded.FOLDER.glob("*.json"), embedded.FOLDER / "sentences.onnx"]:
        shutil.copy(file, tmp_path)
    monkeypatch.setattr(embedded, "FOLDER", tmp_path)
    assert get_reader_name.__wrapped__() == name
    (tmp_path / head).write_bytes((tmp_path / head).read_bytes() + b" ")
    assert get_reader_name.__wrapped__() != name


def test_an_embedded_reader_with_settings_of_its_own_has_no_identity() -> None:
    """With an identity, readers with different settings would share keys in a journal, but they reply differently."""
    assert get_model_identity(EmbeddedReader(temperature=0.7)) is None
    assert get_model_identity(EmbeddedReader(top_p=0.5)) is None


@pytest.mark.parametrize("make_model", [chat_model, embeddings])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt-4o-mini", "names no provider; write 'embedded' or provider:name, such as openai:gpt-4o-mini"),
        ("", "names no provider"),
        ("openai:", "names no provider"),
        (":x", "such as openai:x"),
        ("nobody:x", "unknown provider 'nobody'"),
        ("cohere:x", "pip install langchain-cohere"),
        ("google-genai:x", "pip install langchain-google-genai|unknown provider"),  # embeddings: LangChain before 1.2.4
    ],
)
def test_unusable_model_specs_are_refused(make_model: object, spec: str, message: str) -> None:
    with pytest.raises(SetupError, match=message.replace("(", r"\(")) as caught:
        make_model(spec)  # type: ignore[operator]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
@pytest.mark.parametrize("address", ["localhost:8000/v1", "http://[::1:8000/v1"])
def test_an_address_without_a_scheme_or_a_closing_bracket_is_refused(
    variable: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, address)
    with pytest.raises(SetupError, match=re.escape(f"{variable}={address!r} is not an address")):
        chat_model("openai:x")


def test_model_objects_are_used_unchanged() -> None:
    model, embedding_model = FakeListChatModel(responses=["a"]), DeterministicFakeEmbedding(size=4)
    assert chat_model(model) is model
    assert embeddings(embedding_model) is embedding_model
    assert get_embedding_name(embedding_model).endswith(".DeterministicFakeEmbedding")
    assert chat_model("scripted") is chat_model("scripted")


async def test_an_embedding_request_holds_texts_not_token_ids(openai_server: OpenAIServer) -> None:
    model = embeddings("openai:bge-small")
    assert get_embedding_name("openai:bge-small") == "openai:bge-small"
    # The test server's vector of a text depends on its words, not on their order.
    first, second = model.embed_documents(["the red fox", "fox, the red"])
    assert first == pytest.approx(second)
    assert await model.aembed_query("the red fox") == pytest.approx(first)
    assert model.embed_documents([]) == []
    sent = [request.body["input"] for request in openai_server.requests if request.path == EMBEDDINGS_PATH]
    assert sent == [["the red fox", "fox, the red"], ["the red fox"]]


def test_embeddings_that_fail_say_why(openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url + "/nothing")
    with pytest.raises(CallError, match="There is nothing at"):
        embeddings("openai:bge").embed_query("x")


def test_embeddings_that_fail_repeat_no_secret(openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    path = "/nothing/sk-secret"  # the server's error message repeats the path
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url.replace("://", "://user:word@") + path)
    with pytest.raises(CallError, match="There is nothing at") as caught:
        embeddings("openai:bge").embed_query("x")
    assert "user:word" not in str(caught.value)
    assert "nothing at /v1/nothing/***" in str(caught.value)


def test_embeddings_behind_an_untrusted_certificate_name_the_certificate_and_not_the_key(
    openai_server: OpenAIServer,
) -> None:
    class UntrustedEmbeddings(DeterministicFakeEmbedding):
        def embed_query(self, text: str) -> list[float]:
            raise ssl.SSLCertVerificationError(1, "certificate verify failed")

    model = embeddings("openai:bge")
    assert isinstance(model, CheckedEmbeddings)
    model.client = UntrustedEmbeddings(size=4)
    with pytest.raises(SetupError, match=r"\(certificate verify failed\); check the base URL and its certificate"):
        model.embed_query("x")


async def test_the_scripted_model_replies_by_prompt_name_and_records_its_calls() -> None:
    model = ScriptedModel().enqueue("first", "second")
    model.on("answer: passage 2", "two").on("answer: passage 1", "one").on(
        "judge", lambda messages: messages[0].text[::-1]
    )
    context = Context(model=model)
    replies = [
        (await call(prompt, "text", context=context, call_subject=call_subject))[0].text
        for prompt, call_subject in [
            ("answer", "passage 1"),
            ("answer", "passage 2"),
            ("other", ""),
            ("judge", ""),
            ("other", ""),
        ]
    ]
    assert replies == ["one", "two", "first", "txet", "second"]
    assert [sent.name for sent in model.history][:3] == ["answer: passage 1", "answer: passage 2", "other"]
    assert model.history[0].text == "text"
    with pytest.raises(NoReplyError, match="No scripted reply is left for prompt 'answer: passage 2'"):
        await call("answer", "text", context=context, call_subject="passage 2")
    assert isinstance(NoReplyError(), AssertionError)


async def test_the_scripted_model_counts_tokens_and_can_be_invoked_directly() -> None:
    model = ScriptedModel().enqueue("four", "five")
    (reply,) = await call("answer", "123456", context=Context(model=model))
    assert reply.usage == {"calls": 1, "input_tokens": 2, "output_tokens": 2, "cached_tokens": 0}
    assert model.invoke([HumanMessage("plain")]).text == "five"
    assert model.history[1].prompt_name == ""


@pytest.mark.long
def test_importing_models_does_not_import_providers() -> None:
    code = (
        "import sys, quorum.models.call; "
        "print([m for m in ('openai', 'langchain_openai', 'langchain') if m in sys.modules])"
    )
    root = Path(__file__).parents[2]
    process = subprocess.run([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    assert process.stdout.strip() == "[]"
