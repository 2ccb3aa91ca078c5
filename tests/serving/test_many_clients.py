"""Many clients at once, and clients that leave."""

import asyncio
import re
from typing import Any

import httpx
import openai
from api_server import Api, Serve
from langchain_core.messages import BaseMessage
from openai_bodies import Response
from openai_server import OpenAIServer

from quorum.models.scripted import ScriptedModel

CLIENT_COUNT = 200


def repeat_number(messages: list[BaseMessage]) -> str:
    """The number in the question."""
    return re.findall(r"number (\d+)", str(messages[-1].text))[-1]


async def test_two_hundred_clients_at_once_each_get_their_own_answer(serve: Serve) -> None:
    api = serve(model=ScriptedModel().on("answer_base_closed", repeat_number))
    client = openai.AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0, timeout=300)

    async def ask(number: int) -> str:
        body: dict[str, Any] = {"model": "no_retrieval", "messages": [{"role": "user", "content": f"number {number}"}]}
        if number % 2:
            return str((await client.chat.completions.create(**body)).choices[0].message.content)
        chunks = await client.chat.completions.create(**body, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])

    async with client:
        assert await asyncio.gather(*map(ask, range(CLIENT_COUNT))) == [str(number) for number in range(CLIENT_COUNT)]
    text = (await asyncio.to_thread(api.get, "/metrics")).text
    assert f'quorum_questions_total{{method="no_retrieval",outcome="answered"}} {CLIENT_COUNT}' in text
    assert "quorum_under_way 0" in text


async def wait_until_question_is_stopped(api: Api) -> None:
    """Wait until the server has stopped work on the question because its client left, for 30 seconds at most."""
    async with asyncio.timeout(30):
        while True:
            if 'outcome="stopped"} 1' in (await asyncio.to_thread(api.get, "/metrics")).text:
                return


async def ask_and_leave(api: Api, model: OpenAIServer, *, stream: bool) -> None:
    """Ask, disconnect while the model is answering, and wait until the server has stopped work on the question."""
    model.reply(Response("1931", hold=True))
    body = {"model": "concat", "messages": [{"role": "user", "content": "When?"}], "stream": stream}
    async with httpx.AsyncClient(timeout=60) as client:
        request = asyncio.create_task(client.post(f"{api.url}/v1/chat/completions", json=body))
        await asyncio.to_thread(model.wait_for_requests, 1)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
    await wait_until_question_is_stopped(api)


async def test_a_client_that_disconnects_cancels_the_work(serve: Serve, openai_server: OpenAIServer) -> None:
    await ask_and_leave(serve(), openai_server, stream=False)


async def test_a_client_that_closes_a_stream_cancels_the_work(serve: Serve, openai_server: OpenAIServer) -> None:
    await ask_and_leave(serve(), openai_server, stream=True)
