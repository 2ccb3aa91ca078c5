"""Keys, tokens and passwords that a server repeats are removed from messages."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from quorum.core.redaction import redact_secrets

URL_WITH_LOGIN = "https://alice:hunter22@models.example:8443/v1"


@pytest.mark.parametrize(
    "text",
    [
        "wrong header Authorization: Bearer 0123secret",
        "wrong header authorization: Basic 0123secret==",
        '{"headers": {"Authorization": "Bearer 0123secret", "Accept": "*/*"}}',
        "{'authorization': '0123secret'}",
        "token Bearer 0123secret is not known",
        "no such key: sk-0123secret",
        "Incorrect API key provided: sk-proj-0123secret.",
        "x-api-key: 0123secret",
        "api_key=0123secret&model=test",
        "GET https://models.example/v1?token=0123secret failed",
        "cannot reach https://alice:0123secret@models.example/v1",
        "cannot reach https://0123secret@models.example/v1",
    ],
)
def test_credentials_are_taken_out(text: str) -> None:
    redacted_text = redact_secrets(text)
    assert "0123secret" not in redacted_text
    first_word, redacted_first_word = text.split()[0], redacted_text.split()[0]
    assert redacted_first_word == first_word or "***" in redacted_first_word  # changed only if it has a credential


def test_a_password_of_an_address_in_the_environment_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", URL_WITH_LOGIN.replace("hunter22", "hunter%2322"))
    basic_authentication = base64.b64encode(b"alice:hunter#22").decode()
    for secret in ("hunter%2322", "hunter#22", basic_authentication):
        assert redact_secrets(f"you sent {secret} to me") == "you sent *** to me"


def test_a_key_of_the_environment_and_one_that_is_given_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse")
    assert redact_secrets("correct-horse battery", ["battery"]) == "*** ***"


@pytest.mark.parametrize(
    "text",
    [
        "bearer authentication is required",
        "a basic answer about risk-taking and sk-learn",
        "maximum context length is 8192 tokens",
        "no route to http://localhost:8000/v1",
        "the key of the map",
    ],
)
def test_words_that_are_no_secrets_are_kept(text: str) -> None:
    assert redact_secrets(text) == text


SECRET = 'sk/"0123<secret>+&~é'


@pytest.mark.parametrize(
    "encode",
    [
        str,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: json.dumps(json.dumps(text)),
        lambda text: json.dumps(text).replace("/", "\\/"),
        html.escape,
        quote,
        quote_plus,
        lambda text: quote(text, safe=""),
        lambda text: quote(quote(text, safe=""), safe=""),
        lambda text: text.encode().hex(),
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
        lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
        lambda text: base64.b64encode(f"Bearer {text} and more".encode()).decode(),
        lambda text: base64.urlsafe_b64encode(f"ab{text}!".encode()).decode(),
    ],
)
def test_an_encoded_key_is_taken_out(encode: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_API_KEY", SECRET)
    echo = encode(SECRET)
    for redacted in (redact_secrets(f"you sent {echo}!"), redact_secrets(f"you sent {echo}!", [SECRET])):
        assert "***" in redacted
        assert len(redacted) < len(f"you sent {echo}!") - len(SECRET) // 2
        assert "0123" not in redacted
