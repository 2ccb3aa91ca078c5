"""What an estimate says that each method will use is what the run then uses."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.evaluation.compare.estimate import MethodEstimate
from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.run.options import Options
from quorum.models.token_estimate import estimate_tokens

TEXT = (
    "The lighthouse of Vell was built by Ada Korn in 1874. It is the oldest lighthouse of the coast, and it warned "
    "ships of the sandbanks before the harbour. Its lamp burned colza oil, later gas, and from 1911 electric light. "
)
LONG_ANSWER = (
    "The lighthouse of Vell was built by Ada Korn in 1874 to warn ships of the sandbanks before the harbour [1]. Its "
    "lamp first burned colza oil; gas followed, and electric light from 1911 on [2]. The tower is open on Sundays, and "
    "the keeper shows the old lens to visitors, who may also climb to the gallery [3]. It was painted red and white "
    "after a storm in which two boats missed the entrance, so that crews could see it by day as well [1]. Today it is "
    "the oldest lighthouse of the coast and stands under protection, and its light is switched by a clock [2]."
)


def write_data(path: Path, question: str, answer: str, meta: dict[str, str]) -> Path:
    passages = [{"id": f"p{n}", "title": f"Vell {n}", "text": TEXT * 2} for n in range(4)]
    lines = [
        {"id": str(n), "question": question, "answers": [answer], "passages": passages, "meta": meta} for n in range(2)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


async def estimate_and_run(
    tmp_path: Path, data: Path, methods: str, **settings: Any
) -> list[tuple[str, MethodEstimate, dict[str, float]]]:
    """For each column (its name, its estimate, what the run used for a question on average)."""
    context = Context(**{"model": "openai:test", "attempts": 1, "journal": "off", "k": 4} | settings)
    options = Options(data=data, corpus="given", methods=methods, context=context, out=tmp_path / "out")
    plan = await plan_comparison(options)
    assert plan.estimate is not None
    await compare(plan)
    rows = [json.loads(line) for line in (tmp_path / "out/results.jsonl").read_text(encoding="utf-8").splitlines()]
    used = {}
    for name in plan.estimate.methods:
        rows_of_method = [row for row in rows if row["method"] == name]
        assert rows_of_method
        used[name] = {
            key: sum(row[key] for row in rows_of_method) / len(rows_of_method)
            for key in ("calls", "input_tokens", "output_tokens")
        }
    return [(name, plan.estimate.methods[name], used[name]) for name in plan.estimate.methods]


@pytest.mark.parametrize(
    ("question", "methods", "settings"),
    [
        ("Who built the lighthouse of Vell?", "all", {}),
        pytest.param("Is the lighthouse of Vell old?", "all", {"answer_type": "yes_no"}, marks=pytest.mark.long),
        ("Who built the lighthouse of Vell?", "concat,sure,react", {"context_filter": "embedded"}),
        ("Who built the lighthouse of Vell?", "concat,filco", {"context_filter": "llm", "reranker": "rationale"}),
    ],
)
async def test_the_estimated_calls_and_tokens_are_those_of_the_run(
    tmp_path: Path, question: str, methods: str, settings: dict[str, str]
) -> None:
    """With the embedded reader an estimate is exact."""
    data = write_data(tmp_path / "data.jsonl", question, "yes" if question.startswith("Is") else "Ada Korn", {})
    outcomes = await estimate_and_run(tmp_path, data, methods, model="embedded", **settings)
    assert len(outcomes) > 15 or methods != "all"
    differing = {
        name: (estimate.calls, used["calls"], estimate.input_tokens, used["input_tokens"])
        for name, estimate, used in outcomes
        if estimate.calls != pytest.approx(used["calls"])
        or estimate.input_tokens != pytest.approx(used["input_tokens"], abs=1)
        or estimate.output_tokens != pytest.approx(used["output_tokens"], abs=1)
    }
    assert differing == {}


def reply_at_length(request: Request) -> Response:
    return count_tokens(request, LONG_ANSWER)


def count_tokens(request: Request, reply: str) -> Response:
    """The reply, with the tokens of the request and of the reply as Quorum estimates them."""
    tokens = {"prompt_tokens": estimate_tokens(request.text), "completion_tokens": estimate_tokens(reply)}
    return Response(reply, usage=tokens | {"total_tokens": sum(tokens.values())})


async def test_a_dry_run_of_long_answers_names_the_tokens_of_the_run(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_at_length)
    data = write_data(tmp_path / "data.jsonl", "Why was the lighthouse built?", LONG_ANSWER, {"answer_type": "long"})
    outcomes = await estimate_and_run(tmp_path, data, "concat,post_fusion")
    assert len(outcomes) == 2
    for name, estimate, used in outcomes:
        estimated_tokens = estimate.input_tokens + estimate.output_tokens
        used_tokens = used["input_tokens"] + used["output_tokens"]
        assert used_tokens / 1.5 < estimated_tokens < used_tokens * 1.5, name
        assert used["output_tokens"] / 1.5 < estimate.output_tokens < used["output_tokens"] * 1.5, name


async def test_a_dry_run_of_claims_counts_the_prompts_for_labels(tmp_path: Path, openai_server: OpenAIServer) -> None:
    """The embedded reader refuses claims, but not in a rehearsal."""
    openai_server.reply(lambda request: count_tokens(request, "SUPPORTS"))
    data = write_data(tmp_path / "data.jsonl", "Ada Korn built a lighthouse.", "SUPPORTS", {"answer_type": "label"})
    outcomes = await estimate_and_run(tmp_path, data, "concat,post_fusion", structured="off")
    assert [(estimate.calls, used["calls"]) for _, estimate, used in outcomes] == [(1, 1), (4, 4)]
    for _, estimate, used in outcomes:
        assert used["input_tokens"] / 1.5 < estimate.input_tokens < used["input_tokens"] * 1.5
        assert estimate.output_tokens < used["output_tokens"] * 3  # a label, not a short answer


async def test_the_call_of_a_users_own_system_is_counted_but_not_made(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("Ada Korn")
    data = write_data(tmp_path / "data.jsonl", "Who built the lighthouse?", "Ada Korn", {})
    outcomes = await estimate_and_run(tmp_path, data, f"concat,mine={openai_server.url}#m", model="embedded")
    assert [(name, estimate.calls, used["calls"]) for name, estimate, used in outcomes] == [
        ("concat", 1, 1),
        ("mine", 1, 1),
    ]
    assert len(openai_server.chats()) == 2  # one for each question of the run, and none for the estimate
