"""A run in LangGraph Studio's server is traced like any other run. With QUORUM_HIDE_PASSAGES, its trace does not hold
the passages' text.
"""

from pathlib import Path

from langgraph_sdk import get_client
from langsmith_server import Collector
from studio_server import start_studio

API_KEY = "lsv2_0123456789"
PASSAGE_TEXT = "The Lumen Tower was finished in 1931, as the papers of zanzibar have it."


async def test_a_run_in_the_server_is_traced_without_its_passages(tmp_path: Path) -> None:
    collector = Collector()
    tracing = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": collector.url, "LANGSMITH_API_KEY": API_KEY}
    passages = [{"id": f"p{number}", "title": "Lumen Tower", "text": PASSAGE_TEXT} for number in (1, 2)]
    with start_studio(tmp_path, **tracing, QUORUM_HIDE_PASSAGES="1") as server:
        async with get_client(url=server.url, api_key=None) as client:
            inputs = {"question": "When was the Lumen Tower finished?", "given": passages}
            await client.runs.wait(None, "concat_pf", input=inputs, context={"k": 2})
    (root,) = collector.list_traces()  # the server sent all its traces before it stopped
    collector.close()
    assert (root.name, root.metadata["method"], root.metadata["k"]) == ("concat_pf", "concat_pf", 2)
    assert [child.name for child in root.children][:3] == ["begin", "retrieve", "concat_answer"]
    assert root.metadata["prompts"]
    assert "zanzibar" not in collector.text  # a word of PASSAGE_TEXT
    assert "Blocking" not in server.log.read_text()  # no "Blocking call" in asynchronous code
