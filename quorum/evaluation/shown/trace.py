"""Collects the steps of a run by LangChain callbacks: nodes, prompts, replies, tokens, time. Converts them to JSON."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from quorum.core.redaction import redact_secrets
from quorum.core.state_updates import unwrap_overwrites
from quorum.evaluation.run.callbacks import get_node_name, read_message, read_reply_text, read_usage
from quorum.models.messages import write_messages
from quorum.models.tracing import copy_without_secrets, hides_passages

FORMAT_NAME = "quorum trace 1"
Listener = Callable[["Step"], None]


@dataclass
class Step:
    """A step of a run.

    kind: "run" (the root, which holds all other steps), "graph", "node", "call" (of a model) or "search" (by a
    retriever). seconds: None while the step runs. prompt: the prompt of a call, the query of a search. details: facts
    such as a prompt's version, the numbers of tokens or the number of passages. changes: what a node changed in the
    state (see `describe_changes`). error: the message of the exception that ended the step. steps: the steps inside it.
    """

    kind: str
    name: str
    started_at: float = field(default_factory=time.perf_counter)
    seconds: float | None = None
    prompt: str = ""
    reply: str = ""
    reasoning: str = ""
    details: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    error: str | None = None
    steps: list["Step"] = field(default_factory=list)


class Tracer(AsyncCallbackHandler):
    """Collects the steps of one run below `root`, and calls `listener` with each step when it ends."""

    run_inline = True  # LangChain calls us in the run's own task, which is faster

    def __init__(self, listener: Listener = lambda step: None) -> None:
        self.root = Step("run", "run")
        self.listener = listener
        self.open_steps: dict[UUID, Step] = {}
        # The id of a LangChain run -> the run's step or, if the run has none, the step of its nearest ancestor.
        self.step_of_run: dict[UUID, Step] = {}

    def begin_step(self, step: Step | None, run_id: UUID, parent: UUID | None) -> None:
        """Attach a run's step to the step of its nearest ancestor. step: None for an internal run of LangGraph."""
        parent_step = self.step_of_run.get(parent, self.root) if parent is not None else self.root
        if step is not None:
            parent_step.steps.append(step)
            self.open_steps[run_id] = step
        self.step_of_run[run_id] = step or parent_step

    def end_step(self, run_id: UUID, **outcome: Any) -> None:
        """Set the fields of a run's step, which has ended, to `outcome`, and report the step to the listener."""
        step = self.open_steps.pop(run_id, None)
        if step is None:
            return
        step.seconds = time.perf_counter() - step.started_at
        for name, value in outcome.items():
            setattr(step, name, value)
        self.listener(step)

    async def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        node = get_node_name(kwargs.get("name"), parent_run_id, metadata)
        step = None if node is None else Step("node", node)
        if parent_run_id is None:
            step = Step("graph", str(kwargs.get("name") or ""))
        self.begin_step(step, run_id, parent_run_id)

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        step = self.open_steps.get(run_id)
        is_node = step is not None and step.kind == "node" and isinstance(outputs, dict)
        self.end_step(run_id, changes=describe_changes(step.name, outputs) if step is not None and is_node else [])

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.end_step(run_id, error=describe_failure(error))

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        call_metadata = metadata or {}
        details = [f"prompt {call_metadata['prompt_version']}"] if call_metadata.get("prompt_version") else []
        details += ["stored reply"] if call_metadata.get("reused") else []
        step = Step("call", str(kwargs.get("name") or "call"), details=details)
        step.prompt = clean_text(write_messages(messages[0]))
        self.begin_step(step, run_id, parent_run_id)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        usage = read_usage(response)
        if run_id in self.open_steps and usage:
            self.open_steps[run_id].details.append(
                f"{usage['input_tokens']:,} tokens in, {usage['output_tokens']:,} out"
            )
        reasoning = str(getattr(read_message(response), "additional_kwargs", {}).get("reasoning_content") or "")
        self.end_step(run_id, reply=clean_text(read_reply_text(response)), reasoning=clean_text(reasoning))

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.end_step(run_id, error=describe_failure(error))

    async def on_retriever_start(
        self, serialized: dict[str, Any], query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        self.begin_step(
            Step("search", str(kwargs.get("name") or "search"), prompt=clean_text(query)), run_id, parent_run_id
        )

    async def on_retriever_end(self, documents: Sequence[Document], *, run_id: UUID, **kwargs: Any) -> None:
        self.end_step(run_id, details=[f"{len(documents)} passages"])

    async def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self.end_step(run_id, error=describe_failure(error))


def clean_text(text: str) -> str:
    """A text without secrets; if passages must be hidden (`hides_passages`), a placeholder for the text."""
    return str(copy_without_secrets(text, hides_passages()))


def describe_failure(error: BaseException) -> str:
    """The error's message without secrets; if passages must be hidden or there is no message, the error's type."""
    error_type = type(error).__name__
    return error_type if hides_passages() else clean_text(redact_secrets(str(error))) or error_type


# Key of the state -> how its value is shown. Changes of other keys are not shown.
VALUE_FORMATS: dict[str, Callable[[Any], str]] = {
    "answer": str,
    "unknown": lambda unknown: "yes",  # False is not shown
    "candidates": ", ".join,
    "votes": lambda votes: ", ".join(vote["answer"] for vote in votes),
    "passages": lambda passages: str(len(passages)),
    "summaries": lambda summaries: str(len(summaries)),
    "confidence": "{:.2f}".format,
    "dropped": str,
}


def describe_changes(node: str, update: dict[str, Any]) -> list[str]:
    """What a node changed in the state, in a few words: 'answer: 1889', 'passages: 5'.

    Empty values, False and counts of 0 are left out, but not a confidence of 0. The list is empty for the nodes `begin`
    and `begin_turn`, which only clear the state.

    >>> describe_changes("vote", {"answer": "1889", "unknown": False, "confidence": 0.0, "dropped": 0})
    ['answer: 1889', 'confidence: 0.00']
    """
    if node in ("begin", "begin_turn"):
        return []
    changed_values = unwrap_overwrites(update)
    lines = [
        f"{key}: {format_value(value)}"
        for key, format_value in VALUE_FORMATS.items()
        if (value := changed_values.get(key)) not in (None, [], 0, "") or (key == "confidence" and value == 0)
    ]
    # The key "answer" makes a short line count as an answer, which is shown even if passages must be hidden.
    return [str(copy_without_secrets({"answer": line}, hides_passages())["answer"]) for line in lines]


def step_to_json(step: Step) -> dict[str, Any]:
    """A step as JSON, without empty fields, and without its start time, which has no meaning in another process."""
    fields = {
        name: value for name, value in asdict(step).items() if value not in (None, "", []) and name != "started_at"
    }
    return fields | ({"steps": [step_to_json(inner) for inner in step.steps]} if step.steps else {})


def read_step(saved_step: dict[str, Any]) -> Step:
    """The step that `step_to_json` converted."""
    return Step(**saved_step | {"steps": [read_step(inner) for inner in saved_step.get("steps", [])]})
