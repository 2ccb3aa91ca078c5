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
    and the reply.
    """

    stage: int = 0
    searches: dict[Any, Any] = field(default_factory=dict)
    replies: dict[Any, tuple[int, Any]] = field(default_factory=dict)

    def find_earlier_reply(self, call_key: Any) -> Any | None:
        """The reply that an earlier stage got to the call with this key; None if no earlier stage made this call."""
        stage, reply = self.replies.get(call_key, (self.stage, None))
        return reply if stage < self.stage else None

    def store_reply(self, call_key: Any, reply: Any) -> None:
        """Store the reply to a call, unless one is stored for this call already."""
        self.replies.setdefault(call_key, (self.stage, reply))


CASCADE_CACHE: ContextVar[CascadeCache | None] = ContextVar("CASCADE_CACHE", default=None)
CASCADE_CACHES: "OrderedDict[str, CascadeCache]" = OrderedDict()  # by the id of the run


def get_cache(run_id: str, stage: int) -> CascadeCache:
    """The cache of a run, set to the stage that begins now.

    If there are more than MAX_RUNS caches, the least recently used ones are dropped.
    """
    cache = CASCADE_CACHES.setdefault(run_id, CascadeCache())
    CASCADE_CACHES.move_to_end(run_id)
    while len(CASCADE_CACHES) > MAX_RUNS:
        CASCADE_CACHES.popitem(last=False)
    cache.stage = stage
    return cache


def forget_run(run_id: str) -> None:
    """Drop the cache of a run that has ended."""
    CASCADE_CACHES.pop(run_id, None)
