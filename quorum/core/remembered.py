"""A cascade's memory of a question: the searches and model calls of its earlier stages.

A cascade's stages are whole methods, so a later one may search and ask what an earlier one did. `REMEMBERED` is set
while a stage runs; retrieval and the model's calls look there first.
"""

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MOST_RUNS = 256  # cascades in flight, in this process, of which something is remembered


@dataclass
class Remembered:
    """stage: the number of the stage that runs; searches: by retriever and query, what was found; replies: by call, the
    stage that asked and what came.
    """

    stage: int = 0
    searches: dict[Any, Any] = field(default_factory=dict)
    replies: dict[Any, tuple[int, Any]] = field(default_factory=dict)

    def reply_of_earlier_stage(self, call: Any) -> Any | None:
        """What came when an earlier stage made the same call; None where none did."""
        stage, found = self.replies.get(call, (self.stage, None))
        return found if stage < self.stage else None

    def keep_reply(self, call: Any, reply: Any) -> None:
        """Keep the first reply to a call."""
        self.replies.setdefault(call, (self.stage, reply))


REMEMBERED: ContextVar[Remembered | None] = ContextVar("REMEMBERED", default=None)
RUNS: "OrderedDict[str, Remembered]" = OrderedDict()


def remembered_of(run: str, stage: int) -> Remembered:
    """What is remembered of a run, by its id, for its next stage; the oldest runs are forgotten."""
    found = RUNS.setdefault(run, Remembered())
    RUNS.move_to_end(run)
    while len(RUNS) > MOST_RUNS:
        RUNS.popitem(last=False)
    found.stage = stage
    return found


def forget(run: str) -> None:
    """Drop the memory of a run that has ended."""
    RUNS.pop(run, None)
