"""A wordy reply is counted, and its short answer is read by the embedded reader, or by one more call of the model."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response, make_error, make_too_long_error
from openai_server import OpenAIServer, Request
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.datasets.records import Record
from quorum.evaluation.compare.estimate import estimate
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.dataset import read_data
from quorum.graphs import answer
from quorum.nodes.cuts import MAX_WORDS, is_excerpt
from quorum.prompts import BUILT_IN
from quorum.prompts.registry import PROMPTS

WORDY_REPLY = "According to the passages that were given to me, the tower was finished in the year 1931 by Ada Moreau."
CONTEXT_WITH_SERVER = Context(model="openai:test", shorten="model")


def is_shortening(request: Request) -> bool:
    return "What was written:" in request.text


def make_wordy_model(shortened_reply: str | Response, reply: str = WORDY_REPLY) -> Any:
    """A model that answers the question with `reply`, and the request to shorten this reply with `shortened_reply`."""
    return lambda request: shortened_reply if is_shortening(request) else reply


async def ask(method: str = "concat", **settings: Any) -> Any:
    return await answer(QUESTION, method, replace(CONTEXT_WITH_SERVER, **settings), given=PASSAGES)


async def test_the_embedded_reader_reads_a_wordy_reply_without_another_call(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_wordy_model("1929"))
    for shorten in ("auto", "reader"):
        result = await ask(shorten=shorten)
        assert (result["answer"], result["answer_text"]) == ("1931", WORDY_REPLY)
        assert {name: item["calls"] for name, item in result["usage"].items()} == {"answer": 1}
        assert result["wordy_answers"]["answer"]["count"] == 1


@pytest.mark.parametrize(
    ("question", "reply", "shortened_reply"),
    [
        (
            "Wann wurde der Turm fertiggestellt?",
            "Der Turm wurde im Jahr 1931 nach langem Streik fertiggestellt.",
            "1931",
        ),
        ("Are both towers in Bergen?", "Both of the towers stand in Bergen, next to the harbour.", "Yes"),
    ],
)
async def test_what_the_reader_cannot_read_is_asked_of_the_model_or_stays(
    openai_server: OpenAIServer, question: str, reply: str, shortened_reply: str
) -> None:
    openai_server.reply(make_wordy_model(shortened_reply, reply))
    for shorten, expected in (("auto", shortened_reply), ("reader", reply.rstrip("."))):
        context = replace(CONTEXT_WITH_SERVER, shorten=shorten, answer_type="short")  # type: ignore[arg-type]
        result = await answer(question, "concat", context, given=PASSAGES)
        assert (result["answer"], "shorten" in result["usage"]) == (expected, shorten == "auto")


async def test_a_server_that_takes_a_schema_gives_the_short_answer_in_a_field(openai_server: OpenAIServer) -> None:
    openai_server.reply('{"answer": "1931"}')
    result = await ask(shorten="auto")
    assert (result["answer"], result["answer_text"], result["malformed"]) == ("1931", "1931", {})
    schema = openai_server.chats()[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"] == {"answer": {"type": "string"}}
    await ask(shorten="off")
    assert "response_format" not in openai_server.chats()[1].body


@pytest.mark.parametrize("method", ["sure", "post_fusion", "cot", "react", "self_ask", "zero_shot_cot", "base"])
async def test_every_method_that_ends_in_a_short_answer_reads_it(openai_server: OpenAIServer, method: str) -> None:
    sentence = "According to the passages, the Lumen Tower was finished in 1931, after a strike."

    def reply(request: Request) -> str:
        if "Action 1:" in request.text and "Finish[" in request.text:
            return f"The passages say it.\nAction 1: Finish[{sentence}]"
        if "follow up questions needed" in request.text.lower():
            return f"No.\nSo the final answer is: {sentence}"
        if "Answers:" in request.text:
            return f"(a) {sentence} (b) 1950"
        return f"The tower is old.\nAnswer: {sentence}" if "Rationale:" in request.text else sentence

    openai_server.reply(reply)
    result = await ask(method, shorten="reader")
    assert result["answer"] == "1931"


async def test_a_wordy_answer_is_shortened_by_one_more_call(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_wordy_model("1931"))
    result = await ask()
    assert result["answer"] == "1931"
    assert {name: item["calls"] for name, item in result["usage"].items()} == {"answer": 1, "shorten": 1}
    assert result["wordy_answers"] == {"answer": {"count": 1, "replies": [WORDY_REPLY]}}
    assert result["malformed"] == {}
    assert QUESTION in openai_server.chats()[1].text
    assert WORDY_REPLY in openai_server.chats()[1].text


async def test_wordy_answers_are_only_counted_if_shortening_is_off(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_wordy_model("1931"))
    result = await ask(shorten="off")
    assert result["answer"] == WORDY_REPLY.rstrip(".")
    assert list(result["usage"]) == ["answer"]
    assert result["wordy_answers"]["answer"]["count"] == 1


async def test_a_short_phrase_is_not_shortened(openai_server: OpenAIServer) -> None:
    openai_server.reply(" ".join(["word"] * MAX_WORDS))
    result = await ask()
    assert (list(result["usage"]), result["wordy_answers"]) == (["answer"], {})


@pytest.mark.parametrize(
    "shortened_reply",
    ["1932", "the spire of 1931", "None", "unknown", "", "Ada Moreau in 1931", "{", WORDY_REPLY, "finished finished"],
)
async def test_a_shortened_reply_that_is_no_shorter_excerpt_is_not_used(
    openai_server: OpenAIServer, shortened_reply: str
) -> None:
    openai_server.reply(make_wordy_model(shortened_reply))
    result = await ask()
    assert result["answer"] == WORDY_REPLY.rstrip(".")
    assert result["malformed"]["shorten"]["count"] == 1
    assert result["usage"]["shorten"]["calls"] == 1


@pytest.mark.parametrize(
    "shortened_reply", ["1931", "Answer: 1931.", '"1931"', '{"answer": "1931"}', "the year 1931", "ADA MOREAU"]
)
async def test_a_shortened_reply_is_parsed_like_any_short_answer(
    openai_server: OpenAIServer, shortened_reply: str
) -> None:
    openai_server.reply(make_wordy_model(shortened_reply))
    assert (await ask())["answer"] in ("1931", "the year 1931", "ADA MOREAU")


async def test_each_distinct_reply_is_shortened_by_one_request(openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.reply(make_wordy_model("1931"))
    journal = str(tmp_path / "journal.sqlite")  # without it, equal calls share a request only if they overlap
    result = await ask("post_fusion", k=2, journal=journal)
    assert (result["answer"], result["confidence"]) == ("1931", 1.0)
    assert result["usage"]["shorten"]["calls"] == 2
    assert sum(map(is_shortening, openai_server.chats())) == 1
    assert result["certified"] is not None


async def test_every_sample_is_shortened(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_wordy_model("1931"))
    result = await ask(samples=3)
    assert (result["answer"], result["confidence"]) == ("1931", 1.0)
    assert result["wordy_answers"]["answer"]["count"] == 3


async def test_the_last_line_of_a_chain_of_thought_is_shortened_and_its_reasoning_kept(
    openai_server: OpenAIServer,
) -> None:
    openai_server.reply(make_wordy_model("1931", f"It was long ago.\nAnswer: {WORDY_REPLY}"))
    result = await ask("pruning")
    assert (result["answer"], result["rationale"]) == ("1931", "It was long ago.")
    assert "long ago" not in openai_server.chats()[1].text


@pytest.mark.parametrize("answer_type", ["yes_no", "label", "dialogue", "long"])
async def test_answers_of_other_types_than_short_are_not_shortened(
    openai_server: OpenAIServer, answer_type: str
) -> None:
    openai_server.reply(make_wordy_model("1931"))
    result = await ask(answer_type=answer_type)
    assert "shorten" not in result["usage"]
    assert result["wordy_answers"] == {}


async def test_a_refusal_in_many_words_is_no_wordy_answer(openai_server: OpenAIServer) -> None:
    openai_server.reply("The passages do not contain the answer to this question, " + "as far as I can tell, " * 3)
    result = await ask()
    assert (result["unknown"], list(result["usage"]), result["wordy_answers"]) == (True, ["answer"], {})


async def test_the_embedded_reader_is_never_asked_to_shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorum.nodes.cuts.MAX_WORDS", 0)  # so that every answer is wordy
    result = await answer(QUESTION, "concat", Context(), given=PASSAGES)
    assert result["wordy_answers"]["answer"]["count"] == 1
    assert list(result["usage"]) == ["answer"]


async def test_the_call_that_shortens_is_journaled(openai_server: OpenAIServer, tmp_path: Path) -> None:
    openai_server.reply(make_wordy_model("1931"))
    results = [await ask(journal=str(tmp_path / "journal.sqlite")) for _ in range(2)]
    assert results[0]["answer"] == results[1]["answer"] == "1931"
    assert results[0]["usage"] == results[1]["usage"]
    assert len(openai_server.chats()) == 2


async def test_a_failed_call_fails_the_question_but_an_answer_too_long_to_shorten_is_kept(
    openai_server: OpenAIServer,
) -> None:
    openai_server.reply(make_wordy_model(make_error(418, "teapot")))
    with pytest.raises(CallError, match="'shorten'"):
        await ask()
    openai_server.reply(make_wordy_model(make_too_long_error()))
    result = await ask()
    assert (result["answer"], list(result["usage"])) == (WORDY_REPLY.rstrip("."), ["answer"])


async def test_only_the_beginning_and_the_end_of_a_long_reply_are_sent(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_wordy_model("1931", "word " * 100_000 + "1931"))
    assert (await ask())["answer"] == "1931"
    assert len(openai_server.chats()[1].text) < 8000


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("Sao Paulo", "It is Sao Paulo.", True),
        ("São Paulo", "It is Sao Paulo.", False),
        ("Lyon", "It is not Paris but Lyon.", True),
        ("Paris but Lyon", "It is not Paris but Lyon.", True),
        ("Lyon Paris", "It is not Paris but Lyon.", False),
        ("Lyon Lyon", "It is not Paris but Lyon.", False),
        ("?", "Is it?", False),
    ],
)
def test_an_excerpt_has_only_words_of_the_text_in_their_order(answer: str, text: str, expected: bool) -> None:
    assert is_excerpt(answer, text) is expected


def test_prompts_for_short_answers_ask_for_the_answer_alone_or_for_few_words() -> None:
    prompts = [prompt for prompt in PROMPTS.values() if prompt.answer_type == "short"]
    answer_prompts = [prompt.name for prompt in prompts if prompt.short_answer == "reply"]
    reasoning_prompts = [prompt.name for prompt in prompts if prompt.short_answer == "end" and prompt.reply == "long"]
    assert (len(answer_prompts), len(reasoning_prompts)) == (10, 6)
    for name in answer_prompts:
        assert re.search(r"nothing but the answer|the answer alone|nothing else|explain nothing", BUILT_IN[name]), name
    for name in reasoning_prompts:
        assert re.search(r"one to five words|at most three words|in a few words", BUILT_IN[name]), name


def test_an_evaluation_counts_wordy_answers(openai_server: OpenAIServer, quorum: Quorum, tmp_path: Path) -> None:
    record = {"id": "q", "question": QUESTION, "answers": ["1931"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    openai_server.reply(make_wordy_model("1931"))
    folder = tmp_path / "out"
    methods = "concat,concat[shorten=off]"
    run = quorum("eval", tmp_path / "data.jsonl", "--methods", methods, "--model", "openai:test", "--out", folder)
    assert (run.code, "wordy answers" in run.out) == (0, True)
    rows = [json.loads(text) for text in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["em"], row["calls"], row["wordy_answers"]) for row in rows] == [(1.0, 1, 1), (0.0, 1, 1)]
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert [item["wordy_answers"] for item in summary.values()] == [1, 1]


def test_an_experiment_of_a_paper_does_not_shorten(openai_server: OpenAIServer, quorum: Quorum, tmp_path: Path) -> None:
    record = {"id": "q", "question": QUESTION, "answers": ["1931"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    openai_server.reply(make_wordy_model("1931"))
    common_options = (tmp_path / "data.jsonl", "--model", "openai:test", "--out", tmp_path / "out")
    run = quorum("experiment", "sweep_k", *common_options, "--methods", "concat")
    assert run.code == 0, run.err
    assert not any(map(is_shortening, openai_server.chats()))


def test_an_experiment_of_a_paper_sends_no_schema(openai_server: OpenAIServer, quorum: Quorum, tmp_path: Path) -> None:
    record = {"id": "q", "question": QUESTION, "answers": ["1931"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    openai_server.reply("1931")
    common_options = (tmp_path / "data.jsonl", "--model", "openai:test", "--methods", "concat")
    for command, has_schema in ((("experiment", "sweep_k"), False), (("eval",), True)):
        openai_server.requests.clear()
        run = quorum(*command, *common_options, "--out", tmp_path / command[0])
        assert run.code == 0, run.err
        assert any("response_format" in request.body for request in openai_server.chats()) is has_schema


async def test_an_estimate_gives_the_range_of_calls(openai_server: OpenAIServer, tmp_path: Path) -> None:
    record: Record = {"id": "q", "question": QUESTION, "answers": ["1931"], "passages": PASSAGES}  # type: ignore[typeddict-item]
    (tmp_path / "data.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    dataset = read_data(tmp_path / "data.jsonl", None)
    calls = {}
    for shorten in ("off", "reader", "auto", "model"):
        columns = parse_columns("concat,filco", replace(CONTEXT_WITH_SERVER, shorten=shorten))  # type: ignore[arg-type]
        estimated_cost = await estimate(dataset, columns, uses_given_passages=True)
        calls[shorten] = {
            name: (method.fewest_calls, method.calls, method.most_calls)
            for name, method in estimated_cost.methods.items()
        }
    assert calls["off"] == {"concat": (1, 1, 1), "filco": (2, 2, 2)}
    assert calls["reader"] == calls["off"]  # the reader makes no call
    assert calls["auto"] == calls["model"] == {"concat": (1, 1, 2), "filco": (2, 2, 3)}
    assert not openai_server.chats()


def test_the_list_of_methods_says_how_calls_are_counted(quorum: Quorum) -> None:
    assert "shorten=off" in quorum("methods").out
