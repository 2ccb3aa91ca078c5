"""The collection that a request names: who may ask it, and who may change it and how."""

import asyncio

from starlette.requests import Request

from quorum.retrievers.collection_names import SAMPLE
from quorum.retrievers.metadata import OTHER_PROGRAM
from quorum.serving.errors import Refusal
from quorum.serving.permissions import Permissions


class RequestedCollections:
    """The rules."""

    def __init__(self, permissions: Permissions) -> None:
        self.permissions = permissions

    def check_owner(self, request: Request) -> None:
        """Raise `Refusal` (403) unless the client is the owner."""
        if not request.state.client.is_owner:
            message = "Only the server's owner, whose key is the first one, may change collections and see uploads."
            raise Refusal(403, message, "not_the_owner")

    async def find(self, request: Request) -> str:
        """The collection of the path. Raises `Refusal` (404) unless the client may ask it."""
        name = str(request.path_params["collection"])
        if name not in await asyncio.to_thread(self.permissions.of(request.state.client).list_collections):
            message = f"There is no collection {name[:100]!r}; GET /v1/collections lists them."
            raise Refusal(404, message, "collection_not_found")
        return name

    def may_make(self) -> bool:
        """Whether a new collection would be served: all are, or it is the first one. The call blocks."""
        if self.permissions.collections is None:
            return True
        return not self.permissions.server_context.collection and self.permissions.find_own_collection() == SAMPLE

    def may_change_documents(self, name: str, made_for: str | None) -> bool:
        """Whether documents are added to a collection and removed. made_for: as in `CollectionSummary`."""
        return name != SAMPLE and made_for not in ("sample", OTHER_PROGRAM)

    def check_may_change_documents(self, name: str, made_for: str | None) -> None:
        """Raise `Refusal` (409) for the sample, and for another program's collection."""
        if self.may_change_documents(name, made_for):
            return
        if made_for == OTHER_PROGRAM:
            message = f"Another program made the collection {name!r}; Quorum only reads it."
            raise Refusal(409, message, "read_only")
        raise Refusal(409, f"The collection {SAMPLE!r} stays as it is; give another name.", "read_only")

    def may_rename(self, name: str, made_for: str | None) -> bool:
        """Whether a collection gets another name, or is deleted: the server was not started for it."""
        started_for = (self.permissions.server_context.collection, *(self.permissions.collections or ()))
        return name not in started_for and self.may_change_documents(name, made_for)
