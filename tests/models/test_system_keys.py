"""Which API key is sent to a question answering system of the user's own."""

import pytest

from quorum.models.systems import find_key


def test_a_system_gets_its_own_key_and_never_the_key_of_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of OpenAI")
    monkeypatch.setenv("MY_SYSTEM_API_KEY", "its own")
    assert (find_key("my-system"), find_key("openai"), find_key("other")) == ("its own", None, None)
