"""The commands and the program in the section "Runs" of docs/serving.md run, against a real server."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from api_server import serve_api

from quorum import Context
from quorum.cli.ask import create_sample_if_missing

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8765"


@pytest.mark.long
def test_the_commands_about_runs_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    section = page.partition("\n## Runs\n")[2].partition("\n## ")[0]
    [commands] = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    [program] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    context = Context(store=str(tmp_path / "store"), collection="sample", retriever="bm25")
    create_sample_if_missing(context)
    with serve_api(context) as api:
        script = commands.replace(ADDRESS, api.url).replace("curl -s", "curl --fail-with-body -s")
        shell = subprocess.run(
            ["bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert shell.returncode == 0, shell.stdout + shell.stderr
        assert [line for line in shell.stdout.splitlines() if line.startswith("id: ")].count("id: 21") == 2
        assert shell.stdout.count('"deleted":true') == 1
        run = subprocess.run(
            [sys.executable, "-c", program.replace(ADDRESS, api.url)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert sorted(run.stdout.split("\n")) == ["", "concat Tim Peters supported", "sure Tim Peters supported"], (
        run.stderr
    )
