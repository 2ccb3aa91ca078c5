"""The addresses of documents and uploads. Every client reads the documents that it may ask; the owner changes them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from io import BufferedReader
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from quorum.core.errors import QuorumError
from quorum.core.files import escape_name
from quorum.core.where import Where
from quorum.documents.document import Unreadable
from quorum.documents.page_picture import LONGEST_MARK, Picture, draw_page
from quorum.retrievers.collection_names import SAMPLE, check_own_collection_name
from quorum.retrievers.manage_documents import Document, remove_document
from quorum.retrievers.originals import find_kept_file, split_upload
from quorum.serving.access_control import LARGEST_UPLOAD
from quorum.serving.chat_request import make_field_refusal
from quorum.serving.documents.documents import DocumentLists
from quorum.serving.documents.upload_folder import SavedUpload
from quorum.serving.documents.upload_service import LARGEST_FILE, MOST_FILES, UploadService
from quorum.serving.errors import Refusal
from quorum.serving.permissions import Permissions
from quorum.serving.requested_collection import RequestedCollections
from quorum.serving.runs.follow import STREAM_HEADERS, follow_file, format_line_as_event, read_last_number
from quorum.serving.runs.routes import Wrap

MAX_READERS = 64  # open streams of events
MAX_DRAWINGS = 2  # pages that are drawn at once
CHUNK_SIZE = 262_144  # bytes of a file that are sent at once
LIMITS = {"file_bytes": LARGEST_FILE, "upload_bytes": LARGEST_UPLOAD, "upload_files": MOST_FILES}
# No browser runs what is in a document: it is given to save, as bytes of no type.
FILE_HEADERS = {"content-security-policy": "default-src 'none'; sandbox"}


class DocumentRoutes:
    """The handlers. What reads or changes the store runs in a thread."""

    def __init__(self, permissions: Permissions, uploads: UploadService) -> None:
        self.permissions, self.uploads = permissions, uploads
        self.requested = RequestedCollections(permissions)
        self.lists = DocumentLists(permissions.server_context)
        self.drawing = asyncio.Semaphore(MAX_DRAWINGS)
        self.reader_count = 0

    def make_routes(self, wrap: Wrap) -> list[Route]:
        """The routes. wrap: turns refusals into responses."""
        many, upload = "/v1/collections/{collection}/documents", "/v1/uploads/{id}"
        one = many + "/{id}"
        return [
            Route(many, wrap(self.list_documents)),
            Route(many, wrap(self.receive), methods=["POST"]),
            Route(f"{one}/pages/{{page}}.png", wrap(self.draw)),
            Route(f"{one}/reindex", wrap(self.index_again), methods=["POST"]),
            Route(one, wrap(self.send_original)),
            Route(one, wrap(self.remove), methods=["DELETE"]),
            Route("/v1/uploads", wrap(self.list_uploads)),
            Route(f"{upload}/events", wrap(self.stream_events)),
            Route(f"{upload}/cancel", wrap(self.cancel), methods=["POST"]),
            Route(upload, wrap(self.show_upload)),
            Route(upload, wrap(self.delete_upload), methods=["DELETE"]),
        ]

    async def check_may_change(self, name: str) -> None:
        """Raise `Refusal` (409) for the sample, and for another program's collection."""
        made_for = None if name == SAMPLE else await asyncio.to_thread(self.lists.find_maker, name)
        self.requested.check_may_change_documents(name, made_for)

    async def list_documents(self, request: Request) -> Response:
        """The documents of a collection: first the files that could not be read, then the others by name."""
        name = await self.requested.find(request)
        documents = await asyncio.to_thread(self.describe_all, name, self.get_filter(request))
        failures = await asyncio.to_thread(self.list_failures, name) if request.state.client.is_owner else []
        return JSONResponse({"object": "list", "data": [*failures, *documents]})

    def get_filter(self, request: Request) -> Where:
        """What the client's searches find at most: the documents that it may read."""
        return self.permissions.of(request.state.client).server_context.where

    async def find_document(self, request: Request, name: str) -> Document:
        """The document of the path. Raises `Refusal` (404) unless the client may read it."""
        id_, where = str(request.path_params["id"]), self.get_filter(request)
        return await asyncio.to_thread(self.lists.find, name, id_, where)

    def describe_all(self, name: str, where: Where) -> list[dict[str, Any]]:
        described = [self.lists.describe(name, document) for document in self.lists.list(name, where)]
        return sorted(described, key=lambda document: (document["path"] or document["name"]).casefold())

    def list_failures(self, name: str) -> list[dict[str, Any]]:
        """The files of uploads that could not be read, unless a later upload had the file. The call blocks."""
        failures: list[dict[str, Any]] = []
        seen: set[str] = set()
        for upload in self.uploads.folder.list_uploads():
            if upload.collection != name:
                continue
            try:
                described = upload.describe()
            except (OSError, ValueError, KeyError):
                continue
            for file in described["files"]:
                if file["path"] not in seen and file.get("outcome", "indexed") != "indexed":
                    head = {"id": f"{upload.id}:{file['file']}", "object": "document", "state": "failed"}
                    place = {"name": escape_name(file["path"]), "path": file["path"], "upload": upload.id}
                    failures.append({**head, **place, "reason": file.get("reason"), "began_at": described["began_at"]})
                seen.add(file["path"])
        return sorted(failures, key=lambda failure: str(failure["path"]).casefold())

    async def receive(self, request: Request) -> Response:
        """Take files into a collection, which is made if there is none."""
        try:
            name = await self.find_to_add(request)
            content_type = request.headers.get("content-type", "")
            client, request_id = request.state.client.id, request.state.request_id
            saved = await self.uploads.receive(name, client, content_type, request.stream(), request_id)
        except QuorumError as error:
            if not (isinstance(error, Refusal) and error.code == "cancelled"):
                await drop_rest(request)
            raise
        return JSONResponse(await self.describe_upload(saved), 202, {"location": f"/v1/uploads/{saved.id}"})

    async def find_to_add(self, request: Request) -> str:
        """The collection of the path, which there may not be yet. Raises `Refusal`, and `SetupError` for its name."""
        self.requested.check_owner(request)
        name = str(request.path_params["collection"])
        check_own_collection_name(name)
        if name in await asyncio.to_thread(self.permissions.list_collections):
            await self.check_may_change(name)
        else:
            await asyncio.to_thread(self.check_may_make, name)
        return name

    def check_may_make(self, name: str) -> None:
        """Raise `Refusal` (403, 409) unless the server will serve a new collection of this name. The call blocks."""
        if not self.requested.may_make():
            message = (
                f"This server does not serve the collection {name!r}; use one of those that GET /v1/collections lists, "
                "or start the server with --collections all."
            )
            raise Refusal(403, message, "collection_not_served")
        if self.permissions.collections is not None:
            self.uploads.check_no_other_live(name)
        if name == SAMPLE or name in self.uploads.list_store_collections():
            raise Refusal(409, f"The collection {name!r} cannot be added to; give another name.", "read_only")

    async def remove(self, request: Request) -> Response:
        self.requested.check_owner(request)
        name, id_ = await self.requested.find(request), str(request.path_params["id"])
        await self.check_may_change(name)
        self.uploads.check_not_live(name)
        document = await self.find_document(request, name)
        await asyncio.to_thread(remove_document, name, document.name, self.permissions.server_context.store)
        return JSONResponse({"id": id_, "object": "document", "deleted": True})

    async def index_again(self, request: Request) -> Response:
        """Index the kept file of an upload anew."""
        self.requested.check_owner(request)
        name = await self.requested.find(request)
        await self.check_may_change(name)
        document = await self.find_document(request, name)
        kept = find_kept_file(self.permissions.server_context.store, document.name)
        parts = split_upload(document.name)
        if kept is None or parts is None or not await asyncio.to_thread(kept.is_file):
            message = (
                f"The file of {document.place} is not kept by the server; drop it again, or run quorum index "
                "on the folder that it is in."
            )
            raise Refusal(409, message, "original_not_found")
        size = (await asyncio.to_thread(kept.stat)).st_size
        saved = await self.uploads.index_again(name, request.state.client.id, parts[1], size)
        return JSONResponse(await self.describe_upload(saved), 202, {"location": f"/v1/uploads/{saved.id}"})

    async def send_original(self, request: Request) -> Response:
        """The original, to be saved. Only a PDF has its type, and with inline=1 a browser shows it in place."""
        name = await self.requested.find(request)
        document = await self.find_document(request, name)
        file = await asyncio.to_thread(self.lists.open, name, document)
        is_pdf = document.name.lower().endswith(".pdf")
        is_inline = is_pdf and request.query_params.get("inline") in ("1", "true")
        file_name = quote(PurePosixPath(document.place).name, safe="")
        headers = {"content-disposition": f"{'inline' if is_inline else 'attachment'}; filename*=UTF-8''{file_name}"}
        # A sandbox would also keep the browser's own reader of PDFs from running.
        headers |= {"content-security-policy": "default-src 'none'"} if is_inline else FILE_HEADERS
        media_type = "application/pdf" if is_pdf else "application/octet-stream"
        return StreamingResponse(read_file(file), media_type=media_type, headers=headers)

    async def draw(self, request: Request) -> Response:
        """A page of a PDF as a picture, with the text of the parameter `mark` marked. With turn=1 the next page, if the
        text stands there only. The headers say which page it is, how many there are, and whether the text is marked.
        """
        name, page, mark = (
            await self.requested.find(request),
            read_page(str(request.path_params["page"])),
            request.query_params.get("mark", ""),
        )
        if len(mark) > LONGEST_MARK:
            raise make_field_refusal("mark", f"at most {LONGEST_MARK:,} characters")
        document = await self.find_document(request, name)
        title = document.place
        if not document.name.lower().endswith(".pdf"):
            raise Refusal(404, f"{title} is no PDF, so it has no pages to draw; open the original.", "no_pages")
        async with self.drawing:
            try:
                may_turn = request.query_params.get("turn") in ("1", "true")
                picture = await asyncio.to_thread(self.draw_now, name, document, page, mark, may_turn)
            except Unreadable as reason:
                raise Refusal(404, f"Page {page} of {title} is not shown: {reason}.", "no_pages") from None
        headers = {"quorum-marked": "1" if picture.is_marked else "0", "quorum-page": str(picture.page)}
        headers |= {"quorum-pages": str(picture.pages)}
        return Response(picture.png, media_type="image/png", headers=headers)

    def draw_now(self, name: str, document: Any, page: int, mark: str, may_turn: bool) -> Picture:
        with self.lists.open(name, document) as file:
            return draw_page(file, page, mark, may_turn=may_turn)

    async def describe_upload(self, saved: SavedUpload) -> dict[str, Any]:
        try:
            return await asyncio.to_thread(saved.describe)
        except (OSError, ValueError, KeyError):
            raise Refusal(404, f"The upload {saved.id} cannot be read.", "upload_not_found") from None

    async def find_upload(self, request: Request) -> SavedUpload:
        self.requested.check_owner(request)
        return await asyncio.to_thread(self.uploads.folder.find, str(request.path_params["id"]))

    async def list_uploads(self, request: Request) -> Response:
        """The uploads, newest first; with `collection`, those into this one."""
        self.requested.check_owner(request)
        wanted = request.query_params.get("collection")
        data = await asyncio.to_thread(self.uploads.describe_all, wanted)
        return JSONResponse({"object": "list", "data": data, "limits": LIMITS})

    async def show_upload(self, request: Request) -> Response:
        return JSONResponse(await self.describe_upload(await self.find_upload(request)))

    async def cancel(self, request: Request) -> Response:
        saved = await self.find_upload(request)
        await self.uploads.cancel(saved)
        return JSONResponse(await self.describe_upload(saved))

    async def delete_upload(self, request: Request) -> Response:
        """Forget an upload, with the files that it names as unread. Its documents stay."""
        saved = await self.find_upload(request)
        if saved.id in self.uploads.live_uploads:
            raise Refusal(409, "The upload is in progress; cancel it first.", "conflict")
        await asyncio.to_thread(self.uploads.folder.delete, saved)
        return JSONResponse({"id": saved.id, "object": "upload", "deleted": True})

    async def stream_events(self, request: Request) -> Response:
        """The events after the header Last-Event-ID; 204 if none will come."""
        saved, after = await self.find_upload(request), read_last_number(request)
        if self.reader_count >= MAX_READERS:
            message = "Too many programs are reading events; close some of them, or ask again later."
            raise Refusal(503, message, "overloaded", "server_error", headers={"retry-after": "2"})
        last = await asyncio.to_thread(saved.file.read_last_event)
        if last is not None and after >= last["n"] and saved.id not in self.uploads.live_uploads:
            return Response(status_code=204)
        events = self.format_events(saved, after)
        return StreamingResponse(events, media_type="text/event-stream", headers=STREAM_HEADERS)

    async def format_events(self, saved: SavedUpload, after: int) -> AsyncIterator[bytes]:
        self.reader_count += 1
        try:
            async for line in follow_file(saved.file, after, partial(self.uploads.find_change, saved.id)):
                yield format_line_as_event(line)
        finally:
            self.reader_count -= 1


async def drop_rest(request: Request) -> None:
    """Read what is left of a refused body: a browser that still sends shows no answer, only a lost connection."""
    with suppress(ClientDisconnect, RuntimeError, Refusal):  # RuntimeError: the body was read
        async for _ in request.stream():
            pass


def read_page(text: str) -> int:
    """The number of a page. Raises `Refusal` (404)."""
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise Refusal(404, f"There is no page {text[:20]!r}; pages are numbers from 1.", "no_pages")
    return int(text)


def read_file(file: BufferedReader) -> Iterator[bytes]:
    """The bytes of an open file, which is closed at the end. It blocks; Starlette reads it on a thread."""
    with file:
        while chunk := file.read(CHUNK_SIZE):
            yield chunk
