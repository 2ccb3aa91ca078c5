"""Long answers over HTTP: their Markdown, the marks of cited passages, and sources with the numbers of these marks."""

from typing import Any

from api_server import Serve
from openai_server import OpenAIServer

from quorum.core.conversation import remove_served_additions

LONG_ANSWER = """\
## The tower

The **Lumen Tower** was finished in 1931 [1], and builders were paid for it until the end of the year.

| place | harbour |
| --- | --- |
| Vell | yes [1] |

```sh
towers[1]
```"""
LONG: Any = {"quorum": {"answer_type": "long"}}


def test_a_long_answer_is_served_in_markdown_and_its_source_has_its_number(
    serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply(f"Answer:\n{LONG_ANSWER}")
    completion = serve().ask(extra_body=LONG)
    content = completion.choices[0].message.content
    answer, sources = content.split("\n\nSources:\n")
    assert answer == f"{LONG_ANSWER}\n\n> The Lumen Tower was finished in 1931."
    assert sources.startswith('- [1] Towers (towers.jsonl, line 1): "The Lumen Tower was finished in 1931.')
    assert "\\[map](" in sources  # a document's text is still escaped
    assert remove_served_additions(content) == LONG_ANSWER
    result = completion.quorum
    assert result["answer_text"] == LONG_ANSWER
    assert result["answer"].startswith("## The tower The **Lumen Tower** was finished in 1931, and builders")
    [citation, *_] = result["citations"]
    start, end = citation["at"][0]
    assert (result["answer_text"][start:end], citation["n"], citation["passage"]) == ("[1]", 1, "towers")
    text = result["passages"][0]["text"]
    assert text[citation["start"] : citation["end"]] == "The Lumen Tower was finished in 1931."


def test_a_streamed_long_answer_is_the_same_text(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(f"```markdown\n{LONG_ANSWER.partition('```')[0].strip()}\n```")
    api = serve()
    whole_content = api.ask(extra_body=LONG).choices[0].message.content
    chunks: list[Any] = list(api.ask(stream=True, extra_body=LONG))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole_content
    openai_server.reply(LONG_ANSWER)
    api = serve(journal="off")
    chunks = list(api.ask(stream=True, extra_body=LONG))
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content]
    assert "".join(pieces) == api.ask(extra_body=LONG).choices[0].message.content
    assert len(pieces) > 10
    assert any("\n" in piece for piece in pieces)


def test_a_follow_up_is_rewritten_without_the_marks_of_the_answer_before(
    serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply("It stands in Vell [1].")
    api = serve()
    content = api.ask(extra_body=LONG).choices[0].message.content
    messages: Any = [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": "And the mast?"},
    ]
    api.make_client().chat.completions.create(model="concat", messages=messages, extra_body=LONG)
    [rewriting] = [chat.text for chat in openai_server.chats() if "Last question" in chat.text]
    assert "Assistant: It stands in Vell.\n" in rewriting
