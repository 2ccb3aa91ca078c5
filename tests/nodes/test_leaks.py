"""An answer that a model repeats from a demonstration of the prompt, and that no passage has, is unknown."""

import json
from pathlib import Path
from typing import Any

import pytest
from method_fixtures import PASSAGES, QUESTION

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.leaks import find_demonstration_answers
from quorum.prompts import BUILT_IN

LEAKED = "Robert Hooke"  # a built-in demonstration's answer


async def ask(model: ScriptedModel, method: str = "concat", **settings: Any) -> Any:
    given = settings.pop("given", PASSAGES[:2])
    return await answer(QUESTION, method, Context(model=model, **settings), given=given)


@pytest.mark.parametrize("reply", [LEAKED, f"The answer is **{LEAKED}**.", f"Answer: {LEAKED.upper()}"])
async def test_a_demonstrations_answer_that_no_passage_has_is_unknown_and_malformed(reply: str) -> None:
    result = await ask(ScriptedModel().on("answer", reply))
    assert (result["answer"], result["unknown"], result["answer_text"]) == ("unknown", True, None)
    assert result["malformed"]["answer"]["count"] == 1


async def test_a_demonstrations_answer_that_a_passage_has_is_an_answer() -> None:
    given = [*PASSAGES[:1], Passage(id="h", title=LEAKED, text="He finished it.")]
    result = await ask(ScriptedModel().on("answer", LEAKED), given=given)
    assert (result["answer"], result["malformed"]) == (LEAKED, {})


async def test_a_leaked_vote_is_unknown_and_each_passage_counts_for_itself() -> None:
    model = ScriptedModel().on("answer: passage 1", LEAKED).on("answer: passage 2", "1931")
    result = await ask(model, "post_fusion")
    assert [vote["unknown"] for vote in result["votes"]] == [True, False]
    assert (result["answer"], result["malformed"]["answer"]["count"]) == ("1931", 1)


@pytest.mark.parametrize("method", ["direct", "cot"])
async def test_answers_of_the_users_own_examples_may_not_leak_either(method: str, tmp_path: Path) -> None:
    example = {"question": "Who lives there?", "answer": "Anna Korn", "rationale": "It is her house."}
    path = tmp_path / "examples.jsonl"
    path.write_text(json.dumps(example), encoding="utf-8")
    reply = "Anna Korn" if method == "direct" else "It was her. So the answer is Anna Korn."
    model = ScriptedModel().on("direct", reply).on("reason", reply)
    assert (await ask(model, method, examples=str(path)))["unknown"]


async def test_a_leaked_candidate_is_left_out() -> None:
    model = ScriptedModel().on("candidates", f"(a) {LEAKED} (b) 1931")
    shown_pair = f"Question: Who?\nAnswer: {LEAKED}\n\n"
    prompts = {"candidates": BUILT_IN["candidates"].replace("${examples}", f"${{examples}}{shown_pair}")}
    result = await ask(model.on("conditional_summary", "It was 1931."), "sure", candidates=2, prompts=prompts)
    assert result["candidates"] == ["1931"]


async def test_answers_from_memory_and_verdicts_cannot_leak() -> None:
    memory = await ask(ScriptedModel().on("answer_base_closed", LEAKED), "no_retrieval")
    assert memory["answer"] == LEAKED
    yes = await ask(ScriptedModel().on("direct", "yes"), "direct")
    assert (yes["answer"], yes["malformed"]) == ("yes", {})


def test_the_answers_are_found_in_the_prompts_themselves() -> None:
    assert find_demonstration_answers(BUILT_IN["answer"], {}) == {"river severn", "robert hooke", "1965"}
    assert find_demonstration_answers(BUILT_IN["react"], {"demonstrations": "Action 2: Finish[the Elbe]"}) == {"elbe"}
    shown = "Rationale: He did. So the answer is Ida Brenn.\n\nSo the final answer is: Oslo"
    assert find_demonstration_answers("$demonstrations", {"demonstrations": shown, "question": "Answer: x"}) == {
        "ida brenn",
        "oslo",
    }
    for name, template in BUILT_IN.items():
        assert not any("$" in found for found in find_demonstration_answers(template, {})), name
