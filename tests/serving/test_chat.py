"""Questions over HTTP, sent as common clients send them: OpenAI's, LangChain's, Open WebUI, LibreChat."""

import json
import re
from typing import Any

import openai
import pytest
from api_server import Serve
from langchain_openai import ChatOpenAI
from openai_bodies import Response, make_error
from openai_server import OpenAIServer
from pydantic import SecretStr

from quorum.serving.replies import escape_markup

QUESTION = "When was the Lumen Tower finished?"


def test_the_answer_comes_with_numbered_sources_and_the_whole_result(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    completion = serve().ask()
    answer, sources = completion.choices[0].message.content.split("\n\nSources:\n")
    assert answer == "1931\n\n> The Lumen Tower was finished in **1931**."
    assert sources.startswith('1. Towers (towers.jsonl, line 1): "The Lumen Tower was finished in 1931.')
    assert completion.choices[0].finish_reason == "stop"
    assert completion.quorum["answer"] == "1931"
    [passage] = completion.quorum["passages"]
    assert set(passage) == {"id", "title", "text", "score", "place", "metadata"}
    assert passage["place"] == "towers.jsonl, line 1"  # without the server's folders
    assert (passage["metadata"]["source"], passage["metadata"]["file_type"]) == ("towers.jsonl", "jsonl")
    usage = completion.quorum["usage"]["answer"]
    assert completion.usage.prompt_tokens == usage["input_tokens"] > 0
    assert completion.usage.total_tokens == usage["input_tokens"] + usage["output_tokens"]


def test_a_document_puts_no_link_into_a_chat(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    completion = serve().ask()
    # The passage holds a Markdown link, [map](http://elsewhere.example/x).
    assert "\\[map](" in completion.choices[0].message.content


@pytest.mark.parametrize("text", ["[map](http://example.org)", r"\[map](http://example.org)", r"\\<b>", r"C:\notes"])
def test_every_bracket_and_backslash_of_a_document_is_escaped(text: str) -> None:
    escaped_text = escape_markup(text)
    assert re.sub(r"\\(.)", r"\1", escaped_text) == text  # as Markdown shows it
    assert re.search(r"[\\[<]", re.sub(r"\\.", "", escaped_text)) is None


def test_a_client_may_ask_for_no_sources(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    assert serve().ask(extra_body={"quorum": {"sources": False}}).choices[0].message.content == "1931"


def test_a_stream_holds_the_same_answer_and_ends_with_the_usage(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    api = serve()
    chunks: list[Any] = list(api.ask(stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    whole_answer = api.ask()
    assert text == whole_answer.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1]][-1] == "stop"
    assert chunks[-2].quorum["answer"] == "1931"
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole_answer.usage)
    assert len({chunk.id for chunk in chunks}) == 1


def test_a_stream_holds_no_usage_unless_the_client_asks_for_it(serve: Serve, openai_server: OpenAIServer) -> None:
    chunks: list[Any] = list(serve().ask(stream=True))
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


def test_langchain_asks_and_streams(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    model = ChatOpenAI(model="concat", base_url=f"{serve().url}/v1", api_key=SecretStr("none"), max_retries=0)
    message = model.invoke(QUESTION)
    assert str(message.content).startswith("1931\n\n> The Lumen Tower was finished in **1931**.\n\nSources:")
    assert message.usage_metadata
    assert message.usage_metadata["output_tokens"] > 0
    assert "".join(str(chunk.content) for chunk in model.stream(QUESTION)) == message.content


def test_a_few_models_are_listed_and_every_method_can_be_asked(serve: Serve) -> None:
    from quorum import METHODS

    api = serve(collections=("private",))
    client = api.make_client()
    listed = [model.id for model in client.models.list()]
    assert listed == ["concat_pf", "concat", "post_fusion", "sure", "concat_pf@private"]
    model_ids = [model["id"] for model in api.get("/v1/models?all=1").json()["data"]]
    assert model_ids == [*METHODS, *(f"{name}@{where}" for name in METHODS for where in ("towers", "private"))]
    assert client.models.retrieve("concat@private").id == "concat@private"


def test_a_forbidden_collection_is_treated_as_missing(serve: Serve, openai_server: OpenAIServer) -> None:
    api = serve()
    messages = []
    for model in ("concat@private", "concat@nowhere", "nothing", "concat@../x"):
        with pytest.raises(openai.NotFoundError) as refusal:
            api.ask(model=model)
        messages.append(refusal.value.message.replace(model, "NAME"))
        assert refusal.value.code == "model_not_found"
    assert len(set(messages)) == 1
    assert openai_server.requests == []


def test_a_collection_that_is_allowed_can_be_asked(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("4471")
    completion = serve(collections=("private",)).ask("What opens the safe?", model="concat@private")
    assert "4471" in completion.quorum["passages"][0]["text"]


def test_a_request_may_hold_settings(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(["unknown", "1931"])
    completion = serve().ask(model="concat_pf", extra_body={"quorum": {"k": 1, "temperature": 0.5, "seed": 3}})
    assert completion.quorum["votes"][0]["answer"] == "1931"
    assert [request.body["temperature"] for request in openai_server.chats()] == [0.5, 0.5]


def test_a_number_in_a_request_is_not_rounded(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    serve().ask(extra_body={"quorum": {"temperature": 0.1234567, "seed": 12345678.0}})
    body = openai_server.chats()[0].body
    assert (body["temperature"], body["seed"]) == (0.1234567, 12345678)


REFUSED_SETTINGS = [
    {"store": "/etc"},
    {"store": "http://127.0.0.1:1/"},
    {"examples": "/etc/passwd"},
    {"prompts": "/etc"},
    {"journal": "/tmp/x.sqlite"},
    {"embeddings": "huggingface:/tmp/model"},
    {"collection": "private"},
    {"model": "openai:another"},
    {"model": "transformers:/tmp/model"},
    {"verifier": "transformers:/tmp/model"},
    {"retriever": "colbert:/tmp/model"},
    {"context_filter": "transformers:/tmp/model"},
    {"context_filter": "llm:openai:another"},
    {"k": 1000},
    {"samples": 100},
    {"k": True},
    {"k": 3.9999999},
    {"k": "many"},
    {"k": [3]},
    {"prompts": {"answer": "Say yes."}},
    {"timeout": 1e9},
    {"attempts": 10**6},
    {"nothing": 1},
    {"where": "nonsense"},
    {"where": {"year": {"$near": 1}}},
    {"where": [[[3]]]},
]


@pytest.mark.parametrize(
    "request_settings",
    REFUSED_SETTINGS,
    ids=lambda request_settings: next(f"{name}={value}" for name, value in request_settings.items()),
)
def test_forbidden_settings_are_refused_before_any_call(
    request_settings: dict[str, Any], serve: Serve, openai_server: OpenAIServer
) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        serve().ask(extra_body={"quorum": request_settings})
    assert refusal.value.param == "quorum"
    assert openai_server.requests == []


def test_a_model_that_is_allowed_by_name_may_be_chosen(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    serve(models=("openai:another",)).ask(extra_body={"quorum": {"model": "openai:another"}})
    assert openai_server.chats()[0].body["model"] == "another"


def test_the_last_user_message_is_the_question(serve: Serve, openai_server: OpenAIServer) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    assert serve().post({"model": "concat", "messages": messages, "tools": [], "user": "u"}).status_code == 200
    assert QUESTION in openai_server.chats()[0].text
    assert "Be brief" not in openai_server.chats()[0].text


# (body, the status of the response, the part of the body that the error names as `param`)
WRONG_BODIES: list[tuple[Any, int, str | None]] = [
    ("{", 400, None),
    ("[" * 100_000, 400, None),
    ([], 400, "model"),
    ({"model": "concat"}, 400, "messages"),
    ({"model": "concat", "messages": []}, 400, "messages"),
    ({"model": "concat", "messages": ["hello"]}, 400, "messages"),
    ({"model": "concat", "messages": [{"role": "user", "content": "  "}]}, 400, "messages"),
    ({"model": "concat", "messages": [{"role": "user", "content": "x" * 20_001}]}, 400, "messages"),
    ({"model": "concat", "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages"),
    ({"model": "concat", "messages": [{"role": "user", "content": "x"}], "n": 2}, 400, "n"),
    ({"model": "concat", "messages": [{"role": "user", "content": "x"}], "quorum": "k=1"}, 400, "quorum"),
    ({"model": ["concat"], "messages": [{"role": "user", "content": "x"}]}, 400, "model"),
    (b" " * 2_000_001, 413, None),
]


def test_every_refusal_is_in_the_clients_error_format(serve: Serve, openai_server: OpenAIServer) -> None:
    api = serve()
    for body, status, param in WRONG_BODIES:
        response = api.post(body)
        assert response.status_code == status, str(body)[:100]
        assert set(response.json()["error"]) == {"message", "type", "param", "code"}
        assert response.json()["error"]["param"] == param
    for path, status in (("/v1/nothing", 404), ("/v1/chat/completions", 405), ("/", 404)):
        response = api.get(path)
        assert (response.status_code, response.json()["error"]["type"]) == (status, "invalid_request_error")
    assert openai_server.requests == []


def test_a_failed_model_is_reported_without_paths_of_the_server(
    serve: Serve, openai_server: OpenAIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    openai_server.reply(make_error(500, f"no space in /srv/models/secret at {openai_server.url}"))
    with pytest.raises(openai.InternalServerError) as refusal:
        serve().ask()
    assert (refusal.value.status_code, refusal.value.code) == (502, "model_call_failed")
    assert "/srv" not in refusal.value.message
    assert "127.0.0.1" not in refusal.value.message
    assert refusal.value.response.headers["x-request-id"] in capfd.readouterr().err


def test_a_missing_collection_is_reported_without_the_stores_path(serve: Serve, store: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refusal:
        serve(collection="nowhere").ask()
    assert refusal.value.code == "setup"
    assert str(store) not in refusal.value.message
    assert "There is no collection 'nowhere'." in refusal.value.message
    assert "private" not in refusal.value.message


def test_a_failure_in_a_stream_raises_an_error_in_the_client(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(500, "broken"))
    with pytest.raises(openai.APIError, match="broken") as refusal:
        list(serve().ask(stream=True))
    assert refusal.value.code == "model_call_failed"


def test_the_openapi_document_lists_what_a_client_may_choose(serve: Serve) -> None:
    document = serve().get("/openapi.json").json()
    operation = document["paths"]["/v1/chat/completions"]["post"]
    assert {"400", "500", "502"} < set(operation["responses"])
    metrics_content = document["paths"]["/metrics"]["get"]["responses"]["200"]["content"]
    assert metrics_content == {"text/plain": {"schema": {"type": "string"}}}
    content = operation["requestBody"]["content"]
    settings = content["application/json"]["schema"]["properties"]["quorum"]["properties"]
    assert (settings["k"]["minimum"], settings["k"]["maximum"]) == (1, 50)
    assert not {"store", "examples", "prompts", "journal", "embeddings"} & set(settings)
    assert json.dumps(document).count("\\u") == 0  # it holds ASCII characters only


def test_a_higher_setting_of_the_server_raises_the_limit_for_clients(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    api = serve(k=100)
    assert api.ask(extra_body={"quorum": {"k": 100}}).quorum["answer"] == "1931"
    with pytest.raises(openai.BadRequestError, match="k=101 is too large; a client may give 100 at most"):
        api.ask(extra_body={"quorum": {"k": 101}})
    with pytest.raises(openai.BadRequestError, match="rerank_from=201 is too large; a client may give 200 at most"):
        api.ask(extra_body={"quorum": {"rerank_from": 201}})
    chosen = {"quorum": {"reranker": "reader", "rerank_from": None}}
    assert api.ask(extra_body=chosen).quorum["answer"] == "1931"
    content = api.get("/openapi.json").json()["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]
    settings = content["application/json"]["schema"]["properties"]["quorum"]["properties"]
    assert (settings["k"]["maximum"], settings["samples"]["maximum"]) == (100, 10)


def test_the_embedded_readers_answer_quotes_its_sentence(serve: Serve) -> None:
    completion = serve(model="embedded").ask()
    answer, _, quote = completion.choices[0].message.content.partition("\n\n")
    assert answer in ("1931", "Not sure. Perhaps: 1931")
    assert "> " in quote.partition("Sources:")[0]
    assert "finished in **1931**" in quote
    support = completion.quorum["support"]
    assert support["sentence"] == "The Lumen Tower was finished in 1931."
    assert 0 < support["certainty"] <= 1


def test_a_program_gets_no_quote_with_the_answer(serve: Serve) -> None:
    # A program that needs only the answer asks for no sources.
    completion = serve(model="embedded").ask(extra_body={"quorum": {"sources": False}})
    assert completion.choices[0].message.content == "1931"
    assert completion.quorum["support"]["sentence"]


LONG_ANSWER = (
    "The Lumen Tower was finished in 1931, after a strike of its builders that took two years. It stands in Vell."
)


def test_a_long_answer_streams_as_it_is_written_without_thoughts(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(f"<think>1931? Yes.</think>{LONG_ANSWER}")
    chunks: list[Any] = list(serve().ask(stream=True, extra_body={"quorum": {"answer_type": "long", "sources": False}}))
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]
    assert len(pieces) > 5
    assert "".join(pieces) == LONG_ANSWER == chunks[-1].quorum["answer"]


@pytest.mark.parametrize("answer_type", ["long", "dialogue"])
def test_a_reply_whose_stream_is_cut_is_sent_once_and_whole(
    serve: Serve, openai_server: OpenAIServer, answer_type: str
) -> None:
    openai_server.reply([Response(LONG_ANSWER, stream_ends=(), words=6), LONG_ANSWER])
    settings = {"answer_type": answer_type, "sources": False}
    chunks: list[Any] = list(serve(attempts=2).ask(stream=True, extra_body={"quorum": settings}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == LONG_ANSWER == chunks[-1].quorum["answer"]


def test_votes_stream_as_they_come_and_then_the_answer(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    chunks: list[Any] = list(serve().ask(model="post_fusion", stream=True))
    contents = [  # "votes" for a chunk with votes, else the chunk's piece of the answer
        "votes"
        if "votes" in getattr(chunk, "quorum", {}) and not chunk.choices[0].finish_reason
        else chunk.choices[0].delta.content
        for chunk in chunks[1:-1]
    ]
    assert contents[:2] == ["votes", "1931"]


def test_an_unknown_model_is_told_with_one_that_can_be_asked(serve: Serve) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Finished when?"}]}
    message = serve().post(body).json()["error"]["message"]
    assert message == "There is no model 'gpt-4o'; GET /v1/models lists the models, for example concat_pf@towers."
