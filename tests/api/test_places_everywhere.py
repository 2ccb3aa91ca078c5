"""Files of the same name in several folders are told apart wherever a passage's place is shown."""

import json
from pathlib import Path

import pytest
from quorum_command import Quorum

import quorum as public
from quorum import Context
from quorum.documents.places import describe_place
from quorum.evaluation.shown.public_result import describe_result

QUESTION = "Who built the lighthouse of Sarn?"
SOURCES = ["north/index.md", "south/docs/index.md", "west/index.md"]
STORE = ".quorum"


@pytest.fixture
def quorum_with_projects(quorum: Quorum) -> Quorum:
    """The command, after three folders with an index.md were indexed."""
    for source, builder in zip(SOURCES, ("Ada Korn", "Ivo Tarn", "Greta Hale"), strict=True):
        file = Path("projects", source)
        file.parent.mkdir(parents=True)
        file.write_text(f"# Lighthouses\n\n{builder} built the lighthouse of Sarn {source[0]}.\n")
    quorum("index", "projects", "--collection", "projects")
    return quorum


def test_a_place_is_the_path_from_the_indexed_folder(quorum_with_projects: Quorum) -> None:
    context = Context(store=STORE, collection="projects", retriever="bm25")
    result = public.answer_sync(QUESTION, "concat", context)
    places = sorted(describe_place(passage).split(",")[0] for passage in result["passages"])
    assert places == SOURCES
    shown = describe_result(result)
    assert sorted(passage["place"].split(",")[0] for passage in shown["passages"]) == SOURCES
    assert {citation["document"] for citation in shown["citations"]} <= set(SOURCES)
    documents = public.as_retriever("concat", context).invoke(QUESTION)
    assert sorted(document.metadata["source"] for document in documents) == SOURCES
    run = quorum_with_projects("ask", QUESTION, "--collection", "projects", "--retriever", "bm25")
    assert any(source in run.out for source in SOURCES)
    lines = quorum_with_projects("collections", "export", "projects").out.splitlines()
    exported = [place["metadata"]["source"] for line in lines for place in json.loads(line)["places"]]
    assert sorted(exported) == SOURCES
