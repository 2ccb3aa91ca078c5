"""JSON schemas are sent to servers that support them; servers that refuse or ignore them are remembered."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from langchain_openai import ChatOpenAI
from method_fixtures import PASSAGES
from openai_bodies import Response, make_error
from openai_server import LONGEST_WAIT, OpenAIServer, Request

from quorum.core.context import Context
from quorum.core.errors import CallError, TooLong
from quorum.graphs import answer
from quorum.models.call import call
from quorum.models.journal import close_journals
from quorum.models.parameters import REFUSED_PARAMETERS
from quorum.parsing.reply_forms import LABEL_FORM
from quorum.prompts.registry import PROMPTS

CLAIM = "The tower was finished in 1931."
SCHEMA = LABEL_FORM.schema


def reply_by_schema(request: Request) -> str:
    """Reply as JSON to a request with a schema, else as plain text."""
    return '{"label": "REFUTES"}' if "response_format" in request.body else "SUPPORTS"


def refuse_schema(request: Request) -> str | Response:
    if "response_format" in request.body:
        return make_error(400, "This response_format type is unavailable now", "invalid_request_error")
    return "SUPPORTS"


def list_schema_use(server: OpenAIServer) -> list[bool]:
    """Whether each chat request came with a schema."""
    return ["response_format" in request.body for request in server.chats()]


async def ask_about_claim(question: str = CLAIM, **settings: Any) -> Any:
    context = Context(**{"model": "openai:test", "answer_type": "label"} | settings)
    return await answer(question, "concat", context, given=PASSAGES)


async def test_a_server_that_takes_a_schema_gets_one(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_schema)
    result = await ask_about_claim()
    assert (result["answer"], result["malformed"]) == ("REFUTES", {})
    (request,) = openai_server.chats()
    assert request.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer_label", "strict": True, "schema": SCHEMA},
    }


@pytest.mark.parametrize(
    "refusal",
    [
        make_error(400, "This response_format type is unavailable now"),
        make_error(400, "invalid request"),
        make_error(422, "Extra inputs are not permitted: response_format"),
        make_error(500, "failed to parse grammar"),
        make_error(501, "not implemented"),
    ],
    ids=lambda refusal: f"{refusal.status}",
)
async def test_a_server_that_refuses_schemas_is_remembered_and_asked_without_one(
    openai_server: OpenAIServer, refusal: Response, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply(lambda request: refusal if "response_format" in request.body else "SUPPORTS")
    results = [await ask_about_claim(f"{CLAIM} {n}") for n in range(3)]
    assert [(result["answer"], result["usage"]["answer_label"]["calls"]) for result in results] == [("SUPPORTS", 1)] * 3
    assert list_schema_use(openai_server) == [True, False, False, False]
    assert caplog.text.count("takes no JSON schema; asking without one") == 1


async def test_a_server_that_ignores_schemas_is_remembered_and_asked_without_one(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply("SUPPORTS")
    assert [(await ask_about_claim(f"{CLAIM} {n}"))["answer"] for n in range(3)] == ["SUPPORTS"] * 3
    assert list_schema_use(openai_server) == [True, False, False]
    assert caplog.text.count("ignores a JSON schema; asking without one") == 1


@pytest.mark.parametrize(
    ("reply", "expected", "malformed"),
    [
        ('{"label": "SUPPORTS', "SUPPORTS", False),
        ('{"label": "SUPPORTS"} and so on', "SUPPORTS", False),
        ('```json\n{"label": "SUPPORTS"}\n```', "SUPPORTS", False),
        ('<think>{"label"}</think>{"label": "SUPPORTS"}', "SUPPORTS", False),
        ('{"label": 7}', "unknown", True),
        ('{"lab', "unknown", True),
    ],
)
async def test_broken_json_is_read_as_well_as_it_can_be(
    openai_server: OpenAIServer, reply: str, expected: str, malformed: bool
) -> None:
    openai_server.reply(reply)
    results = [await ask_about_claim(f"{CLAIM} {n}") for n in range(2)]
    assert [(result["answer"], bool(result["malformed"])) for result in results] == [(expected, malformed)] * 2
    assert list_schema_use(openai_server) == [True, True]  # broken JSON does not show that the server ignores schemas


async def test_structured_off_sends_no_schema(openai_server: OpenAIServer) -> None:
    openai_server.reply(reply_by_schema)
    assert (await ask_about_claim(structured="off"))["answer"] == "SUPPORTS"
    assert list_schema_use(openai_server) == [False]


async def test_free_text_prompts_and_models_in_this_process_get_no_schema(openai_server: OpenAIServer) -> None:
    await answer("Which?", "cot", Context(model="openai:test"), given=PASSAGES)
    await answer("Which?", "concat", Context(model="openai:test", answer_type="long"), given=PASSAGES)
    assert list_schema_use(openai_server) == [False, False]
    # The default model is the embedded one, which runs in this process.
    result = await answer("Is the tower in Oslo?", "concat", Context(answer_type="yes_no"), given=PASSAGES)
    assert result["usage"]["answer_yes_no"]["calls"] == 1


async def test_a_schema_is_added_to_the_fields_of_a_callers_own_client(openai_server: OpenAIServer) -> None:
    model: Any = ChatOpenAI(model="test", base_url=openai_server.url, api_key="none", extra_body={"top_k": 1})  # type: ignore[arg-type]
    openai_server.reply(reply_by_schema)
    assert (await ask_about_claim(model=model))["answer"] == "REFUTES"
    assert openai_server.chats()[0].body["top_k"] == 1


async def test_schema_support_is_remembered_by_model_and_server(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.reply(refuse_schema)
    await ask_about_claim()
    await ask_about_claim(model="openai:other")
    other_server = OpenAIServer()
    monkeypatch.setenv("OPENAI_BASE_URL", other_server.url)
    try:
        other_server.reply(reply_by_schema)
        assert (await ask_about_claim())["answer"] == "REFUTES"
    finally:
        other_server.close()
    assert list_schema_use(openai_server) == [True, False, True, False]


async def test_an_error_that_also_comes_without_a_schema_does_not_count_as_a_refused_schema(
    openai_server: OpenAIServer,
) -> None:
    openai_server.reply(make_error(400, "no such model"))
    for _ in range(2):
        with pytest.raises(CallError, match="no such model"):
            await ask_about_claim()
    assert list_schema_use(openai_server) == [True, False, True, False]  # each time with a schema, then without
    openai_server.reply(make_error(400, "maximum context length is 10 tokens"))
    with pytest.raises(TooLong):  # the error says that the prompt is too long, so the schema is not to blame
        await call("answer_label", "x", context=Context(model="openai:test"), schema=SCHEMA, clock=FakeClock())


@pytest.mark.parametrize(
    "reply", [reply_by_schema, refuse_schema, lambda request: "SUPPORTS"], ids=["takes", "refuses", "ignores"]
)
async def test_no_call_is_paid_twice(openai_server: OpenAIServer, tmp_path: Path, reply: Any) -> None:
    """Not even by a new process, which has not learned yet that the server refuses schemas."""
    openai_server.reply(reply)
    journal = str(tmp_path / "journal.sqlite")
    first_answers = [(await ask_about_claim(f"{CLAIM} {n}", journal=journal))["answer"] for n in range(3)]
    request_count = len(openai_server.chats())
    for order in ((0, 1, 2), (2, 1, 0)):
        close_journals()  # these two lines make the state of a new process
        REFUSED_PARAMETERS.clear()
        later_answers = {n: (await ask_about_claim(f"{CLAIM} {n}", journal=journal))["answer"] for n in order}
        assert [later_answers[n] for n in range(3)] == first_answers
    assert len(openai_server.chats()) == request_count


async def test_the_journal_distinguishes_a_reply_by_schema_from_a_plain_one(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    journal = str(tmp_path / "journal.sqlite")
    openai_server.reply(reply_by_schema)
    plain_answer, answer_by_schema = [
        (await ask_about_claim(journal=journal, structured=item))["answer"] for item in ("off", "auto")
    ]
    assert (plain_answer, answer_by_schema) == ("SUPPORTS", "REFUTES")


async def test_stored_replies_are_used_for_a_server_without_schemas(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    journal = str(tmp_path / "journal.sqlite")
    openai_server.reply(refuse_schema)
    await ask_about_claim(journal=journal, structured="off")
    assert (await ask_about_claim(journal=journal))["answer"] == "SUPPORTS"
    # The server refuses the schema of the second call; the plain reply is in the journal.
    assert list_schema_use(openai_server) == [False, True]


# (prompt, reply): the reply in the words that the prompt asks for. A reply that breaks the schema stays as it is.
TEXT_OF_REPLY = {
    ("answer_yes_no", '{"answer": "Unknown"}'): "Unknown",
    ("answer_choices", '{"choice": "b"}'): "(b)",
    ("answer_choices", '{"choice": "none"}'): "Unknown",
    ("answer_choices", '{"choice": "c"}'): '{"choice": "c"}',
    ("choose", '{"passages": [3, 1]}'): "3, 1",
    ("choose", '{"passages": []}'): "None",
    ("filter_passages", '{"passages": ["1"]}'): '{"passages": ["1"]}',
    ("rank_passages", '{"ranking": [2, 3, 1]}'): "[2] > [3] > [1]",
    ("validity", '{"verdict": "False"}'): "False",
    ("ranking", '{"choice": "Passage 2"}'): "Passage 2",
    ("preference", '{"choice": "Tie"}'): "Tie",
    ("correctness", '{"verdict": "incorrect"}'): "incorrect",
    ("validity", "True"): "True",
}


@pytest.mark.parametrize(("prompt", "reply"), TEXT_OF_REPLY, ids=lambda value: value)
def test_a_json_reply_is_rewritten_in_the_words_that_the_prompt_asks_for(prompt: str, reply: str) -> None:
    form = PROMPTS[prompt].get_form({"choices": "(a) Oslo (b) Bergen"})
    assert form is not None
    assert form.write_in_words(reply) == TEXT_OF_REPLY[prompt, reply]
    json.dumps(form.schema)  # raises if the schema cannot be sent


def test_a_schema_lists_only_the_numbers_of_the_passages_that_the_prompt_shows() -> None:
    for prompt, count, numbers in (("choose", 3, [1, 2, 3]), ("rank_passages", 1, [1]), ("filter_passages", 500, None)):
        form = PROMPTS[prompt].get_form({}, count)
        assert form is not None
        (items,) = (field["items"] for field in form.schema["properties"].values())
        assert items.get("enum") == numbers


async def test_a_call_is_repeated_without_its_schema_if_another_call_was_refused_first(
    openai_server: OpenAIServer,
) -> None:
    """Both calls send a schema. The server refuses the slow call's schema after it has answered the other call."""
    slow_question, may_refuse_slow_request, has_slow_request = f"{CLAIM} Slow.", threading.Event(), threading.Event()

    def refuse_schema_when_allowed(request: Request) -> str | Response:
        if "response_format" in request.body and slow_question in request.text:
            has_slow_request.set()
            may_refuse_slow_request.wait(LONGEST_WAIT)
        return refuse_schema(request)

    openai_server.reply(refuse_schema_when_allowed)
    slow_call = asyncio.create_task(ask_about_claim(slow_question))
    assert await asyncio.to_thread(has_slow_request.wait, LONGEST_WAIT)
    assert (await ask_about_claim())["answer"] == "SUPPORTS"
    may_refuse_slow_request.set()
    assert (await slow_call)["answer"] == "SUPPORTS"
    assert list_schema_use(openai_server) == [True, True, False, False]


async def test_a_server_that_ignores_the_schema_of_a_short_answer_is_not_warned_about(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.reply("1931")
    results = [await answer(f"When? {n}", "concat", Context(model="openai:test"), given=PASSAGES) for n in range(2)]
    assert [result["answer"] for result in results] == ["1931", "1931"]
    assert list_schema_use(openai_server) == [True, False]
    assert caplog.text == ""
