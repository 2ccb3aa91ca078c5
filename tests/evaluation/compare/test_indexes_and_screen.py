"""Indexes of one corpus as columns (`--index`), and the screen before a race (`--screen`)."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.core.context import INDEX_SETTINGS, Context, make_context
from quorum.core.errors import SetupError
from quorum.evaluation.run.columns import list_columns
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.corpus_indexes import find_corpus_indexes
from quorum.evaluation.run.options import Options
from quorum.graphs.choose_method import choose_method
from quorum.retrievers.collections import list_collections
from quorum.retrievers.index_settings import IndexSettings
from quorum.retrievers.store import open_store

PARTS = ("hinge", "lever", "spring", "bolt")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate(PARTS):
        filler = " ".join(f"It hangs in room {room} of the store." for room in range(6))
        (folder / f"{part}.txt").write_text(f"The {part} costs {number + 100} crowns. {filler}", encoding="utf-8")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "data.jsonl"
    records = (
        {"id": part, "question": f"What does the {part} cost?", "answers": [str(number + 100)]}
        for number, part in enumerate(PARTS)
    )
    file.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return file


def read_revisions(names: list[str]) -> list[str]:
    return [open_store(Context().store).fetch_revised_info(name).revision for name in names]


def test_each_index_becomes_a_collection_that_is_used_again(documents: Path, data: Path, quorum: Quorum) -> None:
    words = ("--index", "words=20", "--index", "words=200", "--retrieval-only", "--retrievers", "bm25", "--k", "1")
    dry_run = quorum("compare", str(documents), str(data), *words, "--dry-run")
    assert dry_run.code == 0
    names = sorted(list_collections(), key=len)
    assert [name.rpartition("-")[0] for name in names] == ["parts-words-20", "parts-words-200"]
    assert f"Besides, indexing {names[1]}: 4 passages, at most " in " ".join(dry_run.out.split())
    revisions = read_revisions(names)
    run = quorum("compare", str(documents), str(data), *words, "--out", str(data.parent / "out"), "--json")
    assert (run.code, read_revisions(names)) == (0, revisions)
    assert "Besides" not in run.err  # all is indexed already
    result = json.loads(run.out)
    assert list(result["summary"]) == ["search[words=20]", "search[words=200]"]
    shown = f"words=20 is the collection {names[0]}, words=200 is the collection {names[1]}: "
    assert any(sentence.startswith(shown) for sentence in result["sentences"])
    assert "collection" not in result["headline"]
    config = read_json_file(data.parent / "out" / "config.json")
    assert config["source"]["indexes"] == [{"words": 20}, {"words": 200}]
    assert [item["name"] for item in config["source"]["collections"].values()] == names


def test_columns_that_search_are_crossed_with_the_indexes_and_other_content_has_other_names(
    documents: Path, data: Path
) -> None:
    def list_collections_by_name() -> dict[str, str]:
        indexes = find_corpus_indexes(["words=20", "words=200;context=outline"], str(documents))
        methods = "concat[vote=staged],concat>sure[k=3],concat[collection=mine],no_retrieval"
        columns = list_columns(Options(data=data, methods=methods, corpus=str(documents)), indexes)
        return {column.name: str(column.context.collection) for column in columns}

    first = list_collections_by_name()
    assert list(first) == [
        "concat[vote=staged;words=20]",
        "concat[vote=staged;words=200;context=outline]",
        "concat[words=20]>sure[words=20;k=3]",
        "concat[words=200;context=outline]>sure[words=200;context=outline;k=3]",
        "concat[collection=mine]",
        "no_retrieval",
    ]
    collections = [name.rpartition("-")[0] for name in first.values()]
    assert collections[:4] == ["parts-words-20", "parts-words-200-context-outline"] * 2
    (documents / "new.txt").write_text("A new document.", encoding="utf-8")
    second = list_collections_by_name()
    assert list(second) == list(first)
    assert not set(list(second.values())[:4]) & set(first.values())


def test_a_setting_of_an_index_is_told_from_one_of_a_method() -> None:
    with pytest.raises(SetupError, match=r"words=20 is a setting of an index, .* --collection NAME"):
        choose_method("concat[words=20]")
    with pytest.raises(SetupError, match="context=outline is a setting of an index"):
        make_context({"context": "outline"})
    assert set(INDEX_SETTINGS) == {part.name for part in fields(IndexSettings)}


def test_indexing_is_estimated_and_limited_before_anything_is_embedded(
    documents: Path, data: Path, quorum: Quorum, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('["openai:vectors"]\ninput = 1000000\noutput = 0\n', encoding="utf-8")
    words = ("--index", "words=10", "--index", "words=20", "--embeddings", "openai:vectors", "--prices", str(prices))
    run = quorum("compare", str(documents), str(data), *words, "--max-cost", "5")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "to index the corpus, more than --max-cost 5; index fewer documents" in run.err
    assert not openai_server.requests


@pytest.mark.parametrize(
    ("corpus", "words", "message"),
    [
        ("parts", "--index words=many", "give a whole number for words"),
        ("parts", "--index words=2", "words=2 is too few"),
        ("parts", "--index depth=2", "sets 'depth'; the settings of an index are: words"),
        ("parts", "--index words=60 --index words=60", "names an index twice"),
        ("given", "--index words=60", "--index splits documents, but the corpus is given"),
        ("data.jsonl", "--index words=60", "holds passages, which stay whole"),
        ("parts", "--screen 7", "--screen 7 comes before a race"),
        ("parts", "--screen 0 --race questions", "keeps at least one search"),
        ("given", "--screen 7 --race questions", "--screen would search nothing"),
        ("parts", f"--screen 7 --race questions --k {','.join(map(str, range(1, 14)))}", "up to 60 methods"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(
    documents: Path, data: Path, quorum: Quorum, openai_server: OpenAIServer, corpus: str, words: str, message: str
) -> None:
    if corpus == "given":
        record = {
            "id": "q",
            "question": "Why?",
            "answers": ["so"],
            "passages": [{"id": "a", "title": "", "text": "so"}],
        }
        data.write_text(json.dumps(record), encoding="utf-8")
    folder = corpus if corpus == "given" else str(data.parent / corpus)
    run = quorum("compare", folder, str(data), *words.split(), "--models", "openai:test")
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert message in run.err
    assert not openai_server.requests
    assert not list_collections()


def test_the_screen_races_the_best_searches_of_each_k_and_says_what_it_dropped(
    documents: Path, data: Path, quorum: Quorum
) -> None:
    out = data.parent / "out"
    methods = "concat,concat[where=source=hinge.txt],no_retrieval"
    words = ("--methods", methods, "--k", "1,2", "--screen", "1", "--race", "questions", "--set", "retriever=bm25")
    run = quorum("compare", str(documents), str(data), *words, "--out", str(out))
    assert run.code == 0
    text = " ".join(run.out.split())
    assert "The screen raced 3 of 5 methods: within each k, those with the 1 best searches" in text
    assert "k=1: 100.0% or more kept, 25.0% or less dropped" in text
    assert "what is said of the best is said of the 3 methods raced" in text
    assert text.count("not raced") == 2
    limit = "This speaks of the 3 methods raced: the screen, a heuristic, left out 2."
    assert limit in read_json_file(out / "recommendation.json")["summary"][-1]
    asked = {json.loads(line)["method"] for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()}
    assert asked == {"concat[k=1]", "concat[k=2]", "no_retrieval"}
    screen = read_json_file(out / "screen.json")
    assert [(search["k"], search["kept"]) for search in screen["searches"]] == [
        (1, True),
        (2, True),
        (1, False),
        (2, False),
    ]
    assert "The screen raced 3 of 5 methods" in (out / "report.md").read_text(encoding="utf-8")
    again = quorum("compare", str(documents), str(data), *words, "--out", str(out), "--json")
    assert (again.code, json.loads(again.out.splitlines()[-1])["screen"]) == (0, screen)
    dropped = "concat[where=source=hinge.txt;k=1]"
    refused = quorum("compare", str(documents), str(data), *words, "--baseline", dropped)
    assert refused.code == 2
    assert f"The screen drops the baseline {dropped}" in refused.err


def test_a_single_method_that_the_screen_kept_is_not_called_the_only_one(
    documents: Path, data: Path, quorum: Quorum
) -> None:
    methods = "concat,concat[where=source=hinge.txt]"
    words = ("--methods", methods, "--screen", "1", "--race", "questions", "--set", "retriever=bm25", "--set", "k=1")
    run = quorum("compare", str(documents), str(data), *words, "--out", str(data.parent / "out"))
    assert "concat is the only method that the screen kept." in " ".join(run.out.split())
