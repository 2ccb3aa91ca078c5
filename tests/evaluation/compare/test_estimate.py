"""Estimates of a comparison: calls, seconds, prices."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from comparison_fixtures import corpus, data, make_estimate
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.compare.call_bounds import compute_call_bounds, evaluate_formula
from quorum.evaluation.compare.estimate import estimate_seconds
from quorum.evaluation.compare.rehearsal import CallRecorder, guess_reply_tokens
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.metrics.prices import Price, Prices
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.options import Options

__all__ = ["corpus", "data"]  # fixtures, used by name


async def test_the_estimate_counts_the_prompts_of_the_filter(
    corpus: str, data: Path, openai_server: OpenAIServer
) -> None:
    cost = (await make_estimate(corpus, data, methods="filco")).methods["filco"]
    assert (cost.calls, cost.fewest_calls, cost.most_calls) == (2, 2, 3)
    assert openai_server.requests == []


async def test_the_estimate_sends_nothing_to_the_chat_model_of_a_filter(
    corpus: str, data: Path, openai_server: OpenAIServer
) -> None:
    """The model is the embedded reader, but the filter is another chat model. In the estimate, the reader replies to
    the filter's prompts, too.
    """
    context = Context(model="embedded", context_filter="llm:openai:test", journal="off")
    plan = await plan_comparison(Options(data=data, corpus=corpus, methods="filco", context=context))
    assert plan.estimate is not None
    assert (plan.estimate.methods["filco"].calls, openai_server.requests) == (2, [])


async def test_only_the_replies_of_other_models_are_guessed() -> None:
    """The model is the embedded reader, whose output tokens are counted. The verifier, which replies to the prompt
    "validity", is a chat model, whose output tokens are guessed.
    """
    recorder = CallRecorder(Context(model="embedded", verifier="openai:test"))
    for prompt_name in ("answer", "validity"):
        run_id = uuid4()
        metadata = {"prompt": prompt_name}
        await recorder.on_chat_model_start({}, [[HumanMessage("Who?")]], run_id=run_id, metadata=metadata)
        reply = AIMessage("Ann", usage_metadata={"input_tokens": 9, "output_tokens": 1, "total_tokens": 10})
        await recorder.on_llm_end(LLMResult(generations=[[ChatGeneration(message=reply)]]), run_id=run_id)
    answer, validity = recorder.calls
    assert (answer.is_by_embedded_reader, answer.may_ask_for_shorter_reply, answer.output_tokens) == (True, False, 1)
    assert guess_reply_tokens("answer") > 1  # a guess would be more than the 1 token that the reader has counted
    assert (validity.is_by_embedded_reader, validity.output_tokens) == (False, guess_reply_tokens("validity"))


async def test_the_estimate_asks_under_the_task_of_the_options(tmp_path: Path) -> None:
    """The data ask for yes or no, the options for a short answer. The estimate asks for a short answer too, so the run
    finds the reply in the journal and makes no call.
    """
    line = {
        "question": "Is the lighthouse of Vell old?",
        "answers": ["yes"],
        "passages": [{"id": "p", "title": "Vell", "text": "The lighthouse of Vell was built in 1874."}],
        "meta": {"answer_type": "yes_no"},
    }
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(line) + "\n", encoding="utf-8")
    context = Context(model="embedded", journal=str(tmp_path / "journal.sqlite"))
    options = Options(data=data, methods="concat", corpus="given", task="short", context=context, out=tmp_path / "out")
    plan = await plan_comparison(options)
    assert plan.rehearsal_usage["embedded"]["calls"] == 1
    assert (await compare(plan)).scores.spending.calls == 0


def test_a_dry_run_asks_nothing(corpus: str, data: Path, openai_server: OpenAIServer, quorum: Quorum) -> None:
    run = quorum(
        "compare", corpus, str(data), "--models", "openai:test", "--k", "1,2", "--dry-run", "--methods", "concat"
    )
    assert (run.code, run.err, openai_server.requests) == (0, "", [])
    assert "concat[k=1]" in run.out
    assert "In all 6 questions: about 12 calls" in run.out
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("method", "settings", "bounds"),
    [
        ("concat", {"samples": 3}, (3, 3)),
        ("concat_pf", {"k": 4}, (1, 5)),
        ("pf_concat", {"k": 4, "samples": 2}, (10, 10)),
        ("sure", {"candidates": 3}, (1, 13)),
        ("self_verification", {}, (5, 60)),
        ("react", {"max_steps": 4}, (1, 10)),
        ("self_ask", {"max_steps": 2}, (1, 5)),
        ("iter_retgen", {"iterations": 3}, (3, 3)),
        ("blendfilter", {}, (11, 11)),
    ],
)
def test_the_bounds_of_calls_come_from_the_methods_formula_and_settings(
    method: str, settings: dict[str, Any], bounds: tuple[float, float]
) -> None:
    assert compute_call_bounds(parse_columns(method, Context(**settings))[0]) == bounds


def test_every_method_has_bounds() -> None:
    assert all(0 < least <= most for least, most in map(compute_call_bounds, parse_columns("all", Context())))
    assert evaluate_formula("K(K-1)", {"K": 4}) == 12


def test_limits_per_minute_lengthen_the_estimated_seconds() -> None:
    assert estimate_seconds(Context(), calls=100, tokens=1000, concurrency=8) == 25  # 2 seconds for each call
    assert estimate_seconds(Context(requests_per_minute=10), calls=100, tokens=1000, concurrency=8) == 600
    assert estimate_seconds(Context(tokens_per_minute=100), calls=100, tokens=1000, concurrency=8) == 600


def test_prices_are_found_and_applied(tmp_path: Path) -> None:
    prices = Prices()
    assert (
        prices.find_price("openai:gpt-4o-mini")
        == prices.find_price("openai:gpt-4o-mini-2024-07-18")
        == Price(0.15, 0.60, 0.075)
    )
    assert prices.find_price("openai:somebody/model") is None
    assert prices.find_price("embedded") == Price(0, 0, 0)
    # Half of the million input tokens are cached: 0.5 for the uncached half, 0.25 for the cached one, 1 for the output.
    assert Price(1, 10, 0.5).compute_cost(1_000_000, 100_000, 500_000) == 0.5 + 0.25 + 1
    table = tmp_path / "own.json"
    table.write_text('{"openai:gpt-4o-mini": {"input": 9, "output": 9}}')
    own_prices = Prices(table)
    assert own_prices.find_price("openai:gpt-4o-mini") == Price(9, 9, 9)
    assert own_prices.find_price("openai:gpt-4o") is not None
    usage: Any = {
        "answer": {"calls": 1, "input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 0},
        "validity": {"calls": 1, "input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 0},
    }
    # The verifier replies to `validity`, the model to `answer`.
    context_with_verifier = Context(model="openai:gpt-4o-mini", verifier="openai:gpt-4o")
    assert prices.compute_cost(context_with_verifier, usage) == 0.15 + 2.50
    assert prices.compute_cost(Context(model="openai:x"), usage) is None
    # The embedded reader sorted the passages.
    usage = {"answer": usage["answer"], "rerank": usage["validity"]}
    assert prices.compute_cost(Context(model="openai:gpt-4o-mini", reranker="reader"), usage) == 0.15


@pytest.mark.parametrize(
    "text",
    [
        "not a table",
        '["a:b"]\ninput = 1',
        '["a:b"]\ninput = "x"\noutput = 1',
        '["a:b"]\ninput = 1\noutput = 1\nout = 2',
    ],
)
def test_a_broken_price_table_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    table = tmp_path / "prices.toml"
    table.write_text(text)
    with pytest.raises(SetupError, match="expected a table of models"):
        Prices(table)
