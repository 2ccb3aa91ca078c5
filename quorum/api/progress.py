"""What a method does now, in words: "searching", "reading 3 of 5"."""

from collections import Counter
from dataclasses import replace
from typing import TypeVar

from quorum.api.events import NodeFinished, NodeStarted

NodeEvent = TypeVar("NodeEvent", NodeStarted, NodeFinished)
SEARCHING = frozenset(
    {
        *("begin", "retrieve", "search", "search_and_filter", "next_query", "blend_queries", "observe"),
        *("search_tool", "collect_passages", "open_document", "note_seed", "collect_observations"),
    }
)
TURN = frozenset({"begin_turn", "stand_alone"})  # of a follow-up question
READING_ALONE = frozenset({"passage_answer"})
CHECKING = frozenset({"verify", "choose_verified", "validate", "rank_pair", "select_candidate", "unknown_check"})
ENDING = frozenset({"find_evidence", "abstain", "shorten", "shorten_again", "end_turn"})


class Progress:
    """Follows the nodes of one method, and says what it does.

    >>> progress = Progress()
    >>> progress.read(NodeStarted("retrieve"))
    'searching'
    >>> [progress.read(NodeStarted("passage_answer")) for _ in range(5)][-1]
    'reading 1 of 5'
    >>> progress.read(NodeFinished("passage_answer", {}))
    'reading 2 of 5'
    """

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        self.finished: Counter[str] = Counter()
        self.text = "starting"

    def tell(self, event: NodeEvent) -> NodeEvent:
        """The event, with what the method does after it."""
        return replace(event, phase=self.read(event))

    def read(self, event: NodeStarted | NodeFinished) -> str:
        """What the method does after an event."""
        counts = self.finished if isinstance(event, NodeFinished) else self.started
        counts[event.node] += 1
        is_running = self.started[event.node] > self.finished[event.node]
        if is_running or isinstance(event, NodeStarted):
            self.text = self.describe(event.node)
        return self.text

    def describe(self, node: str) -> str:
        if node in SEARCHING:
            return "searching"
        if node in TURN:
            return "reading the conversation"
        if node in ENDING:
            return "finding where the answer stands"
        words = "checking" if node in CHECKING else "reading"
        count = self.started[node]
        if node in READING_ALONE or (words == "checking" and count > 1):
            return f"{words} {min(self.finished[node] + 1, count)} of {count}"
        return "voting" if node == "vote" else words
