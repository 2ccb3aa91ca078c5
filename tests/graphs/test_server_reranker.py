"""reranker=api:MODEL: a server ranks the passages, over real sockets; what its faults do."""

import json
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from hypothesis import given
from hypothesis import strategies as st
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum.cli.main import main
from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Result
from quorum.evaluation.metrics.prices import Prices
from quorum.graphs import answer
from quorum.models.call import call
from quorum.models.scripted import ScriptedModel
from quorum.parsing.rerank_results import parse_rerank_results

Results = list[dict[str, Any]]
BY_RETRIEVER = ["p1", "p2", "p3", "p4", "p5"]


@pytest.fixture
def server(openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    monkeypatch.setenv("QUORUM_RERANK_BASE_URL", openai_server.url)
    monkeypatch.setenv("QUORUM_RERANK_API_KEY", "rerank-secret-1")
    return openai_server


async def rerank(**settings: Any) -> Result:
    model = ScriptedModel().on("answer_base", "1931")
    return await answer(QUESTION, "base", Context(model=model, reranker="api:judge", **settings), given=PASSAGES)


def list_ids(result: Result) -> list[str]:
    return [passage["id"] for passage in result["passages"]]


def score(*scores: Any) -> Results:
    return [{"index": index, "relevance_score": value} for index, value in enumerate(scores)]


async def test_the_server_gets_question_and_passages_and_its_scores_choose(
    server: OpenAIServer, tmp_path: Path
) -> None:
    for _ in range(2):  # the second reply is the journal's
        result = await rerank(k=2, journal=str(tmp_path / "journal.sqlite"))
        assert list_ids(result) == ["p3", "p1"]
        assert result["usage"]["rerank"] == {"calls": 1, "input_tokens": 70, "output_tokens": 0, "cached_tokens": 0}
        assert (result["passages"][0]["score"], result["malformed"]) == (61.0, {})
    [request] = server.requests
    assert (request.path, request.headers["authorization"]) == ("/v1/rerank", "Bearer rerank-secret-1")
    documents = [f"{passage['title']}\n{passage['text']}" for passage in PASSAGES]
    assert request.body == {"model": "judge", "query": QUESTION, "documents": documents, "top_n": 5}


async def test_passages_too_long_for_the_server_keep_the_retrievers_order(server: OpenAIServer) -> None:
    server.rerank = lambda _: make_error(400, "maximum context length is 512 tokens", code="context_length_exceeded")
    result = await rerank()
    assert list_ids(result) == BY_RETRIEVER[: len(list_ids(result))]
    assert result["dropped"] == len(PASSAGES)


@pytest.mark.parametrize(
    ("results", "order"),
    [
        (score(0, float("nan"), 2, None, "9"), ["p3", "p1", "p2", "p4", "p5"]),
        ([{"index": 4, "relevance_score": 1}], ["p5", "p1", "p2", "p3", "p4"]),  # a short list
        ([*score(1, 2, 3, 4, 5), {"index": 0, "relevance_score": 9}], ["p5", "p4", "p3", "p2", "p1"]),  # twice
        ([*score(1, 2, 3, 4), {"index": 5, "relevance_score": 9}, 7], ["p4", "p3", "p2", "p1", "p5"]),
        ([], BY_RETRIEVER),
    ],
)
async def test_passages_without_a_readable_score_follow_in_the_retrievers_order(
    server: OpenAIServer, results: Results, order: list[str]
) -> None:
    server.rerank = lambda _: {"results": results}
    result = await rerank()
    assert (list_ids(result), result["malformed"]["rerank"]["count"]) == (order, 1)


async def test_equal_scores_keep_the_retrievers_order_and_are_not_malformed(server: OpenAIServer) -> None:
    server.rerank = lambda _: {"results": score(1, 1, 1, 1, 1)[::-1]}
    result = await rerank()
    assert (list_ids(result), result["malformed"]) == (BY_RETRIEVER, {})


@given(
    st.integers(0, 6),
    st.lists(
        st.builds(
            lambda index, value: {"index": index, "relevance_score": value},
            st.sampled_from([-1, 0, 1, 2, 5, 6, None, "0", True]),
            st.sampled_from([0, 1, 0.5, -3.0, float("nan"), float("inf"), 10**400, None, "1", True]),
        ),
        max_size=8,
    ),
)
def test_any_results_give_a_score_or_none_for_each_passage(count: int, results: Results) -> None:
    read = parse_rerank_results(json.dumps({"results": results}), count)
    assert len(read.scores) == count
    assert read.malformed or None not in read.scores


@pytest.mark.parametrize("text", ["", "[]", "3", '{"results": 3}', '{"results": [[]]}', '{"results": {"0": 1}}'])
def test_a_text_without_results_is_malformed(text: str) -> None:
    assert parse_rerank_results(text, 2).malformed


@pytest.mark.parametrize(
    "fault",
    [make_error(429, "slow down"), make_error(500, "busy"), {"scores": []}, Response(body=b"<p>"), Response(drop=True)],
)
async def test_a_failed_request_is_sent_again(server: OpenAIServer, fault: Any) -> None:
    replies = [fault, {"results": score(1, 2)}]
    server.rerank = lambda _: replies.pop(0)
    request = json.dumps({"query": QUESTION, "documents": ["a", "b"], "top_n": 2})
    clock = FakeClock()
    [reply] = await call("rerank", request, context=Context(), model="api:judge", clock=clock)
    assert parse_rerank_results(reply.raw, 2).scores == [1, 2]
    assert len(server.requests) == 2


async def test_the_last_failure_names_the_server_but_not_the_key(server: OpenAIServer) -> None:
    server.rerank = lambda _: make_error(500, "key rerank-secret-1 is tired")
    with pytest.raises(CallError, match=r"The model 'api:judge' at http://127.* failed on the call 'rerank'") as raised:
        await rerank(attempts=1)
    assert "rerank-secret" not in str(raised.value)


async def test_a_wrong_address_names_both_forms(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_RERANK_BASE_URL", server.url + "/v1")
    with pytest.raises(
        SetupError, match=r"no reranker 'api:judge' at .*/v1/v1/rerank .*http://HOST:PORT/v1.*HOST:PORT"
    ):
        await rerank()


def test_without_an_address_nothing_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"id": "q", "question": QUESTION, "answers": ["1931"], "passages": PASSAGES}))
    with pytest.raises(SystemExit) as ended:
        main(["eval", str(questions), "--methods", "concat[reranker=api:judge]", "--out", str(tmp_path / "r")])
    assert ended.value.code == 2
    assert "reranker='api:judge' needs the address of its server; set QUORUM_RERANK_BASE_URL" in capsys.readouterr().err


async def test_a_reranker_is_no_chat_model(server: OpenAIServer) -> None:
    with pytest.raises(SetupError, match="'api:judge' sorts passages and writes no replies"):
        await answer(QUESTION, "base", Context(model="api:judge"), given=PASSAGES)


@pytest.mark.parametrize("reranker", ["best", "api:", "cross_encoder"])
def test_an_unknown_reranker_is_refused(reranker: str) -> None:
    with pytest.raises(SetupError, match="give none, or cross_encoder:MODEL or api:MODEL, or one of: rationale"):
        Context(reranker=reranker)


def test_a_thousand_searches_have_a_price(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('["api:judge"]\nsearch_unit = 2.0\n["openai:x"]\ninput = 1\noutput = 1\n')
    usage: Any = {
        "rerank": {"calls": 3, "input_tokens": 500, "output_tokens": 0, "cached_tokens": 0},
        "answer": {"calls": 1, "input_tokens": 1_000_000, "output_tokens": 0, "cached_tokens": 0},
    }
    context = Context(model="openai:x", reranker="api:judge")
    assert Prices(table).compute_cost(context, usage) == pytest.approx(1.006)
    assert Prices().compute_cost(context, usage) is None
