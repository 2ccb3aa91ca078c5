"""Comparisons whose questions are asked by several processes, with a race between the methods and without."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.decisions.decide import Decision
from quorum.evaluation.run.options import Options

pytestmark = [
    pytest.mark.usefixtures("ray_address"),
    pytest.mark.filterwarnings("ignore"),
]  # Ray itself causes warnings
QUESTION_COUNT = 40
METHODS = "concat[k=2],concat[k=1]"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    lines = [
        {
            "id": f"q{number}",
            "question": f"Who is number {number}?",
            "answers": [f"person {number}"],
            "passages": [{"id": f"p{number}{i}", "title": "", "text": f"Passage {i} of {number}."} for i in range(2)],
        }
        for number in range(QUESTION_COUNT)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def reply_as_reader(request: Request) -> Response:
    """The right answer if the prompt shows two passages, else "unknown". Each call uses 1000 input tokens."""
    number = int(request.text.rpartition("number ")[2].partition("?")[0])
    usage = {"prompt_tokens": 1000, "completion_tokens": 1, "total_tokens": 1001}
    return Response(f"person {number}" if request.text.count("Passage ") == 2 else "unknown", usage=usage)


async def run_comparison(data: Path, out: str, engine: str = "ray", **options: Any) -> Decision:
    """Compare METHODS in a race, unless `options` say otherwise.

    out: the name of the folder of results, and of the journal.
    """
    context = Context(model="openai:test", attempts=1, journal=str(data.parent / f"{out}.sqlite"))
    all_options = {"methods": METHODS, "corpus": "given", "out": data.parent / out, "race": "questions", **options}
    plan = await plan_comparison(Options(data=data, context=context, engine=engine, concurrency=2, **all_options))
    return await compare(plan)


async def test_a_race_on_ray_ends_like_one_in_this_process(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    in_many_processes, in_one_process = (
        await run_comparison(data, "many"),
        await run_comparison(data, "one", engine="local"),
    )
    assert in_many_processes.scores.race == in_one_process.scores.race
    assert in_many_processes.scores.race is not None
    assert in_many_processes.scores.race.survivors == ["concat[k=2]"]
    asked_methods = [
        json.loads(line)["method"]
        for line in (in_many_processes.scores.folder / "results.jsonl").read_text().splitlines()
    ]
    assert asked_methods.count("concat[k=2]") == QUESTION_COUNT
    assert asked_methods.count("concat[k=1]") < QUESTION_COUNT
    assert in_many_processes.spent["models"]["openai:test"]["calls"] == len(asked_methods)
    # The same folder again: all its answers are used.
    second_decision = await run_comparison(data, "many", engine="local")
    assert second_decision.scores.new_answers == 0


async def test_a_limit_on_cost_ends_a_race_on_ray(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    prices = data.parent / "prices.toml"
    # Dollars for a million tokens: each call costs one dollar.
    prices.write_text('["openai:test"]\ninput = 1000\noutput = 0\n', encoding="utf-8")
    decision = await run_comparison(data, "out", prices=prices, max_cost=3.5)
    assert decision.scores.race is not None
    assert not decision.scores.race.is_finished
    assert decision.recommendation.best is None
    assert decision.spent["cost"] == pytest.approx(len(openai_server.requests), abs=2)  # two calls may be on their way


async def test_without_a_race_the_comparison_counts_what_workers_spend(data: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_as_reader)
    decision = await run_comparison(data, "many", race=None, corpus="pool", methods="concat", limit=6)
    assert decision.scores.race is None
    assert decision.spent["models"]["openai:test"]["calls"] == 6
    assert (decision.spent["searches"], decision.spent["searches_made"]) == (6, 6)  # requested, and really made
    assert decision.scores.spending.calls == 6
