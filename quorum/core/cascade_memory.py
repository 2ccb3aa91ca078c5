"""A cascade's memory of a question: the searches and model calls of its earlier stages.

A cascade's stages are whole methods, so a later stage may repeat searches and calls of an earlier one. `CASCADE_MEMORY`
is set while a stage runs; retrieval and the model's calls look there first.
"""

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MAX_RUNS = 256  # runs of cascades that this process remembers


@dataclass
class CascadeMemory:
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


CASCADE_MEMORY: ContextVar[CascadeMemory | None] = ContextVar("CASCADE_MEMORY", default=None)
CASCADE_MEMORIES: "OrderedDict[str, CascadeMemory]" = OrderedDict()


def get_memory(run: str, stage: int) -> CascadeMemory:
    """The memory of the run with this id, prepared for this stage. The least recently used runs are forgotten."""
    memory = CASCADE_MEMORIES.setdefault(run, CascadeMemory())
    CASCADE_MEMORIES.move_to_end(run)
    while len(CASCADE_MEMORIES) > MAX_RUNS:
        CASCADE_MEMORIES.popitem(last=False)
    memory.stage = stage
    return memory


def forget_run(run: str) -> None:
    """Drop the memory of a run after its end."""
    CASCADE_MEMORIES.pop(run, None)
