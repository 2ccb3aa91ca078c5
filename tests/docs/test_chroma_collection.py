"""The commands of "You already have a Chroma collection" answer, on a collection that Chroma alone made."""

import re
import shlex
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from quorum_command import Quorum

from quorum.models import embeddings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
TEXTS = ["The mill of Orrin was built by Greta Hale.", "The quay of Brae was laid by Ivo Tarn."]


def test_the_commands_of_the_page_answer(quorum: Quorum) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## You already have a Chroma collection")[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block
    commands = [shlex.split(line)[1:] for line in block[1].splitlines()]
    assert len(commands) == 4
    client: Any = chromadb.PersistentClient(path="chroma_db", settings=Settings(anonymized_telemetry=False))
    client.create_collection("papers").add(
        ids=["1", "2"],
        documents=TEXTS,
        embeddings=embeddings("embedded").embed_documents(TEXTS),  # in place of Chroma's download of the same weights
        metadatas=[{"headline": "Mills"}, {"headline": "Quays"}],
    )
    client.close()
    for command in commands:
        run = quorum(*command)
        assert run.code == 0
        if command[0] == "ask":
            assert run.out.splitlines()[0] == "Greta Hale"
        if "--title-key" in command:
            assert "1. Mills" in run.out
