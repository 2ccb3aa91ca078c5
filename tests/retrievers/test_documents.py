"""The documents of a collection: their passages in order, filtered as a search is, and the run around one of them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st
from langchain_core.retrievers import BaseRetriever
from wordvectors import WordVectors

from quorum.algorithms.passage_runs import widen_run
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.retrievers.documents import (
    UnorderedDocumentsError,
    check_documents_are_ordered,
    find_neighbours,
    load_documents,
)
from quorum.retrievers.index import index_documents

VECTORS: Any = WordVectors(64)
SHARED = "The same words stand in both files."
MILLS = "# Mills\n\n" + "\n\n".join(f"## Mill {n}\n\nMill {n} has {n} wheels.\n\nIt grinds rye." for n in range(4))
LINES = [
    {"id": "q2", "title": "Quays", "text": "The second record of quays."},
    {"id": "q1", "title": "Quays", "text": "The first record of quays."},
    {"id": "t1", "title": "Towers", "text": "A record of towers.", "metadata": {"team": "IT"}},
    {"id": "u1", "title": "", "text": "A record without a title."},
    {"id": "u2", "title": "", "text": "Another record without a title."},
]


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "a.md").write_text(
        f"# Notes\n\n{SHARED}\n\n## Later\n\nA note about rye, who grinds it, and how much of it a mill grinds.\n"
    )
    (folder / "b.md").write_text(MILLS)
    (folder / "c.md").write_text(f"# Notes\n\n{SHARED}\n")
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, LINES)))
    context = Context(store=str(folder / "store"), embeddings=VECTORS, collection="mills", journal="off")
    index_documents([folder], collection="mills", store=context.store, embeddings=VECTORS, words=12)
    return context


async def test_passages_stand_in_the_order_of_their_documents(context: Context) -> None:
    documents = await load_documents(context)
    names = [(Path(name.source).name, name.part) for name in documents.by_name]
    lines = [("records.jsonl", part) for part in ("Quays", "Towers", "line 4", "line 5")]
    assert names == [("a.md", ""), ("b.md", ""), ("c.md", ""), *lines]
    by_name = dict(zip(names, documents.by_name.values(), strict=True))
    assert [passage["id"] for passage in by_name["records.jsonl", "Quays"]] == ["q2", "q1"]
    starts = [passage["places"][0]["start"] for passage in by_name["b.md", ""]]
    assert starts == sorted(starts)
    texts = " ".join(passage["text"] for passage in by_name["b.md", ""])
    assert texts.index("0 wheels") < texts.index("1 wheels") < texts.index("3 wheels")


async def test_a_passage_of_two_documents_is_read_in_the_one_that_was_found(context: Context) -> None:
    documents = await load_documents(context)
    [passage] = [passage for passage in documents.passages if SHARED in passage["text"]]
    for file in ("a.md", "c.md"):
        [place] = [place for place in passage["places"] if Path(place["file"]).name == file]
        found: Passage = {**passage, "places": [place]}
        name = documents.find_name(found)
        assert name is not None
        assert Path(name.source).name == file
        read = next(member for member in documents.by_name[name] if member["id"] == passage["id"])
        assert read["places"][0] == place
    assert documents.find_name(Passage(id="gone", title="", text="")) is None


async def test_a_filter_narrows_the_documents(context: Context) -> None:
    documents = await load_documents(replace(context, where="team=IT"))
    assert [passage["id"] for passage in documents.passages] == ["t1"]
    assert [len(members) for members in documents.by_name.values()] == [1]


async def test_the_retriever_of_a_comparison_knows_its_collection(context: Context) -> None:
    [column] = share_retrieval(parse_columns("concat", replace(context, where="team=IT")))
    assert [passage["id"] for passage in (await load_documents(column.context)).passages] == ["t1"]


async def test_the_neighbours_of_a_passage_are_the_widest_run_in_the_budget(context: Context) -> None:
    documents = await load_documents(context)
    members = next(members for name, members in documents.by_name.items() if name.source.endswith("b.md"))
    middle = members[len(members) // 2]
    assert await find_neighbours(middle, context, 1) == [middle]
    assert await find_neighbours(middle, context, 10_000) == members
    run = await find_neighbours(middle, context, 60)
    assert middle in run
    assert 1 < len(run) < len(members)
    given = [Passage(id=str(n), title="ab"[n % 2], text="Five words of a text.") for n in range(6)]
    assert [passage["id"] for passage in await find_neighbours(given[2], context, 1000, given)] == ["0", "2", "4"]
    stranger = Passage(id="gone", title="", text="")
    assert await find_neighbours(stranger, context, 1000) == [stranger]


@for_all(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from("ab")), min_size=1, max_size=12),
    st.integers(0, 11),
    st.integers(0, 60),
)
def test_a_run_is_as_wide_as_the_budget_allows(members: list[tuple[int, str]], place: int, budget: int) -> None:
    sizes, sections, best = [size for size, _ in members], [part for _, part in members], place % len(members)
    run = widen_run(sizes, sections, best, budget)
    used = sum(sizes[number] for number in run)
    assert best in run
    assert used <= budget or len(run) == 1
    for outside in (run.start - 1, run.stop):
        assert not 0 <= outside < len(sizes) or used + sizes[outside] > budget
    first, last = best, best
    while first and sections[first - 1] == sections[best]:
        first -= 1
    while last + 1 < len(sizes) and sections[last + 1] == sections[best]:
        last += 1
    of_section = widen_run(sizes[first : last + 1], sections[first : last + 1], best - first, budget)
    assert {number + first for number in of_section} <= set(run)  # the section comes first


async def test_documents_without_an_order_are_refused(context: Context, tmp_path: Path) -> None:
    class Finder(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            return []

    with pytest.raises(UnorderedDocumentsError, match=r"the retriever Finder finds .* quorum index, or use concat\.$"):
        await load_documents(replace(context, retriever=Finder()))
    client = chromadb.PersistentClient(str(tmp_path), settings=chromadb.config.Settings(anonymized_telemetry=False))
    client.create_collection("theirs").add(ids=["1"], documents=["A text."], embeddings=[[0.5] * 64])
    with pytest.raises(UnorderedDocumentsError, match="from the collection 'theirs', because another program made it"):
        check_documents_are_ordered(replace(context, store=str(tmp_path), collection="theirs"))
