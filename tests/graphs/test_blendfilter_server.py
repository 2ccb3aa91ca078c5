"""The methods `blendfilter`, `direct` and `cot` with an OpenAI server on this machine: which calls are made at the same
time, and what the prompts contain.
"""

import threading
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest
from blendfilter_fixtures import INTERNAL_REPLY, PASSAGES, QUESTION, REASONING_REPLY
from openai_bodies import Response, make_error
from openai_server import LONGEST_WAIT, OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.state import Passage, Result
from quorum.graphs import answer

REPLY_TO_ENDING = {  # what a prompt ends with -> its reply
    "\nRelevant passages:": "1, 2",
    "\nJudgement:": "Passage 1 helps, and so does passage 2.\nRelevant passages: 1, 2",
    "\nTopic:": "Television",
    "\nPassage:": INTERNAL_REPLY,
    "\nRationale:": REASONING_REPLY,
    "\nAnswer:": "Jillian Belk",
}


def reply(request: Request) -> str:
    """The reply of REPLY_TO_ENDING to a prompt."""
    return next(text for ending, text in REPLY_TO_ENDING.items() if request.text.endswith(ending))


def reply_in_rounds(calls_per_round: list[int]) -> Callable[[Request], str | Response]:
    """Make a function that replies as `reply` does, but holds each reply until all calls of its round have arrived.

    calls_per_round: how many calls belong to the first round, to the second, and so on. If a call of a round does not
    arrive, the other calls of the round get an error after 50 seconds. A call after the last round gets an error at
    once.
    """
    round_ends = list(accumulate(calls_per_round))
    barriers = [threading.Barrier(call_count) for call_count in calls_per_round]
    lock, arrived = threading.Lock(), 0

    def hold_until_round_is_full(request: Request) -> str | Response:
        nonlocal arrived
        with lock:
            round_number = next((round_number for round_number, end in enumerate(round_ends) if arrived < end), None)
            arrived += 1
        try:
            if round_number is None:
                return make_error(400, "one call too many")
            barriers[round_number].wait(LONGEST_WAIT)
        except threading.BrokenBarrierError:
            return make_error(400, f"round {round_number} is incomplete")
        return reply(request)

    return hold_until_round_is_full


async def run_blendfilter(**settings: Any) -> Result:
    return await answer(QUESTION, "blendfilter", Context(model="openai:test", k=3, **settings), given=PASSAGES)


@pytest.mark.parametrize(
    ("settings", "calls_per_round"),
    [
        ({}, [3, 3, 3, 1, 1]),
        ({"answer_type": "yes_no"}, [2, 3, 3, 1, 1]),
        ({"filter_turns": 1}, [2, 3, 1]),
        ({"filter_union": True}, [3, 1, 1, 1, 1]),
        ({"filter_union": True, "filter_turns": 1}, [2, 1, 1]),
        ({"queries": "q"}, [1, 1, 1, 1, 1]),
        ({"queries": "q", "filter_turns": 1}, [1, 1]),
        ({"queries": "ex+in"}, [3, 2, 2, 1, 1]),
    ],
)
async def test_independent_calls_are_made_at_the_same_time(
    openai_server: OpenAIServer, settings: dict[str, Any], calls_per_round: list[int]
) -> None:
    """All calls of a round are under way before one of them is answered, so no call waits for another of its round."""
    openai_server.reply(reply_in_rounds(calls_per_round))
    result = await run_blendfilter(**settings)
    assert len(openai_server.chats()) == sum(calls_per_round)
    # "Jillian Belk" is no answer to a yes/no question
    assert result["unknown"] == (settings.get("answer_type") == "yes_no")
    assert sum(usage["calls"] for usage in result["usage"].values()) == sum(calls_per_round)


@pytest.mark.parametrize("answer_type", ["short", "yes_no"])
async def test_a_querys_judging_and_choosing_prompts_are_equal_up_to_their_instructions(
    openai_server: OpenAIServer, answer_type: str
) -> None:
    openai_server.reply(reply)
    await run_blendfilter(answer_type=answer_type)
    judging_prompts = {text for request in openai_server.chats() if (text := request.text).endswith("\nJudgement:")}
    choosing_prompts = {
        text for request in openai_server.chats() if (text := request.text).endswith("\nRelevant passages:")
    }
    assert len(judging_prompts) == len(choosing_prompts) == 3
    for text in judging_prompts:
        shared_text = text[: text.index("\n\nTake the passages one after another")]
        assert sum(other.startswith(shared_text) for other in choosing_prompts) == 1
        positions = [
            shared_text.index(part)
            for part in ("Passages:\n<passages>\n[1] ", "\n\n[3] ", f"Question: {QUESTION}", "Set aside")
        ]
        assert positions == sorted(positions)
    assert len({text[: text.index("[1] ")] for text in judging_prompts | choosing_prompts}) == 1


async def test_reasoning_prompts_share_task_and_examples(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply)
    await run_blendfilter()
    reasoning_prompts = [request.text for request in openai_server.chats() if request.text.endswith("\nRationale:")]
    assert len(reasoning_prompts) == 2
    assert len({text[: text.rindex("Passages:")] for text in reasoning_prompts}) == 1
    # once in the task, and once in each of the three examples
    assert reasoning_prompts[0].count("So the answer is") == 4


async def test_the_choice_prompt_contains_the_judgement_and_the_topic(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply)
    await run_blendfilter()
    choosing_prompts = [
        request.text for request in openai_server.chats() if request.text.endswith("\nRelevant passages:")
    ]
    assert all("The topic of the question is: Television\n" in text for text in choosing_prompts)
    assert all("Passage 1 helps, and so does passage 2." in text for text in choosing_prompts)


async def test_the_extraction_prompt_contains_only_question_and_reasoning(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply)
    await run_blendfilter()
    last_prompt = openai_server.chats()[-1].text
    assert f"Question: {QUESTION}\n\nReasoning:\n{REASONING_REPLY}\n\nAnswer:" in last_prompt
    assert PASSAGES[0]["text"] not in last_prompt


async def test_an_empty_judgement_and_an_unreadable_choice_keep_all_passages(openai_server: OpenAIServer) -> None:
    odd_replies = {"\nJudgement:": "", "\nRelevant passages:": "It depends."}
    openai_server.reply(
        lambda request: next(
            (text for ending, text in odd_replies.items() if request.text.endswith(ending)), reply(request)
        )
    )
    result = await run_blendfilter()
    assert (result["answer"], len(result["passages"])) == ("Jillian Belk", len(result["retrieved"] or []))
    assert {name: replies["count"] for name, replies in result["malformed"].items()} == {"judge": 3, "choose": 3}


@pytest.mark.parametrize("method", ["blendfilter", "direct", "cot"])
async def test_any_text_is_sent_unchanged(openai_server: OpenAIServer, method: str) -> None:
    openai_server.reply("So the answer is $5 {x}.")
    odd_passage = Passage(id="x", title="$title {x}", text='It costs $5 {x} — "quoted" \\n {passages} ${question} 🗼')
    result = await answer("¿$question? {x}", method, Context(model="openai:test"), given=[odd_passage])
    assert (result["answer"], result["evidence"][0]["start"]) == ("$5 {x}", 9)
    for request in openai_server.chats():
        assert "Question: ¿$question? {x}" in request.text
        if "Passages:" in request.text:
            assert f"[1] $title {{x}}\n{odd_passage['text']}" in request.text


@pytest.mark.parametrize(("method", "ending"), [("direct", "\nAnswer:"), ("cot", "\nRationale:")])
async def test_direct_and_cot_make_one_call_even_with_samples(
    openai_server: OpenAIServer, method: str, ending: str
) -> None:
    openai_server.reply(reply)
    context = Context(model="openai:test", k=5, samples=3, temperature=0.7, top_p=0.5)
    result = await answer(QUESTION, method, context, given=PASSAGES)
    (request,) = openai_server.chats()
    assert (request.body["temperature"], request.body["top_p"]) == (0.7, 0.5)
    assert request.text.endswith(f"Question: {QUESTION}{ending}")
    assert (result["answer"], result["confidence"]) == ("Jillian Belk", None)
    positions = [
        request.text.rindex(part) for part in ("Passages:\n<passages>\n[1] SuperMansion", "[5] Jillian Bell", QUESTION)
    ]
    assert positions == sorted(positions)
