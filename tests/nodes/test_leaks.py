"""An answer that a model repeats from a demonstration of the prompt, and that no passage has, is unknown."""

import json
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import pytest
from method_fixtures import PASSAGES, QUESTION, make_runtime
from openai_server import OpenAIServer

from quorum import AnswerText, RunFinished, read_reply, stream
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.ask import ask as ask_prompt
from quorum.nodes.leaks import find_demonstration_answers
from quorum.nodes.read_replies import get_answer
from quorum.prompts import BUILT_IN
from quorum.prompts.registry import PROMPTS

LEAKED = "Robert Hooke"  # a built-in demonstration's answer
WHO = "Who built the Lumen Tower?"


async def ask(model: ScriptedModel, method: str = "concat", **settings: Any) -> Any:
    given = settings.pop("given", PASSAGES[:2])
    return await answer(settings.pop("question", WHO), method, Context(model=model, **settings), given=given)


LEAKING_REPLIES = [
    LEAKED,
    f"The answer is **{LEAKED}**.",
    f"Answer: {LEAKED.upper()}",
    f"built in 1874 by {LEAKED}",
    f"It was built in 1874 by {LEAKED}.",
    f"The Lumen Tower was finished in 1931 by {LEAKED}, who came from the town and built it with his own hands.",
]


@pytest.mark.parametrize("reply", LEAKING_REPLIES)
async def test_a_demonstrations_answer_that_no_passage_has_is_unknown_and_malformed(reply: str) -> None:
    result = await ask(ScriptedModel().on("answer", reply))
    assert (result["answer"], result["unknown"], result["answer_text"]) == ("unknown", True, None)
    assert result["malformed"]["answer"]["count"] == 1


@pytest.mark.parametrize("shorten", ["auto", "reader", "model", "off"])
@pytest.mark.parametrize("reply", LEAKING_REPLIES)
async def test_a_leaked_answer_in_a_sentence_is_unknown_however_replies_are_read(shorten: str, reply: str) -> None:
    model = ScriptedModel().on("answer", reply).on("shorten", lambda _: LEAKED)
    result = await ask(model, shorten=shorten)
    if shorten == "off" and len(reply.split()) > 12:  # such a sentence is the answer, whatever it ends in
        assert result["answer"] == reply.rstrip(".")
    else:
        assert (result["answer"], result["malformed"]["answer"]["count"]) == ("unknown", 1)


async def test_what_is_read_beside_a_demonstrations_answer_is_an_answer() -> None:
    reply = f"The Lumen Tower was finished in 1931 by {LEAKED}."
    result = await ask(ScriptedModel().on("answer", reply), question=QUESTION)
    assert (result["answer"], result["malformed"]) == ("1931", {})


@pytest.mark.parametrize("reply", LEAKING_REPLIES[:1] + LEAKING_REPLIES[3:])
async def test_a_leaked_answer_in_json_is_unknown_also_in_a_stream(openai_server: OpenAIServer, reply: str) -> None:
    openai_server.reply(json.dumps({"answer": reply}))
    context = Context(model="openai:test")
    for method in ("concat", "post_fusion"):
        events = [event async for event in stream(WHO, method, context, given=PASSAGES[:2])]
        assert isinstance(events[-1], RunFinished)
        result = events[-1].result
        assert (result["answer"], result["answer_text"]) == ("unknown", None), method
        assert result["malformed"]["answer"]["count"] == (1 if method == "concat" else 2)
        assert "".join(event.text for event in events if isinstance(event, AnswerText)) == "unknown"


SHOWING_PROMPTS = [
    name
    for name, prompt in sorted(PROMPTS.items())
    if prompt.short_answer and prompt.answer_type == "short"
    if "passages" in Template(BUILT_IN[name]).get_identifiers()
]


@pytest.mark.parametrize("prompt", SHOWING_PROMPTS)
async def test_no_prompt_that_shows_passages_lets_a_demonstrations_answer_through(prompt: str) -> None:
    names = set(Template(BUILT_IN[prompt]).get_identifiers()) - {"passages"}
    demonstration = f"Question: Who?\nAnswer: {LEAKED}\nSo the final answer is: {LEAKED}\nAction 2: Finish[{LEAKED}]"
    inputs = {name: QUESTION if name == "question" else "1" for name in names}
    said = f"built in 1874 by {LEAKED}"
    reply = {"candidates": f"(a) {said}", "react": f"Thought 1: x\nAction 1: Finish[{said}]"}.get(
        prompt, f"Finish[{said}]" if prompt == "react_action" else f"Answer: {said}"
    )
    runtime = make_runtime(ScriptedModel().on(prompt, reply), prompts={prompt: f"{demonstration}\n{BUILT_IN[prompt]}"})
    read = partial(read_reply, prompt, question=QUESTION, candidates=["1"], count=2)
    replies = await ask_prompt(PROMPTS[prompt].read_with(read), runtime, passages=PASSAGES[:2], **inputs)
    value = replies.values[0]
    assert value == [] or get_answer(PROMPTS[prompt], value) == "unknown"
    assert replies.state_update["malformed"][prompt]["count"] == 1


async def test_a_demonstrations_number_or_word_inside_an_answer_is_no_leak() -> None:
    model = ScriptedModel().on("direct", "two red towers")
    result = await ask(model, "direct", prompts={"direct": "Question: How many?\nAnswer: two\n" + BUILT_IN["direct"]})
    assert result["answer"] == "two red towers"


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
