"""Errors of a run: what the client gets, and what the server's terminal shows."""

import pytest

from quorum.core.context import Context
from quorum.serving.errors import explain_failure

API_KEY = "sk-test-0123456789abcdef"


def test_an_unexpected_errors_traceback_is_printed_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    try:
        raise RuntimeError(f"http://me:password@host/v1 refused {API_KEY}")
    except RuntimeError as error:
        refusal = explain_failure(error, Context(), "request-1")
    printed = capsys.readouterr().err
    assert "Traceback (most recent call last)" in printed
    assert "test_errors.py" in printed
    assert API_KEY not in printed
    assert "me:password" not in printed
    assert (refusal.status, API_KEY in refusal.message) == (500, False)
