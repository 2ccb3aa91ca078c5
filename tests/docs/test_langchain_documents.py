"""The programs of "You already have LangChain documents" run, and print what the page says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recipes.md"


def test_the_programs_of_the_page_print_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## You already have LangChain documents")[2]
    section = section.partition("\n### ")[0]
    parts = re.split(r"```python\n(.*?)```", section, flags=re.DOTALL)
    programs, texts = parts[1::2], parts[2::2]
    assert len(programs) == 2
    for program, text in zip(programs, texts, strict=True):
        said = re.search(r"It prints (.*?)\.\s", text)
        assert said
        exec(compile(program, str(PAGE), "exec"), {})
        assert capsys.readouterr().out.splitlines() == re.findall(r"`([^`]+)`", said[1])
