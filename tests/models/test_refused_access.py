"""A refusal of one prompt fails one call; a refused key ends the run."""

import pytest
from fake_clock import FakeClock
from langchain_core.language_models import FakeListChatModel
from langchain_openai import ChatOpenAI
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.models import embeddings
from quorum.models.call import call
from quorum.models.http_library import OPENAI_HTTP
from quorum.models.systems import read_system

GEMINI_KEY = [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}}]
# What a server answers -> the error: a CallError fails one row, a SetupError the run.
REFUSALS: dict[str, tuple[Response, type[Exception]]] = {
    "moderation": (make_error(403, 'Your input was flagged for "violence". No credits were charged.'), CallError),
    "content filter": (make_error(400, "The response was filtered by our policy.", "content_filter"), CallError),
    "code of a filter": (make_error(403, "Forbidden", "content_policy_violation"), CallError),
    "guardrail": (make_error(403, "Request blocked by a guardrail of your organization"), CallError),
    "key": (make_error(401, "Incorrect API key"), SetupError),
    "permission": (make_error(403, "Your project has no access to this model"), SetupError),
    "forbidden": (make_error(403, "Forbidden"), SetupError),
    "key with status 400": (Response(status=400, body=GEMINI_KEY), SetupError),
    "quota": (Response(status=429, body=[{"error": {"message": "x", "code": "insufficient_quota"}}]), SetupError),
}


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_prompt_fails_one_call_and_a_refused_key_the_run(
    refusal: str, openai_server: OpenAIServer
) -> None:
    response, error = REFUSALS[refusal]
    openai_server.reply(response)
    with pytest.raises(error):
        await call("answer", "Which?", context=Context(model="openai:test"), clock=FakeClock())
    assert len(openai_server.chats()) == 1


async def test_a_firewall_stops_one_prompt_of_a_server_that_answers_others(openai_server: OpenAIServer) -> None:
    page = Response(
        status=403, body=b"<html>Sorry, you have been blocked</html>", headers={"Content-Type": "text/html"}
    )
    openai_server.reply(["there", page, make_error(403, "This key has no permission")])
    context = Context(model="openai:test")
    await call("answer", "Which?", context=context)
    with pytest.raises(CallError, match=r"403: .*blocked"):
        await call("answer", "<script>", context=context)
    with pytest.raises(SetupError, match="no permission"):
        await call("answer", "Which?", context=context)


def test_a_flagged_question_is_no_wrong_key_of_the_embeddings(openai_server: OpenAIServer) -> None:
    openai_server.make_embeddings = lambda body: make_error(403, "Your input was flagged for violence.")
    with pytest.raises(CallError, match="flagged"):
        embeddings("openai:e").embed_query("Why?")
    openai_server.make_embeddings = lambda body: make_error(403, "You have no permission")
    with pytest.raises(SetupError, match="check the key"):
        embeddings("openai:e").embed_query("Why?")


async def test_a_model_object_does_not_multiply_the_tries(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(500, "broken"))
    async with OPENAI_HTTP.AsyncClient() as client:
        objects = [
            ChatOpenAI(model="m", base_url=openai_server.url, api_key="none"),  # its max_retries is 2
            ChatOpenAI(model="m", base_url=openai_server.url, api_key="none", http_async_client=client),
            ChatOpenAI(model="m", base_url=openai_server.url, api_key="none", max_retries=5),
        ]
        for number, model in enumerate(objects, start=1):
            with pytest.raises(CallError, match="after 2 tries"):
                await call("answer", "Which?", context=Context(model=model, attempts=2), clock=FakeClock())
            assert len(openai_server.chats()) == 2 * number
    assert [model.max_retries for model in objects] == [None, None, 5]  # the user's objects stay as they are


async def test_a_model_of_another_package_does_not_multiply_the_tries() -> None:
    made = []

    class Provider(FakeListChatModel):
        max_retries: int = 6

        def model_post_init(self, context: object) -> None:
            made.append(self.max_retries)

    model = Provider(responses=["there"], sleep=0.0)
    (reply,) = await call("answer", "Which?", context=Context(model=model))
    assert (reply.text, made) == ("there", [6, 0])


async def test_a_typographic_quote_in_a_systems_key_is_told_before_a_request(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINE_API_KEY", "“secret”")
    with pytest.raises(SetupError, match="MINE_API_KEY holds the character “"):
        await read_system("mine", f"{openai_server.url}#m").ask("Which?", None, Context())
    model = ChatOpenAI(model="m", base_url=openai_server.url, api_key="“secret”")
    with pytest.raises(SetupError, match=r"not ASCII.*; check the key"):
        await call("answer", "Which?", context=Context(model=model), clock=FakeClock())
    assert not openai_server.requests
