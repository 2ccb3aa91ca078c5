"""LangGraph agents use `quorum mcp --http` through langchain-mcp-adapters, which needs an older MCP SDK than Quorum."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response
from openai_server import OpenAIServer, Request

from quorum import Context, index

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-agents" / "bin" / "python"
CLIENT = Path(__file__).with_name("langchain_client.py")
TOKEN = "the-key-of-this-mcp-server"
TOWER = "The Lumen Tower was finished in 1931. It stands in the harbour of Vell."
SECRET = "The safe of the Iron Mast opens with the number 4471."
# A script that runs the command quorum and can connect only to this machine.
OFFLINE_COMMAND = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import conftest  # from here on, connections to other machines fail
from quorum.cli.main import main
main()
"""


@pytest.fixture
def url(tmp_path: Path, openai_server: OpenAIServer) -> Iterator[str]:
    """The address of `quorum mcp --http`, a process that serves the collection towers."""
    store = str(tmp_path / "store")
    for name, text in (("towers", TOWER), ("private", SECRET)):
        (file := tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": name, "title": name, "text": text}) + "\n")
        index(file, collection=name, context=Context(store=store))
    openai_server.reply(play_both_models)
    args = ["mcp", "--http", "--port", "0", "--token", TOKEN, "--store", store, "--collection", "towers"]
    args += ["--model", "openai:test", "--retriever", "bm25"]
    with subprocess.Popen(
        [sys.executable, "-u", "-c", OFFLINE_COMMAND, *args],
        env=make_environment(OPENAI_BASE_URL=openai_server.url, PYTHONPATH=str(ROOT)),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        assert "Quorum is at " in line, line + process.stdout.read()
        yield line.split()[3]
        process.terminate()


def make_environment(**settings: str) -> dict[str, str]:
    """The environment without the settings of the user who runs the tests."""
    variables = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    return variables | {"LANGSMITH_TRACING": "false"} | settings


def play_both_models(request: Request) -> Response:
    """Reply as two models. The method's model says 1931. The agent's model calls the tool `ask` and then repeats the
    tool's result.
    """
    if request.body["model"] == "test":
        return Response("1931")
    if request.body["messages"][-1]["role"] == "tool":
        content = request.body["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        return Response(f"Quorum says: {text.splitlines()[0]}")
    arguments = json.dumps({"question": request.text, "method": "concat"})
    tool_call = {"id": "call_1", "type": "function", "function": {"name": "ask", "arguments": arguments}}
    return Response("", finish_reason="tool_calls", message={"tool_calls": [tool_call]})


def run_in_client_environment(*command: str, **environment: str) -> str:
    """Run Python in the client's environment and return its output."""
    assert PYTHON.exists(), "run `make test-agents`, which creates the environment of this test"
    run = subprocess.run(
        [str(PYTHON), *command],
        env=make_environment(**environment),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def client_results(url: str, openai_server: OpenAIServer) -> Any:
    """The JSON object that langchain_client.py prints: what it got from the tools, a resource and an agent, by name."""
    return json.loads(run_in_client_environment(str(CLIENT), url, TOKEN, openai_server.url))


def test_a_langgraph_agent_lists_and_calls_the_tools_over_http(client_results: Any) -> None:
    assert int(client_results["mcp"].split(".")[0]) < 2  # the version of the client's MCP SDK
    assert set(client_results["tools"]) == {"ask", "search", "collections", "methods"}
    assert "towers: 1 passage" in client_results["tools"]["ask"]
    assert client_results["search"] == TOWER
    assert client_results["ask"] == "1931"
    quote = "> The Lumen Tower was finished in **1931**."
    assert client_results["ask_text"].startswith(f"1931\n\n{quote}\n\nSources:\n1. towers (towers.jsonl, line 1):")
    assert client_results["progress"][:3] == [
        "searching",
        "searching",
        "reading",
    ]  # the last step may come with the answer
    # a question to the collection "private", which is not served
    assert client_results["refusal"][0] == "error"
    assert "There is no collection 'private' here" in client_results["refusal"][1]
    assert client_results["resource"] == f"towers\n\n{TOWER}"
    assert [kind for kind, _ in client_results["agent"]] == ["human", "ai", "tool", "ai"]
    assert client_results["agent"][-1][1] == "Quorum says: 1931"


def test_the_example_in_docs_serving_runs(url: str, openai_server: OpenAIServer) -> None:
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    [script] = [  # the only example that uses langchain_mcp_adapters
        item for item in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "langchain_mcp_adapters" in item
    ]
    script = script.replace("http://127.0.0.1:8766/mcp", url).replace("Bearer TOKEN", f"Bearer {TOKEN}")
    output = run_in_client_environment("-c", script, OPENAI_BASE_URL=openai_server.url, OPENAI_API_KEY="none")
    assert output == "Quorum says: 1931\n"
