"""Streams a run: an event for each finished node and each piece of the answer, then the result."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from quorum.api.events import AnswerText as AnswerText
from quorum.api.events import CandidateFound as CandidateFound
from quorum.api.events import Event as Event
from quorum.api.events import MethodFailed as MethodFailed
from quorum.api.events import MethodFinished as MethodFinished
from quorum.api.events import NodeFinished as NodeFinished
from quorum.api.events import NodeStarted as NodeStarted
from quorum.api.events import Retrying as Retrying
from quorum.api.events import RunFinished as RunFinished
from quorum.api.events import RunStarted as RunStarted
from quorum.api.events import VoteCast as VoteCast
from quorum.api.progress import Progress
from quorum.core.same_parameters import takes_parameters_of
from quorum.graphs import DEFAULT_METHOD, answer, find_method

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from quorum.core.context import Context
    from quorum.core.state import Passage, Question, Result
    from quorum.graphs import Graph


class AnswerReader:
    """Finds the answer in the messages that a graph streams.

    shown_answer: the pieces of the answer returned so far, joined; visible_reply: the current reply so far,
    without its thoughts; shows_marks: whether the answer shows the marks of cited passages; is_withdrawn: the pieces
    returned before are no part of the answer, and the next piece must replace them; replies: {message id: text so far}
    of the newest message only.
    """

    def __init__(self, question: str, *, shows_marks: bool = True) -> None:
        self.question, self.shown_answer, self.visible_reply, self.is_withdrawn = question, "", "", False
        self.shows_marks = shows_marks
        self.replies: dict[str, str] = {}
        # The length from which a growing reply is parsed again: parsing it after each piece would take quadratic time.
        self.next_length = 0

    def read(self, message: Any, metadata: Mapping[str, Any]) -> AnswerText | None:
        """The text that a piece of a message adds to the answer; None if it adds none yet, or belongs to no answer."""
        from quorum.core.citation_marks import strip_marks_so_far
        from quorum.core.json_text import replace_lone_surrogates
        from quorum.core.visible_text import find_visible
        from quorum.graphs.visible_messages import BEGINS_ANEW
        from quorum.prompts.partial_answers import has_streamed_answer, read_partial_answer

        prompt = str(metadata.get("prompt") or "")
        # A prompt with a detail, such as "passage 2", is one of several for the question: its reply is not the answer.
        if metadata.get("prompt_detail") or not has_streamed_answer(prompt):
            return None
        earlier_text = self.replies.get(str(message.id), "")
        if metadata.get(BEGINS_ANEW):
            earlier_text = ""
            self.withdraw()
        text = earlier_text + str(message.text)
        self.replies = {
            str(message.id): text
        }  # only the newest message: a repeated call has a new id, so its text starts empty
        if earlier_text and len(text) < self.next_length:
            return None
        self.next_length = len(text) + len(text) // 32
        visible_text = find_visible(text, is_whole=False)  # graphs other than ours stream thoughts too
        if earlier_text and not visible_text.startswith(self.visible_reply):
            self.withdraw()
        self.visible_reply = visible_text
        answer = replace_lone_surrogates(read_partial_answer(prompt, visible_text, self.question))
        if not self.shows_marks:
            answer = strip_marks_so_far(answer)
        return self.show(answer) if answer.startswith(self.shown_answer) else None

    def show(self, answer: str) -> AnswerText | None:
        """The part of the answer that has not been shown yet; None if there is none."""
        piece, self.shown_answer = answer[len(self.shown_answer) :], answer
        if not piece:
            return None
        replaces, self.is_withdrawn = self.is_withdrawn, False
        return AnswerText(piece, replaces=replaces)

    def withdraw(self) -> None:
        """Discard the shown text, which turned out to be a thought."""
        self.is_withdrawn, self.shown_answer = self.is_withdrawn or bool(self.shown_answer), ""

    def finish(self, answer: str) -> AnswerText:
        """The last piece of an answer.

        answer: the whole answer; if it does not begin with the shown text, the piece is all of it, and replaces that
        text.
        """
        if answer.startswith(self.shown_answer):
            return self.show(answer) or AnswerText("", replaces=self.is_withdrawn)
        return AnswerText(answer, replaces=True)


@takes_parameters_of(answer)
def stream(
    question: str, method: "str | Graph" = DEFAULT_METHOD, context: "Context | None" = None, **inputs: Any
) -> AsyncIterator[Event]:
    """Answer one question as `answer` does, and yield events while it runs.

    The parameters are those of `answer`. Yields a `RunStarted`; a `NodeStarted` and a `NodeFinished` for every node, in
    the order in which they begin and finish (several times for a node that runs once per passage); a `VoteCast` and a
    `CandidateFound` for every vote and candidate; an `AnswerText` for every piece of the answer; and last a
    `MethodFinished` and a `RunFinished`, whose `result` is what `answer` returns. Leaving the loop early cancels the
    run; close the iterator (`contextlib.aclosing`) to wait until the run has stopped.

    Raises SetupError for a mistake in input or configuration, CallError when a model call failed after its retries.
    With `Context.calibration` no piece of the answer comes before the run has ended. Only the updates of nodes before
    the node `abstain` may hold an answer that this node withholds.

    >>> import asyncio, quorum
    >>> async def main():
    ...     async for event in quorum.stream("Who wrote the Zen of Python?", "post_fusion", quorum.Context(k=2)):
    ...         if isinstance(event, quorum.NodeFinished) and not event.inside:
    ...             print(event.node)
    ...         elif isinstance(event, quorum.RunFinished):
    ...             print(event.result["answer"])
    >>> asyncio.run(main())
    begin
    retrieve
    passage_answer
    passage_answer
    vote
    find_evidence
    Tim Peters
    """
    from quorum.graphs.choose_method import choose_method

    method, context = choose_method(method, context, given=inputs.get("given") is not None)
    return add_support_to_result(question, context, stream_run(question, method, context, **inputs))


async def add_support_to_result(question: str, context: "Context | None", run: Any) -> AsyncIterator[Event]:
    """The events of a run, the last one with what the passages say about the answer."""
    from quorum.api.answer import add_support

    async with aclosing(run) as events:
        async for event in events:
            if isinstance(event, RunFinished) and event.result is not None:
                result = await add_support(question, event.result, context)
                yield MethodFinished(result)
                event = RunFinished(result)
            yield event


async def stream_run(
    question: str,
    method: "str | Graph",
    context: "Context | None",
    *,
    given: "Sequence[Passage] | None" = None,
    gold_answers: Sequence[str] | None = None,
    history: Sequence[Mapping[str, str]] = (),
    config: "RunnableConfig | None" = None,
) -> AsyncIterator[Event]:
    """Like `stream`, but the result says nothing about support."""
    from quorum.core.context import Context
    from quorum.core.shown_answer import get_shown_answer
    from quorum.core.state_updates import unwrap_overwrites
    from quorum.models.failed_tries import FailedTry

    state: Question = {
        "question": question,
        "given": None if given is None else list(given),
        "gold_answers": None if gold_answers is None else list(gold_answers),
    }
    graph: Any = find_method(method).graph if isinstance(method, str) else method
    settings, inputs = context or Context(), cast("Any", state)
    is_shown_early = is_shown_while_written(graph, settings, question, bool(history))
    reader = AnswerReader(question, shows_marks=settings.citations == "auto")
    yield RunStarted(question, (method if isinstance(method, str) else str(getattr(graph, "name", None) or "graph"),))
    modes = ["updates", "values", "tasks", "custom", *(["messages"] if is_shown_early else [])]
    if history:
        from quorum.graphs.conversation import prepare_conversation

        graph, inputs = prepare_conversation(graph, state, history)
    progress = Progress()
    final_state: dict[str, Any] = {}
    found = Findings()
    chunks: Any = graph.astream(inputs, config, context=settings, stream_mode=modes, subgraphs=True)
    async with aclosing(chunks):
        async for namespace, mode, chunk in chunks:
            if mode == "messages":
                if piece := reader.read(*chunk):
                    yield piece
            elif mode == "values":
                final_state = final_state if namespace else chunk
            elif mode == "custom":
                if isinstance(chunk, FailedTry):  # a node of one's own may write anything
                    yield Retrying(chunk.cause, chunk.next_try, chunk.tries, chunk.wait)
            elif mode == "tasks":
                if "input" in chunk:  # a task that has begun; the update of one that has ended comes by itself
                    yield progress.tell(NodeStarted(chunk["name"], get_outer_nodes(namespace)))
            else:
                for node, update in chunk.items():
                    if not node.startswith("__"):  # LangGraph's own updates, such as __interrupt__, come from no node
                        outer_nodes = get_outer_nodes(namespace)
                        yield progress.tell(NodeFinished(node, unwrap_overwrites(update or {}), outer_nodes))
                        for finding in found.read(node, update or {}, outer_nodes):
                            yield finding
    result = cast("Result", {name: final_state[name] for name in list_result_names(graph) if name in final_state})
    if "answer" in result:
        yield reader.finish(get_shown_answer(result))
    yield RunFinished(result)


def get_outer_nodes(namespace: Sequence[str]) -> tuple[str, ...]:
    """The names of the nodes that contain a subgraph, from its namespace in LangGraph's stream."""
    return tuple(name.partition(":")[0] for name in namespace)


class Findings:
    """Finds new votes and candidates in the updates of nodes.

    outer_paths: the nodes whose own subgraph has reported them; the update of such a node holds them once more.
    """

    def __init__(self) -> None:
        self.outer_paths: set[tuple[str, ...]] = set()
        self.candidates: list[str] = []

    def read(self, node: str, update: Mapping[str, Any], outer_nodes: tuple[str, ...]) -> Iterator[Event]:
        """The votes and candidates that a node adds. Votes that a node only weighs or clears are not new."""
        self.outer_paths.add(outer_nodes)
        if (*outer_nodes, node) in self.outer_paths:
            return
        votes, candidates = update.get("votes"), update.get("candidates")
        if isinstance(votes, list):  # votes that replace all earlier ones are wrapped in an Overwrite
            yield from (VoteCast(vote) for vote in votes)
        if isinstance(candidates, list) and candidates != self.candidates:
            self.candidates = list(candidates)
            yield from (CandidateFound(candidate, rank) for rank, candidate in enumerate(candidates))


async def answer_and_report(
    question: str,
    method: "str | Graph",
    context: "Context",
    on_event: "Callable[[Event], None]",
    **inputs: Any,
) -> "Result":
    """Answer as `quorum.graphs.answer` does, and call `on_event` with every event of `stream_run`. inputs: the further
    parameters of `answer`.

    With a calibration, nodes have no updates, and votes and candidates are left out: nothing may be shown before the
    confidence is known. The answer then comes in one piece.
    """
    result: dict[str, Any] = {}
    run: Any = stream_run(question, method, context, **inputs)
    async with aclosing(run) as events:
        async for event in events:
            if context.calibration is None or not isinstance(event, NodeFinished | VoteCast | CandidateFound):
                on_event(event)
            elif isinstance(event, NodeFinished):
                on_event(replace(event, update={}))
            if isinstance(event, RunFinished):
                result = cast("dict[str, Any]", event.result)
    return cast("Result", result)


def is_shown_while_written(graph: "Graph", context: "Context", question: str, may_be_rewritten: bool) -> bool:
    """Whether the answer is one long reply, which can be shown while the model writes it.

    False for a cascade, which may reject the answer of a stage, for several samples, of which the most frequent wins,
    and with a calibration, which may withhold the answer.
    may_be_rewritten: the question may be a follow-up question, whose kind is known only when it is rewritten.
    """
    from quorum.graphs.composed import get_composed_cascade
    from quorum.nodes.answer_types import get_answer_type

    is_cascade = get_composed_cascade(graph) is not None
    answer_type = get_answer_type(context, question)
    may_be_long = answer_type in ("long", "dialogue") or (may_be_rewritten and context.answer_type == "auto")
    return may_be_long and context.samples == 1 and not is_cascade and not context.calibration


def list_result_names(graph: "Graph") -> Sequence[str]:
    """The names of the state fields that a graph returns, without the messages of a conversation."""
    names = graph.output_channels
    return [names] if isinstance(names, str) else [name for name in names if name != "messages"]
