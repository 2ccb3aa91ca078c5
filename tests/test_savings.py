"""Passages that say the same are asked once, and each still votes."""

from openai_server import OpenAIServer
from tower import PASSAGES, QUESTION

from core.context import Context
from core.state import Passage
from graphs import answer


async def test_equal_passages_are_asked_once_and_vote_each(openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda request: "1931" if PASSAGES[0]["text"] in request.text else "1950")
    first, second = PASSAGES[:2]
    again = [Passage(id=f"again-{number}", title=first["title"], text=first["text"]) for number in range(2)]
    given = [second, first, *again]
    result = await answer(QUESTION, "post_fusion", Context(model="openai:test"), given=given)
    assert len(openai_server.chats()) == 2
    assert [vote["answer"] for vote in result["votes"]] == ["1950", "1931", "1931", "1931"]
    assert (result["answer"], result["usage"]["answer"]["calls"]) == ("1931", 4)
