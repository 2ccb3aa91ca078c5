"""Conversations over HTTP: a follow-up question is rewritten, with the help of the earlier messages, so that it can be
understood alone.
"""

from typing import Any

from api_server import Api, Serve
from openai_server import OpenAIServer, Request

STAND_ALONE_QUESTION = "When was the Lumen Tower finished?"
MESSAGES = [
    {"role": "system", "content": "You are a pirate."},
    {"role": "user", "content": "Where is the Lumen Tower?"},
    {"role": "assistant", "content": 'In Vell.\n\nSources:\n1. Towers: "the harbour of Vell"'},
    {"role": "tool", "tool_call_id": "1", "content": "ignored"},
    {"role": "user", "content": "When was it finished?"},
]


def rewrite_or_answer(request: Request) -> str:
    """Reply as a chat model: with the rewritten question if the prompt asks for it, else with an answer."""
    if "Last question:" in request.text:
        return STAND_ALONE_QUESTION
    return "1931" if STAND_ALONE_QUESTION in request.text else "unknown"


def ask(api: Api, **options: Any) -> Any:
    messages: Any = MESSAGES
    return api.make_client().chat.completions.create(model="concat", messages=messages, **options)


def test_a_follow_up_is_answered_as_a_question_of_its_own(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    completion = ask(serve())
    assert completion.choices[0].message.content.startswith(
        "1931\n\n> The Lumen Tower was finished in **1931**.\n\nSources:"
    )
    assert completion.quorum["question"] == STAND_ALONE_QUESTION
    usage = completion.quorum["usage"]
    assert usage["stand_alone"]["calls"] == 1
    assert completion.usage.prompt_tokens == sum(prompt_usage["input_tokens"] for prompt_usage in usage.values())
    rewriting_prompt = openai_server.chats()[0].text
    assert "User: Where is the Lumen Tower?\nAssistant: In Vell.\n" in rewriting_prompt
    assert not any(word in rewriting_prompt for word in ("pirate", "ignored", "Sources:", "harbour"))


def test_a_stream_of_a_follow_up_gives_the_same_answer(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    api = serve()
    chunks: list[Any] = list(ask(api, stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == ask(api).choices[0].message.content


def test_a_client_may_ask_to_ignore_the_earlier_messages(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(rewrite_or_answer)
    completion = ask(serve(), extra_body={"quorum": {"history": False}})
    assert completion.quorum["answer"] == "unknown"
    assert "question" not in completion.quorum
    assert len(openai_server.chats()) == 1


def test_a_first_question_costs_no_further_call(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply("1931")
    serve().post({"model": "concat", "messages": [MESSAGES[0], MESSAGES[1]]})
    assert len(openai_server.chats()) == 1


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_pictures_of_earlier_turns_are_left_out(serve: Serve, openai_server: OpenAIServer) -> None:
    """A chat window sends the pictures of earlier questions again with every question."""
    openai_server.reply(rewrite_or_answer)
    first = {"role": "user", "content": [{"type": "text", "text": "Where is the Lumen Tower?"}, PICTURE]}
    only_picture = {"role": "user", "content": [PICTURE]}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "In Vell."}, {"type": "file", "file": {}}]}
    messages = [only_picture, first, reply, MESSAGES[-1]]
    completion = serve().post({"model": "concat", "messages": messages}).json()
    assert completion["quorum"]["question"] == STAND_ALONE_QUESTION
    rewriting_prompt = openai_server.chats()[0].text
    assert "User: Where is the Lumen Tower?\nAssistant: In Vell.\n" in rewriting_prompt
    assert "base64" not in rewriting_prompt


def test_a_picture_in_the_question_is_refused(serve: Serve) -> None:
    content = [{"type": "text", "text": "What is this?"}, PICTURE]
    refusal = serve().post({"model": "concat", "messages": [MESSAGES[1], {"role": "user", "content": content}]})
    assert refusal.status_code == 400
    assert "The question has a part without text, such as a picture; send only text." in refusal.text
