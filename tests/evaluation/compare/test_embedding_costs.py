"""What a server's embeddings cost: counted as the server counts them, limited before a request, free from the cache."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from comparison_fixtures import corpus, data, make_context, reply_as_weak_model
from openai_server import EMBEDDINGS_PATH, OpenAIServer
from quorum_command import Quorum

from quorum.core.errors import CallError, SetupError
from quorum.evaluation.compare.spending_limit import LimitedSpending
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.questions.write import Options as QuestionOptions
from quorum.evaluation.questions.write import plan_questions
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.spending import LimitReachedError, SpendingCounts
from quorum.models import embeddings
from quorum.models.embedding_requests import pay_for_embeddings

__all__ = ["corpus", "data"]  # fixtures, used by name

EMBEDDED = "openai:test-embedding"
DOLLARS_PER_TOKEN = 0.001
PRICES = f'["openai:test"]\ninput = 1000\noutput = 2000\n["{EMBEDDED}"]\ninput = 1000\noutput = 0\n'


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(PRICES, encoding="utf-8")
    return path


@pytest.fixture
def options(corpus: str, data: Path, prices: Path, openai_server: OpenAIServer) -> Callable[..., Options]:
    openai_server.reply(reply_as_weak_model)
    context = make_context(retriever="chroma", embeddings=EMBEDDED, k=2)
    chosen = {"data": data, "corpus": corpus, "methods": "concat", "context": context, "prices": prices}
    return lambda **others: Options(**{**chosen, "out": data.parent / "out", **others})


def count_embedded(server: OpenAIServer) -> dict[str, int]:
    """The requests for embeddings, and the tokens that the server has counted."""
    texts = [request.body["input"] for request in server.requests if request.path == EMBEDDINGS_PATH]
    return {"requests": len(texts), "tokens": sum(len(text.encode()) // 4 for batch in texts for text in batch)}


def read_spent(folder: Path) -> Any:
    return json.loads((folder / "spent.json").read_text(encoding="utf-8"))


async def test_index_and_searches_are_estimated_counted_and_shown(
    options: Callable[..., Options], openai_server: OpenAIServer
) -> None:
    plan = await plan_comparison(options())
    planned, estimate = count_embedded(openai_server), plan.estimate
    [indexing], [searching] = estimate.indexing, estimate.searching
    assert (indexing.embeddings, indexing.passages, searching.embeddings) == (EMBEDDED, 6, EMBEDDED)
    assert indexing.cost == pytest.approx(indexing.tokens * DOLLARS_PER_TOKEN)
    assert searching.cost == pytest.approx(searching.tokens * DOLLARS_PER_TOKEN)
    assert estimate.spent == {EMBEDDED: planned} == read_spent(plan.folder)["embeddings"]
    assert estimate.spent_cost == pytest.approx(planned["tokens"] * DOLLARS_PER_TOKEN)

    decision = await compare(plan)
    embedded, calls = count_embedded(openai_server), decision.spent["models"]["openai:test"]
    assert searching.tokens == embedded["tokens"] - planned["tokens"]  # all questions were rehearsed
    assert decision.spent["embeddings"] == {EMBEDDED: embedded}
    dollars = (calls["input_tokens"] * 1000 + calls["output_tokens"] * 2000 + embedded["tokens"] * 1000) / 1e6
    assert decision.spent["cost"] == pytest.approx(dollars)
    assert read_spent(plan.folder) == decision.spent
    report = (plan.folder / "report.md").read_text(encoding="utf-8")
    sentence = f"{EMBEDDED}: {embedded['requests']} requests for embeddings really made, {embedded['tokens']} tokens."
    assert sentence in " ".join(report.split())

    again = await compare(await plan_comparison(options()))  # the index is there, and every question is answered
    assert again.spent["embeddings"][EMBEDDED]["tokens"] == count_embedded(openai_server)["tokens"]
    assert count_embedded(openai_server)["requests"] == embedded["requests"] + 6  # the searches of the estimate


async def test_searches_without_a_model_are_paid_for_too(
    options: Callable[..., Options], openai_server: OpenAIServer
) -> None:
    decision = await compare(await plan_comparison(options(methods="search", retrieval_only=True)))
    assert decision.spent["models"] == {}
    assert decision.spent["embeddings"] == {EMBEDDED: count_embedded(openai_server)}
    report = " ".join((decision.scores.folder / "report.md").read_text(encoding="utf-8").split())
    assert "No model was asked." in report
    assert "requests for embeddings really made" in report
    assert "Money really spent: $0." in report


async def test_a_limit_refuses_before_a_request_is_sent(
    options: Callable[..., Options], openai_server: OpenAIServer
) -> None:
    with pytest.raises(SetupError, match=r"This would cost about \$0\.\d+ to index the corpus, more than --max-cost 0"):
        await plan_comparison(options(max_cost=0.01))
    unpriced = options(context=make_context(retriever="chroma", embeddings="openai:nobody"), max_cost=5.0)
    with pytest.raises(SetupError, match="a model has no price"):
        await plan_comparison(unpriced)
    assert openai_server.requests == []
    await evaluate(options())  # fills the collection, so that only the searches are left to pay
    calls = count_embedded(openai_server)["requests"]
    with pytest.raises(
        LimitReachedError, match=r"^In this run \$0\.0\d+ are spent, and the next request for embeddings"
    ):
        await plan_comparison(options(max_cost=0.02, out=options().data.parent / "other"))
    assert count_embedded(openai_server)["requests"] < calls + 6
    with pytest.raises(SetupError, match="a model has no price"):  # also of searches alone
        await compare(await plan_comparison(unpriced))


def test_the_screen_says_what_embeddings_took_and_what_has_no_price_is_said_once(
    options: Callable[..., Options], corpus: str, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    data, words = str(options().data), ("--methods", "concat", "--embeddings", "openai:nobody")
    evaluated = quorum("eval", data, *words, "--corpus", corpus, "--retriever", "chroma", "-m", "openai:test")
    embedded = count_embedded(openai_server)
    took = f"{embedded['requests']} requests for embeddings (openai:nobody) took {embedded['tokens']} tokens"
    assert f"quorum: {took}, no price known\n" in evaluated.err
    more = ("--models", "openai:test", "--retrievers", "chroma", "--out", "unpriced")
    run = quorum("compare", corpus, data, *words, *more)
    assert run.code == 0
    assert "tokens of embeddings (openai:nobody), no price known." in " ".join(run.err.split())
    report = Path("unpriced/report.md").read_text(encoding="utf-8")
    assert report.count("A model has no price, so the money spent is unknown") == 1


async def test_writing_questions_pays_for_its_index(
    options: Callable[..., Options], corpus: str, prices: Path, openai_server: OpenAIServer
) -> None:
    chosen = options()
    question_options = QuestionOptions(n=1, min_words=3, prices=prices)
    plan = await plan_questions(corpus, None, chosen.context, question_options, Path("questions.jsonl"))
    assert plan.spending.embeddings.usage == {EMBEDDED: count_embedded(openai_server)}
    assert plan.spending.cost == pytest.approx(count_embedded(openai_server)["tokens"] * DOLLARS_PER_TOKEN)


def test_indexing_says_what_it_took_stops_at_the_limit_and_takes_nothing_from_the_cache(
    corpus: str, prices: Path, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    def index(*words: str) -> Any:
        return quorum("index", corpus, "--embeddings", EMBEDDED, "--prices", str(prices), *words)

    misnamed = index("-c", "first", "--prices", "missing.toml")
    assert (misnamed.code, count_embedded(openai_server)["requests"]) == (2, 0)
    assert "The price table missing.toml cannot be read" in misnamed.err
    stopped = index("-c", "first", "--embedding-batch", "3", "--max-cost", "0.05")
    assert stopped.code == 2
    assert "about 39 tokens) would cost $0.0390, more than is left of --max-cost 0.05; what is done is" in stopped.err
    assert count_embedded(openai_server)["requests"] == 1
    first = index("-c", "first", "--max-cost", "1")
    tokens = count_embedded(openai_server)["tokens"]
    assert first.code == 0
    assert f"for embeddings ({EMBEDDED}) took" in first.err
    second = index("-c", "second", "--max-cost", "0")
    assert (second.code, "embeddings" in second.err) == (0, False)
    assert count_embedded(openai_server)["tokens"] == tokens


async def test_both_ways_to_ask_are_counted_and_a_failed_request_is_not(openai_server: OpenAIServer) -> None:
    model, spending = embeddings("openai:text-embedding-3-small"), LimitedSpending(Prices(), 1.0)
    with pay_for_embeddings(spending):
        model.embed_documents(["Where is the harbour of Vell?", "Who built it?"])
        await model.aembed_query("Who found the thing?")
        counted = dict(spending.embeddings.usage)
        openai_server.make_embeddings = lambda body: {"object": "list", "data": None}
        with pytest.raises(CallError, match="holds no vectors"):
            await model.aembed_query("Who found the thing?")
    assert counted == {"openai:text-embedding-3-small": {"requests": 2, "tokens": 7 + 3 + 5}}
    assert spending.cost == pytest.approx(15 * 0.02 / 1e6)
    assert spending.count_dollars() == spending.cost  # nothing is kept for requests in progress
    with pytest.raises(LimitReachedError, match=r"the limit is \$1"):  # what a worker process has spent
        spending.merge(SpendingCounts(embeddings={"openai:text-embedding-3-small": {"requests": 9, "tokens": 10**8}}))
