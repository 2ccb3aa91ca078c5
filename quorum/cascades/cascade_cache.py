"""Caches the searches and model calls of a cascade while it answers a question.

A cascade's stages are whole methods, so a later stage may repeat searches and calls of an earlier one. `CASCADE_CACHE`
is set while a stage runs: a search and a call of a model first look for an earlier result there. Here, a run is one
cascade's work on one question.
"""

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MAX_RUNS = 256  # this process keeps the caches of this many runs


@dataclass
class CascadeCache:
    """The searches and replies of one run.

    stage: the number of the stage that runs now, from 0. searches: the passages found, by the key of the search (query,
    retriever and the like). replies: for the key of each call, two values: the number of the stage that made the call,
    and the reply. outer: the cache of the cascade whose stage this cascade is; None if it is no stage of another.
    """

    stage: int = 0
    searches: dict[Any, Any] = field(default_factory=dict)
    replies: dict[Any, tuple[int, Any]] = field(default_factory=dict)
    outer: "CascadeCache | None" = None

    def find_earlier_reply(self, call_key: Any) -> Any | None:
        """The reply that an earlier stage, here or of the outer cascade, got to the call with this key; None if no
        earlier stage made this call.
        """
        stage, reply = self.replies.get(call_key, (self.stage, None))
        if stage < self.stage:
            return reply
        return None if self.outer is None else self.outer.find_earlier_reply(call_key)

    def store_reply(self, call_key: Any, reply: Any) -> None:
        """Store the reply to a call, unless one is stored for this call already."""
        self.replies.setdefault(call_key, (self.stage, reply))
        if self.outer is not None:
            self.outer.store_reply(call_key, reply)


CASCADE_CACHE: ContextVar[CascadeCache | None] = ContextVar("CASCADE_CACHE", default=None)
CASCADE_CACHES: "OrderedDict[str, CascadeCache]" = OrderedDict()  # by the id of the run


def get_cache(run_id: str, stage: int) -> CascadeCache:
    """The cache of a run, set to the stage that begins now. A cascade that is itself a stage shares the searches of the
    outer cascade, whose cache is the one in use now.

    If there are more than MAX_RUNS caches, the least recently used ones are dropped.
    """
    if run_id not in CASCADE_CACHES:
        outer = CASCADE_CACHE.get()
        CASCADE_CACHES[run_id] = CascadeCache(outer=outer, searches={} if outer is None else outer.searches)
    cache = CASCADE_CACHES[run_id]
    CASCADE_CACHES.move_to_end(run_id)
    while len(CASCADE_CACHES) > MAX_RUNS:
        CASCADE_CACHES.popitem(last=False)
    cache.stage = stage
    return cache


def forget_run(run_id: str) -> None:
    """Drop the cache of a run that has ended."""
    CASCADE_CACHES.pop(run_id, None)
