"""The folder of a watched promise: four files that only grow, so that whoever reads them again finds the same.

promise.json: the promise, and the salt that draws the sample. answers.jsonl: the sampled answers, and how many were not
sampled. labels.jsonl: what people say of the sampled answers; the last label of an answer counts. events.jsonl: the
week's sampling, confirmations, alarms and resets.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import FileLock

from quorum.core.append_lines import append_line, read_whole_lines
from quorum.core.errors import SetupError
from quorum.core.files import expand_home, open_regular
from quorum.core.json_text import parse_json
from quorum.core.private_files import FILE_MODE, make_private_folder
from quorum.core.store_folder import find_own_folder
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.watch.promise import Promise

FORMAT = "quorum watch 1"
ANSWERS, LABELS, EVENTS = "answers.jsonl", "labels.jsonl", "events.jsonl"


@dataclass(frozen=True)
class WatchFolder:
    """The files of one promise."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    def begin(self, promise: Promise) -> None:
        """Make the folder, unless it holds the same promise already. After a reset, before any answer, a new promise
        takes the place of the old one, which stays in events.jsonl. Raises `SetupError` if it holds another.
        """
        make_private_folder(self.path)
        with self.lock():
            if (self.path / "promise.json").exists():
                earlier = self.read_promise()
                if replace(earlier, name=promise.name) == promise:
                    return
                if not self.was_just_reset():
                    raise SetupError(
                        f"{self.name} watches another promise ({earlier.sentence}, or other settings); give this one a "
                        f"name of its own: --watch NAME=FILE, or begin anew: quorum watch reset {self.name} --because "
                        "TEXT."
                    )
                append_line(self.path / EVENTS, {"event": "promise", "earlier": earlier.to_json()})
                # A reset more, so that anchors which were kept for the earlier promise or judge are not taken for its.
                again = [event for event in self.read(EVENTS) if event["event"] == "reset"][-1]
                append_line(self.path / EVENTS, {**again, "because": "another promise takes its place"})
                write_json(self.path / "promise.json", {**self.read_head(), **promise.to_json()})
                return
            write_json(self.path / "promise.json", {"format": FORMAT, "salt": token_hex(16), **promise.to_json()})

    def was_just_reset(self) -> bool:
        """Whether no answer was sampled since the last reset."""
        return any(event["event"] == "reset" for event in self.read(EVENTS)) and not self.count_answers()

    def count_answers(self) -> int:
        """How many answers were sampled since the last reset."""
        earlier = [event["answers"] for event in self.read(EVENTS) if event["event"] == "reset"]
        return sum("id" in line for line in self.read(ANSWERS)) - (earlier[-1] if earlier else 0)

    def lock(self) -> FileLock:
        """Held while a file is written, so that writers of several processes take turns."""
        return FileLock(self.path / "write.lock", mode=FILE_MODE)

    def read_promise(self) -> Promise:
        """Raises `SetupError` if the folder holds none."""
        return Promise.from_json(self.read_head())

    def read_salt(self) -> str:
        return str(self.read_head()["salt"])

    def read_head(self) -> Mapping[str, Any]:
        try:
            with open_regular(self.path / "promise.json") as file:
                value = parse_json(file.read())
            if isinstance(value, dict) and value.get("format") == FORMAT:
                return value
        except (OSError, ValueError):
            pass
        raise SetupError(f"{self.path} holds no watched promise; begin one with: quorum serve --watch FILE.")

    def append(self, name: str, line: Mapping[str, Any]) -> None:
        """Add a line and wait until it is on the disk. What a killed process has left of a line is cut off first."""
        with self.lock():
            append_line(self.path / name, line)

    def size(self, name: str) -> int:
        """The bytes of a file; 0 without it."""
        try:
            return (self.path / name).stat().st_size
        except OSError:
            return 0

    def read(self, name: str) -> Iterator[dict[str, Any]]:
        """The whole lines of a file; nothing if there is no file yet."""
        return read_whole_lines(self.path / name)


def find_watch_root(store: str) -> Path:
    """The folder that holds the folders of all promises of a store."""
    return expand_home(find_own_folder(store)) / "watch"


def list_folders(store: str) -> list[WatchFolder]:
    """The folders of all promises of a store, by name."""
    root = find_watch_root(store)
    paths = sorted(root.iterdir()) if root.is_dir() else []
    return [WatchFolder(path) for path in paths if (path / "promise.json").is_file()]


def count_watched(store: str) -> int:
    """How many promises could raise a false alarm: those with a sampled answer since their last reset."""
    return max(1, sum(folder.count_answers() > 0 for folder in list_folders(store)))


def find_folder(name: str, store: str) -> WatchFolder:
    """The folder of a promise, by its name or else by the file of its calibration. Raises `SetupError` if there is
    none.
    """
    folders = list_folders(store)
    by_name = {folder.name: folder for folder in folders}
    folder = by_name.get(name) or by_name.get(Path(name).stem)
    if folder is not None:
        return folder
    known = ", ".join(folder.name for folder in folders)
    hint = f"the promises watched here are: {known}." if known else "begin with: quorum serve --watch FILE."
    raise SetupError(f"No promise {name!r} is watched in the store {store}; {hint}")
