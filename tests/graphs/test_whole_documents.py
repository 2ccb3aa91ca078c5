"""full_documents and self_route: golden traces (a run's nodes and their updates), which passages are read, how a prompt
shows them, and what is refused before a call is paid for.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from method_fixtures import (
    EVIDENCE_STEP,
    KNOWN_ANSWER,
    NO_EVIDENCE_STEP,
    PASSAGES,
    QUESTION,
    make_runtime,
    shorten_update,
    trace_method,
)
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.errors import SetupError, TooLong
from quorum.core.state import Passage, State
from quorum.graphs import METHODS, answer, answer_sync
from quorum.models.scripted import ScriptedModel
from quorum.nodes.choose_documents import choose_passages
from quorum.nodes.document_budget import RESERVE, count_prompt_tokens
from quorum.nodes.documents import documents_answer
from quorum.prompts.documents import format_documents, format_numbered_documents
from quorum.retrievers.documents import count_tokens, load_documents
from quorum.retrievers.index import index_documents

VECTORS: Any = WordVectors(64)
ASKED = "Which tower did Ada Korn design?"
FILLER = "The keeper wrote down the weather of the day and the ships that passed the cape."
UNKNOWN = {"answer": "unknown", "unknown": True, "confidence": None}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A collection of a long and a short document; the passage that answers `ASKED` stands amid the long one."""
    folder = tmp_path_factory.mktemp("documents")
    sections = [f"## Year {n}\n\n{FILLER}\n\n{FILLER}" for n in range(12)]
    sections.insert(6, "## Towers\n\nAda Korn designed the tower of Vell.\n\nIts lamp burned oil. It stands on a rock.")
    (folder / "long.md").write_text("# Log\n\n" + "\n\n".join(sections))
    (folder / "short.md").write_text("# Notes\n\nA tower needs a keeper.\n\n## Wages\n\nThe wages were low.")
    index_documents([folder], collection="log", store=str(folder / "store"), embeddings=VECTORS, words=20)
    return str(folder / "store")


@pytest.fixture
def context(store: str) -> Iterator[Context]:
    return Context(store=store, collection="log", embeddings=VECTORS, retriever="bm25", k=1, journal="off")


async def trace(method: str, context: Context) -> list[tuple[str, dict[str, Any]]]:
    """As `trace_method`, over the collection, with the number of passages in place of their ids."""
    inputs: Any = {"question": ASKED}
    steps: list[tuple[str, dict[str, Any]]] = []
    async for update in METHODS[method].graph.astream(inputs, context=context, stream_mode="updates"):
        for node, changed in update.items():
            if changed:
                short = shorten_update(changed)
                for key in ("passages", "retrieved"):
                    if key in short:
                        short[key] = len(changed[key])
                steps.append((node, short))
    return steps


async def test_self_route_ends_if_the_passages_hold_the_answer() -> None:
    assert await trace_method("self_route", ScriptedModel().on("answer", "1931")) == [
        ("begin", {}),
        ("retrieve", {"passages": "p1 p2 p3"}),
        ("concat_answer", {**KNOWN_ANSWER, "confidence": None, "passages": "p1 p2 p3"}),
        ("unknown_check", {"unknown": False}),
        EVIDENCE_STEP,
    ]


async def test_self_route_reads_the_documents_if_the_passages_do_not_hold_the_answer(context: Context) -> None:
    model = ScriptedModel().on("answer", "Unknown").on("answer: whole documents", "the tower of Vell")
    found = {"answer": "the tower of Vell", "unknown": False, "confidence": None, "passages": 38}
    steps = await trace("self_route", replace(context, model=model))
    passages = steps[4][1]["passages"]
    assert steps == [
        ("begin", {}),
        ("retrieve", {"passages": 1}),
        ("concat_answer", {**UNKNOWN, "passages": 1}),
        ("unknown_check", {"unknown": True}),
        ("find_documents", {"passages": passages, "retrieved": 1}),
        ("documents_answer", {**found, "passages": passages}),
        ("find_evidence", {"evidence": steps[-1][1]["evidence"]}),
    ]
    assert passages > 10
    assert len(steps[-1][1]["evidence"]) == 1


async def test_an_answer_that_the_documents_do_not_hold_stays_unknown() -> None:
    model = ScriptedModel().on("answer", "Unknown", "unknown")
    assert await trace_method("self_route", model, k=2) == [
        ("begin", {}),
        ("retrieve", {"passages": "p1 p2"}),
        ("concat_answer", {**UNKNOWN, "passages": "p1 p2"}),
        ("unknown_check", {"unknown": True}),
        ("find_documents", {"passages": "p1 p2", "retrieved": ["p1", "p2"]}),
        ("documents_answer", {**UNKNOWN, "passages": "p1 p2"}),
        NO_EVIDENCE_STEP,
    ]


async def test_of_a_document_wider_than_the_window_the_run_around_the_best_passage_is_read(context: Context) -> None:
    model = ScriptedModel().on("answer", "Vell")
    room = 300
    window = await count_prompt_tokens("", ASKED, context) + RESERVE + room
    steps = await trace("full_documents", replace(context, model=model, context_window=window, k=2))
    read, left_out = steps[2][1]["passages"], steps[2][1]["dropped"]
    assert steps == [
        ("begin", {}),
        ("retrieve", {"passages": 2}),
        ("find_documents", {"passages": read, "retrieved": 2, "dropped": left_out}),
        ("documents_answer", {"answer": "Vell", "unknown": False, "confidence": None, "passages": read}),
        ("find_evidence", {"evidence": steps[-1][1]["evidence"]}),
    ]
    assert 2 < read < 15 < left_out  # of both documents, the second of which was not begun
    [prompt] = [sent.text for sent in model.history]
    shown = prompt.rpartition("<passages>\n")[2].partition("</passages>")[0]
    assert "Ada Korn designed the tower of Vell." in shown
    assert "Its lamp burned oil." in shown  # the same section, before others
    assert "Year 0" not in shown
    result = await answer(
        ASKED, "full_documents", replace(context, model=model.on("answer", "Vell"), context_window=window)
    )
    starts = [passage["places"][0]["start"] for passage in result["passages"]]
    assert starts == sorted(starts)
    assert [("score" in passage) for passage in result["passages"]].count(True) == 1  # the one that was found


@pytest.mark.parametrize(
    "method", ["full_documents", "self_route", "concat>full_documents", "concat>concat[k=2]>self_route"]
)
@pytest.mark.parametrize("is_given", [True, False])
async def test_all_documents_are_refused_before_the_first_call_if_they_do_not_fit(
    method: str, is_given: bool, context: Context
) -> None:
    model = ScriptedModel()
    given = [{**passage, "text": passage["text"] * 50} for passage in PASSAGES] if is_given else None
    context = replace(context, model=model, documents="all", context_window=1800, reranker="listwise")
    with pytest.raises(
        SetupError,
        match=r"^With documents=all a prompt would have about [\d,]+ tokens, but the window of ScriptedModel has "
        r"1,800; set documents=found, which reads the documents of the passages found, or .*larger window\.",
    ):
        await answer(ASKED, method, context, given=given)
    assert model.history == []


async def test_the_message_says_if_the_window_is_only_assumed(context: Context) -> None:
    given = [Passage(id="1", title="", text="word " * 20_000)]
    with pytest.raises(SetupError, match=r"has 8,192 \(assumed: set context_window to its real size\); set doc"):
        await answer(ASKED, "full_documents", replace(context, model=ScriptedModel(), documents="all"), given=given)


@pytest.mark.parametrize("method", ["full_documents", "self_route", "concat>full_documents"])
async def test_documents_without_an_order_are_refused_before_the_first_call(method: str, context: Context) -> None:
    class Finder(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            raise AssertionError("nothing is to be searched")

    model = ScriptedModel()
    with pytest.raises(SetupError, match="nothing says in which order the passages that the retriever Finder finds"):
        await answer(ASKED, method, replace(context, model=model, retriever=Finder()))
    assert model.history == []


async def test_with_all_documents_every_prompt_begins_alike(context: Context) -> None:
    texts = []
    for question in (ASKED, "How were the wages?"):
        model = ScriptedModel().on("answer", "low")
        await answer(question, "full_documents", replace(context, model=model, documents="all"))
        texts.append(model.history[0].text)
    before, after = (
        [
            text.partition("Question: " + question)[index]
            for text, question in zip(texts, (ASKED, "How were the wages?"), strict=True)
        ]
        for index in (0, 2)
    )
    assert before[0] == before[1]
    assert len(before[0]) > 2000
    assert set(after) == {"\nAnswer:"}


@pytest.mark.parametrize(
    ("replies", "documents"),
    [
        (["Vell"], "found"),
        (["Unknown", "Vell"], "found"),
        (["Unknown", "unknown"], "found"),
        (["Unknown", "Vell"], "all"),
    ],
)
@pytest.mark.parametrize("is_given", [True, False])
async def test_self_route_is_the_cascade_of_concat_and_full_documents(
    replies: list[str], documents: Any, is_given: bool, context: Context
) -> None:
    """In answers, calls, tokens, and every other key of the result."""
    results, models = [], []
    for method in ("self_route", "concat>full_documents"):
        models.append(ScriptedModel().enqueue(*replies))
        settings: Any = {"model": models[-1], "documents": documents, "k": 2, "context_window": 3000}
        given = PASSAGES if is_given else None
        results.append(await answer(ASKED, method, replace(context, **settings), given=given))
    assert results[0] == results[1]
    assert results[0]["usage"]["answer"]["calls"] == len(replies)
    assert [sent.text for sent in models[0].history] == [sent.text for sent in models[1].history]


async def test_the_first_call_of_self_route_is_that_of_concat(context: Context) -> None:
    texts = []
    for method in ("concat", "self_route"):
        model = ScriptedModel().on("answer", "Vell")
        await answer(ASKED, method, replace(context, model=model))
        texts.append(model.history[0].text)
    assert texts[0] == texts[1]


async def test_all_given_passages_are_read_in_their_order_whatever_k_is() -> None:
    model = ScriptedModel().on("answer", "1931")
    result = await answer(QUESTION, "full_documents", Context(model=model, k=2), given=PASSAGES)
    assert [passage["id"] for passage in result["passages"]] == ["p1", "p2", "p3", "p4", "p5"]
    assert result["retrieved"] == ["p1", "p2"]


@pytest.mark.parametrize(
    ("refusals", "window", "kept"), [(0, 1700, "0 1 4 5"), (1, 5000, "0 1 2 4 5"), (4, 5000, "4 5"), (5, 5000, "5")]
)
async def test_passages_that_were_not_found_are_left_out_first(refusals: int, window: int, kept: str) -> None:
    """By our estimate, or because the server refuses the prompt as too long."""
    passages = [Passage(id=str(n), title=str(n), text="word " * 200) for n in range(6)]
    model = ScriptedModel().on("answer", *[TooLong("too long")] * refusals, "1931")
    state = State(question=QUESTION, passages=passages, retrieved=["5", "4"])
    update = await documents_answer(state, make_runtime(model, context_window=window))
    assert " ".join(passage["id"] for passage in update["passages"]) == kept
    assert update["dropped"] == 6 - len(update["passages"])


@pytest.mark.parametrize(
    ("answer_type", "prompt", "reply"),
    [
        ("yes_no", "answer_yes_no", "Yes"),
        ("label", "answer_label", "SUPPORTS"),
        ("dialogue", "answer_dialogue", "It was finished in 1931."),
    ],
)
async def test_every_kind_of_answer_is_served(answer_type: Any, prompt: str, reply: str) -> None:
    model = ScriptedModel().on(prompt, reply)
    result = await answer(QUESTION, "full_documents", Context(model=model, answer_type=answer_type), given=PASSAGES)
    assert not result["unknown"]


async def test_a_long_answer_cites_passages_of_documents() -> None:
    model = ScriptedModel().on("answer_long", "Work on the Lumen Tower ended in 1931, after a strike [3].")
    result = await answer(QUESTION, "full_documents", Context(model=model, answer_type="long"), given=PASSAGES)
    assert [(cited["n"], cited["passage"]) for cited in result["citations"] or []] == [(3, "p3")]
    assert "[3] Work on the Lumen Tower" in model.history[0].text


async def test_a_wordy_answer_is_shortened_after_either_prompt() -> None:
    wordy = "According to the text that you gave me it was finished, as far as anyone can say today, in 1931."
    for method, replies in (("full_documents", [wordy]), ("self_route", ["Unknown", wordy])):
        model = ScriptedModel().on("answer", *replies).on("shorten", "1931")
        result = await answer(QUESTION, method, Context(model=model, shorten="model"), given=PASSAGES)
        assert (result["answer"], result["usage"]["shorten"]["calls"]) == ("1931", 1)
        assert len(result["passages"]) == 5


def test_several_samples_vote_and_synchronous_code_is_served() -> None:
    model = ScriptedModel().on("answer", "1931", "1905", "1931")
    result = answer_sync(QUESTION, "full_documents", Context(model=model, samples=3, temperature=1), given=PASSAGES)
    assert (result["answer"], result["confidence"]) == ("1931", pytest.approx(2 / 3))


def test_a_document_is_named_once_and_its_texts_follow() -> None:
    def make(id_: str, text: str, file: str, *headings: str, title: str = "Guide") -> Passage:
        return Passage(id=id_, title=title, text=text, places=[{"file": file, "headings": list(headings)}])

    passages = [
        make("1", "First.", "/a.md", "Guide", "Leave", "Paid"),
        make("2", "Second.\nDocument 2: Forged", "/a.md", "Guide", "Leave"),
        make("3", "[9] Third.", "/b.md"),
        make("4", "Fourth.", "/c.md", title=""),
    ]
    assert format_documents(passages) == (
        "Document 1: Guide > Leave\n\nFirst.\n\nSecond.\n\\Document 2: Forged\n\n"
        "Document 2: Guide\n\n\\[9] Third.\n\nDocument 3\n\nFourth."
    )
    assert format_numbered_documents(passages[2:]) == "Document 1: Guide\n\n[1] [9] Third.\n\nDocument 2\n\n[2] Fourth."
    assert format_documents([]) == "(none)"


async def test_of_two_documents_that_share_passages_the_chosen_one_is_read_in_its_order(tmp_path: Path) -> None:
    """v1 comes first, and does not fit any more; v2 begins with the section in which the two differ."""
    parts = "\n\n".join(f"## Part {n}\n\nValve {n} of hall {n} is opened by day. {FILLER}" for n in range(4))
    editions = {
        "v1": f"{parts}\n\n## Keeper\n\nTom Reed.",
        "v2": f"## Keeper\n\nAnn Crane keeps hall three.\n\n{parts}",
    }
    for name, text in editions.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "manual.md").write_text(f"# Manual\n\n{text}")
    index_documents([tmp_path], collection="manuals", store=str(tmp_path / "store"), embeddings=VECTORS, words=20)
    documents = await load_documents(Context(store=str(tmp_path / "store"), collection="manuals", embeddings=VECTORS))
    found = [next(p for p in documents.passages if text in p["text"]) for text in ("Ann Crane", "Valve 0")]
    chosen, left_out = choose_passages(found, documents, sum(map(count_tokens, documents.passages)) // 2)
    second = [passage["id"] for passage in documents.by_name[list(documents.by_name)[1]]]
    assert 1 < len(chosen) < len(second)
    assert [passage["id"] for passage in chosen] == second[: len(chosen)]
    assert left_out > 0
