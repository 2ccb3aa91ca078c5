"""Writes an application that uses Quorum. Its folders have names that Quorum's top-level packages once had.

The wheel must install nothing under these names, or the application would import Quorum's code in place of its own.
"""

import json
from pathlib import Path

FOLDERS = ("core", "models", "nodes", "graphs", "retrievers", "prompts", "evaluation", "cli", "page", "data", "tests")
PASSAGE = {"id": "vell", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}
QUESTIONS = [
    {"id": "1", "question": "Who built the lighthouse of Vell?", "answers": ["Ada Korn"], "passages": [PASSAGE]},
    {"id": "2", "question": "When was the lighthouse of Vell built?", "answers": ["1874"], "passages": [PASSAGE]},
]
USER_SCRIPT = """
from core import NAME
from quorum import METHODS, Context, answer_sync

passages = [{"id": "vell", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}]
question = "Who built the lighthouse of Vell?"
assert NAME == "the application's core"
print(answer_sync(question, "sure", Context(k=1), given=passages)["answer"])
print(METHODS["concat"].graph.invoke({"question": question, "given": passages})["answer"])
"""
USER_TEST = """
from importlib import import_module

import pytest

import quorum
from quorum import answer_sync

PASSAGES = [{"id": "vell", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}]


@pytest.mark.parametrize("name", %r)
def test_folders_of_the_application_are_imported(name):
    assert import_module(name).NAME == f"the application's {name}"
    assert "site-packages" in quorum.__file__


def test_quorum_answers():
    assert answer_sync("Who built the lighthouse of Vell?", given=PASSAGES)["answer"] == "Ada Korn"
"""


def write_application(folder: Path) -> None:
    """Write packages, documents, questions, a script, a test and langgraph.json.

    Also write a folder data/sample with a wrong document: Quorum must read its own sample, not this one.
    """
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f'NAME = "the application\'s {name}"\n')
    decoy = folder / "data" / "sample" / "corpus"
    decoy.mkdir(parents=True)
    (decoy / "decoy.md").write_text("# Eiffel Tower\n\nThe Eiffel Tower was designed by Nobody At All.\n")
    (folder / "documents").mkdir()
    (folder / "documents" / "vell.md").write_text(f"# {PASSAGE['title']}\n\n{PASSAGE['text']}\n")
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    (folder / "script.py").write_text(USER_SCRIPT)
    (folder / "tests" / "test_application.py").write_text(USER_TEST % ([name for name in FOLDERS if name != "tests"],))
    langgraph_settings = {"dependencies": ["."], "graphs": {"ask": "quorum.graphs.sure:graph"}}
    (folder / "langgraph.json").write_text(json.dumps(langgraph_settings))
