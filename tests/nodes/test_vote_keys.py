"""The setting answer_measure decides which answers count as one: by the key of a vote, or by SQuAD's normalisation."""

import json
from pathlib import Path

import pytest
from experiment_runs import run_experiment_over
from method_fixtures import PASSAGES, QUESTION, STATE, make_runtime, make_votes
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.state import State
from quorum.core.text import PUBLISHED_MEASURE, AnswerMeasure
from quorum.evaluation.experiments.catalogue import find_experiment
from quorum.models.scripted import ScriptedModel
from quorum.nodes.answer import concat_answer
from quorum.nodes.base_prompt import base_answer
from quorum.nodes.fan_out import list_ranks_to_ask
from quorum.nodes.keep_answered import keep_answered
from quorum.nodes.propose_candidates import propose_candidates
from quorum.nodes.self_verification import sample_answers
from quorum.nodes.vote import certified_vote, vote

SAMPLES = ("Rome", "two", "2")  # SQuAD's normalisation separates "two" from "2"
BY_MEASURE = pytest.mark.parametrize(("measure", "winner"), [("exact_match", "two"), (PUBLISHED_MEASURE, "Rome")])


@BY_MEASURE
async def test_votes_are_counted_by_the_key_of_the_setting(measure: AnswerMeasure, winner: str) -> None:
    state, runtime = State(**STATE, votes=make_votes(*SAMPLES)), make_runtime(answer_measure=measure)
    update = await vote(state, runtime)
    assert (update["answer"], len(update["voters"] or [])) == (winner, 2 if winner == "two" else 1)
    separate_votes = make_votes("two", "2", "two", "2", "two")
    certified = (await certified_vote({**state, "passages": PASSAGES, "votes": separate_votes}, runtime))["certified"]
    assert certified == (2 if winner == "two" else 0)
    # After two votes of three, "two" and "2" have decided a staged vote if they are one answer.
    staged = Context(model=ScriptedModel(), answer_measure=measure, vote="staged")
    assert list_ranks_to_ask({**state, "votes": make_votes("two", "2")}, staged) == ([] if winner == "two" else [2])


@BY_MEASURE
async def test_samples_are_counted_by_the_key_of_the_setting(measure: AnswerMeasure, winner: str) -> None:
    for prompt, node in (("answer", concat_answer), ("answer_base", base_answer)):
        runtime = make_runtime(ScriptedModel().on(prompt, *SAMPLES), answer_measure=measure, samples=3)
        assert (await node(STATE, runtime))["answer"] == winner


@pytest.mark.parametrize(("measure", "candidates"), [("exact_match", ["two"]), (PUBLISHED_MEASURE, ["two", "2"])])
async def test_candidates_are_distinct_by_the_key_of_the_setting(measure: AnswerMeasure, candidates: list[str]) -> None:
    state = State(**STATE, votes=make_votes("two", "2"))
    assert (await keep_answered(state, make_runtime(answer_measure=measure)))["candidates"] == candidates
    sure = make_runtime(ScriptedModel().on("candidates", "(a) two (b) 2"), answer_measure=measure)
    assert (await propose_candidates(STATE, sure))["candidates"] == candidates
    replies = (f"Because.\nAnswer: {answer}" for answer in ("two", "2", "two", "2", "2"))
    verified = make_runtime(ScriptedModel().on("zero_shot_cot", *replies), answer_measure=measure)
    assert (await sample_answers(STATE, verified))["candidates"] == candidates


async def test_an_experiment_of_a_paper_votes_by_squads_normalisation(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    def reply(request: Request) -> str:
        return next(answer for word, answer in (("Iron", "two"), ("strike", "2"), ("", "Rome")) if word in request.text)

    openai_server.reply(reply)
    record = {"id": "q", "question": QUESTION, "answers": ["2"], "passages": PASSAGES[:3]}
    (tmp_path / "data.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    scores, _ = await run_experiment_over(
        find_experiment("post-fusion-table-2"),
        tmp_path / "data.jsonl",
        Context(model="openai:test", attempts=1),
        {"methods": "post_fusion"},
        out=tmp_path / "out",
    )
    rows = [json.loads(line) for line in (scores.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    # The key of a vote would count "two" and "2" as one answer, and this answer would win.
    assert {row["method"]: row["answer"] for row in rows}["post_fusion"] == "Rome"
