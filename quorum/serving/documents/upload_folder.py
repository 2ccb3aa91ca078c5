"""The folder with the events of uploads, and their files before they are indexed.

Every process that takes uploads holds a lock as long as it lives. An upload without an end whose process is gone was
interrupted: whoever sees it first takes back what it has left half done, and tells its end.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import FileLock

from quorum.core.files import read_regular
from quorum.core.private_files import FILE_MODE, make_private_folder, open_private_text
from quorum.serving.documents.indexing import INTERRUPTED
from quorum.serving.documents.live_upload import count_outcomes
from quorum.serving.documents.staged_files import remove_staging
from quorum.serving.errors import Refusal
from quorum.serving.runs.process_locks import ProcessLocks
from quorum.serving.runs.request import RUN_ID
from quorum.serving.runs.run_file import RunFile

FORMAT_NAME = "quorum upload 1"
MOST_UPLOADS = 200  # whose events are kept
Resolve = Callable[[Path], list[dict[str, Any]]]  # brings the step in a staging folder to an end; returns its outcomes


@dataclass(frozen=True)
class SavedUpload:
    """The events of an upload, and what the first line of their file says. collection: its name today."""

    id: str
    file: RunFile
    head: Mapping[str, Any]
    collection: str

    def describe(self) -> dict[str, Any]:
        """The upload as JSON, with what is known of each file. Raises OSError or ValueError. The call blocks.

        state: "receiving", "waiting" or "indexing" as long as it goes on, else as its last event says.
        """
        state, sentence, last = "receiving", "", 0
        files: dict[int, dict[str, Any]] = {}
        for event in self.file.read_events():
            last = event["n"]
            if "file" in event:
                known = {key: value for key, value in event.items() if key not in ("n", "time", "type")}
                files.setdefault(event["file"], {}).update(known)
            if event["type"] == "upload_received":
                state = "waiting"
            elif event["type"] == "indexing_started":
                state = "indexing"
            elif event["type"] == "upload_finished":
                state, sentence = event["state"], event.get("sentence", "")
        whole = {"state": state, "files": [files[number] for number in sorted(files)], "last_event": last}
        head = {"id": self.id, "object": "upload", "collection": self.collection, "began_at": self.head["began_at"]}
        head |= {key: self.head[key] for key in ("request_id",) if key in self.head}
        return {**head, **whole, **({"sentence": sentence} if sentence else {})}


class UploadFolder:
    """The folder. path: where it is; it need not exist yet. resolve: see `quorum.serving.documents.staged_files`."""

    def __init__(self, path: Path, resolve: Resolve) -> None:
        self.path, self.resolve = path, resolve
        self.processes = ProcessLocks(path)
        self.lock = threading.Lock()
        self.live_ids: set[str] = set()  # of uploads in progress in this process

    def create(self, client: str, collection: str, moment: datetime, request_id: str | None = None) -> SavedUpload:
        """Make the file and the folder of a new upload, which counts as live from now on. Raises OSError.

        request_id: of the request that brings the files.
        """
        self.processes.hold_own()
        id_ = f"{moment:%Y%m%d-%H%M%S}-{moment.microsecond:06d}{token_hex(4)}"
        head: dict[str, Any] = {"id": id_, "client": client, "collection": collection, "process": self.processes.own_id}
        head |= {"began_at": round(moment.timestamp(), 3), **({"request_id": request_id} if request_id else {})}
        file = RunFile(self.path / f"{id_}.jsonl", FORMAT_NAME)
        self.live_ids.add(id_)
        try:
            file.create(head)
            make_private_folder(self.get_staging(id_))
        except OSError:
            self.live_ids.discard(id_)
            raise
        return SavedUpload(id_, file, head, collection)

    def get_staging(self, id_: str) -> Path:
        """The folder with the files of an upload."""
        return self.path / id_

    def find(self, id_: str) -> SavedUpload:
        """An upload; one that was interrupted is ended. Raises `Refusal` (404). The call blocks."""
        upload = self.read(id_) if RUN_ID.fullmatch(id_) else None
        if upload is None:
            raise Refusal(404, f"There is no upload {id_[:40]!r}; GET /v1/uploads lists them.", "upload_not_found")
        self.end_if_interrupted(upload)
        return upload

    def read(self, id_: str) -> SavedUpload | None:
        file = RunFile(self.path / f"{id_}.jsonl", FORMAT_NAME)
        try:
            head = file.read_head()
        except (OSError, ValueError):
            return None
        if not {"collection", "process", "began_at"} <= head.keys():
            return None
        collection = str(head["collection"])
        with suppress(OSError, ValueError):
            collection = read_regular(self.path / f"{id_}.collection").decode()
        return SavedUpload(id_, file, head, collection)

    def rename_collection(self, name: str, new_name: str | None) -> None:
        """The uploads into a collection follow its new name; without one they are forgotten. The call blocks."""
        for upload in self.list_uploads():
            if upload.collection == name and upload.id not in self.live_ids:
                if new_name is None:
                    self.delete(upload)
                    continue
                with suppress(OSError), open_private_text(self.path / f"{upload.id}.collection") as file:
                    file.write(new_name)

    def list_uploads(self) -> Iterator[SavedUpload]:
        """The uploads, newest first. The call blocks."""
        with suppress(OSError):
            ids = sorted((path.stem for path in self.path.glob("*.jsonl")), reverse=True)
            for id_ in ids:
                upload = self.read(id_)
                if upload is not None:
                    yield upload

    def end_interrupted(self) -> None:
        """End every upload that was interrupted. The call blocks."""
        for upload in self.list_uploads():
            self.end_if_interrupted(upload)

    def end_if_interrupted(self, upload: SavedUpload) -> None:
        """If the process that took an upload is gone, take back what is half done, and write the end.

        If that fails now, a later call tries again. The call blocks.
        """
        if upload.id in self.live_ids or self.is_over(upload):
            return
        with self.lock, FileLock(self.path / "recovery.lock", mode=FILE_MODE):
            is_alive = upload.id in self.live_ids or self.processes.is_alive(str(upload.head["process"]))
            if not is_alive and not self.is_over(upload):
                outcomes = self.resolve(self.get_staging(upload.id))
                self.write_end(upload, {outcome["file"]: outcome for outcome in outcomes})

    def is_over(self, upload: SavedUpload) -> bool:
        """Whether the end of an upload is written, and nothing of it is left to take back."""
        try:
            last = upload.file.read_last_event()
        except (OSError, ValueError):
            return True
        return last is not None and last["type"] == "upload_finished" and not self.get_staging(upload.id).is_dir()

    def write_end(self, upload: SavedUpload, outcomes: Mapping[int, Mapping[str, Any]]) -> None:
        """Write what became of the files of which that was not told, and the end. outcomes: known ones, by file."""
        upload.file.remove_torn_line()
        number, is_over = 0, False
        files: dict[int, dict[str, Any]] = {}
        for event in upload.file.read_events():
            number, is_over = event["n"], is_over or event["type"] == "upload_finished"
            if "file" in event:
                files.setdefault(event["file"], {}).update(event)
        events: list[dict[str, Any]] = []
        for file, known in sorted(files.items()):
            if "outcome" not in known:
                known.update({"outcome": "interrupted", "reason": INTERRUPTED, **outcomes.get(file, {})})
                told = {key: value for key, value in known.items() if key not in ("n", "time", "type", "bytes", "size")}
                events.append({"type": "file_finished", **told})
        counts = count_outcomes([known["outcome"] for known in files.values()])
        events.append({"type": "upload_finished", "state": "interrupted", **counts})
        moment = round(datetime.now(UTC).timestamp(), 3)
        for event in () if is_over else events:
            number += 1
            upload.file.append({"n": number, "time": moment, **event})
        remove_staging(self.get_staging(upload.id))

    def delete(self, upload: SavedUpload) -> None:
        """Remove the events of an upload that is over. The call blocks."""
        upload.file.path.unlink(missing_ok=True)
        (self.path / f"{upload.id}.collection").unlink(missing_ok=True)

    def remove_oldest(self) -> None:
        """Remove the events of the oldest uploads that are beyond MOST_UPLOADS. The call blocks."""
        for number, upload in enumerate(self.list_uploads()):
            if number >= MOST_UPLOADS and upload.id not in self.live_ids and self.is_over(upload):
                self.delete(upload)
