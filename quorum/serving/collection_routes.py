"""The collections over HTTP: every client lists those that it may ask; the server's owner renames and deletes them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quorum.core.errors import QuorumError
from quorum.core.where import Where, format_where
from quorum.retrievers.choose_collection import locate_collection
from quorum.retrievers.collection_names import SAMPLE
from quorum.retrievers.collections import delete_collection
from quorum.retrievers.manage_collections import count_passages_by_document, rename_collection, summarize_collection
from quorum.retrievers.store import open_store
from quorum.serving.chat_request import make_field_refusal, read_body
from quorum.serving.documents.upload_service import UploadService
from quorum.serving.errors import Refusal
from quorum.serving.first_questions import FirstQuestions
from quorum.serving.permissions import Permissions
from quorum.serving.requested_collection import RequestedCollections
from quorum.serving.runs.routes import Wrap


def make_collection_routes(
    permissions: Permissions,
    wrap: Wrap,
    uploads: UploadService,
    is_busy: Callable[[], bool] = lambda: False,
) -> list[Route]:
    """The routes. wrap: turns refusals into responses; is_busy: as in `FirstQuestions`."""
    routes = CollectionRoutes(permissions, uploads)
    routes.questions = FirstQuestions(permissions.server_context, is_busy)
    one = "/v1/collections/{collection}"
    return [
        Route("/v1/collections", wrap(routes.list_collections)),
        Route(f"{one}/questions", wrap(routes.list_questions)),
        Route(one, wrap(routes.rename), methods=["PATCH"]),
        Route(one, wrap(routes.delete), methods=["DELETE"]),
    ]


class CollectionRoutes:
    """The handlers. What reads or changes the store runs in a thread."""

    def __init__(self, permissions: Permissions, uploads: UploadService) -> None:
        self.permissions, self.uploads = permissions, uploads
        self.requested = RequestedCollections(permissions)
        self.questions = FirstQuestions(permissions.server_context)

    async def list_collections(self, request: Request) -> Response:
        """The collections, and whether the client may make one (`may_make`), change documents (`may_change`) or the
        name (`may_rename`).
        """
        is_owner, permissions = request.state.client.is_owner, self.permissions.of(request.state.client)

        def describe_all() -> dict[str, Any]:
            own, where = permissions.find_own_collection(), permissions.server_context.where
            data = [self.describe(name, own, where, is_owner=is_owner) for name in permissions.list_collections()]
            return {"object": "list", "data": data, "may_make": is_owner and self.requested.may_make()}

        return JSONResponse(await asyncio.to_thread(describe_all))

    async def list_questions(self, request: Request) -> Response:
        """Questions that the collection answers, to begin with; empty if none is known to be."""
        where = self.permissions.of(request.state.client).server_context.where
        questions = await self.questions.find(await self.requested.find(request), where)
        return JSONResponse({"object": "list", "data": questions})

    def describe(self, name: str, own: str | None, where: Where, *, is_owner: bool) -> dict[str, Any]:
        """A collection as JSON, as far as it passes the client's filter. state: "ready", "changing" while it is being
        indexed, or "unreadable".
        """
        head = {"id": name, "object": "collection", "is_default": name == own}
        try:
            summary = summarize_collection(open_store(self.locate(name)), name)
            if where:  # nobody learns of what the filter keeps back
                passages, documents = self.count_passing(name, where), self.count_by_document(name, where)
                summary = replace(summary, passages=passages, files=len(documents), bytes=None)
        except QuorumError:
            may_rename = is_owner and self.requested.may_rename(name, None)
            return {**head, "state": "unreadable", "may_change": False, "may_rename": may_rename}
        return {
            **head,
            "state": "changing" if summary.unfinished else "ready",
            "passages": summary.passages,
            "documents": summary.files,
            "bytes": summary.bytes,
            "changed": summary.changed,
            "is_sample": name == SAMPLE,
            "made_for": summary.made_for,
            "context": summary.context,
            "may_change": is_owner and self.requested.may_change_documents(name, summary.made_for),
            "may_rename": is_owner and self.requested.may_rename(name, summary.made_for),
        }

    def locate(self, name: str) -> str:
        """The store of a collection: the server's, or for the sample perhaps that of all programs. The call blocks."""
        return locate_collection(replace(self.permissions.server_context, collection=name)).store

    def count_passing(self, name: str, where: Where) -> int:
        """How many passages of a collection pass a filter. The call blocks."""
        text = format_where(where)
        return 0 if text is None else len(open_store(self.locate(name)).fetch_matching_ids(name, text))

    def count_by_document(self, name: str, where: Where) -> dict[str, int]:
        """{document: how many of its passages pass a filter}. The call blocks."""
        return count_passages_by_document(name, self.locate(name), where)

    async def find_to_change(self, request: Request) -> str:
        """The collection of the path, which the client wants to change. Raises `Refusal` (403, 404, 409)."""
        self.requested.check_owner(request)
        name = await self.requested.find(request)
        if name == self.permissions.server_context.collection:
            message = f"The server was started for the collection {name!r}; start it without --collection to change it."
            raise Refusal(409, message, "conflict")
        made_for = await asyncio.to_thread(self.find_maker, name)
        self.requested.check_may_change_documents(name, made_for)
        self.uploads.check_not_live(name)
        return name

    def find_maker(self, name: str) -> str | None:
        """Who made a collection, as in `CollectionSummary`; None if it is unreadable. The call blocks."""
        with suppress(QuorumError):
            return open_store(self.locate(name)).fetch_info(name).made_for
        return None

    async def rename(self, request: Request) -> Response:
        name = await self.find_to_change(request)
        body = await read_body(request, 'an object such as {"name": "handbook"}')
        new_name = body.get("name") if isinstance(body, dict) else None
        if not isinstance(new_name, str):
            raise make_field_refusal("name", "a text")
        await asyncio.to_thread(rename_collection, name, new_name, self.permissions.server_context.store)
        await asyncio.to_thread(self.uploads.folder.rename_collection, name, new_name)
        return JSONResponse({"id": new_name, "object": "collection"})

    async def delete(self, request: Request) -> Response:
        name = await self.find_to_change(request)
        leftovers = await asyncio.to_thread(delete_collection, name, self.permissions.server_context.store)
        await asyncio.to_thread(self.uploads.folder.rename_collection, name, None)
        return JSONResponse({"id": name, "object": "collection", "deleted": True, "note": leftovers or None})
