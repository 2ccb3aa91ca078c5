"""Indexes the files of an upload, a few at a time, and tells what becomes of each."""

import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.core.context import Context
from quorum.core.errors import QuorumError
from quorum.core.files import explain_os_error
from quorum.documents.places import make_document_id
from quorum.retrievers.index import IndexOptions, add_documents
from quorum.retrievers.index_report import IndexProgress, IndexReport
from quorum.retrievers.manage_documents import check_may_change
from quorum.retrievers.originals import choose_upload_folder, find_uploads_folder, remove_empty_folders
from quorum.retrievers.store import open_store
from quorum.serving.documents.live_upload import LiveUpload, UploadedFile
from quorum.serving.documents.staged_files import StagedFile, Step, end_step, remove_staging, resolve_step
from quorum.serving.errors import hide_paths

FILES_PER_STEP, BYTES_PER_STEP = 25, 20_000_000
LINE_OF_FILE = re.compile(r"(.+), line (\d+)", re.DOTALL)  # how an `IndexReport` names a line of a file
MOST_PROBLEMS = 3  # lines of a file that are named
INTERRUPTED = "The server ended before this file was indexed; drop it again."
CANCELLED = "The upload was cancelled before this file was indexed."


class UploadEndedError(Exception):
    """An upload must end now."""


@dataclass(frozen=True)
class Indexing:
    """How a server indexes uploads. forget: the files are removed when they have been indexed."""

    context: Context
    forget: bool

    def run(self, upload: LiveUpload) -> None:
        """Index the files of an upload that have come, and write its end. Every error is told in its events."""
        state, sentence = "finished", ""
        try:
            self.index(upload)
        except UploadEndedError:
            state = "cancelled" if upload.is_cancelled else "interrupted"
        except QuorumError as error:
            state, sentence = "failed", hide_paths(str(error), self.context)
        except OSError as error:
            state, sentence = "failed", hide_paths(str(explain_os_error(error)), self.context)
        except Exception as error:  # noqa: BLE001  a bug is told in the events, and in full on the terminal
            traceback.print_exc(file=sys.stderr)
            state, sentence = "failed", f"Something in Quorum failed ({type(error).__name__}); its terminal shows it."
        reason = {"cancelled": CANCELLED, "interrupted": INTERRUPTED}.get(state, sentence)
        outcome: Any = state if state in ("cancelled", "interrupted") else "not_read"
        for file in upload.files:
            upload.end_file(file, outcome, reason=reason)
        remove_staging(upload.folder)
        upload.end(state, sentence)
        upload.ended.set()

    def index(self, upload: LiveUpload) -> None:
        """Index the files step by step. Raises UploadEndedError, `SetupError` and OSError, after the step in which it
        happened was taken back.
        """
        store = open_store(self.context.store)
        check_may_change(store, upload.collection)
        is_missing = upload.collection not in store.list_collections()
        ids = {} if is_missing else list_ids(store.fetch_entries(upload.collection))
        top = choose_upload_folder(self.context.store, ids)
        for files in split_into_steps([file for file in upload.files if file.outcome is None]):
            if upload.must_end:
                raise UploadEndedError
            staged = [StagedFile(file.number, top / file.path) for file in files]
            step = Step(upload.folder, upload.collection, top, staged, ids, is_missing, not upload.is_in_place)
            try:
                step.begin()
                report = self.index_step(upload, files, step)
            except BaseException:
                self.take_back(upload)
                raise
            outcomes = [judge(file, item.place, report) for file, item in zip(files, staged, strict=True)]
            step.commit(outcomes, forget=self.forget)
            for file, outcome in zip(files, outcomes, strict=True):
                upload.tell_outcome(file, outcome)
            end_step(upload.folder)
            is_missing = is_missing and not report.passages
        with suppress(OSError):
            remove_empty_folders(top, find_uploads_folder(self.context.store))

    def index_step(self, upload: LiveUpload, files: Sequence[UploadedFile], step: Step) -> IndexReport:
        """Index the files of a step, which are in their places."""
        options = IndexOptions(embedding_batch=self.context.embedding_batch, base=step.top)
        places = [item.place for item in step.files if item.place.is_file()]
        if not places:
            return IndexReport()
        by_place = {str(item.place): file for item, file in zip(step.files, files, strict=True)}
        watch, context = make_watch(upload, by_place), self.context
        return add_documents(places, upload.collection, context.store, context.embeddings, options, watch=watch)

    def take_back(self, upload: LiveUpload) -> None:
        """Take the step back that has begun. If that fails, the next start of the server tries again."""
        context = self.context
        try:
            resolve_step(upload.folder, context.store, context.embeddings, context.embedding_batch)
        except Exception:  # noqa: BLE001  the first error is the one to tell
            traceback.print_exc(file=sys.stderr)


def make_watch(upload: LiveUpload, files: Mapping[str, UploadedFile]) -> Callable[[IndexProgress], None]:
    """What is called with the progress of a step; it raises UploadEndedError if the upload must end.

    files: by their places, in the order in which they are indexed.
    """
    all_bytes = sum(file.size for file in files.values()) or 1
    done_files = done_passages = done_bytes = 0

    def watch(progress: IndexProgress) -> None:
        nonlocal done_files, done_passages, done_bytes
        if upload.must_end:
            raise UploadEndedError
        file = files.get(progress.path)
        if file is None:
            return
        file.passages = progress.passages - done_passages
        read = progress.share * all_bytes - done_bytes
        if progress.files > done_files:
            done_files, done_passages, done_bytes = progress.files, progress.passages, done_bytes + file.size
            read = file.size
        fields = {"bytes": round(min(max(read, 0), file.size)), "size": file.size, "passages": file.passages}
        upload.write_progress("file_progress", **file.describe(), **fields)

    return watch


def judge(file: UploadedFile, place: Path, report: IndexReport) -> dict[str, Any]:
    """What became of a file: "indexed", perhaps with notes, or "not_read" with the reason."""
    whole = [reason for path, reason in report.skipped if path == str(place)]
    lines = [
        f"line {match[2]}: {reason}"
        for path, reason in report.skipped
        if path != str(place) and (match := LINE_OF_FILE.fullmatch(path)) and match[1] == str(place)
    ]
    head = file.describe()
    problems = [*whole, *lines]
    if not file.passages:
        missing = "there is a document or a folder of this name already" if not place.is_file() else "it has no text"
        return {**head, "outcome": "not_read", "reason": problems[0] if problems else missing}
    notes = [note for path, note in report.notes if path == str(place)] + problems[:MOST_PROBLEMS]
    if len(problems) > MOST_PROBLEMS:
        notes.append(f"and {len(problems) - MOST_PROBLEMS} more")
    document = make_document_id(str(place))
    return {**head, "outcome": "indexed", "document": document, "passages": file.passages, "notes": notes}


def list_ids(entries: Mapping[str, Any]) -> dict[str, list[str]]:
    """{document: the ids of its passages}."""
    ids: dict[str, list[str]] = {}
    for id_, entry in entries.items():
        for document in entry.position_by_document:
            ids.setdefault(document, []).append(id_)
    return ids


def split_into_steps(files: Sequence[UploadedFile]) -> Iterator[list[UploadedFile]]:
    """The files in their order, FILES_PER_STEP and BYTES_PER_STEP at most together, one at least."""
    step: list[UploadedFile] = []
    for file in files:
        if step and (len(step) == FILES_PER_STEP or sum(other.size for other in step) + file.size > BYTES_PER_STEP):
            yield step
            step = []
        step.append(file)
    if step:
        yield step
