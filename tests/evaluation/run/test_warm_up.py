"""The embedded network is loaded before the first question, if a column needs it."""

import pytest

from quorum.core.context import Context
from quorum.evaluation.run import warm_up as warm_up_module
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.warm_up import warm_up

ON_A_SERVER = {"model": "openai:gpt", "embeddings": "openai:embedder"}


@pytest.mark.parametrize(
    ("settings", "is_loaded"),
    [
        ({}, False),
        ({"model": "embedded"}, True),
        ({"verifier": "embedded"}, True),
        ({"context_filter": "embedded"}, True),
        ({"context_filter": "embedded:filter"}, True),
        ({"context_filter": "llm:embedded"}, True),
        ({"context_filter": "llm"}, False),
    ],
)
async def test_the_network_is_loaded_if_a_column_has_an_embedded_model(
    settings: dict[str, str], is_loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    monkeypatch.setattr(warm_up_module, "load_encoder", lambda: loads.append("loaded"))
    context = Context(**{**ON_A_SERVER, **settings})  # type: ignore[arg-type]
    await warm_up([Column("concat", "concat", {}, context)], retrieves=True)
    assert loads == ["loaded"] * is_loaded
