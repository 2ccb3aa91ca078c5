"""A rehearsal: a column answers a question with the embedded reader in place of a chat model.

The column sends the prompts that it would send to the chat model, with the real passages, at no cost.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import LLMResult

from quorum.cascades.rehearsal import mark_rehearsal
from quorum.core.context import Context, get_filter_spec
from quorum.core.errors import QuorumError, SetupError
from quorum.core.state import Usage
from quorum.datasets.records import Record
from quorum.evaluation.compare.call_bounds import compute_call_bounds
from quorum.evaluation.compare.prefix_cache import reads_all_documents
from quorum.evaluation.metrics.prices import find_model_of_prompt
from quorum.evaluation.run.ask_question import answer_question
from quorum.evaluation.run.callbacks import read_usage
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.eligibility import has_only_embedded_models
from quorum.evaluation.run.spending import LimitReachedError
from quorum.models.messages import write_messages
from quorum.models.rerankers import is_server_reranker
from quorum.nodes.cuts import wants_short_answer
from quorum.nodes.document_budget import DocumentsTooLongError, make_too_long_error
from quorum.nodes.documents import DOCUMENTS_SUBJECT
from quorum.nodes.fit_window import DEFAULT_WINDOW, find_known_window
from quorum.prompts.prompt import REPLY_TOKENS
from quorum.prompts.registry import find_prompt
from quorum.retrievers.documents import UnorderedDocumentsError

LONG_REPLY_TOKENS = REPLY_TOKENS["long"]  # of a call that is no prompt's


@dataclass
class RehearsedCall:
    """One call of a rehearsal, as the comparison would make it.

    key: of several calls with the same key, the comparison would send only the first. input_tokens, output_tokens: what
    the comparison's model would use; of the input, cached_tokens come from the server's prefix cache. repeated_text:
    the prompt, if its beginning is the same for every question, else empty (see `prefix_cache`). left_out: passages
    that this answer leaves out because nothing says how long the model's window is; stated once for each answer.
    """

    prompt_name: str
    key: str
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    # Whether the comparison, like the rehearsal, sends this call to the embedded reader. If so, output_tokens is exact,
    # else a guess.
    is_by_embedded_reader: bool = False
    # A chat model is asked once more if its reply is wordy and the embedded reader cannot read the answer in it.
    may_ask_for_shorter_reply: bool = False
    cached_tokens: float = 0.0
    repeated_text: str = field(default="", repr=False)
    left_out: int = 0


class CallRecorder(AsyncCallbackHandler):
    """Collects the calls of one column for one question. context: the context with which the comparison will ask;
    contexts: those of the steps of a cascade, which may ask models of their own.
    """

    def __init__(self, context: Context, contexts: Sequence[Context] = ()) -> None:
        self.context, self.contexts = context, contexts or [context]
        self.calls: list[RehearsedCall] = []
        self.open_calls: dict[UUID, RehearsedCall] = {}

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        prompt_name = str((metadata or {}).get("prompt") or "")
        models = [find_model_of_prompt(prompt_name, context) for context in self.contexts]
        prompt, model = find_prompt(prompt_name), next((model for model in models if model != "embedded"), models[0])
        text = write_messages(messages[0])
        decoding = (self.context.temperature, self.context.top_p, self.context.seed)
        number = len(self.calls) if self.context.temperature else 0  # two samples of one prompt get two keys
        key = sha256(f"{model}\n{decoding}\n{number}\n{text}".encode("utf-8", "replace")).hexdigest()
        is_by_reader = model == "embedded"
        may_ask_for_shorter_reply = (
            self.context.shorten in ("auto", "model")
            and not is_by_reader
            and prompt is not None
            and prompt.short_answer != "items"
            and wants_short_answer(prompt, self.context)
        )
        self.open_calls[run_id] = RehearsedCall(
            prompt_name, key, is_by_embedded_reader=is_by_reader, may_ask_for_shorter_reply=may_ask_for_shorter_reply
        )
        if kwargs.get("name") == f"{prompt_name}: {DOCUMENTS_SUBJECT}" and reads_all_documents(self.contexts):
            self.open_calls[run_id].repeated_text = text
        self.calls.append(self.open_calls[run_id])

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        call, usage = self.open_calls.pop(run_id), read_usage(response)
        call.input_tokens = usage.get("input_tokens", 0)
        reply_tokens = float(usage.get("output_tokens", 0))
        call.output_tokens = (
            reply_tokens if call.is_by_embedded_reader else max(reply_tokens, guess_reply_tokens(call.prompt_name))
        )


def guess_reply_tokens(prompt_name: str) -> float:
    """The tokens that a chat model's reply to the prompt is assumed to have."""
    prompt = find_prompt(prompt_name)
    return LONG_REPLY_TOKENS if prompt is None else prompt.reply_tokens


async def rehearse_method(
    record: Record, column: Column, task: str, uses_given_passages: bool, spending: AsyncCallbackHandler | None
) -> list[RehearsedCall]:
    """The calls that a column makes for a question, with the embedded reader in place of a chat model.

    If the answer fails, the calls made so far are completed by `add_missing_calls`. spending: a callback that counts
    calls. It is used only if the embedded reader is the column's only chat model: then the calls are those of the
    comparison, which later finds their replies in the journal.
    """
    context = column.make_context(task)
    contexts = column.list_contexts(context)
    known_window, window = await find_windows(context)
    recorder, is_free = CallRecorder(context, contexts), all(map(has_only_embedded_models, contexts))
    callbacks: list[Any] = [recorder, spending] if spending is not None and is_free else [recorder]
    if not is_free:
        # The method filco filters also if the user chose no filter. "llm" without a name is the context's own model.
        filter_name = get_filter_spec(context) if column.method == "filco" else context.context_filter or ""
        context = replace(
            context,
            model="embedded",
            verifier=None,
            context_filter="llm" if filter_name.startswith("llm") else context.context_filter,
            reranker="reader" if is_server_reranker(context.reranker) else context.reranker,
            context_window=window,
        )
    try:
        with mark_rehearsal():
            result = await answer_question(
                record,
                replace(column, context=context),
                context,
                uses_given_passages=uses_given_passages,
                config={"callbacks": callbacks},
            )
    except DocumentsTooLongError as error:  # the comparison would fail, too, after other methods' calls were paid for
        raise make_too_long_error(error.needed, known_window, column.make_context(task).model) from None
    except (UnorderedDocumentsError, LimitReachedError):
        raise
    except QuorumError:
        return add_missing_calls(recorder.calls, compute_call_bounds(column)[0])
    if recorder.calls and window is not None and known_window is None:
        recorder.calls[-1].left_out = result.get("dropped") or 0
    return recorder.calls + list_uncalled_work(column.name, recorder.calls, result.get("usage") or {})


async def find_windows(context: Context) -> tuple[int | None, int | None]:
    """(the tokens of the model's window, if they are known; those that a run assumes). Both are None for a model that
    cannot be made here, for example for want of a key.
    """
    try:
        known_window = await find_known_window(context, context.model)
    except SetupError:
        return None, None
    return known_window, known_window or DEFAULT_WINDOW


def list_uncalled_work(
    column_name: str, calls: Sequence[RehearsedCall], usage: Mapping[str, Usage]
) -> list[RehearsedCall]:
    """What a result counts as calls although no chat model was called: the work of a context filter that scores
    sentences, and the call that a user's own system was spared. column_name: each column does this work for itself.

    calls: those of chat models; usage: what the result counts, by the prompts' names.
    """
    called = Counter(call.prompt_name for call in calls)
    return [
        RehearsedCall(
            prompt,
            f"{column_name} {prompt} {number}",
            counts["input_tokens"] / counts["calls"],
            counts["output_tokens"] / counts["calls"],
            is_by_embedded_reader=True,
        )
        for prompt, counts in usage.items()
        if not called[prompt]
        for number in range(counts["calls"])
    ]


def add_missing_calls(calls: list[RehearsedCall], fewest_calls: float) -> list[RehearsedCall]:
    """The calls of a failed answer, completed to `fewest_calls`, the fewest that the method makes: the last call is
    repeated as often as needed. If there is no call at all, the list stays empty.
    """
    return calls + [
        replace(calls[-1], key=f"{calls[-1].key} {number}") for number in range(len(calls), int(fewest_calls)) if calls
    ]
