"""Moves the files of an upload to their places, a few at a time, so that each step can be taken back.

Before files are moved, a note says what will be done, and it stays until they are indexed. If the process is killed,
whoever finds the note takes the step back: the files, then the passages of the documents.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from quorum.core.files import read_regular
from quorum.core.json_text import parse_json
from quorum.core.private_files import make_private_folder, open_private_text
from quorum.retrievers.index import IndexOptions, add_documents
from quorum.retrievers.manage_documents import take_back
from quorum.retrievers.originals import find_uploads_folder, remove_empty_folders
from quorum.retrievers.store import open_store

NOTE = "step.json"


@dataclass(frozen=True)
class StagedFile:
    """A file that is to be moved to its place. place: there; number: of the file in the upload."""

    number: int
    place: Path


@dataclass(frozen=True)
class Step:
    """Some files of an upload that are indexed together.

    staging: the folder in which they wait, under their numbers. top: the folder of the collection's uploads. ids: {name
    of a document that the collection had before: the ids of its passages}; was_missing: whether there was no such
    collection. moves: whether the files wait in `staging`, or are in their places already and are read again.
    """

    staging: Path
    collection: str
    top: Path
    files: Sequence[StagedFile]
    ids: Mapping[str, Sequence[str]]
    was_missing: bool
    moves: bool = True

    def begin(self) -> None:
        """Move the files to their places, and the files that they replace aside. Raises OSError."""
        self.write_note({})
        if not self.moves:
            return
        make_private_folder(self.staging / "old")
        for file in self.files:
            if file.place.is_file():
                os.replace(file.place, self.staging / "old" / str(file.number))
            with suppress(OSError):  # such as a document with the name of the folder; it is told as not read
                make_private_folder(file.place.parent)
                os.replace(self.staging / str(file.number), file.place)

    def write_note(self, outcomes: Mapping[str, Any]) -> None:
        """Write what is done. outcomes: "outcomes" once the files are indexed, which makes the step final."""
        known = read_note(self.staging) or {}
        had = {item["number"]: item["had"] for item in known.get("files", ()) if outcomes}
        note = {
            "collection": self.collection,
            "top": str(self.top),
            "files": [
                {"number": file.number, "place": str(file.place), "had": had.get(file.number, file.place.is_file())}
                for file in self.files
            ],
            "ids": {str(file.place): list(self.ids.get(str(file.place), ())) for file in self.files},
            "was_missing": self.was_missing,
            **outcomes,
        }
        part = self.staging / f"{NOTE}.part"
        with open_private_text(part) as out:
            out.write(json.dumps(note))
        os.replace(part, self.staging / NOTE)

    def commit(self, outcomes: Sequence[Mapping[str, Any]], *, forget: bool) -> None:
        """The files are indexed: from now on the step is not taken back. outcomes: what becomes of each file, as told
        in its event; forget: whether the files are to be removed.
        """
        self.write_note({"outcomes": list(outcomes), "forget": forget})
        note = read_note(self.staging)
        assert note is not None
        tidy(note, self.staging, self.top.parent)


def read_note(staging: Path) -> dict[str, Any] | None:
    """The note in a staging folder; None if no step has begun."""
    try:
        note = parse_json(read_regular(staging / NOTE))
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) else None


def end_step(staging: Path) -> None:
    """What became of the files of the step has been told."""
    (staging / NOTE).unlink(missing_ok=True)


def tidy(note: Mapping[str, Any], staging: Path, uploads: Path) -> None:
    """After a step: keep the files that were indexed, unless they are to be forgotten; for a file that could not be
    read, put the old one back, whose passages are still there.
    """
    is_read = {outcome["file"]: outcome["outcome"] == "indexed" for outcome in note["outcomes"]}
    for item in note["files"]:
        place, old = Path(item["place"]), staging / "old" / str(item["number"])
        if uploads not in place.parents:
            continue
        with suppress(OSError):
            if not is_read.get(item["number"]) and old.is_file():
                os.replace(old, place)
            elif note["forget"] or (not is_read.get(item["number"]) and not item["had"]):
                place.unlink(missing_ok=True)
                remove_empty_folders(place.parent, uploads)
            old.unlink(missing_ok=True)


def resolve_step(
    staging: Path, store: str, embeddings: str | Embeddings, embedding_batch: int | None
) -> list[dict[str, Any]]:
    """Bring the step that has begun in a staging folder to an end, if there is one. The call blocks.

    A final step stays, and what became of its files is returned. Any other is taken back: documents whose old file is
    there are indexed from it again, the others lose what they did not have.
    """
    note, uploads = read_note(staging), find_uploads_folder(store)
    if note is None:
        return []
    if "outcomes" in note:
        tidy(note, staging, uploads)
        end_step(staging)
        return list(note["outcomes"])
    put_back(note, staging, uploads)
    with_file = [item["place"] for item in note["files"] if item["had"] and Path(item["place"]).is_file()]
    kept_ids = {name: frozenset(ids) for name, ids in note["ids"].items() if name not in with_file}
    take_back(note["collection"], kept_ids, store, was_missing=note["was_missing"])
    if with_file and note["collection"] in open_store(store).list_collections():
        options = IndexOptions(embedding_batch=embedding_batch, base=Path(note["top"]))
        add_documents(with_file, note["collection"], store, embeddings, options)
    end_step(staging)
    return []


def put_back(note: Mapping[str, Any], staging: Path, uploads: Path) -> None:
    """Put the old files back, and remove those that had no predecessor."""
    for item in note["files"]:
        place, old = Path(item["place"]), staging / "old" / str(item["number"])
        if uploads not in place.parents:
            continue
        with suppress(OSError):
            if old.is_file():
                os.replace(old, place)
            elif not item["had"]:
                place.unlink(missing_ok=True)
                remove_empty_folders(place.parent, uploads)


def remove_staging(staging: Path) -> None:
    """Remove a staging folder, unless a step in it still has to be taken back."""
    if not (staging / NOTE).is_file():
        shutil.rmtree(staging, ignore_errors=True)
