"""Tests the requests that the graphs send to a loopback OpenAI server, and how the graphs read the replies."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response, make_too_long_error
from openai_server import OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.core.state import Passage, Result
from quorum.graphs import answer

# How many calls each method sends if every reply is "Answer: 1931". These are the methods whose prompts all hold
# passages and a question; the other methods have test files of their own.
CALLS_OF_METHOD = {"concat": 1, "post_fusion": 3, "pruning": 1, "summary": 1, "concat_pf": 1, "pf_concat": 4}


async def ask(method: str, **settings: Any) -> Result:
    return await answer(QUESTION, method, Context(model="openai:test", k=3, **settings), given=PASSAGES)


def list_shown_ids(request: Request) -> list[str]:
    """The ids of the passages that a request shows after its demonstrations."""
    shown_part = request.text.rsplit("Passages:", 1)[1]
    return [passage["id"] for passage in PASSAGES if passage["text"] in shown_part]


def reply_by_passage(replies: dict[str, str], otherwise: str) -> Callable[[Request], str]:
    """A function that replies to a request by the passage it shows, or with `otherwise` if it shows several or none."""
    return lambda request: replies[list_shown_ids(request)[0]] if len(list_shown_ids(request)) == 1 else otherwise


@pytest.mark.parametrize("method", CALLS_OF_METHOD)
async def test_requests_hold_passages_before_the_question(openai_server: OpenAIServer, method: str) -> None:
    openai_server.reply("Answer: 1931")
    result = await ask(method)
    requests = openai_server.chats()
    assert (result["answer"], len(requests)) == ("1931", CALLS_OF_METHOD[method])
    for request in requests:
        assert [message["role"] for message in request.body["messages"]] == ["user"]
        assert (request.body["model"], request.body["temperature"]) == ("test", 0.0)
        assert not {"stop", "n", "seed", "top_p"} & set(request.body)
        positions = [request.text.rindex(part) for part in ("Passages:", "[1] ", f"Question: {QUESTION}")]
        assert positions == sorted(positions)
        assert re.search(r"\n(Answer|Rationale):$", request.text)
    assert sum(usage["calls"] for usage in result["usage"].values()) == len(requests)
    assert all(usage["input_tokens"] > 0 for usage in result["usage"].values())
    assert result["malformed"] == {}


@pytest.mark.parametrize("method", CALLS_OF_METHOD)
async def test_sampling_settings_are_sent(openai_server: OpenAIServer, method: str) -> None:
    openai_server.reply("Answer: 1931")
    await ask(method, samples=2, temperature=0.7, top_p=0.9, seed=5)
    requests = openai_server.chats()
    ignores_samples = method in ("pruning", "summary")
    assert len(requests) == CALLS_OF_METHOD[method] * (1 if ignores_samples else 2)
    assert {request.body["temperature"] for request in requests} == {0.7}
    assert {request.body["top_p"] for request in requests} == {0.9}
    assert {request.body["seed"] for request in requests} == ({5} if ignores_samples else {5, 6})


async def test_prompts_of_one_method_share_their_beginning_byte_for_byte(openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    await ask("pf_concat")
    texts = [request.text.encode() for request in openai_server.chats()]
    beginnings = {text[: text.index(b"[1] ")] for text in texts}
    assert len(beginnings) == 1
    assert len(beginnings.pop()) > 600


async def test_concats_prompt_and_the_last_prompt_of_pf_concat_begin_with_the_same_passages(
    openai_server: OpenAIServer,
) -> None:
    openai_server.reply("1931")
    await ask("concat")
    await ask("pf_concat")
    requests = openai_server.chats()
    concat_prompt, last_prompt = requests[0].text, requests[-1].text
    assert list_shown_ids(requests[-1]) == ["p1", "p2", "p3"]
    assert last_prompt.startswith(concat_prompt[: concat_prompt.index("\nAnswer:", concat_prompt.index(QUESTION))])
    assert last_prompt.index("\n- 1931\n") > last_prompt.index(QUESTION)


async def test_every_passage_is_asked_in_a_call_of_its_own(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_passage({"p1": "1931", "p2": "1950", "p3": "1931."}, ""))
    result = await ask("post_fusion")
    assert sorted(list_shown_ids(request) for request in openai_server.chats()) == [["p1"], ["p2"], ["p3"]]
    assert [vote["answer"] for vote in result["votes"]] == ["1931", "1950", "1931"]
    assert (result["answer"], result["confidence"]) == ("1931", pytest.approx(2 / 3))


async def test_after_an_unknown_answer_the_fallback_asks_each_passage_alone(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_passage({"p1": "unknown", "p2": "1950", "p3": "unknown"}, "I don't know."))
    result = await ask("concat_pf")
    assert [len(list_shown_ids(request)) for request in openai_server.chats()] == [3, 1, 1, 1]
    assert (result["answer"], result["usage"]["answer"]["calls"]) == ("1950", 4)


async def test_the_last_prompt_of_pf_concat_shows_the_passages_that_answered(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_passage({"p1": "1931", "p2": "Unknown.", "p3": "1929"}, "1931"))
    result = await ask("pf_concat")
    last_request = openai_server.chats()[-1]
    assert list_shown_ids(last_request) == ["p1", "p3"]
    assert "\n- 1931\n- 1929\n" in last_request.text
    assert [passage["id"] for passage in result["passages"]] == ["p1", "p3"]
    assert result["candidates"] == ["1931", "1929"]


# (reply, expected answer, number of malformed replies)
REPLIES: list[tuple[str | Response, str, int]] = [
    ("1931", "1931", 0),
    ("**Answer:** 1931.", "1931", 0),
    ('```json\n{"answer": "1931"}\n```', "1931", 0),
    ("<think>Passage 1 says 1931.\nAnswer: 1950</think>\n\nAnswer: 1931", "1931", 0),
    ("<think>Passage 1 says 1931, but", "unknown", 1),
    ("Based on the passages:\n1931", "1931", 1),
    ("", "unknown", 1),
    (Response("1931", finish_reason="length"), "1931", 1),
    (Response("", finish_reason="content_filter"), "unknown", 1),
    ("I'm sorry, but I can't assist with that request.", "unknown", 0),
    ("The passages do not contain that information.", "unknown", 0),
    ("1931\n\nQuestion: When was the Iron Mast painted?\nAnswer: 1950", "1931", 0),
]


@pytest.mark.parametrize(("reply", "expected", "malformed"), REPLIES)
async def test_replies_to_the_prompt_of_concat(
    openai_server: OpenAIServer, reply: str | Response, expected: str, malformed: int
) -> None:
    openai_server.reply([reply])
    result = await ask("concat")
    reply_text = reply if isinstance(reply, str) else reply.text
    assert (result["answer"], result["unknown"]) == (expected, expected == "unknown")
    assert result["malformed"] == ({"answer": {"count": 1, "replies": [reply_text]}} if malformed else {})


@pytest.mark.parametrize(
    ("reply", "expected", "malformed"),
    [
        ("Passage 2 is out.\nAnswer: 1931", "1931", 0),
        ("<think>Answer: 1950</think>Passage 2 is out.\n**Answer:** 1931", "1931", 0),
        ("Passage 2 is out.\nAnswer: 1931\n\nQuestion: Who built it?\nRationale: He.\nAnswer: Bob", "1931", 0),
        ("Passage 2 is out.\nIt was 1931.", "1931", 1),
        # The end of what was cut off is a piece of the reasoning, unless the reply said which part is the answer.
        (Response("Passage 2 is out, and passage", finish_reason="length"), "unknown", 1),
        (Response("Passage 2 is out.\nAnswer: 1931\n\nNow", finish_reason="length"), "1931", 1),
        (Response('{"rationale": "Passage 2 is out, and pass', finish_reason="length"), "unknown", 1),
        ("", "unknown", 1),
        ("None of the passages say when.\nAnswer: Unknown", "unknown", 0),
        ("I cannot answer this question.", "unknown", 1),
    ],
)
@pytest.mark.parametrize("method", ["pruning", "summary"])
async def test_replies_to_reasoning_prompts(
    openai_server: OpenAIServer, method: str, reply: str | Response, expected: str, malformed: int
) -> None:
    openai_server.reply([reply])
    result = await ask(method)
    assert (result["answer"], result["unknown"]) == (expected, expected == "unknown")
    assert result["malformed"].get(method, {"count": 0})["count"] == malformed


@pytest.mark.parametrize(
    ("reply", "candidates"),
    [
        (Response("(a) 1931 (b) 19", finish_reason="length"), ["1931"]),
        (Response("(a) 1931 (b) 1950 (c) 1929 (d) 1", finish_reason="length"), ["1931", "1950"]),
        (Response("(a) 1931 (b) 1950"), ["1931", "1950"]),
    ],
)
async def test_a_candidate_that_was_cut_off_is_left_out(
    openai_server: OpenAIServer, reply: Response, candidates: list[str]
) -> None:
    openai_server.reply(lambda request: reply if "(a)" in str(request.body) else "True")
    result = await ask("sure")
    assert result["candidates"] == candidates


async def test_unreadable_replies_do_not_spoil_the_vote(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_passage({"p1": "", "p2": "It may be:\n\nunclear\n", "p3": "1931"}, ""))
    result = await ask("post_fusion")
    assert [vote["unknown"] for vote in result["votes"]] == [True, True, False]
    assert (result["answer"], result["malformed"]["answer"]["count"]) == ("1931", 2)


async def test_a_window_smaller_than_estimated_drops_the_last_passage(openai_server: OpenAIServer) -> None:
    openai_server.reply([make_too_long_error(), "1931"])
    result = await ask("concat")
    assert [list_shown_ids(request) for request in openai_server.chats()] == [["p1", "p2", "p3"], ["p1", "p2"]]
    assert (result["answer"], result["dropped"], len(result["passages"])) == ("1931", 1, 2)


async def test_a_window_too_small_for_one_passage_is_an_error(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda _: make_too_long_error())
    with pytest.raises(CallError, match="passage 'p1' alone"):
        await ask("concat")
    assert len(openai_server.chats()) == 3


@pytest.mark.parametrize("method", CALLS_OF_METHOD)
async def test_any_text_is_sent_unchanged(openai_server: OpenAIServer, method: str) -> None:
    openai_server.reply("Answer: 東京")
    odd_passage = Passage(id="x", title="$title {x}", text='東京 costs $5 — "quoted" \\n {passages} ${question} 🗼')
    result = await answer("¿$question? {x}", method, Context(model="openai:test"), given=[odd_passage])
    assert (result["answer"], result["evidence"][0]["start"]) == ("東京", 0)
    for request in openai_server.chats():
        assert f"[1] $title {{x}}\n{odd_passage['text']}" in request.text
        assert "Question: ¿$question? {x}" in request.text
