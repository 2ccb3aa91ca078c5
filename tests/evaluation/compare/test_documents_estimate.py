"""The estimate of methods that read whole documents: what a prefix cache holds, which window is assumed, and what does
not fit, before a call is paid for.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.compare.estimate import Estimate
from quorum.evaluation.comparison import plan_comparison
from quorum.evaluation.run.options import Options

TEXT = "The lighthouse of Vell was built by Ada Korn in 1874, and its lamp burned oil. " * 8
PRICE = '["openai:test"]\ninput = 10.0\ncached = 1.0\noutput = 0.0\n'
CONTEXT = Context(model="openai:test", journal="off", documents="all", context_window=20_000)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    passages = [{"id": f"p{number}", "title": "Vell", "text": TEXT} for number in range(50)]
    lines = [
        {"id": question, "question": question, "answers": ["Ada Korn"], "passages": passages}
        for question in ("Who built the lighthouse of Vell?", "What was built by Ada Korn?", "Where is the lighthouse?")
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "prices.toml").write_text(PRICE)
    return tmp_path / "data.jsonl"


async def estimate(data: Path, methods: str, context: Context = CONTEXT) -> Estimate:
    options = Options(data=data, corpus="given", methods=methods, context=context, prices=data.parent / "prices.toml")
    found = (await plan_comparison(options)).estimate
    assert found is not None
    return found


async def test_the_beginning_that_all_prompts_share_is_priced_as_cached_from_the_second_question_on(
    data: Path, openai_server: OpenAIServer
) -> None:
    found = await estimate(data, "full_documents,concat")
    method, concat = found.methods["full_documents"], found.methods["concat"]
    assert 0.6 < method.cached_tokens / method.input_tokens < 2 / 3  # of three questions two find it in the cache
    uncached = method.input_tokens - method.cached_tokens
    assert method.cost == pytest.approx((uncached * 10 + method.cached_tokens * 1) / 1_000_000)
    assert concat.cached_tokens == 0
    assert found.cost == pytest.approx(3 * (method.cost + (concat.cost or 0)))
    [note] = found.notes
    assert note.startswith("full_documents: of the ")
    assert f" tokens that a question sends, on average {method.cached_tokens:,.0f} are read from the server's" in note
    assert (await estimate(data, "full_documents", replace(CONTEXT, documents="found"))).notes == ()
    assert openai_server.requests == []


async def test_the_estimate_knows_the_models_window_and_says_where_it_is_assumed(
    data: Path, openai_server: OpenAIServer
) -> None:
    """The embedded reader, which takes the model's place, could read everything."""
    assumed = await estimate(data, "full_documents", Context(model="openai:test", journal="off"))
    [note] = assumed.notes
    assert note.startswith("full_documents: nothing says how many tokens its model reads, so ")
    assert "passages of the 3 rehearsed questions, beyond 8,192 tokens, are left out; set context_window" in note
    small = await estimate(data, "full_documents", Context(model="openai:test", journal="off", context_window=2000))
    assert small.notes == ()  # the user knows
    assert small.methods["full_documents"].input_tokens < 2000 < assumed.methods["full_documents"].input_tokens
    assert openai_server.requests == []


@pytest.mark.parametrize("methods", ["concat,full_documents", "concat>full_documents", "concat,self_route"])
async def test_documents_that_do_not_fit_end_the_comparison_before_a_call_is_paid_for(
    methods: str, data: Path, openai_server: OpenAIServer
) -> None:
    with pytest.raises(SetupError, match=r"documents=all .* but the window of openai:test has 3,000; set documents=f"):
        await estimate(data, methods, replace(CONTEXT, context_window=3000))
    assert openai_server.requests == []


def test_a_dry_run_prints_what_is_cached(data: Path, openai_server: OpenAIServer, quorum: Quorum) -> None:
    run = quorum(
        *("compare", "given", str(data), "--models", "openai:test", "--methods", "full_documents[documents=all]"),
        *("--set", "context_window=20000", "--dry-run"),
    )
    assert (run.err, run.code, openai_server.requests) == ("", 0, [])
    assert "are read from the server's prefix cache" in " ".join(run.out.split())


async def test_only_the_last_turn_of_an_agent_may_be_asked_for_a_shorter_answer(
    data: Path, openai_server: OpenAIServer
) -> None:
    method = (await estimate(data, "agent", Context(model="openai:test", journal="off", max_steps=5))).methods["agent"]
    assert (method.fewest_calls, method.most_calls) == (1, 7)


async def test_a_cascade_into_an_agent_has_the_bounds_of_its_stages(data: Path, openai_server: OpenAIServer) -> None:
    """concat is asked once, and once more for a shorter answer; then the agent at most seven times, as above."""
    context = Context(model="openai:test", journal="off", max_steps=5)
    bounds = {}
    for methods in ("concat>agent", "agent>concat", "concat>post_fusion[k=3]>agent[max_steps=2]"):
        [method] = (await estimate(data, methods, context)).methods.values()
        bounds[methods] = (method.fewest_calls, method.most_calls)
    assert bounds == {
        "concat>agent": (1, 2 + 7),
        "agent>concat": (1, 7 + 2),
        "concat>post_fusion[k=3]>agent[max_steps=2]": (1, 2 + 6 + 4),
    }
