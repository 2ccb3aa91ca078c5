"""Documents and uploads in the server's OpenAPI document, with an example of every request and response."""

from typing import Any

from quorum.serving.runs.describe import AFTER, NUMBER_TYPE, TEXT_TYPE, PathWriter

UPLOAD_ID, DOCUMENT_ID = "20261129-101500-000000a1b2c3d4", "0f3a5b7c9d1e2f30"
DOCUMENT = {
    "id": DOCUMENT_ID,
    "object": "document",
    "name": "hr/travel.pdf",
    "path": "hr/travel.pdf",
    "state": "ready",
    "passages": 31,
    "pages": 12,
    "modified": "2026-11-29T10:15:00+00:00",
    "is_upload": True,
    "has_original": True,
}
FAILURE = {
    "id": f"{UPLOAD_ID}:2",
    "object": "document",
    "state": "failed",
    "name": "hr/old.pdf",
    "path": "hr/old.pdf",
    "upload": UPLOAD_ID,
    "reason": "it is locked with a password",
    "began_at": 1795947300.0,
}
FILE_1 = {"file": 1, "path": "hr/travel.pdf", "bytes": 90_112, "size": 90_112, "outcome": "indexed", "passages": 31}
FILE_2 = {"file": 2, "path": "hr/old.pdf", "bytes": 4096, "size": 4096, "outcome": "not_read"}
UPLOAD = {
    "id": UPLOAD_ID,
    "object": "upload",
    "collection": "handbook",
    "began_at": 1795947300.0,
    "request_id": "req_5f1c0a9d2b7e4c3a6f8d1e02",
    "state": "finished",
    "files": [FILE_1 | {"document": DOCUMENT_ID, "notes": []}, FILE_2 | {"reason": "it is locked with a password"}],
    "last_event": 9,
}
EVENT_TYPES = (
    *("upload_started", "file_receiving", "file_received", "upload_received", "indexing_started", "file_progress"),
    *("file_finished", "upload_finished"),
)
EVENT_STREAM = (
    'id: 6\nevent: file_progress\ndata: {"n": 6, "type": "file_progress", "file": 1, "path": "hr/travel.pdf", '
    '"bytes": 45056, "size": 90112, "passages": 15}\n\n'
)
FILES_SCHEMA = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
}
MARK = {"name": "mark", "in": "query", "schema": TEXT_TYPE, "description": "The text to mark"}
TURN = {
    "name": "turn",
    "in": "query",
    "schema": TEXT_TYPE,
    "description": "1: if need be the next page",
}
INLINE = {"name": "inline", "in": "query", "schema": TEXT_TYPE, "description": "1: a browser shows a PDF in place"}
COLLECTION = {"name": "collection", "in": "query", "schema": TEXT_TYPE, "description": "Uploads into this collection"}


def describe_documents(writer: PathWriter) -> dict[str, Any]:
    """The paths of documents and uploads."""
    describe, collection, id_ = (
        writer.describe,
        writer.describe_parameter("collection"),
        writer.describe_parameter("id"),
    )
    page = {**writer.describe_parameter("page"), "schema": NUMBER_TYPE}
    many, upload = "/v1/collections/{collection}/documents", "/v1/uploads/{id}"
    one = many + "/{id}"
    body = {"required": True, "content": {"multipart/form-data": {"schema": FILES_SCHEMA, "example": {"files": []}}}}
    receive = describe(
        "Index files (the owner only); the file name of each part is its path, with folders",
        UPLOAD | {"state": "waiting"},
        status="202",
        requestBody=body,
    )
    events = describe(
        f"The events of an upload, numbered, until it ends: {', '.join(EVENT_TYPES)}",
        EVENT_STREAM,
        "text/event-stream",
        parameters=[AFTER],
    )
    events["responses"]["204"] = {"description": "No event will come"}
    original = describe("The original of a document", "%PDF-1.7", "application/octet-stream", parameters=[INLINE])
    picture = describe("A page of a PDF, with a text marked", "PNG", "image/png", parameters=[MARK, TURN])
    return {
        many: {
            "get": describe("The documents of a collection", {"object": "list", "data": [FAILURE, DOCUMENT]}),
            "post": receive,
            "parameters": [collection],
        },
        one: {
            "get": original,
            "delete": describe(
                "Remove a document (the owner only)", {"id": DOCUMENT_ID, "object": "document", "deleted": True}
            ),
            "parameters": [collection, id_],
        },
        f"{one}/reindex": {
            "post": describe("Index a kept file anew (the owner only)", UPLOAD | {"state": "waiting"}, status="202"),
            "parameters": [collection, id_],
        },
        f"{one}/pages/{{page}}.png": {"get": picture, "parameters": [collection, id_, page]},
        "/v1/uploads": {
            "get": describe(
                "The uploads, newest first (the owner only)",
                {"object": "list", "data": [UPLOAD]},
                parameters=[COLLECTION],
            )
        },
        upload: {
            "get": describe("An upload with its files", UPLOAD),
            "delete": describe("Forget an upload", {"id": UPLOAD_ID, "object": "upload", "deleted": True}),
            "parameters": [id_],
        },
        f"{upload}/events": {"get": events, "parameters": [id_]},
        f"{upload}/cancel": {
            "post": describe("End an upload", UPLOAD | {"state": "cancelled"}),
            "parameters": [id_],
        },
    }
