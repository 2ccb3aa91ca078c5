"""What happens in a run: one vocabulary for `quorum.stream`, the server, the terminal and the page.

`quorum.api.event_json` writes an event as JSON, under the name in its class variable `type`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from quorum.core.state import Result, Vote

Remedy = Literal["retry", "change", "wait"]


@dataclass(frozen=True)
class Event:
    """Something that happened in a run. Ignore kinds of events that you do not know: later versions may add some."""

    type: ClassVar[str] = ""

    method: str = field(default="", kw_only=True)
    """In a run of several methods, the method that it happened to, with its settings, such as sure[k=3]; empty in the
    events of `quorum.stream`, which runs one method.
    """


@dataclass(frozen=True)
class RunStarted(Event):
    """The first event: methods are asked a question. In a run on a server it comes again when a method is retried."""

    type: ClassVar[str] = "run_started"

    question: str
    """The question as it was asked."""
    methods: Sequence[str]
    """The methods that are asked now."""
    answered_text: str = ""
    """In a run of several methods on a server, how many have answered, in words."""
    reader_text: str = ""
    """In a run on a server, what answers in place of the model that was asked, in words; else empty."""


@dataclass(frozen=True)
class NodeStarted(Event):
    """A node has begun. A node that runs once per passage begins several times."""

    type: ClassVar[str] = "node_started"

    node: str
    """The node's name, as in the method's diagram."""
    inside: tuple[str, ...] = ()
    """As in `NodeFinished`."""
    phase: str = ""
    """What the method does from now on, in words: "searching", "reading 3 of 5"."""


@dataclass(frozen=True)
class NodeFinished(Event):
    """A node has finished."""

    type: ClassVar[str] = "node_finished"

    node: str
    """The node's name, as in the method's diagram."""
    update: Mapping[str, Any]
    """What the node changed in the state."""
    inside: tuple[str, ...] = ()
    """If the node belongs to a subgraph, the nodes that contain it, the outermost first; empty for a node of the method
    itself.
    """
    phase: str = ""
    """What the method does now, in words: "searching", "reading 3 of 5"."""


@dataclass(frozen=True)
class VoteCast(Event):
    """A passage has given its answer. Its weight, where a method weighs votes, is known only in the result."""

    type: ClassVar[str] = "vote"

    vote: "Vote"
    """The vote, as the result lists it."""


@dataclass(frozen=True)
class CandidateFound(Event):
    """An answer was proposed, among which the method will choose."""

    type: ClassVar[str] = "candidate"

    candidate: str
    """The answer."""
    rank: int
    """Its number, from 0."""


@dataclass(frozen=True)
class AnswerText(Event):
    """The next piece of the answer. All pieces together are the answer of the result: for a long answer and a turn of a
    dialogue its `answer_text`, else its `answer`.

    A long answer and a turn of a dialogue arrive while the model writes them, in Markdown. A short answer and the
    answer of a vote arrive in one piece, when they are final.
    """

    type: ClassVar[str] = "answer_text"

    text: str
    """The piece."""
    replaces: bool = False
    """If True, discard all earlier pieces: the answer begins with this one."""


@dataclass(frozen=True)
class Retrying(Event):
    """A call to a model has failed and will be sent again."""

    type: ClassVar[str] = "retrying"

    cause: str
    """What went wrong, in words that continue the model's name: "does not answer", "answered with an error"."""
    next_try: int
    """The number of the next try of this call; the first try of all is 1."""
    tries: int
    """How many tries there are at most."""
    wait: float
    """Seconds until the next try."""

    @property
    def text(self) -> str:
        """What a view says.

        >>> Retrying("The model of openai:llama at 127.0.0.1 does not answer", 3, 8, 4.0).text
        'The model of openai:llama at 127.0.0.1 does not answer; try 3 of 8.'
        """
        return f"{self.cause}; try {self.next_try} of {self.tries}."


@dataclass(frozen=True)
class MethodFinished(Event):
    """A method has given its answer."""

    type: ClassVar[str] = "method_finished"

    result: "Result"
    """The result, as `answer` returns it."""
    seconds: float | None = None
    """How long the method took on a server; None where this was not measured."""
    groups: Sequence[Mapping[str, Any]] = ()
    """In a run on a server, the distinct answers so far, as in `RunFinished`."""
    answered_text: str = ""
    """As in `RunStarted`."""


@dataclass(frozen=True)
class MethodFailed(Event):
    """A method of a run on a server has failed or was stopped; the others go on. (`quorum.stream` raises an error.)"""

    type: ClassVar[str] = "error"

    code: str
    """What kind of error: "stopped", "interrupted" (the server ended), or a code of OpenAI's protocol."""
    sentence: str
    """What is wrong and what to do, in one sentence."""
    remedy: Remedy = "retry"
    """What may help: "retry" the method as it is, "change" the question or a setting, or "wait" before a retry."""


@dataclass(frozen=True)
class RunFinished(Event):
    """The last event: the run has ended."""

    type: ClassVar[str] = "run_finished"

    result: "Result | None" = None
    """The result of the only method, as `answer` returns it; None in a run on a server, where every method has an
    event of its own.
    """
    groups: Sequence[Mapping[str, Any]] = ()
    """In a run on a server, the distinct answers, the largest group first: {"answer", "unknown", "methods",
    "methods_text"}.
    """
    failures: Sequence[Mapping[str, Any]] = ()
    """In a run on a server, the errors, each once with the methods that failed by it."""
    passages: Sequence[Mapping[str, Any]] = ()
    """In a run on a server, the passages that were read, each once, those that are cited first: {"id", "read_by",
    "voted_by", "cited_by"}.
    """
    passages_text: str = ""
    """In a run on a server, how many passages were read, in words."""
