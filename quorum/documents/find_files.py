"""Finds the files to index."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.core.errors import SetupError
from quorum.core.files import check_regular, expand_home, read_regular

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

PathRemark = tuple[str, str]  # a path, and what the user should know about it
LOCK_PREFIX = "~$"  # of the files beside documents that are open in Word, Excel or PowerPoint
LARGEST_GITIGNORE = 1_000_000  # bytes; a larger .gitignore is not read


@dataclass(frozen=True)
class FileChoice:
    """Which files below a folder are read.

    The patterns are written as in a .gitignore, and matched against paths relative to the given folder.

    include: only files that match one of these; all if empty. exclude: no files that match one of these. gitignore:
    skip what the .gitignore files of the folder and of its git repository leave out. follow: also follow links that
    lead out of the given folders.

    >>> choice = FileChoice(include=("*.md",), exclude=("drafts/",))  # Markdown files, but none in a folder "drafts"
    >>> choice.gitignore, choice.follow  # the defaults
    (True, False)
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    gitignore: bool = True
    follow: bool = False


@dataclass
class FoundFiles:
    """The result of a search for files.

    files: in the order of the given paths, and sorted below a given folder; each file once. skipped: (path, reason) of
    each file, folder or link that cannot be read or is not followed. notes: (path, remark) of each followed link to a
    folder. ignored_count: the number of files and folders that .gitignore files leave out.
    """

    files: list[Path] = field(default_factory=list)
    skipped: list[PathRemark] = field(default_factory=list)
    notes: list[PathRemark] = field(default_factory=list)
    ignored_count: int = 0


def resolve_path(path: str | Path) -> Path:
    """The absolute path with links resolved, which is stored with passages."""
    return expand_home(path).resolve()


def find_files(
    roots: Iterable[Path], excluded_folder: Path | None = None, choice: FileChoice | None = None
) -> tuple[list[Path], list[PathRemark]]:
    """(files, skipped) of the result of `choose_files`."""
    files = choose_files(roots, excluded_folder, choice)
    return files.files, files.skipped


def choose_files(
    roots: Iterable[Path], excluded_folder: Path | None = None, choice: FileChoice | None = None
) -> FoundFiles:
    """Find the files to index: all given files, and those files below the given folders that `choice` allows.

    Below a folder, hidden files and folders are left out, and so are the files by which Word, Excel and PowerPoint mark
    that a document is open ("~$report.docx"), and excluded_folder, the store's folder.
    """
    found_files = FoundFiles()
    files: dict[Path, None] = {}
    given_roots = list(roots)
    for root in given_roots:
        walk = FolderWalk(root, given_roots, excluded_folder, choice or FileChoice(), found_files)
        for path in walk.list_files() if root.is_dir() else [root]:
            if reason := explain_irregular_path(path):
                found_files.skipped.append((str(path), reason))
            else:
                files.setdefault(resolve_path(path))
    found_files.files = list(files)
    if choice and choice.include and not files and not found_files.skipped:
        found_files.notes.append((f"--include {' '.join(choice.include)}", "no file matches"))
    return found_files


def explain_irregular_path(path: Path) -> str:
    """Why a path is not a regular file, such as "a broken link"; empty if it is one."""
    try:
        check_regular(path.stat().st_mode, path)
    except OSError as error:
        if path.is_symlink() and not path.exists():
            return "a broken link"
        return error.strerror or "cannot be read"
    return ""


class FolderWalk:
    """Lists the files below one folder.

    root: this folder. roots: all files and folders that the user gave; a link to one of them, or to something below
    one, is followed. found_files: the walk adds to its `skipped`, `notes` and `ignored_count`.
    """

    def __init__(
        self,
        root: Path,
        roots: Sequence[Path],
        excluded_folder: Path | None,
        choice: FileChoice,
        found_files: FoundFiles,
    ) -> None:
        self.root, self.roots, self.excluded_folder = root, roots, excluded_folder
        self.choice, self.found_files = choice, found_files
        self.include = parse_patterns(choice.include, "--include")
        self.exclude = parse_patterns(choice.exclude, "--exclude")
        self.rules_of_folder: dict[Path, GitIgnoreSpec | None] = {}  # the rules of the folder's .gitignore
        self.folders_above = self.find_folders_above() if choice.gitignore else []  # their .gitignore applies too
        self.visited_folders: set[Path] = set()

    def list_files(self) -> list[Path]:
        """The files below the folder, sorted; folders that cannot be read are added to `found_files.skipped`."""
        listed_files: list[Path] = []
        folders_to_visit = [self.root]
        while folders_to_visit:
            folder = folders_to_visit.pop()
            real_folder = folder.resolve()
            if real_folder in self.visited_folders or real_folder == self.excluded_folder:
                continue
            self.visited_folders.add(real_folder)
            for path, is_folder in self.list_entries(folder):
                if is_folder:
                    folders_to_visit.append(path)
                else:
                    listed_files.append(path)
        return sorted(listed_files)

    def list_entries(self, folder: Path) -> Iterator[tuple[Path, bool]]:
        """(path, whether it is a folder) of each chosen entry of a folder."""
        try:
            with os.scandir(folder) as entries_of_folder:
                entries = sorted(entries_of_folder, key=lambda entry: entry.name)
        except OSError as error:
            self.found_files.skipped.append((str(folder), error.strerror or "cannot be read"))
            return
        for entry in entries:
            path, is_folder = Path(entry.path), is_dir(entry)
            if entry.name.startswith((".", LOCK_PREFIX)) or not self.is_chosen(path, is_folder):
                continue
            if entry.is_symlink() and path.exists() and not self.is_followed(path, is_folder):
                continue
            yield path, is_folder

    def is_followed(self, path: Path, is_folder: bool) -> bool:
        """Whether to follow a link. Adds a note, or the reason why not, to `found_files`.

        Links that leave the given folders are followed only if `choice.follow` is set.
        """
        target = path.resolve()
        if not self.choice.follow and not any(target == root or root in target.parents for root in self.roots):
            self.found_files.skipped.append((str(path), f"a link out of the folder, to {target}; --follow reads it"))
            return False
        if is_folder and target not in self.visited_folders:
            self.found_files.notes.append((str(path), f"a link to {target}, which is followed"))
        return True

    def is_chosen(self, path: Path, is_folder: bool) -> bool:
        """Whether the patterns and .gitignore allow a path."""
        relative_path = path.relative_to(self.root).as_posix() + ("/" if is_folder else "")
        if self.choice.exclude and self.exclude.match_file(relative_path):
            return False
        if self.choice.gitignore and self.is_ignored(path, is_folder):
            self.found_files.ignored_count += 1
            return False
        return is_folder or not self.choice.include or bool(self.include.match_file(relative_path))

    def find_folders_above(self) -> list[Path]:
        """The parents of the root up to the top folder of its git repository, the nearest first. Empty if the root is
        that folder, is in no repository, or is ignored by git.
        """
        passed_folders: list[Path] = []  # the root, then its parents; none of them holds .git
        for folder in [self.root, *self.root.parents]:
            if (folder / ".git").exists():
                if folder == self.root or self.is_ignored_by([*passed_folders[1:], folder], self.root, is_folder=True):
                    return []
                return [*passed_folders[1:], folder]
            passed_folders.append(folder)
        return []

    def is_ignored(self, path: Path, is_folder: bool) -> bool:
        """Whether the .gitignore files between the path and the top of the git repository ignore the path."""
        folders_inside = [folder for folder in path.parents if folder == self.root or self.root in folder.parents]
        return self.is_ignored_by([*folders_inside, *self.folders_above], path, is_folder)

    def is_ignored_by(self, folders: Iterable[Path], path: Path, is_folder: bool) -> bool:
        """Whether the .gitignore files of these folders ignore a path.

        The folders are given from the nearest to the farthest. The first .gitignore with a rule for the path decides.
        """
        for folder in folders:
            if folder not in self.rules_of_folder:
                self.rules_of_folder[folder] = read_ignore_rules(folder)
            rules = self.rules_of_folder[folder]
            rule = rules and rules.check_file(path.relative_to(folder).as_posix() + ("/" if is_folder else "")).include
            if rule is not None:
                return bool(rule)
        return False


def is_dir(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def parse_patterns(lines: Sequence[str], option: str) -> "GitIgnoreSpec":
    """The patterns of an option. Raises `SetupError` for one that is invalid, or that matches nothing, such as ""."""
    from pathspec import GitIgnoreSpec

    try:
        for line in lines:
            if all(pattern.include is None for pattern in GitIgnoreSpec.from_lines([line]).patterns):
                raise SetupError(f"The pattern {line!r} of {option} matches no name; write it as in a .gitignore.")
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise SetupError(f"A pattern of {option} cannot be read ({error}); write it as in a .gitignore.") from None


def read_ignore_rules(folder: Path) -> "GitIgnoreSpec | None":
    """The rules of a folder's .gitignore; None if there is none or it cannot be read."""
    try:
        text = read_regular(folder / ".gitignore", LARGEST_GITIGNORE).decode("utf-8", "replace")
    except OSError:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(text.splitlines())
    except ValueError:
        return None


def resolve_roots(paths: Iterable[str | Path]) -> list[Path]:
    """The given paths as absolute paths. Raises `SetupError` if there are none."""
    roots = [resolve_path(path) for path in paths]
    if not roots:
        raise SetupError("There is nothing to index; give files or folders.")
    return roots


def is_below(source: str, roots: Iterable[Path]) -> bool:
    """Whether the path `source` is one of the given files and folders, or lies below one of them."""
    path = Path(source)
    return any(path == root or root in path.parents for root in roots)
