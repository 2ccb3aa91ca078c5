"""The names of uploaded files are untrusted: no path leaves its folder, and no file takes the place of another."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.serving.documents.upload_names import LONGEST_NAME, MAX_NAME_BYTES, clean_name, clean_path, make_unique


@given(st.text(st.characters(), max_size=300) | st.text("漢é.\ud800", max_size=300))
def test_a_name_never_leaves_its_folder(name: str) -> None:
    cleaned_name = clean_name(name)
    assert cleaned_name not in ("", ".", "..")
    assert Path(cleaned_name).name == cleaned_name
    assert not cleaned_name.startswith(".")
    assert len(cleaned_name) <= LONGEST_NAME
    assert len(cleaned_name.encode()) <= MAX_NAME_BYTES


@pytest.mark.parametrize(
    ("name", "expected_name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\plan.md", "plan.md"),
        (".bashrc", "bashrc"),
        ("..", "document"),
        ("a\x00b\nc.txt", "abc.txt"),
        ("x" * 300 + ".txt", "x" * (LONGEST_NAME - 12) + ".txt"),  # 12: room for a dot and an ending of 11 characters
        ("Überblick 2024.md", "Überblick 2024.md"),
        # The part before the dot may have 108 of the 120 characters, and so 162 of the 180 bytes: 54 times 3 bytes.
        ("漢" * 100 + ".txt", "漢" * 54 + ".txt"),
    ],
)
def test_file_names_are_cleaned_before_storing(name: str, expected_name: str) -> None:
    assert clean_name(name) == expected_name


def test_files_of_one_name_do_not_overwrite_each_other() -> None:
    def name_all(names: list[str]) -> list[str]:
        names_in_use: dict[str, int] = {}
        return [make_unique(clean_path(name), names_in_use) for name in names]

    assert name_all(["a/x.jsonl.gz", "b/x.jsonl.gz", "a/X.jsonl.gz"]) == [
        "a/x.jsonl.gz",
        "b/x.jsonl.gz",
        "a/X (2).jsonl.gz",
    ]
    assert name_all(["a.md", "a (2).md", "a.md", "A.md"]) == ["a.md", "a (2).md", "a (3).md", "A (4).md"]
    assert len(set(name_all(["read.md"] * 3000))) == 3000
