"""The kind of answer follows the question in every view: served, streamed, in the terminal, in Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from api_server import Serve
from openai_bodies import Response, make_too_long_error
from openai_server import OpenAIServer, Request
from quorum_command import Quorum

from quorum import Context, answer_sync, index

TYPE_NOTE = "The question asks for an explanation or steps, and this method answers short"
STEPS = "Do this:\n\n1. Take the ferry [1].\n2. Climb the `stairs` [1]."
# question -> (the type of its answer, the text that begins every view)
ANSWERS = {
    "Is the Lumen Tower in Vell?": ("yes_no", "yes\n\nThe tower stands in the harbour there."),
    "How do I get to the Lumen Tower?": ("long", STEPS),
    "When was the Lumen Tower finished?": ("short", "1931"),
}


def reply(request: Request) -> str:
    """What the model writes: by the form that the prompt asks for."""
    schema = request.body.get("response_format", {}).get("json_schema", {}).get("schema", {"properties": {}})
    if "why" in schema["properties"]:
        return json.dumps({"answer": "Yes", "why": "The tower stands in the harbour there."})
    return json.dumps({"answer": "1931"}) if schema["properties"] else STEPS


@pytest.mark.parametrize("question", ANSWERS)
def test_every_view_answers_in_the_kind_that_the_question_asks_for(
    question: str, serve: Serve, openai_server: OpenAIServer, store: Path, quorum: Quorum
) -> None:
    openai_server.reply(reply)
    answer_type, beginning = ANSWERS[question]
    context = Context(model="openai:test", collection="towers", store=str(store))
    assert answer_sync(question, "concat", context)["answer_type"] == answer_type
    api = serve()
    completion = api.ask(question)
    content = completion.choices[0].message.content
    assert (completion.quorum["answer_type"], content.startswith(f"{beginning}\n\n")) == (answer_type, True)
    chunks: list[Any] = list(api.ask(question, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == content
    options = ("--method", "concat", "--model", "openai:test", "--collection", "towers", "--store", str(store))
    for more in ((), ("--stream",)):
        code, out, _ = quorum("ask", question, *options, *more)
        assert code == 0
        assert [line for line in beginning.splitlines() if line not in out.splitlines()] == []
    assert TYPE_NOTE not in content


def test_a_method_that_answers_short_says_so_in_every_view(
    serve: Serve, openai_server: OpenAIServer, store: Path, quorum: Quorum
) -> None:
    openai_server.reply("The ferry goes there. So the answer is by ferry.")
    question = "How do I get to the Lumen Tower?"
    completion = serve().ask(question, model="cot")
    assert completion.quorum["answer_type"] == "short"
    assert TYPE_NOTE in completion.choices[0].message.content
    options = ("--method", "cot", "--model", "openai:test", "--collection", "towers", "--store", str(store))
    assert TYPE_NOTE in quorum("ask", question, *options)[2]


def test_an_assumed_window_is_told_where_passages_are_left_out(
    serve: Serve, openai_server: OpenAIServer, store: Path, tmp_path: Path
) -> None:
    """The model's server refuses the first prompt as too long: one passage less is shown."""
    lines = [{"id": str(n), "title": "Log", "text": f"Day {n} at the Lumen Tower."} for n in range(3)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    index(tmp_path / "log.jsonl", collection="log", context=Context(store=str(store)))
    replies = iter([make_too_long_error(), Response("1931")])
    openai_server.reply(lambda _: next(replies))
    completion = serve(collection="log").ask("When was the Lumen Tower finished?", model="full_documents")
    note = "Left out of the prompt for want of room: 1 passage; nothing says how many tokens the model reads"
    assert note in completion.choices[0].message.content
