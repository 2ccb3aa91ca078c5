"""Forty questions over documents of every type: the right passage is found, and the right text read."""

from pathlib import Path

import pytest
from awkward_documents import write_documents
from awkward_questions import QUESTIONS, UNWANTED_TEXTS, DocumentQuestion

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.documents.places import describe_place, make_file_link
from quorum.documents.read import read_document
from quorum.documents.split import normalize_spacing
from quorum.retrievers import collections, search
from quorum.retrievers.index import index_documents


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A store in which all documents are indexed."""
    folder = tmp_path_factory.mktemp("awkward")
    write_documents(folder / "docs")
    report = index_documents([folder / "docs"], collection="awkward", store=folder / "store")
    assert report.skipped == []
    assert [(Path(path).name, note[:20]) for path, note in report.notes] == [("latin.txt", "read as Windows-1252")]
    return Context(store=str(folder / "store"), collection="awkward", k=3)


@pytest.fixture
def passages(context: Context) -> list[Passage]:
    return collections.list_passages(context)


def select_passages_of_file(passages: list[Passage], name: str) -> list[Passage]:
    return [passage for passage in passages if Path(passage["places"][0]["file"]).name == name]


@pytest.mark.parametrize("document_question", QUESTIONS, ids=lambda document_question: document_question.question)
async def test_the_right_passage_is_found_and_read(document_question: DocumentQuestion, context: Context) -> None:
    passages = select_passages_of_file(await search(document_question.question, context), document_question.file)
    assert any(document_question.text in passage["text"] for passage in passages)


def test_the_questions_cover_every_file(context: Context, passages: list[Passage]) -> None:
    assert len({document_question.question for document_question in QUESTIONS}) == len(QUESTIONS)
    assert {Path(passage["places"][0]["file"]).name for passage in passages} == {
        document_question.file for document_question in QUESTIONS
    }


def test_passages_hold_no_markup_and_none_of_the_parts_that_reading_leaves_out(passages: list[Passage]) -> None:
    # "un*": setup.md emphasises a part of a word, "un*believ*able".
    for passage in passages:
        assert not [
            mark
            for mark in (*UNWANTED_TEXTS, "**", "un*", "<b>", "](", "| ", "::", "```", "\ufffe")
            if mark in passage["text"]
        ]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Parents may take", "handbook.pdf, p. 1, Leave > Parental"),
        ("Town: Brack", "handbook.pdf, p. 2, Travel > Allowances"),
        ("The station master", "handbook.pdf, p. 1-2, Travel"),
        ("Year: 2021", "talk.pptx, p. 2, Counts"),
        ("Fund: Reserve", "budget.xlsx, Funds"),
        ("Gauge: Tarn", "setup.md, Setup > Alarms"),
        ("silver bell", "novel.epub, Chapter two"),
        ("Lumen lake", "facts.jsonl, line 1"),
        ("siren --test", "guide.rst"),
        ("Item: Weir", "letter.docx, Fees"),
    ],
)
def test_every_passage_names_its_place_in_the_document(text: str, place: str, passages: list[Passage]) -> None:
    (found_passage,) = [passage for passage in passages if text in passage["text"]]
    assert describe_place(found_passage) == place
    page = f"#page={found_passage['places'][0]['page']}" if ".pdf" in place else ""
    assert make_file_link(found_passage) == f"file://{found_passage['places'][0]['file']}{page}"
    assert found_passage["places"][0]["modified"].startswith("20")  # a date


def test_a_sentence_across_two_pages_is_kept_whole(passages: list[Passage]) -> None:
    assert any("approves travel to the northern stations in writing." in passage["text"] for passage in passages)


def test_front_matter_is_title_and_metadata_and_is_searched(passages: list[Passage]) -> None:
    setup_passages = select_passages_of_file(passages, "setup.md")
    assert {passage["title"] for passage in setup_passages} == {"Setting up the gauge"}
    assert setup_passages[0]["places"][0]["metadata"] == {
        "author": "Mira Holm",
        "tags": ["gauge", "server"],
        "source": "setup.md",
        "file_type": "md",
    }
    assert [passage["text"] for passage in setup_passages if "Mira" in passage["text"]] == [
        "author: Mira Holm; tags: gauge, server"
    ]


def test_lines_of_code_stay_lines(passages: list[Passage]) -> None:
    assert any("server:\n  host: gauge.orla.example\n  port: 8094" in passage["text"] for passage in passages)
    assert any("siren --test --volume 3\nsiren --off" in passage["text"] for passage in passages)


@pytest.mark.parametrize("name", ["notes.txt", "setup.md", "handbook.pdf", "dams.html", "driver.py"])
def test_offsets_are_those_of_the_text_as_it_was_read(name: str, passages: list[Passage]) -> None:
    passages_of_file = select_passages_of_file(passages, name)
    text = read_document(Path(passages_of_file[0]["places"][0]["file"])).text
    for passage in passages_of_file:
        place = passage["places"][0]
        assert "".join(normalize_spacing(text[place["start"] : place["end"]]).split()) == "".join(
            passage["text"].split()
        )
