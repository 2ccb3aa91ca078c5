"""The sample: its files, its gold passages, and the collection made from it."""

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.text import squad_contains_answer
from quorum.datasets.questions import read_questions
from quorum.datasets.records import Record
from quorum.retrievers import collections, sample, search
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

VECTORS = WordVectors()
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
QUESTION_FILES = ("questions", "claims", "dialogue", "long")


@pytest.fixture(scope="module")
def refresh_script() -> ModuleType:
    """data/sample/refresh.py as a module."""
    spec = importlib.util.spec_from_file_location("refresh", SAMPLE / "refresh.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def passages(refresh_script: ModuleType) -> dict[str, dict[str, str]]:
    """The texts of the sample's passages: {document: {id of the passage: text}}."""
    texts: dict[str, dict[str, str]] = refresh_script.read_passages_by_document(SAMPLE / "corpus")
    return texts


def read_sample(name: str) -> list[Record]:
    return list(read_questions(SAMPLE / f"{name}.jsonl"))


def test_the_sample_has_its_full_size(passages: dict[str, dict[str, str]]) -> None:
    assert len(passages) >= 30
    assert sum(map(len, passages.values())) >= 120
    assert len(read_sample("questions")) >= 100
    assert len(read_sample("claims")) >= 15
    assert len(read_sample("dialogue")) >= 10
    assert len(read_sample("long")) >= 10
    kinds = {record["meta"]["kind"] for record in read_sample("questions")}
    assert kinds == {"single", "two_hop", "yes_no", "unanswerable"}


@pytest.mark.parametrize("name", QUESTION_FILES)
def test_gold_passages_are_up_to_date(
    name: str, refresh_script: ModuleType, passages: dict[str, dict[str, str]]
) -> None:
    path = SAMPLE / f"{name}.jsonl"
    assert refresh_script.refresh_text(path, passages) == path.read_text(encoding="utf-8"), (
        "run python data/sample/refresh.py"
    )


def test_every_record_is_complete(passages: dict[str, dict[str, str]]) -> None:
    all_records = [record for name in QUESTION_FILES for record in read_sample(name)]
    assert len({record["id"] for record in all_records}) == len(all_records)
    assert len({record["question"] for record in all_records}) == len(all_records)
    for record in all_records:
        is_unknown = record["meta"]["kind"] == "unanswerable" or record["answers"] == ["NOT ENOUGH INFO"]
        assert bool(record["gold"]) == (not is_unknown), record["id"]
        assert bool(record["answers"]) == (record["meta"]["kind"] != "unanswerable"), record["id"]
        assert record["source"] == "sample"
        documents = {evidence["document"] for evidence in record["meta"]["evidence"]}
        assert documents <= passages.keys()


def test_gold_passages_hold_the_answers(passages: dict[str, dict[str, str]]) -> None:
    texts = {id_: text for document in passages.values() for id_, text in document.items()}
    for record in read_sample("questions"):
        gold = [texts[id_] for id_ in record["gold"]]
        if record["meta"]["kind"] == "single":
            assert len(gold) == 1, record["id"]
        if record["meta"]["kind"] in ("single", "two_hop"):
            assert any(squad_contains_answer(text, record["answers"]) for text in gold), record["id"]
        if record["meta"]["kind"] == "yes_no":
            assert record["answers"] in (["yes"], ["no"])
            assert record["meta"]["answer_type"] == "yes_no"


def test_documents_are_plain_prose() -> None:
    for path in (SAMPLE / "corpus").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        title, body = text.split("\n", 1)
        assert title.startswith("# ")
        assert not re.search(r"^(#|[-*] |\d+\.)|https?:|\||\0", body, re.MULTILINE), path.name


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(store=str(tmp_path / "store"), embeddings=VECTORS)


async def test_the_sample_is_indexed_on_first_use(context: Context) -> None:
    answerable = next(record for record in read_sample("questions") if record["id"] == "s002")
    passages = await search(answerable["question"], replace(context, retriever="bm25"))
    assert answerable["gold"][0] in [passage["id"] for passage in passages]
    assert len(collections.list_passages(context)) >= 120
    assert collections.list_collections(context.store) == []  # it lies in a store of its own


def test_the_sample_is_indexed_once_and_again_when_its_files_change(context: Context) -> None:
    events: list[tuple[int, int]] = []

    def prepare_sample(context: Context) -> int:
        """Prepare the sample as a new process does; return how many texts were embedded."""
        sample.READY_SAMPLES.clear()
        events.clear()
        VECTORS.embedded_count = 0
        sample.ensure_sample(context, progress=lambda done, total, path: events.append((done, total)))
        return VECTORS.embedded_count

    store = open_store(context.store)
    count = prepare_sample(context)
    assert count >= 120
    assert events
    assert events == [(n, len(events)) for n in range(1, len(events) + 1)]
    assert prepare_sample(context) == 0
    assert events == []
    store.write("sample", replace(store.fetch_info("sample"), sample_hash="another version of the files"))
    assert prepare_sample(context) == count
    store.write(
        "sample", store.fetch_info("sample").with_new_revision(is_being_changed=True)
    )  # as a killed process leaves it
    assert prepare_sample(context) == count
    prepare_sample(replace(context, embeddings=WordVectors(model="other")))
    assert store.fetch_info("sample").embedding.endswith(":other")
    assert store.count_passages("sample") == count


def test_a_users_collection_called_sample_is_not_touched(context: Context) -> None:
    mine = {"id": "1", "title": "", "text": "mine"}
    index_passages([mine], collection="sample", store=context.store, embeddings=VECTORS)  # type: ignore[list-item]
    assert [passage["text"] for passage in collections.list_passages(context)] == ["mine"]


def test_the_sample_folder_is_beside_the_packages() -> None:
    assert sample.get_sample_folder() == SAMPLE / "corpus"
    assert json.loads((SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()[0])["id"] == "s001"


def test_listing_an_unknown_collection_is_an_error(context: Context) -> None:
    with pytest.raises(SetupError, match="no collection 'other'"):
        collections.list_passages(replace(context, collection="other"))
