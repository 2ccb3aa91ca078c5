"""The process that holds Chroma for a forked one: reads pickled requests from standard input and writes the replies."""

import os
import pickle
import sys
from typing import Any, BinaryIO

from quorum.retrievers.chroma_client import open_chroma_client
from quorum.retrievers.client_of_fork import CollectionFacts, Request


def main() -> None:
    """Answer the requests from standard input until it is closed. The one argument is the store."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not be among the replies
    client = open_chroma_client(sys.argv[1])
    while True:
        try:
            request: Request = pickle.load(requests)
        except EOFError:
            return
        write_reply(answer(client, request), replies)


def answer(client: Any, request: Request) -> tuple[bool, Any]:
    """Whether the method raised an exception; then this exception, otherwise what it returned."""
    try:
        target = client
        if request.collection is not None:
            target = client.get_collection(request.collection, embedding_function=None)
        return False, describe(getattr(target, request.method)(*request.args, **request.options))
    except Exception as error:  # noqa: BLE001  (the process that sent the request raises it again)
        return True, error


def describe(result: Any) -> Any:
    """The result; for collections, which hold the client, their facts."""
    from chromadb import Collection

    if isinstance(result, Collection):
        return CollectionFacts(
            result.name, result.id, dict(result.metadata) if result.metadata else None, dict(result.configuration_json)
        )
    if isinstance(result, list) and result and isinstance(result[0], Collection):
        return [describe(collection) for collection in result]
    return result


def write_reply(reply: tuple[bool, Any], replies: BinaryIO) -> None:
    try:
        data = pickle.dumps(reply)
        pickle.loads(data)  # some exceptions can be written, but not read
    except Exception:  # noqa: BLE001
        data = pickle.dumps((True, RuntimeError(repr(reply[1]))))
    replies.write(data)
    replies.flush()
