"""Asks one prompt: renders it, fits it to the model's window, calls the model, parses and counts the replies."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from quorum.core.citation_marks import cut_invented_passages, strip_marks
from quorum.core.context import Context, get_context, get_filter_model
from quorum.core.errors import TooLong
from quorum.core.state import CountedReplies, Draft, Passage, State, Usage, merge_counted_replies, merge_usage
from quorum.core.text import UNKNOWN
from quorum.models.call import Reply, call
from quorum.models.token_estimate import estimate_tokens
from quorum.nodes.answer_types import resolve_for_prompt
from quorum.nodes.citations import check_citations, cites
from quorum.nodes.cuts import wants_short_answer
from quorum.nodes.fit_window import find_window, fit_into_window, keep_passages, warn_of_assumed_window
from quorum.nodes.leaks import find_demonstration_answers, list_absent_answers, remove_leaked_answers
from quorum.nodes.read_replies import forget_unfinished_answer, get_answer, is_cut_off, read_short_answers
from quorum.parsing.answer_text import find_answer_text
from quorum.parsing.answers import Parsed
from quorum.parsing.reply_forms import ReplyForm
from quorum.prompts import RenderedPrompt, get_text, load_overrides, render_prompt
from quorum.prompts.citing import choose_texts
from quorum.prompts.escape import escape_variables, undo_escapes
from quorum.prompts.passages import format_passages_or_placeholder
from quorum.prompts.prompt import Prompt

T = TypeVar("T")

REFUSED_PARTS = 10  # after a refusal of the server one tenth of the passages is dropped: each try is a request


@dataclass(frozen=True)
class ParsedReplies(Generic[T]):
    """The parsed replies to one prompt.

    values: one parsed value per reply; texts: the words of each reply that answer the question, as the model wrote them
    (`find_answer_text`), in the order of the values; shown: the passages that the prompt showed, because they fitted
    into the window; state_update: the counters of calls and replies, as keys of the state.
    """

    values: list[T]
    texts: list[str]
    shown: list[Passage]
    state_update: State


async def ask(
    prompt: Prompt[T],
    runtime: Runtime[Context],
    /,
    *,
    passages: Sequence[Passage] | None = None,
    layout: Callable[[Sequence[Passage]], str] = format_passages_or_placeholder,
    drop_order: Sequence[int] | None = None,
    call_subject: str = "",
    n: int = 1,
    temperature: float | None = None,
    cuts_later: bool = False,
    **inputs: str | list[str],
) -> ParsedReplies[T]:
    """Ask one prompt n times and parse the replies.

    passages: None for a prompt without passages. inputs: the prompt's other variables; a list becomes one line per
    item.
    layout: writes the text of $passages from the passages for which the window has room; the default numbers them, and
    writes '(none)' for an empty list.
    drop_order: the numbers of the passages, from 0, in the order in which they are left out if they do not fit; None:
    the last first.
    call_subject: what this call is about, for traces. temperature: replaces that of the context.
    cuts_later: leave wordy answers, which only one more call of the model makes short, to the node `shorten`: the state
    update then has a `draft`. Otherwise this call is made here.

    Leaves out passages until the prompt fits the window, both by our estimate and by the server's reply.
    If the prompt asks for a short answer, it is read out of the reply (`quorum.nodes.read_replies`). An answer of a
    demonstration that no passage has is unknown, and its reply is malformed (`quorum.nodes.leaks`). Raises TooLong if
    not even one passage fits.
    """
    question = inputs.get("question")
    context = resolve_for_prompt(get_context(runtime), prompt, question)
    model = choose_model(prompt, context)
    json_form = find_form(prompt, inputs, len(passages or ()), context)
    overrides = await read_prompt_overrides(context)

    async def send(rendered_prompt: RenderedPrompt, shown: list[Passage]) -> Sequence[Reply]:
        return await call(
            prompt.name,
            rendered_prompt.text,
            context=context,
            prompt_version=rendered_prompt.version,
            call_subject=call_subject,
            inputs={**inputs} if passages is None else {**inputs, "passages": shown},
            n=n,
            temperature=temperature,
            model=model,
            schema=json_form.schema if json_form else None,
        )

    variables = escape_variables(
        {name: value if isinstance(value, str) else format_list(value) for name, value in inputs.items()}
    )
    window = await find_window(context, context.model if model is None else model)
    replies, shown = await send_what_fits(
        lambda shown: render_prompt(
            prompt.name, overrides, **variables, **({} if passages is None else {"passages": layout(shown)})
        ),
        send,
        passages or (),
        window,
        drop_order,
    )
    if len(shown) < len(passages or ()):
        await warn_of_assumed_window(context, context.model if model is None else model)
    return await read_replies(
        prompt,
        replies,
        shown,
        passages=passages,
        inputs=inputs,
        context=context,
        model=model,
        overrides=overrides,
        json_form=json_form,
        cuts_later=cuts_later,
    )


async def read_replies(
    prompt: Prompt[T],
    replies: Sequence[Reply],
    shown: list[Passage],
    *,
    passages: Sequence[Passage] | None,
    inputs: Mapping[str, str | list[str]],
    context: Context,
    model: str | BaseChatModel | None,
    overrides: Mapping[str, str],
    json_form: ReplyForm | None = None,
    cuts_later: bool = False,
) -> ParsedReplies[T]:
    """Parse and count the replies to a prompt, and read the short answers in them, as `ask` says. context: its answer
    type is never "auto"; model: None for the context's; json_form: the form in which the replies were asked for.
    """
    question = inputs.get("question")
    parse = prompt.make_parser({**inputs, "passages": passages or (), "count": len(passages or ())})
    texts_of_replies = [undo_escapes(reply.text) for reply in replies]
    replies_in_words = [json_form.write_in_words(text) if json_form else text for text in texts_of_replies]
    parsed_replies = [
        forget_unfinished_answer(prompt, read_reply_in_words(words, parse, context, len(shown)), reply)
        for words, reply in zip(replies_in_words, replies, strict=True)
    ]
    texts = [
        read_answer_text(reply, parsed, question if isinstance(question, str) else "", context)
        for reply, parsed in zip(replies_in_words, parsed_replies, strict=True)
    ]
    short_answers = await read_short_answers(
        prompt,
        question,
        list(zip(replies, replies_in_words, strict=True)),
        parsed_replies,
        context=context,
        overrides=overrides,
        model=model,
        cuts_later=cuts_later,
    )
    values, to_cut, absent_answers, leaked = short_answers.values, short_answers.to_cut, [], set[int]()
    if passages is not None and wants_short_answer(prompt, context):
        demonstration_answers = find_demonstration_answers(get_text(prompt.name, overrides), inputs)
        absent_answers = list_absent_answers(demonstration_answers, question, shown)
        values, leaked = remove_leaked_answers(prompt, values, absent_answers, unfinished=to_cut)
        texts = ["" if index in leaked else text for index, text in enumerate(texts)]
    malformed_flags = [parsed.malformed or index in leaked for index, parsed in enumerate(parsed_replies)]
    update = count_replies(prompt.name, replies, malformed_flags, len(passages or ()) - len(shown))
    update = add_counters(update, short_answers.state_update)
    if to_cut:
        update["draft"] = Draft(
            prompt=prompt.name,
            answers=[get_answer(prompt, value) or UNKNOWN for value in values],
            texts=texts,
            to_cut=[to_cut.get(index) for index in range(len(values))],
            malformed=[
                None if flag or is_cut_off(reply) else reply.raw
                for flag, reply in zip(malformed_flags, replies, strict=True)
            ],
            leaks=absent_answers,
            shown=None if passages is None else len(shown),
        )
    return ParsedReplies(values, texts, shown, update)


def read_reply_in_words(
    reply: str, parse: Callable[[str], Parsed[T]], context: Context, passage_count: int
) -> Parsed[T]:
    """The parsed reply. A long answer ends where the model goes on with passages of its own, and is then malformed, and
    so is one that cites a passage that was not shown. passage_count: how many were.
    """
    parsed_reply = parse(reply)
    if cites(context) and parsed_reply.text is not None:
        own_words = cut_invented_passages(reply, passage_count)
        parsed_reply = parsed_reply if own_words == reply else replace(parse(own_words), malformed=True)
    return check_citations(parsed_reply, context, passage_count)


def find_form(
    prompt: Prompt[Any], inputs: Mapping[str, str | list[str]], passage_count: int, context: Context
) -> ReplyForm | None:
    """The form of the prompt's replies in JSON; None if the context wants words.

    With shorten=off a short answer is what the model writes, as in the papers, and has no form; yes or no is one word.
    """
    if context.structured == "off" or (context.shorten == "off" and prompt.short_answer == "reply"):
        return None
    return prompt.get_form(inputs, passage_count, is_plain=context.shorten == "off")


def choose_model(prompt: Prompt[Any], context: Context) -> str | BaseChatModel | None:
    """The model that answers the prompt instead of the context's; None: the context's own."""
    return {"model": None, "verifier": context.verifier, "context_filter": get_filter_model(context)}[prompt.model]


def read_answer_text(reply: str, parsed_reply: Parsed[T], question: str, context: Context) -> str:
    """The words of a reply that answer the question: of a long answer what its parser read, with the marks of cited
    passages unless the setting `citations` is off; of any other reply see `find_answer_text`.
    """
    if parsed_reply.text is None:
        return find_answer_text(reply, parsed_reply.value, question)
    return parsed_reply.text if cites(context) else strip_marks(parsed_reply.text)


async def send_what_fits(
    write: Callable[[list[Passage]], RenderedPrompt],
    send: Callable[[RenderedPrompt, list[Passage]], Awaitable[Sequence[Reply]]],
    passages: Sequence[Passage],
    window: int,
    drop_order: Sequence[int] | None = None,
) -> tuple[Sequence[Reply], list[Passage]]:
    """The replies, and the passages that the prompt showed. Others are dropped, in this order, until it fits.

    write: renders the prompt with the passages that it gets; send: sends the rendered prompt.
    window: the most tokens that a prompt may have. Our estimate is compared with it; the server may also refuse a
    prompt as too long. Raises TooLong if not even one passage fits.
    """
    shown, rendered_prompt = fit_into_window(write, passages, window, drop_order)
    while True:
        try:
            if (count := estimate_tokens(rendered_prompt.text)) > window:
                raise TooLong(f"about {count} tokens, the window has {window}")
            return await send(rendered_prompt, shown), shown
        except TooLong as error:
            if len(shown) < 2:
                raise explain_too_long(rendered_prompt, shown, error) from None
            shown = keep_passages(passages, len(shown) - max(1, len(shown) // REFUSED_PARTS), drop_order)
            rendered_prompt = write(shown)


async def read_prompt_overrides(context: Context) -> Mapping[str, str]:
    """The texts that replace the built-in ones, by the prompts' names: those that ask for citations, or do not, as the
    setting says, and those of the user.

    If the user's lie in a folder, it is read in a thread, because reading files would block the event loop.
    """
    overrides = context.prompts
    if isinstance(overrides, str):
        overrides = dict(await asyncio.to_thread(load_overrides, overrides))
    return choose_texts(overrides, cites=cites(context), is_plain=context.shorten == "off")


def format_list(items: Sequence[str]) -> str:
    """One line per item, each with a dash."""
    return "\n".join(f"- {item}" for item in items)


def explain_too_long(rendered_prompt: RenderedPrompt, shown: Sequence[Passage], error: TooLong) -> TooLong:
    """The error for a prompt that is too long even with one passage, or without any. It says what to do."""
    condition = f"with passage {shown[0]['id']!r} alone" if shown else "without any passage"
    message = (
        f"Prompt {rendered_prompt.name!r} does not fit the model's window even {condition} ({error}); split the "
        "documents into shorter passages, or set context_window to the size of the model's window."
    )
    return TooLong(message, error.status)


def count_replies(prompt: str, replies: Sequence[Reply], malformed_flags: Sequence[bool], dropped_count: int) -> State:
    """The counters of one prompt's replies. A reply that was cut off at the length limit counts as malformed."""
    usage: dict[str, Usage] = {}
    for reply in replies:
        usage = merge_usage(usage, {prompt: reply.usage})
    malformed_replies = [
        reply.raw
        for reply, is_malformed in zip(replies, malformed_flags, strict=True)
        if is_malformed or is_cut_off(reply)
    ]
    malformed = {prompt: CountedReplies(count=len(malformed_replies), replies=malformed_replies)}
    update = State(usage=usage, dropped=dropped_count, malformed=malformed if malformed_replies else {})
    if any(reply.temperature_refused for reply in replies):
        update["temperature_refused"] = True
    return update


def add_counters(update: State, reading_counters: State) -> State:
    """The update plus the counters of the wordy answers and of the calls that shortened replies."""
    if not reading_counters:
        return update
    return State(
        **{
            **update,
            "usage": merge_usage(update["usage"], reading_counters.get("usage")),
            "malformed": merge_counted_replies(update["malformed"], reading_counters.get("malformed")),
            "wordy_answers": reading_counters.get("wordy_answers") or {},
        }
    )
