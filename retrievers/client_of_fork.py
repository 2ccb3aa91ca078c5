"""A Chroma client for a forked process: another process holds Chroma, since Chroma's threads do not survive a fork.

Chroma starts native threads when a client is opened. A process that is forked later has the objects that wait for these
threads, but not the threads, and new clients share these objects: a search in it would hang for ever. So the forked
process asks another one, which it starts at its first search and which ends when it ends.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from quorum.core.errors import SetupError

WORKER_COMMAND = "from quorum.retrievers.chroma_worker import main; main()"


@dataclass(frozen=True)
class Request:
    """A call of a method of the client, or of a collection."""

    method: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    collection: str | None = None
    """The collection's name; None for a method of the client."""


@dataclass(frozen=True)
class CollectionFacts:
    """What stands for a collection in a reply."""

    name: str
    id: Any
    metadata: dict[str, Any] | None
    configuration_json: dict[str, Any]


class ClientOfFork:
    """Has those methods of a Chroma client that Quorum calls. store: a folder, or the URL of a server.

    Several threads may use it; their calls are made one after the other.
    """

    def __init__(self, store: str) -> None:
        self.store = store
        self.lock = threading.Lock()
        self.process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        path = os.pathsep.join(part for part in sys.path if part)
        return subprocess.Popen(
            [sys.executable, "-c", WORKER_COMMAND, self.store],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
            start_new_session=True,  # Ctrl-C must not reach the process; it exits when its standard input is closed
        )

    def call(self, request: Request) -> Any:
        """What the method returns. Raises what it raises."""
        with self.lock:
            try:
                is_raised, result = self.exchange(request)
            except BaseException as error:
                code = self.end_process()
                self.process = self.start()  # for the next call: the old one may still send the reply to this one
                if not isinstance(error, OSError | EOFError | pickle.UnpicklingError):
                    raise
                raise SetupError(
                    f"The process that searches the store {self.store} for this forked process has ended (exit code "
                    f"{code}); ask again, or let each process be started afresh, not forked after a search."
                ) from None
        if is_raised:
            raise result
        return result

    def exchange(self, request: Request) -> tuple[bool, Any]:
        """Send a request, and read whether its method raised an exception, and that or what it returned."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        pickle.dump(request, self.process.stdin)
        self.process.stdin.flush()
        reply: tuple[bool, Any] = pickle.load(self.process.stdout)
        return reply

    def end_process(self) -> int:
        """Kill the process. Returns its exit code."""
        self.process.kill()
        self.close()
        return self.process.wait()

    def get_collection(self, name: str, embedding_function: None = None) -> "CollectionOfFork":
        return CollectionOfFork(self, self.call(Request("get_collection", (name,), {"embedding_function": None})))

    def create_collection(self, name: str, **options: Any) -> "CollectionOfFork":
        return CollectionOfFork(self, self.call(Request("create_collection", (name,), options)))

    def list_collections(self, limit: int, offset: int) -> Sequence["CollectionOfFork"]:
        found = self.call(Request("list_collections", (), {"limit": limit, "offset": offset}))
        return [CollectionOfFork(self, facts) for facts in found]

    def delete_collection(self, name: str) -> None:
        self.call(Request("delete_collection", (name,)))

    def close(self) -> None:
        """Let the process end, and wait for it. The client cannot be used any more."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self.process.wait()


class CollectionOfFork:
    """Has the methods of a Chroma collection: each is called in the process that holds Chroma."""

    def __init__(self, client: ClientOfFork, facts: CollectionFacts) -> None:
        self.client, self.name, self.id, self.metadata = client, facts.name, facts.id, facts.metadata
        self.configuration_json = facts.configuration_json

    def modify(
        self,
        name: str | None = None,
        metadata: dict[str, Any] | None = None,
        configuration: dict[str, Any] | None = None,
    ) -> None:
        options = {"name": name, "metadata": metadata, "configuration": configuration}
        self.client.call(Request("modify", (), options, self.name))
        self.name = name or self.name
        self.metadata = metadata or self.metadata

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)

        def call(*args: Any, **options: Any) -> Any:
            return self.client.call(Request(method, args, options, self.name))

        return call
