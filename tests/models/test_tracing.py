"""Traces that LangSmith's real client sends over a real socket: their tree, their contents, and what they hide."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import langsmith
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.tracers.langchain import LangChainTracer
from langgraph.types import Overwrite, Send
from langsmith import run_trees
from langsmith.utils import get_env_var
from langsmith_server import Collector, Run
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import make_error
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.graphs import METHODS, answer
from quorum.models.tracing import copy_without_secrets

API_KEY, PASSWORD = "sk-0123456789abcdef", "open-sesame"
SECRET_WORD = "zanzibar"
SECRET_TEXT = (  # longer than 100 characters: a trace may show a shorter answer even if passages are hidden
    f"as the papers of {SECRET_WORD} have it, which were written down at length a good while after the tower was built."
)
SECRET_PASSAGES = [
    passage | {"title": f"{SECRET_WORD} {passage['id']}", "text": f"{passage['text']} So {SECRET_TEXT}"}
    for passage in PASSAGES
]


class SecretRetriever(BaseRetriever):
    """A user's own retriever, which returns SECRET_PASSAGES for every query."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(item["text"], id=item["id"], metadata={"title": item["title"]}) for item in SECRET_PASSAGES]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch, isolate: None) -> Iterator[Collector]:
    """Switch tracing on by environment variables only. The collector receives what is sent."""
    collector = Collector()
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", collector.url)
    monkeypatch.setenv("LANGSMITH_API_KEY", "lsv2_0123456789")
    get_env_var.cache_clear()
    langsmith.configure(client=None)
    yield collector
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    run_trees.get_cached_client().cleanup()
    langsmith.configure(client=None)
    get_env_var.cache_clear()
    collector.close()


def get_trace(collector: Collector) -> Run:
    """The one trace that has arrived."""
    run_trees.get_cached_client().flush()
    (root,) = collector.list_traces()
    return root


def list_runs(root: Run, kind: str) -> list[Run]:
    return [run for run in root.list_subtree() if run.kind == kind]


async def test_a_trace_is_the_run_of_the_graph(collector: Collector) -> None:
    state = {"question": QUESTION, "given": PASSAGES}
    graph = METHODS["sure"].graph
    nodes: list[str] = []
    async for update in graph.astream(state, context=Context(k=3, retriever="bm25"), stream_mode="updates"):
        nodes += list(update)
    root = get_trace(collector)
    assert (root.name, root.kind) == ("sure", "chain")
    assert Counter(child.name for child in root.children) == Counter(nodes)
    assert set(nodes) <= set(graph.get_graph().nodes)
    assert [child.name for child in root.children][:3] == ["begin", "retrieve", "propose_candidates"]
    assert {"quorum", "sure"} <= set(root.fields["tags"])
    metadata = {"method": "sure", "model": "embedded", "retriever": "bm25", "k": 3}
    assert metadata.items() <= root.metadata.items()
    calls = list_runs(root, "llm")
    assert set(root.metadata["prompts"]) == {"candidates", "conditional_summary", "validity", "ranking"}
    assert {run.metadata["prompt"]: run.metadata["prompt_version"] for run in calls} == root.metadata["prompts"]
    assert [run.name for run in root.children[2].children if run.kind == "llm"] == ["candidates"]
    validity_runs = [run.name for child in root.children if child.name == "validate" for run in child.children]
    assert sorted(validity_runs) == ["validity: candidate 1", "validity: candidate 2"]
    assert all(run.metadata["usage_metadata"]["input_tokens"] > 0 for run in calls)


@pytest.mark.parametrize("method", ["concat_pf", "blendfilter", "iter_retgen"])
async def test_searches_are_traced_with_their_passages(collector: Collector, method: str) -> None:
    await answer(QUESTION, method, Context(k=3, retriever=SecretRetriever()))
    root = get_trace(collector)
    assert root.metadata["method"] == method
    assert root.metadata["retriever"] == "SecretRetriever"
    searches = list_runs(root, "retriever")
    assert searches[0].fields["inputs"] == {"query": QUESTION}
    documents = searches[0].fields["outputs"]["documents"]
    assert [item["page_content"] for item in documents] == [passage["text"] for passage in SECRET_PASSAGES]
    assert documents[0]["metadata"]["title"] == SECRET_PASSAGES[0]["title"]


async def test_two_runs_are_two_traces_with_their_own_settings(collector: Collector) -> None:
    await answer(QUESTION, "concat", Context(k=2), given=PASSAGES)
    await answer(QUESTION, "pruning", Context(k=4), given=PASSAGES, config={"run_name": "mine", "tags": ["today"]})
    run_trees.get_cached_client().flush()
    first, second = collector.list_traces()
    assert (first.metadata["k"], set(first.metadata["prompts"])) == (2, {"answer"})
    assert (second.name, second.metadata["k"], set(second.metadata["prompts"])) == ("mine", 4, {"pruning"})
    assert "today" in second.fields["tags"]


async def test_keys_and_logins_are_not_sent(
    collector: Collector, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url.replace("//", f"//me:{PASSWORD}@"))
    openai_server.reply(["1931", make_error(400, f"No such thing, {API_KEY}, at http://me:{PASSWORD}@host/v1")])
    context = Context(model="openai:test", k=2)
    await answer(QUESTION, "concat", context, given=PASSAGES)
    with pytest.raises(CallError):
        await answer(QUESTION, "pruning", context, given=PASSAGES)
    run_trees.get_cached_client().flush()
    assert [root.name for root in collector.list_traces()] == ["concat", "pruning"]
    assert collector.list_traces()[1].fields["error"]
    assert API_KEY not in collector.text
    assert PASSWORD not in collector.text


# Those that read whole documents take no retriever of the user's; the next test asks them with given passages.
@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("full_documents", "self_route")])
async def test_hidden_passages_appear_nowhere_in_a_trace(
    collector: Collector, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """The model repeats its whole prompt; the graph is called directly, without `answer`."""
    monkeypatch.setenv("QUORUM_HIDE_PASSAGES", "1")
    openai_server.reply(lambda request: request.text)
    context = Context(model="openai:test", k=2, max_steps=2, retriever=SecretRetriever())
    await METHODS[method].graph.ainvoke({"question": QUESTION}, context=context)
    root = get_trace(collector)
    assert SECRET_WORD not in collector.text
    assert QUESTION in collector.text
    assert root.fields["inputs"]["question"] == QUESTION
    assert all(run.metadata["usage_metadata"]["input_tokens"] > 0 for run in list_runs(root, "llm"))


@pytest.mark.parametrize("method", ["concat", "sure", "sum_and_pred", "full_documents", "self_route"])
async def test_hidden_given_passages_appear_nowhere_in_a_trace(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """The embedded reader copies sentences of the passages into its summaries."""
    monkeypatch.setenv("QUORUM_HIDE_PASSAGES", "1")
    result = await METHODS[method].graph.ainvoke({"question": QUESTION, "given": SECRET_PASSAGES}, context=Context(k=3))
    root = get_trace(collector)
    assert SECRET_WORD not in collector.text
    assert root.fields["outputs"]["answer"] == result["answer"]
    assert [item["id"] for item in root.fields["inputs"]["given"]] == [item["id"] for item in SECRET_PASSAGES]


async def test_errors_do_not_reveal_hidden_passages(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_HIDE_PASSAGES", "yes")
    with pytest.raises(SetupError):
        await METHODS["concat"].graph.ainvoke({"question": QUESTION, "given": [{"text": [SECRET_TEXT]}]})  # type: ignore[list-item, typeddict-item]
    assert get_trace(collector).fields["error"] == "SetupError"
    assert SECRET_WORD not in collector.text


async def test_a_client_that_hides_nothing_is_refused_if_passages_must_be_hidden(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    revealing_client = langsmith.Client(api_url=collector.url, api_key="x")
    traced_config: Any = {"callbacks": [LangChainTracer(client=revealing_client)]}
    assert (await answer(QUESTION, "concat", Context(k=1), given=PASSAGES, config=traced_config))["answer"]
    monkeypatch.setenv("QUORUM_HIDE_PASSAGES", "1")
    with pytest.raises(SetupError, match="hides nothing"):
        await answer(QUESTION, "concat", Context(k=1), given=PASSAGES, config=traced_config)
    revealing_client.cleanup()


@pytest.mark.parametrize(
    ("make_object", "shown_fields"),
    [
        (lambda text: Document(text, id="p1", metadata={"title": text, "score": 0.5}), {"id": "p1", "score": 0.5}),
        (lambda text: Send("read", {"passages": [{"id": "p1", "text": text}]}), {"node": "read"}),
        (lambda text: Overwrite([text]), {}),
        (lambda text: {"answer": text * 3, "candidates": [text * 3], "unknown": False}, {"unknown": False}),
    ],
    ids=["document", "send", "overwrite", "long answer"],
)
def test_passages_are_hidden_in_objects(make_object: Callable[[str], Any], shown_fields: dict[str, Any]) -> None:
    result = copy_without_secrets({"value": make_object(SECRET_TEXT)}, hide_passages=True)
    assert SECRET_WORD not in str(result)
    fields = result["value"] | result["value"].get("metadata", {})
    assert shown_fields.items() <= fields.items()


@pytest.mark.parametrize(
    "make_object",
    [
        lambda text: Document("Vell", id="p1", metadata={"source": text}),
        lambda text: HumanMessage(text),
        lambda text: Send("read", {"passages": [{"id": "p1", "text": text}]}),
        lambda text: Overwrite([text]),
        lambda text: ValueError(text),
        lambda text: {text},
    ],
    ids=["document", "message", "send", "overwrite", "error", "set"],
)
def test_secrets_are_removed_from_objects(make_object: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_API_KEY", API_KEY)
    object_with_secrets = make_object(f"see http://me:{PASSWORD}@host/v1 {API_KEY}")
    harmless_object = make_object("see http://host/v1")
    copied = copy_without_secrets([object_with_secrets, harmless_object], hide_passages=False)
    assert API_KEY not in str(copied)
    assert PASSWORD not in str(copied)
    assert "see http://host/v1" in str(copied[0])
    assert copied[1] is harmless_object


def test_visible_passages_and_addresses_stay_but_a_login_in_a_url_is_removed() -> None:
    value = {"text": SECRET_TEXT, "n": [1, 2.5, None, True], "at": "http://localhost:8000/v1", "to": "me@example.org"}
    assert copy_without_secrets(value, hide_passages=False) == value
    assert copy_without_secrets("see http://me:pw@host/v1", hide_passages=False) == "see http://host/v1"


@dataclass
class LinkedObject:
    """An object that can refer to itself, here through its parent."""

    path: tuple[str, ...]
    parent: "LinkedObject | None" = None


def test_an_object_without_secrets_is_not_copied_even_if_it_holds_a_tuple_or_refers_to_itself() -> None:
    linked_object = LinkedObject(("a", "b"))
    linked_object.parent = LinkedObject(("c",), parent=linked_object)
    copied = copy_without_secrets({"object": linked_object, "pair": (1, "x")}, hide_passages=False)
    assert copied["object"] is linked_object
    assert copied["pair"] == (1, "x")
