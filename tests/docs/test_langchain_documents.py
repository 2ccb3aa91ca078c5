"""The programs of "You already have LangChain documents" run, and print what the page says."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"


def test_the_programs_of_the_page_print_what_it_says(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## You already have LangChain documents")[2]
    section = section.partition("\n## ")[0]
    parts = re.split(r"```python\n(.*?)```", section, flags=re.DOTALL)
    programs, texts = parts[1::2], parts[2::2]
    assert len(programs) == 2
    for program, text in zip(programs, texts, strict=True):
        said = re.search(r"It prints (.*?)\. ?\n|It prints (.*?)\. ", text)
        assert said
        lines = re.findall(r"`([^`]+)`", said[1] or said[2])
        run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout.splitlines() == lines
