"""The server's limits hold for the page, too: its visitors share those of the key that opens it."""

from pathlib import Path

import pytest
from openai_bodies import Response
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Prices
from quorum.serving.limits import Limits
from quorum.serving.permissions import Permissions
from quorum.serving.service import Service
from quorum.ui.app import SharedState
from quorum.ui.budget import PageBudget
from quorum.ui.query import AskRequest


async def test_a_run_of_the_page_is_charged_and_refused_beyond_the_limit(
    tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:test"]\ninput = 10\noutput = 2\n')
    context = Context(model="openai:test", store=str(tmp_path / "store"), collection="sample", journal="off")
    service = Service(Permissions(context), Limits(dollars_per_day=0.1), Prices(prices))
    state = SharedState(context, PageBudget(service, "local"))
    usage = {"prompt_tokens": 4_000, "completion_tokens": 10, "total_tokens": 4_010}
    openai_server.reply(Response("Stephen Sauvestre", usage=usage))
    request = AskRequest("Who designed the Eiffel Tower?", "concat,cot")
    run = state.ask(request)
    assert run.task is not None
    await run.task
    assert [answer.phase for answer in run.answers] == ["done", "done"]
    assert service.limits.accounts["local"].dollars == pytest.approx(2 * (4_000 * 10 + 10 * 2) / 1_000_000)
    assert service.limits.accounts["local"].reserved == pytest.approx(0.0)
    with pytest.raises(SetupError, match=r"may spend 0\.1 dollars a day"):
        state.ask(request)
    with pytest.raises(SetupError, match="has no price"):
        state.ask(AskRequest("Who?", "concat[model=openai:unpriced]"))
