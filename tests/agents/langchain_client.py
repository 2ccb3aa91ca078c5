"""Uses `quorum mcp` as a LangGraph agent does: through langchain-mcp-adapters.

This script runs in an environment of its own, because the adapters need an older MCP SDK than Quorum.

python langchain_client.py URL TOKEN MODEL_URL: URL and TOKEN are those of `quorum mcp`, MODEL_URL is the address of
the agent's chat model. The script prints the results as a JSON object.
"""

import asyncio
import json
import sys
from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_openai import ChatOpenAI

QUESTION = "When was the Lumen Tower finished?"


async def use_tools(url: str, token: str, model_url: str) -> dict[str, Any]:
    """Call the tools, read a resource, and let an agent call the tools; return each result by name."""
    progress_messages: list[str] = []

    async def record_progress(done: float, total: float | None, message: str | None, context: Any) -> None:
        progress_messages.append(str(message))

    server: Any = {"transport": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
    client = MultiServerMCPClient({"handbook": server}, callbacks=Callbacks(on_progress=record_progress))
    tools = {tool.name: tool for tool in await client.get_tools()}
    inputs = {"question": QUESTION, "method": "concat", "settings": {"k": 1}}
    search_result = await tools["search"].ainvoke(make_tool_call("search", query="harbour", k=1))
    answer = await tools["ask"].ainvoke(make_tool_call("ask", **inputs))
    refusal = await tools["ask"].ainvoke(make_tool_call("ask", **inputs, collection="private"))
    [passage] = search_result.artifact["structured_content"]["passages"]
    async with client.session("handbook") as session:
        [blob] = await load_mcp_resources(session, uris=[f"quorum://towers/passages/{passage['id']}"])
    agent = create_agent(ChatOpenAI(model="agent", base_url=model_url, api_key="none"), list(tools.values()))
    turns = (await agent.ainvoke({"messages": [{"role": "user", "content": QUESTION}]}))["messages"]
    return {
        "mcp": version("mcp"),
        "tools": {name: tool.description for name, tool in tools.items()},
        "search": passage["text"],
        "ask": answer.artifact["structured_content"]["answer"],
        "ask_text": read_text(answer),
        "progress": progress_messages[:3],
        "refusal": [refusal.status, read_text(refusal)],
        "resource": blob.as_string(),
        "agent": [[turn.type, read_text(turn)] for turn in turns],
    }


def make_tool_call(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call in the form in which a chat model requests it."""
    return {"type": "tool_call", "id": "1", "name": name, "args": arguments}


def read_text(message: Any) -> str:
    """The text of a message."""
    content = message.content
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(use_tools(*sys.argv[1:]))))
