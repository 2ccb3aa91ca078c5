"""A process that is forked after Quorum was used answers, searches and indexes, and ends by itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.retrievers.client_of_fork import ClientOfFork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")

USE = """
import os, sys
from quorum import Context, index
from quorum.graphs.concat import graph

context = Context(store=sys.argv[1], collection="mills")

def ask(question):
    return graph.invoke({"question": question}, context=context)["answer"]

assert ask("Who built the mill of Orrin?") == "Greta Hale"
"""
FORK = """
import traceback

children = []
for number in range(3):
    child = os.fork()
    if not child:
        code = 2
        try:
            code = 0 if ask(f"Who built the mill of Orrin{'?' * (number + 2)}") == "Greta Hale" else 1
        except BaseException:
            traceback.print_exc()
        sys.exit(code)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
assert ask("Who then built the mill of Orrin?") == "Greta Hale"
"""
POOL = """
import multiprocessing

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(ask, ["Who built the mill of Orrin??", "Who built Orrin's mill?"]) == ["Greta Hale"] * 2
"""
INDEX = """
child = os.fork()
if not child:
    with open(sys.argv[2] + "/dock.txt", "w") as file:
        file.write("The dock of Tessel was built by Ulla Brandt in 1902.")
    index(sys.argv[2], collection="mills", context=context)
    sys.exit(0 if ask("Who built the dock of Tessel?") == "Ulla Brandt" else 1)
assert os.waitpid(child, 0)[1] == 0
assert ask("Who built the dock of Tessel?") == "Ulla Brandt"
"""


@pytest.fixture(scope="module")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from quorum.retrievers.index import index_documents

    folder = tmp_path_factory.mktemp("forks")
    (folder / "mills").mkdir()
    for number in range(3):
        (folder / "mills" / f"{number}.txt").write_text(f"The dam number {number} of Vell was built by Ivo Tarn.")
    (folder / "mills" / "mill.txt").write_text("The mill of Orrin was built by Greta Hale in 1874.")
    index_documents([folder / "mills"], collection="mills", store=folder / "store")
    return folder


@pytest.mark.long  # every process loads its models
@pytest.mark.parametrize("forks", [FORK, POOL, INDEX], ids=["fork", "pool", "index"])
def test_a_forked_process_works(forks: str, made_folder: Path) -> None:
    run_script(USE + forks, str(made_folder / "store"), str(made_folder / "mills"))


def run_script(script: str, *args: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", script, *args], timeout=600, capture_output=True, text=True, check=False
    )
    assert (finished.returncode, finished.stderr) == (0, "")


def test_a_client_of_a_fork_does_what_chroma_does_and_says_if_its_process_has_ended(tmp_path: Path) -> None:
    import chromadb
    from chromadb.errors import NotFoundError

    client = ClientOfFork(str(tmp_path))
    client.process.kill()
    client.process.wait()
    with pytest.raises(SetupError, match=r"has ended \(exit code -9\); ask again"):
        client.get_collection("mills")
    assert client.list_collections(limit=10, offset=0) == []  # a new process answers
    mills = client.create_collection("mills", metadata={"made": "today"}, embedding_function=None)
    mills.upsert(ids=["a", "b"], embeddings=[[1.0, 0.0], [0.0, 1.0]], documents=["Orrin", "Vell"])
    mills.modify(metadata={"made": "yesterday"})
    assert [(found.name, found.id, found.metadata) for found in client.list_collections(limit=10, offset=0)] == [
        ("mills", mills.id, {"made": "yesterday"})
    ]
    assert client.get_collection("mills").configuration_json["hnsw"]["space"] == "l2"
    assert mills.query(query_embeddings=[[0.9, 0.1]], n_results=1)["ids"] == [["a"]]
    assert mills.get(include=["embeddings"])["embeddings"].shape == (2, 2)
    with pytest.raises(NotFoundError):
        client.get_collection("dams")
    client.create_collection("dams", embedding_function=None)
    client.delete_collection("dams")
    client.close()
    kept = chromadb.PersistentClient(path=str(tmp_path)).get_collection("mills", embedding_function=None)
    assert (kept.count(), kept.metadata) == (2, {"made": "yesterday"})
