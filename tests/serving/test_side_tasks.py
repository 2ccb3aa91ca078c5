"""Side tasks that chat clients send besides questions, such as titles: they are recognised by their form, and no search
is made for them.
"""

import json

import pytest
from api_server import Serve
from openai_server import OpenAIServer

from quorum.serving.conversation import Message
from quorum.serving.side_tasks import find_task_kind, make_fallback_reply

CHAT_HISTORY = "<chat_history>\nUSER: When was the Lumen Tower finished?\nASSISTANT: 1931\n</chat_history>"
GUIDELINES = "### Guidelines:\n- Short.\n### Output:\nJSON format: {}\n### Chat History:\n"


def make_webui_task(task: str) -> str:
    """A side task in the form that Open WebUI sends."""
    return f"### Task:\n{task}\n{GUIDELINES}{CHAT_HISTORY}"


# Kind -> a side task of this kind. Open WebUI sends all of them.
TASKS = {
    "title": make_webui_task("Write a title of a few words, with an emoji, for the chat history."),
    "tags": make_webui_task("Sort the chat under one to three tags."),
    "follow_ups": make_webui_task("Think of three follow-up questions that the user could ask as a next step."),
    "queries": make_webui_task("Decide whether search queries are needed to answer."),
    "text": make_webui_task("You are an autocompletion system; go on with the text in `<text>`."),
    "prompt": make_webui_task("Describe the image that this chat calls for."),
    "emoji": 'Your task is to show the mood of the speaker by one emoji.\n\nMessage: """Great"""',
}
LIBRECHAT_TITLE_TASK = (
    "Give a concise title for the conversation, five words at most.\n\nConversation:\nUser: When was it?\nAI: 1931"
)
# Questions that share words or form with side tasks.
QUESTIONS = [
    "What is the title of the book?",
    "### Task:\nAnswer the question from the context, with citations.\n<context>\nA title.\n</context>\nWho wrote it?",
    "Give me a concise title for the conversation between Holmes and Watson",
    "Which tags did the chat history of the trial mention?",
    "What emoji is this?",
]


def find_kind(text: str) -> str | None:
    return find_task_kind([Message("user", "Hello"), Message("user", text)])


@pytest.mark.parametrize("kind", TASKS)
def test_a_side_task_is_recognised_by_its_form(kind: str) -> None:
    assert find_kind(TASKS[kind]) == kind


def test_librechats_request_for_a_title_is_recognised_and_has_a_fallback() -> None:
    assert find_kind(LIBRECHAT_TITLE_TASK) == "title"
    assert make_fallback_reply("title", LIBRECHAT_TITLE_TASK) == "When was it"


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_is_no_side_task(text: str) -> None:
    assert find_kind(text) is None


def test_every_side_task_has_a_short_fallback_for_the_embedded_model() -> None:
    # The fallback for an emoji is no JSON.
    fallbacks = {kind: make_fallback_reply(kind, task) for kind, task in TASKS.items() if kind != "emoji"}
    assert {kind: json.loads(reply)[kind] for kind, reply in fallbacks.items()} == {
        "title": "When was the Lumen Tower finished",
        "tags": ["General"],
        "follow_ups": [],
        "queries": [],
        "text": "",
        "prompt": "",
    }


def test_a_chat_model_answers_a_side_task_without_a_search(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply('{"title": "A tower"}')
    api = serve()
    completion = api.ask(TASKS["title"], model="concat", stream=False, max_tokens=1000)
    assert completion.choices[0].message.content == '{"title": "A tower"}'
    assert not hasattr(completion, "quorum")
    assert [request.text for request in openai_server.chats()] == [TASKS["title"]]
    assert 'quorum_questions_total{method="side_task",outcome="answered"} 1' in api.get("/metrics").text


def test_the_embedded_model_is_not_asked_for_a_side_task(serve: Serve, openai_server: OpenAIServer) -> None:
    completion = serve(model="embedded").ask(LIBRECHAT_TITLE_TASK)
    assert completion.choices[0].message.content == "When was it"
    assert completion.usage.total_tokens == 0
    assert openai_server.requests == []
