"""A cascade's cache for a question: the searches and model calls of its earlier stages.

A cascade's stages are whole methods, so a later stage may repeat searches and calls of an earlier one. `CASCADE_CACHE`
is set while a stage runs; retrieval and the model's calls look there first.
"""

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MAX_RUNS = 256  # runs of cascades whose caches this process keeps


@dataclass
class CascadeCache:
    """The searches and replies of one run.

    stage: the number of the running stage. searches: the passages found, by retriever and query. replies: for each
    call, the number of the stage that made the call, and the reply.
    """

    stage: int = 0
    searches: dict[Any, Any] = field(default_factory=dict)
    replies: dict[Any, tuple[int, Any]] = field(default_factory=dict)

    def find_earlier_reply(self, call: Any) -> Any | None:
        """The reply that an earlier stage got to the same call; None if no earlier stage made this call."""
        stage, reply = self.replies.get(call, (self.stage, None))
        return reply if stage < self.stage else None

    def store_reply(self, call: Any, reply: Any) -> None:
        """Keep the first reply to a call."""
        self.replies.setdefault(call, (self.stage, reply))


CASCADE_CACHE: ContextVar[CascadeCache | None] = ContextVar("CASCADE_CACHE", default=None)
CASCADE_CACHES: "OrderedDict[str, CascadeCache]" = OrderedDict()  # by the id of the run


def get_cache(run: str, stage: int) -> CascadeCache:
    """The cache of the run with this id, prepared for this stage. The least recently used caches are dropped."""
    cache = CASCADE_CACHES.setdefault(run, CascadeCache())
    CASCADE_CACHES.move_to_end(run)
    while len(CASCADE_CACHES) > MAX_RUNS:
        CASCADE_CACHES.popitem(last=False)
    cache.stage = stage
    return cache


def forget_run(run: str) -> None:
    """Drop the cache of a run after its end."""
    CASCADE_CACHES.pop(run, None)
