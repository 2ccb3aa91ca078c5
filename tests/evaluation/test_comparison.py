"""`quorum compare` over a corpus, with a model server on this machine: each call is made once and counted, and runs are
continued.
"""

import json
from pathlib import Path

import pytest
from comparison_fixtures import corpus, data, make_context, make_estimate, reply_as_weak_model, run_comparison
from openai_bodies import Response, make_error
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.core.errors import SetupError
from quorum.evaluation.comparison import plan_comparison
from quorum.evaluation.run.columns import list_columns
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.evaluation.run.watch import SEARCH_SECONDS, AnswerWatcher
from quorum.graphs import answer

__all__ = ["corpus", "data"]  # fixtures, used by name


# dollars per million tokens
PRICE_FILE = '["openai:test"]\ninput = 1000\noutput = 2000\ncached = 100\n'
COMPARED_METHODS = "concat,post_fusion,concat_pf"


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(PRICE_FILE, encoding="utf-8")
    return path


async def test_a_comparison_runs_from_estimate_to_report(
    corpus: str, data: Path, prices: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_as_weak_model)
    plan, decision = await run_comparison(corpus, data, methods=COMPARED_METHODS, prices=prices, budget={"calls": 2.5})
    assert plan.estimate is not None
    # most_calls assumes that every reply is wordy, so that the model is asked once more for a short one
    assert {name: (method.fewest_calls, method.most_calls) for name, method in plan.estimate.methods.items()} == {
        "concat": (1, 2),
        "post_fusion": (2, 4),
        "concat_pf": (1, 6),
    }
    assert plan.estimate.cost is not None
    figures = {figure.name: figure for figure in decision.figures}
    assert (figures["concat"].quality, figures["post_fusion"].quality, figures["concat_pf"].quality) == (0.5, 1, 1)
    assert (figures["concat"].calls, figures["post_fusion"].calls, figures["concat_pf"].calls) == (1, 2, 2)
    # two calls of 100 input and 2 output tokens
    assert figures["post_fusion"].cost == pytest.approx((2 * 100 * 1000 + 2 * 2 * 2000) / 1e6)
    assert decision.recommendation.best in ("post_fusion", "concat_pf")
    assert decision.recommendation.sentences[1].startswith("post_fusion against the baseline concat: +50.0 points [")
    # for each of six questions: the prompt with both passages, and one for each of its two passages
    assert decision.spent["models"]["openai:test"]["calls"] == len(openai_server.requests) == 6 * 3
    assert decision.spent["cost"] == pytest.approx(18 * (100 * 1000 + 2 * 2000) / 1e6)
    # three methods ask for the passages of six questions, but the retriever is asked once per question
    assert (decision.spent["searches"], decision.spent["searches_made"]) == (18, 6)
    file_names = {path.name for path in decision.scores.folder.iterdir()}
    assert file_names >= {"report.html", "report.md", "report.csv", "questions.csv", "details.jsonl", "results.jsonl"}
    assert file_names >= {"config.json", "summary.json", "comparison.json", "recommendation.json", "spent.json"}
    page = (decision.scores.folder / "report.html").read_text(encoding="utf-8")
    assert "Alone, the methods would have made 30 calls; 18 were made, 40% saved" in page


async def test_a_repeated_comparison_asks_nothing_and_keeps_its_spending(
    corpus: str, data: Path, prices: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_as_weak_model)
    options = {"methods": "concat,post_fusion", "prices": prices, "limit": 3}
    _, first = await run_comparison(corpus, data, **options)
    request_count = len(openai_server.requests)
    _, second = await run_comparison(corpus, data, **options)
    assert (second.scores.new_answers, len(openai_server.requests)) == (0, request_count)
    assert second.spent == first.spent
    assert second.recommendation.sentences == first.recommendation.sentences


async def test_a_failed_question_is_reported_and_asked_again(
    corpus: str, data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(
        lambda request: make_error(400, "no <b>") if "number 4?" in request.text else reply_as_weak_model(request)
    )
    _, first = await run_comparison(corpus, data, methods="concat,post_fusion")
    assert [(figure.n, figure.errors, figure.cost) for figure in first.figures] == [(5, 1, None), (5, 1, None)]
    assert "1 of concat and 1 of post_fusion" in first.recommendation.sentences[-1]
    openai_server.reply(reply_as_weak_model)
    _, second = await run_comparison(corpus, data, methods="concat,post_fusion")
    assert (second.scores.new_answers, [figure.errors for figure in second.figures]) == (2, [0, 0])


async def test_a_limit_on_cost_refuses_a_run_and_stops_one_in_the_middle(
    corpus: str, data: Path, prices: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(lambda request: Response("unknown", usage={"prompt_tokens": 900_000, "completion_tokens": 1}))
    with pytest.raises(SetupError, match=r"more than --max-cost 0\.001"):
        await make_estimate(corpus, data, methods="concat", prices=prices, max_cost=0.001)
    assert openai_server.requests == []
    with pytest.raises(SetupError, match=r"have cost \$900\.0020, the limit is \$50"):
        await run_comparison(corpus, data, methods="concat", prices=prices, max_cost=50, concurrency=1)
    assert len(openai_server.requests) == 1
    spent = json.loads((data.parent / "out" / "spent.json").read_text())
    assert spent["cost"] == pytest.approx(900.002)
    with pytest.raises(SetupError, match="a model has no price"):
        await make_estimate(corpus, data, methods="concat", max_cost=1)


def test_details_hold_the_path_and_the_replies(
    corpus: str, data: Path, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    openai_server.reply(reply_as_weak_model)
    settings = ["--set", "k=2", "--set", "retriever=bm25", "--models", "openai:test", "--set", f"journal={data}.sqlite"]
    run = quorum("compare", corpus, str(data), "--methods", COMPARED_METHODS, *settings, "--out", "out", "--limit", "2")
    assert run.code == 0, run.err
    text = " ".join(run.out.split())
    assert text.startswith("No clear winner yet. ")
    assert " No clear winner yet: 3 of 3 methods may be the best, and " in text
    assert ", the cheapest of those within 2 points of the highest mean: exact match " in text
    assert "right, %" in run.out
    assert "In all 2 questions: about" in run.err
    assert "no price known" in run.err
    details = [json.loads(line) for line in Path("out/details.jsonl").read_text().splitlines()]
    detail = next(line for line in details if (line["method"], line["id"]) == ("concat_pf", "q1"))
    outer_nodes = [step["node"] for step in detail["steps"] if step["enclosing_step"] is None]
    assert outer_nodes == [
        "begin",
        "retrieve",
        "concat_answer",
        "unknown_check",
        "passage_answer",
        "passage_answer",
        "vote",
        "find_evidence",
    ]
    assert sorted(call["reply"] for call in detail["calls"]) == ["person 1", "unknown", "unknown"]
    assert all(detail["steps"][call["step"]]["node"].endswith("answer") for call in detail["calls"])
    assert any(call["reused"] for call in detail["calls"])  # concat and post_fusion had made the same calls
    assert detail["usage"]["answer"]["calls"] == 3
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    row_seconds = next(row["seconds"] for row in rows if (row["method"], row["id"]) == ("concat_pf", "q1"))
    first_call, *passage_calls = detail["calls"]
    # A reused call counts with the time that it took originally. The calls for single passages run at the same time.
    assert row_seconds >= first_call["seconds"] + max(call["seconds"] for call in passage_calls) - 1e-3


def test_a_folder_is_a_corpus_and_unreadable_files_are_named(
    data: Path, openai_server: OpenAIServer, quorum: Quorum, caplog: pytest.LogCaptureFixture
) -> None:
    folder = data.parent / "documents"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.md").write_text(
            f"# Thing {number}\n\nThing number {number} was found by person {number}.\n"
        )
    (folder / "picture.png").write_bytes(b"\x89PNG")
    openai_server.reply(reply_as_weak_model)
    options = (
        "--models",
        "openai:test",
        "--methods",
        "post_fusion",
        "--k",
        "2",
        "--retrievers",
        "bm25",
        "--out",
        "out",
    )
    run = quorum("compare", str(folder), str(data), *options)
    assert run.code == 0, run.err
    assert run.out.startswith(
        "post_fusion is the only method, so nothing was compared.\nUse post_fusion: exact match 100.0%"
    )
    assert "picture.png of the corpus is left out: files of type '.png' are not read" in caplog.text
    (folder / "0.md").write_text("# Thing 0\n\nNobody found thing number 0.\n")
    changed_run = quorum("compare", str(folder), str(data), *options)
    assert (changed_run.code, "source.sha256 was" in changed_run.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--budget", "calls"], "cannot be read; write calls=3"),
        (["--max-cost", "-1"], "give dollars, from 0 on"),
        (["--prices", "nowhere.toml"], "cannot be read"),
        (["--methods", "concat", "--baseline", "sure"], "is not one of the methods"),
        (["--k", "0"], "does not fit"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(
    options: list[str], message: str, corpus: str, data: Path, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    run = quorum("compare", corpus, str(data), "--models", "openai:test", *options)
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert message in run.err


def test_a_missing_corpus_is_refused(data: Path, openai_server: OpenAIServer, quorum: Quorum) -> None:
    run = quorum("compare", "absent_docs", str(data), "--models", "openai:test")
    assert (run.code, "There is no corpus absent_docs; give a folder" in run.err) == (2, True)


def test_every_method_is_compared_with_every_combination_of_models_k_and_retrievers() -> None:
    settings = {"models": ["openai:a", "openai:b"], "k": ["5", "10"], "retrievers": ["bm25"]}
    columns = list_columns(Options(data=Path(), methods="concat,sure[k=3]", **settings))
    assert [column.name for column in columns] == [
        "concat[model=openai:a;k=5]",
        "concat[model=openai:a;k=10]",
        "concat[model=openai:b;k=5]",
        "concat[model=openai:b;k=10]",
        "sure[k=3;model=openai:a]",
        "sure[k=3;model=openai:b]",
    ]
    assert {column.context.retriever for column in columns} == {"bm25"}
    [column] = list_columns(Options(data=Path(), methods="concat", models=["openai:a"]))
    # A setting with a single value is not in the name.
    assert (column.name, column.context.model) == ("concat", "openai:a")


def test_ask_withholds_an_answer_that_is_not_sure_enough(
    tmp_path: Path, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    # Two passages say 1880 and two say 1881, so the vote gives the winner a confidence of 0.5.
    lines = [{"id": f"p{n}", "title": "", "text": f"It was {1880 + n // 2}."} for n in range(4)]
    passages = tmp_path / "passages.jsonl"
    passages.write_text("".join(json.dumps(line) + "\n" for line in lines))
    openai_server.reply(lambda request: "1880" if "was 1880" in request.text else "1881")
    command = ("ask", "When?", "--passages", str(passages), "--model", "openai:test", "--abstain-below")
    withheld = quorum(*command, "0.6", "--method", "post_fusion")
    assert withheld.out.splitlines()[0] == "unknown"
    assert "'1880' was withheld: confidence 0.50 is below 0.6" in withheld.err
    assert quorum(*command, "0.5", "--method", "post_fusion").out.splitlines()[0] == "1880"
    assert "stated no confidence" in quorum(*command, "0.5", "--method", "concat_pf").err
    refused_run = quorum(*command, "0.5", "--method", "concat")
    assert (refused_run.code, "sample its answer (concat with --set samples=5" in refused_run.err) == (2, True)
    assert "give a confidence from 0 to 1" in quorum(*command, "7", "--method", "post_fusion").err


async def test_a_search_that_methods_share_counts_for_each_of_them(
    corpus: str, data: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_as_weak_model)
    options = Options(data=data, corpus=corpus, methods="concat", context=make_context())
    plan = await plan_comparison(options)
    [column] = share_retrieval(plan.columns)
    watchers = [AnswerWatcher(), AnswerWatcher()]
    for watcher in watchers:
        SEARCH_SECONDS.set(watcher.search_seconds)
        await answer("Who found thing number 1?", "concat", column.context, config={"callbacks": [watcher]})
    [first_seconds], [second_seconds] = (watcher.search_seconds.values() for watcher in watchers)
    assert first_seconds == second_seconds > 0  # the second answer reused the search, and counts its original time
    assert any(seconds == first_seconds for _, _, _, seconds in watchers[1].spans)
    assert watchers[1].compute_seconds_alone() >= first_seconds
