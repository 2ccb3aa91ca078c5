"""Takes uploads: receives their files, then indexes them, one upload at a time."""

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO
from weakref import WeakSet

from quorum.core.cancellation import SECONDS_BETWEEN_LOOKS, advance, wait_for_task
from quorum.core.context import Context
from quorum.core.files import format_megabytes
from quorum.core.private_files import open_private_bytes
from quorum.documents.guarded_reading import SHARED_READER
from quorum.retrievers.originals import find_uploads_folder
from quorum.retrievers.store import open_store
from quorum.serving.documents.indexing import CANCELLED, Indexing
from quorum.serving.documents.live_upload import LiveUpload, UploadedFile
from quorum.serving.documents.multipart import MultipartParser, Part, PartEnd
from quorum.serving.documents.staged_files import remove_staging, resolve_step
from quorum.serving.documents.upload_folder import SavedUpload, UploadFolder
from quorum.serving.documents.upload_names import clean_path, make_unique
from quorum.serving.errors import Refusal

LARGEST_FILE = 100_000_000  # bytes
MOST_FILES = 5000  # of one upload
MAX_LIVE_UPLOADS = 8  # that are received or wait
BYTES_PER_WRITE = 1_000_000
STOP_SECONDS = 15.0  # how long an end of the server waits until the upload in progress is taken back


class UploadService:
    """The uploads of a server. forget: the files are removed when they have been indexed."""

    def __init__(self, context: Context, *, forget: bool = False) -> None:
        resolve = partial(
            resolve_step,
            store=context.store,
            embeddings=context.embeddings,
            embedding_batch=context.embedding_batch,
        )
        self.folder = UploadFolder(find_uploads_folder(context.store).with_name("incoming"), resolve)
        self.indexing = Indexing(context, forget)
        self.live_uploads: dict[str, LiveUpload] = {}
        self.index_lock = threading.Lock()
        ALL_SERVICES.add(self)

    def start_recovery(self) -> None:
        """End, on a thread, the uploads that a killed server has left."""
        threading.Thread(target=self.end_interrupted, name="quorum-uploads", daemon=True).start()

    def end_interrupted(self) -> None:
        with suppress(Exception):  # a store that cannot be used now is told when it is asked
            self.folder.end_interrupted()

    async def receive(
        self, collection: str, client: str, content_type: str, body: AsyncIterator[bytes], request_id: str | None = None
    ) -> SavedUpload:
        """Take the files of a request, and begin to index them. Raises `Refusal`.

        request_id: by which its client finds the upload before it has an answer.

        If the client leaves before all has come, nothing is indexed; the events say so.
        """
        try:
            parser = MultipartParser(content_type)
        except ValueError:
            message = "The body is no list of files; send them as multipart/form-data, each with its path as file name."
            raise Refusal(400, message) from None
        saved, upload = await self.begin(collection, client, request_id)
        try:
            await Receiver(upload, parser).receive(body)
        except BaseException as error:
            problem = error.message if isinstance(error, Refusal) else "The connection ended before all files had come."
            problem = CANCELLED if upload.is_cancelled else problem
            for file in upload.files:
                upload.end_file(file, "cancelled" if upload.is_cancelled else "not_read", reason=problem)
            upload.end("cancelled" if upload.is_cancelled else "failed", problem)
            self.forget_upload(upload)
            raise
        self.start(upload)
        return saved

    async def begin(
        self, collection: str, client: str, request_id: str | None = None
    ) -> tuple[SavedUpload, LiveUpload]:
        """Begin an upload. Raises `Refusal`."""
        self.check_room()
        try:
            saved = await asyncio.to_thread(self.folder.create, client, collection, datetime.now(UTC), request_id)
        except OSError as error:
            message = f"The server cannot keep this upload ({error.strerror or error}); ask whoever runs it."
            raise Refusal(507, message, "not_saved", "server_error") from None
        staging = self.folder.get_staging(saved.id)
        upload = LiveUpload(saved.id, collection, saved.file, staging, asyncio.get_running_loop())
        self.live_uploads[saved.id] = upload
        upload.write("upload_started", collection=collection)
        return saved, upload

    def start(self, upload: LiveUpload) -> None:
        """Index the files of an upload on a thread."""
        upload.write("upload_received", files=len(upload.files))
        threading.Thread(target=self.index, args=(upload,), name="quorum-upload", daemon=True).start()

    async def index_again(self, collection: str, client: str, path: str, size: int) -> SavedUpload:
        """Index a kept file anew. path: below the folder of the collection's uploads; size: in bytes."""
        saved, upload = await self.begin(collection, client)
        upload.is_in_place = True
        upload.files.append(UploadedFile(1, path, size))
        upload.write("file_received", file=1, path=path, bytes=size, size=size)
        self.start(upload)
        return saved

    def index(self, upload: LiveUpload) -> None:
        """Index an upload when those before it are done, or end it before. Runs on a thread of its own."""
        has_turn = False
        while not has_turn and not upload.must_end:
            has_turn = self.index_lock.acquire(timeout=SECONDS_BETWEEN_LOOKS)
        try:
            if has_turn:
                upload.write("indexing_started")
            self.indexing.run(upload)
        finally:
            if has_turn:
                self.index_lock.release()
        self.forget_upload(upload)
        self.folder.remove_oldest()

    def forget_upload(self, upload: LiveUpload) -> None:
        """An upload has ended."""
        remove_staging(upload.folder)
        self.live_uploads.pop(upload.id, None)
        self.folder.live_ids.discard(upload.id)
        with suppress(RuntimeError):  # the server has ended
            upload.loop.call_soon_threadsafe(upload.tell)
        upload.ended.set()

    def find_change(self, id_: str) -> asyncio.Event | None:
        """What is set at the next event of an upload; None if none will come."""
        upload = self.live_uploads.get(id_)
        return None if upload is None else upload.changed

    def list_store_collections(self) -> list[str]:
        """The collections of the store. The call blocks."""
        return open_store(self.indexing.context.store).list_collections()

    def describe_all(self, collection: str | None) -> list[dict[str, Any]]:
        """The uploads, newest first, as JSON; those into one collection. The call blocks."""
        self.folder.end_interrupted()
        found = []
        for saved in self.folder.list_uploads():
            if collection is None or saved.collection == collection:
                with suppress(OSError, ValueError, KeyError):
                    found.append(saved.describe())
        return found

    def check_room(self) -> None:
        """Raise `Refusal` if too many uploads are in progress."""
        if len(self.live_uploads) >= MAX_LIVE_UPLOADS:
            message = f"{MAX_LIVE_UPLOADS} uploads are in progress already; drop the files again when one has ended."
            raise Refusal(503, message, "overloaded", "server_error", headers={"retry-after": "5"})

    def check_not_live(self, collection: str) -> None:
        """Raise `Refusal` (409) if files are being put into a collection now."""
        if any(upload.collection == collection for upload in list(self.live_uploads.values())):
            message = f"Files are being indexed into {collection!r}; wait, or cancel the upload."
            raise Refusal(409, message, "conflict")

    def check_no_other_live(self, collection: str) -> None:
        """Raise `Refusal` (409) if files are being put into another collection now."""
        for upload in list(self.live_uploads.values()):
            if upload.collection != collection:
                message = (
                    f"Files are being put into {upload.collection!r}, the one collection that this server will serve; "
                    "add to it, or start the server with --collections all."
                )
                raise Refusal(409, message, "conflict")

    async def cancel(self, saved: SavedUpload) -> None:
        """End an upload. Files that are indexed already stay. Does nothing if it is over."""
        upload = self.live_uploads.get(saved.id)
        if upload is None:
            return
        upload.cancel()
        SHARED_READER.get().close()  # it may be at work on a file for a long time
        await asyncio.to_thread(upload.ended.wait)

    def stop(self) -> None:
        """The process ends: what is half done is taken back, and told as interrupted."""
        uploads = list(self.live_uploads.values())
        for upload in uploads:
            upload.is_stopping = True
        if uploads:
            SHARED_READER.get().close()
        for upload in uploads:
            upload.ended.wait(STOP_SECONDS)


ALL_SERVICES: "WeakSet[UploadService]" = WeakSet()


def stop_all() -> None:
    """The process ends."""
    for service in list(ALL_SERVICES):
        service.stop()


atexit.register(stop_all)


class Receiver:
    """Writes the files of an upload as their bytes come."""

    def __init__(self, upload: LiveUpload, parser: MultipartParser) -> None:
        self.upload, self.parser = upload, parser
        self.names_in_use: dict[str, int] = {}
        self.file: UploadedFile | None = None
        self.out: BinaryIO | None = None
        self.pieces: list[bytes] = []
        self.waiting_bytes = 0

    async def receive(self, body: AsyncIterator[bytes]) -> None:
        """Read the body. Raises `Refusal` if it is malformed or too long, or holds no file."""
        try:
            async for chunk in self.iterate_until_cancelled(body):
                for item in self.parser.feed(chunk):
                    if isinstance(item, Part):
                        self.begin(item)
                    elif isinstance(item, PartEnd):
                        await self.end()
                    else:
                        await self.add(item)
        except ValueError as error:
            raise Refusal(400, f"The body is no multipart/form-data: {error}.") from None
        finally:
            if self.out is not None:
                self.out.close()
        if not self.parser.is_whole:
            raise Refusal(400, "The body is not complete; send the files again.")
        if not self.upload.files:
            raise Refusal(400, "The body holds no file; send each with its path as file name.")

    async def iterate_until_cancelled(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks of the body. Raises `Refusal` (409) as soon as the upload is cancelled, also while none comes."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                chunk = await wait_for_task(loop.create_task(advance(body)), self.upload.cancelled)
            except StopAsyncIteration:
                return
            except asyncio.CancelledError:
                if not self.upload.is_cancelled:
                    raise
            if self.upload.must_end:
                raise Refusal(409, "The upload was cancelled.", "cancelled")
            yield chunk

    def begin(self, part: Part) -> None:
        self.file = None
        if part.name is None:
            return
        if len(self.upload.files) >= MOST_FILES:
            raise Refusal(413, f"An upload has {MOST_FILES:,} files at most; send the others in a second one.")
        path = make_unique(clean_path(part.name), self.names_in_use)
        self.file = UploadedFile(len(self.upload.files) + 1, path)
        self.upload.files.append(self.file)
        try:
            self.out = open_private_bytes(self.upload.folder / str(self.file.number), "wb")
        except OSError as error:
            self.refuse(f"it cannot be kept ({error.strerror or error})")

    async def add(self, data: bytes) -> None:
        if self.file is None:
            return
        self.file.size += len(data)
        if self.file.size > LARGEST_FILE:
            self.refuse(f"it is larger than {format_megabytes(LARGEST_FILE)}")
        self.upload.write_progress("file_receiving", **self.file.describe(), bytes=self.file.size)
        if self.out is not None:
            self.pieces.append(data)
            self.waiting_bytes += len(data)
            if self.waiting_bytes >= BYTES_PER_WRITE:
                await self.flush()

    async def flush(self) -> None:
        pieces, self.pieces, self.waiting_bytes = self.pieces, [], 0
        if self.out is None or not pieces:
            return
        try:
            await asyncio.to_thread(self.out.write, b"".join(pieces))
        except OSError as error:
            self.refuse(f"it cannot be kept ({error.strerror or error})")

    async def end(self) -> None:
        await self.flush()
        if self.file is None:
            return
        try:
            if self.out is not None:
                self.out.close()
        except OSError as error:
            self.refuse(f"it cannot be kept ({error.strerror or error})")
        self.out = None
        if self.file.outcome is None:
            self.upload.write("file_received", **self.file.describe(), bytes=self.file.size, size=self.file.size)
        self.file = None

    def refuse(self, reason: str) -> None:
        """The open file is not taken; the rest of its bytes are read and dropped."""
        assert self.file is not None
        out, self.out, self.pieces, self.waiting_bytes = self.out, None, [], 0
        if out is not None:
            with suppress(OSError):
                out.close()
        with suppress(OSError):
            (self.upload.folder / str(self.file.number)).unlink(missing_ok=True)
        self.upload.end_file(self.file, "not_read", reason=reason)
