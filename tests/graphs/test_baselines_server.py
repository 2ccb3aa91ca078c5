"""Tests the requests that SuRe's baselines send to a loopback OpenAI server."""

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.graphs import answer

CALLS_OF_METHOD = {
    "base": 1,
    "zero_shot_cot": 1,
    "rerank": 3,
    "replug": 3,
    "selection_inference": 4,
    "self_verification": 5,
}
REPLY = "Notes: So it is.\nAnswer: 1931"  # every method here finds its answer in this reply


@pytest.mark.parametrize("method", CALLS_OF_METHOD)
async def test_requests_show_passages_before_the_question(openai_server: OpenAIServer, method: str) -> None:
    openai_server.reply(REPLY)
    result = await answer(QUESTION, method, Context(model="openai:test", k=3), given=PASSAGES)
    requests = openai_server.chats()
    assert (result["answer"], len(requests)) == ("1931", CALLS_OF_METHOD[method])
    for request in requests:
        # The last occurrence of each part, because the prompt's examples may contain the same words earlier.
        positions = [request.text.rindex(part) for part in ("Passages:", "[1] ", f"Question: {QUESTION}")]
        assert positions == sorted(positions)
        assert not {"stop", "n", "top_p"} & set(request.body)


async def test_samples_and_guesses_of_masked_words_have_their_own_temperature_and_seeds(
    openai_server: OpenAIServer,
) -> None:
    """Self-verification samples five answers. If they differ, the model writes for each distinct answer a statement in
    which words of the question are masked, and then guesses these words ten times. The score of an answer is the number
    of right guesses.
    """

    def reply(request: Request) -> str:
        if "Statement: " in request.text:
            asks_to_mask = request.text.endswith("Statement:")
            year = request.text.rsplit("Answer: ", 1)[-1].split()[0]
            return f"The [MASK] was finished in {year}.\nHidden: Lumen Tower" if asks_to_mask else "Lumen Tower"
        return f"So it is.\nAnswer: {1930 + request.body['seed'] % 2}"

    openai_server.reply(reply)
    result = await answer(QUESTION, "self_verification", Context(model="openai:test", k=2), given=PASSAGES)
    assert (result["candidates"], result["scores"]) == (["1930", "1931"], [10.0, 10.0])
    parameters = [(request.body["temperature"], request.body.get("seed")) for request in openai_server.chats()]
    assert sorted(parameters[:5]) == [(0.3, seed) for seed in range(5)]
    assert sorted(parameters[5:], key=str) == sorted([(0.0, None)] * 2 + [(0.2, n) for n in range(10)] * 2, key=str)


@pytest.mark.parametrize("method", CALLS_OF_METHOD)
async def test_any_text_is_sent_unchanged(openai_server: OpenAIServer, method: str) -> None:
    """Text that looks like a variable of a prompt is not replaced."""
    openai_server.reply("Notes: x\nAnswer: 東京")
    odd_passage = Passage(id="x", title="$title {x}", text='東京 costs $5 — "quoted" \\n {passages} ${question} 🗼')
    result = await answer("¿$question? {x}", method, Context(model="openai:test"), given=[odd_passage])
    assert (result["answer"], result["evidence"][0]["start"]) == ("東京", 0)
    for request in openai_server.chats():
        assert f"[1] $title {{x}}\n{odd_passage['text']}" in request.text
        assert "Question: ¿$question? {x}" in request.text
