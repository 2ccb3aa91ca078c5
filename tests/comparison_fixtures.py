"""For tests of compare: six questions, a corpus with their answers, and a scripted model that answers three of the
questions if it sees several passages.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response
from openai_server import Request

from quorum.core.context import Context
from quorum.evaluation.compare.estimate import Estimate
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.decisions.decide import Decision
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.plan import Plan


@pytest.fixture
def data(tmp_path: Path) -> Path:
    records = [
        {"id": f"q{n}", "question": f"Who found thing number {n}?", "answers": [f"person {n}"]} for n in range(6)
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    lines = [{"id": f"p{n}", "title": "", "text": f"Thing number {n} was found by person {n}."} for n in range(6)]
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def reply_as_weak_model(request: Request) -> Response:
    """Give the right answer to a prompt with several passages if the question's number is even, and to a prompt with
    one passage if this passage holds the answer. Give "unknown" to any other prompt.
    """
    number = int(request.text.rpartition("thing number ")[2].partition("?")[0])
    has_one_passage = request.text.count("was found by") == 1
    is_known = f"number {number} was" in request.text if has_one_passage else number % 2 == 0
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
    return Response(f"person {number}" if is_known else "unknown", usage=usage)


def make_context(**settings: Any) -> Context:
    return Context(
        **{"model": "openai:test", "retriever": "bm25", "k": 2, "attempts": 1, "journal": "j.sqlite"} | settings
    )


async def run_comparison(corpus: str, data: Path, **options: Any) -> tuple[Plan, Decision]:
    all_options = Options(data=data, corpus=corpus, context=make_context(), out=data.parent / "out", **options)
    plan = await plan_comparison(all_options)
    return plan, await compare(plan)


async def make_estimate(corpus: str, data: Path, **options: Any) -> Estimate:
    plan = await plan_comparison(Options(data=data, corpus=corpus, context=make_context(), **options))
    assert plan.estimate is not None
    return plan.estimate
