"""Which files of a folder are read."""

import os
from pathlib import Path

import pytest

from quorum.core.errors import SetupError
from quorum.documents.find_files import FileChoice, FoundFiles, choose_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    for name in ("a.md", "b.txt", "drafts/c.md", "deep/er/d.md", "deep/er/e.txt", ".hidden/f.md"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    return folder


def list_names(found_files: FoundFiles, root: Path) -> list[str]:
    return [path.relative_to(root).as_posix() for path in found_files.files]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (FileChoice(), ["a.md", "b.txt", "deep/er/d.md", "deep/er/e.txt", "drafts/c.md"]),
        (FileChoice(include=("*.md",)), ["a.md", "deep/er/d.md", "drafts/c.md"]),
        (FileChoice(include=("*.md",), exclude=("drafts/",)), ["a.md", "deep/er/d.md"]),
        (FileChoice(exclude=("deep/**/*.txt", "/a.md")), ["b.txt", "deep/er/d.md", "drafts/c.md"]),
    ],
)
def test_patterns_choose_files(choice: FileChoice, expected: list[str], root: Path) -> None:
    assert list_names(choose_files([root], choice=choice), root) == expected


def test_the_nearest_gitignore_wins(root: Path) -> None:
    (root / ".gitignore").write_text("*.txt\ndrafts/\n")
    (root / "deep" / ".gitignore").write_text("!e.txt\n")
    chosen_files = choose_files([root])
    assert list_names(chosen_files, root) == ["a.md", "deep/er/d.md", "deep/er/e.txt"]
    assert chosen_files.ignored_count == 2
    assert len(choose_files([root], choice=FileChoice(gitignore=False)).files) == 5


def test_rules_of_an_enclosing_repository_apply_below_the_given_folder(root: Path) -> None:
    (root.parent / ".git").mkdir()
    (root.parent / ".gitignore").write_text("*.txt\n")
    assert list_names(choose_files([root]), root) == ["a.md", "deep/er/d.md", "drafts/c.md"]
    (root.parent / ".gitignore").write_text("docs/\n")  # git ignores the given folder: no rule from above applies
    assert len(choose_files([root]).files) == 5


def test_links_within_the_folder_are_followed_and_links_out_of_it_are_reported(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("text")
    (root / ".store").mkdir()
    (root / ".store" / "now.md").write_text("text")  # files of a hidden folder are found through a link only
    (root / "current").symlink_to(root / ".store")
    (root / "out").symlink_to(outside)
    (root / "one.md").symlink_to(outside / "secret.md")
    (root / "loop").symlink_to(root)
    chosen_files = choose_files([root])
    assert ".store/now.md" in list_names(chosen_files, root)
    assert not any("secret" in path.name for path in chosen_files.files)
    assert [(Path(path).name, reason.split(",")[0]) for path, reason in chosen_files.skipped] == [
        ("one.md", "a link out of the folder"),
        ("out", "a link out of the folder"),
    ]
    assert [Path(path).name for path, _ in chosen_files.notes] == ["current"]
    found_through_links = choose_files([root], choice=FileChoice(follow=True))
    assert found_through_links.skipped == []
    assert sum(path.name == "secret.md" for path in found_through_links.files) == 1


def test_pipes_and_broken_links_are_reported(root: Path) -> None:
    os.mkfifo(root / "pipe.txt")
    (root / "gone.md").symlink_to(root / "nowhere")
    chosen_files = choose_files([root])
    assert {Path(path).name: reason for path, reason in chosen_files.skipped} == {
        "pipe.txt": "a pipe, not a regular file",
        "gone.md": "a broken link",
    }


def test_files_that_mark_an_open_document_are_left_out(root: Path) -> None:
    (root / "~$b.docx").write_bytes(b"\x04user")
    assert "~$b.docx" not in list_names(choose_files([root]), root)
    assert choose_files([root]).skipped == []


def test_patterns_that_choose_nothing_are_told(root: Path) -> None:
    chosen_files = choose_files([root], choice=FileChoice(include=("*.mdd", "*.tex")))
    assert (chosen_files.files, chosen_files.notes) == ([], [("--include *.mdd *.tex", "no file matches")])
    (root / "gone.mdd").symlink_to(root / "nowhere")  # matches, and is told for itself
    chosen_files = choose_files([root], choice=FileChoice(include=("*.mdd",)))
    assert (chosen_files.notes, [reason for _, reason in chosen_files.skipped]) == ([], ["a broken link"])


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("!", "A pattern of --include cannot be read"),
        ("", "'' of --include matches no name"),
        ("#x", "matches no name"),
    ],
)
def test_an_invalid_pattern_is_an_error(pattern: str, sentence: str, root: Path) -> None:
    with pytest.raises(SetupError, match=sentence):
        choose_files([root], choice=FileChoice(include=("*.md", pattern)))
