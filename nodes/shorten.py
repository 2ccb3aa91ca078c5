"""Counts wordy answers (too long where the prompt asks for a short one), and asks the model to cut each of them down
to the short answer that it contains.

A shortened answer has only words of the reply that it was cut from, and depends on no other reply. Each vote thus still
depends on one passage only, which the certificate of a vote requires.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel

from quorum.core.context import Context
from quorum.core.errors import TooLong
from quorum.core.state import CountedReplies, State, Usage, merge_usage
from quorum.core.text import is_unknown
from quorum.models.call import Reply, call
from quorum.models.chat import chat_model_async
from quorum.parsing.answers import Parsed, ReasonedAnswer, parse_short_answer
from quorum.prompts import Overrides, render_prompt

T = TypeVar("T")

PROMPT = "shorten"
MAX_WORDS = 12  # of a short answer; a title, or a date with a place, has fewer
# Characters. The prompt shows only the beginning and the end of a longer reply, because its short answer stands there.
LONGEST_SHOWN_REPLY = 6000
SHORT_ANSWER_PROMPTS = frozenset(
    {
        *("answer", "answer_candidates"),
        *("answer_base", "answer_base_closed", "answer_summaries", "answer_summary"),
        *("direct", "direct_from_memory", "extract_answer"),
        "self_ask_answer",
    }
)
REASONING_PROMPTS = frozenset({"pruning", "summary", "zero_shot_cot"})  # their replies end with a short answer
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ShortenedAnswer:
    """answer: the shortened answer, or None if the wordy one stays; reply: the reply to the prompt `shorten`."""

    answer: str | None
    reply: Reply


def wants_short_answer(prompt: str, context: Context) -> bool:
    """Whether the prompt asks for a short answer, and the setting `answer_type` does, too."""
    return context.answer_type == "short" and prompt in SHORT_ANSWER_PROMPTS | REASONING_PROMPTS


def is_wordy(answer: str) -> bool:
    """Whether an answer has too many words for a short one. A wordy "unknown" is fine: it is read as unknown anyway."""
    return len(WORD.findall(answer)) > MAX_WORDS and not is_unknown(answer)


async def shorten(
    prompt: str,
    question: Any,
    replies: Sequence[Reply],
    parsed_replies: Sequence[Parsed[T]],
    *,
    parse: Callable[[str], Parsed[T]],
    context: Context,
    overrides: Overrides,
    model: str | BaseChatModel | None,
) -> tuple[list[T], State]:
    """Shorten the wordy answers among the replies to a prompt, if the setting `shorten` is "auto".

    question: the prompt's variable `question`. If the prompt has none, nothing is shortened. parse: the parser that
    gave `parsed_replies`. Returns the parsed values, in which shortened answers replace wordy ones, and a state update
    that counts the wordy answers and the calls of the prompt `shorten`.
    """
    values = [parsed.value for parsed in parsed_replies]
    wants_short = wants_short_answer(prompt, context)
    wordy_indexes = [index for index, value in enumerate(values) if wants_short and is_wordy(get_answer(value))]
    if not wordy_indexes:
        return values, {}
    raw_replies = [replies[index].raw for index in wordy_indexes]
    update = State(wordy_answers={prompt: CountedReplies(count=len(raw_replies), replies=raw_replies)})
    if context.shorten == "off" or not isinstance(question, str) or not await follows_shorten_prompt(context, model):
        return values, update
    texts = {index: choose_text_to_cut(replies[index], values[index]) for index in wordy_indexes}
    distinct_texts = list(dict.fromkeys(texts.values()))
    shortened_answers = await asyncio.gather(
        *(ask_for_cut(question, text, context, overrides, model) for text in distinct_texts)
    )
    cuts = dict(zip(distinct_texts, shortened_answers, strict=True))
    for index, text in texts.items():
        cut = cuts[text]
        if cut is not None and cut.answer is not None:
            values[index] = replace_answer(values[index], cut.answer, parse)
    return values, cast(State, {**update, **count_cuts([cuts[text] for text in texts.values()])})


async def follows_shorten_prompt(context: Context, model: str | BaseChatModel | None) -> bool:
    """Whether the model follows the prompt `shorten`. The embedded reader and models trained on one prompt do not."""
    client = await chat_model_async(context.model if model is None else model, context)
    return not getattr(client, "reads_prompt_inputs", False) and not getattr(client, "is_trained_by_quorum", False)


async def ask_for_cut(
    question: str, text: str, context: Context, overrides: Overrides, model: str | BaseChatModel | None
) -> ShortenedAnswer | None:
    """Ask for the short answer in a text; None if the text does not fit into the model's window."""
    rendered_prompt = render_prompt(PROMPT, overrides, question=question, answer=text)
    try:
        (reply,) = await call(
            PROMPT,
            rendered_prompt.text,
            context=context,
            prompt_version=rendered_prompt.version,
            temperature=0.0,
            model=model,
        )
    except TooLong:
        return None
    answer = parse_short_answer(reply.text, question).value
    return ShortenedAnswer(answer if is_excerpt(answer, text) else None, reply)


def is_excerpt(answer: str, text: str) -> bool:
    """Whether an answer is short and adds nothing to the text: the text has all words of the answer, in this order.

    >>> text = "It was built in Oslo, by Ida Brenn."
    >>> [is_excerpt(answer, text) for answer in ("Ida Brenn", "Brenn, Oslo", "unknown")]
    [True, False, False]
    """
    wanted_words = WORD.findall(answer.casefold())
    words = iter(WORD.findall(text.casefold()))
    return 0 < len(wanted_words) <= MAX_WORDS and not is_unknown(answer) and all(word in words for word in wanted_words)


def get_answer(value: object) -> str:
    """The answer in a parsed value; "" if the value is no answer."""
    return value.answer if isinstance(value, ReasonedAnswer) else value if isinstance(value, str) else ""


def choose_text_to_cut(reply: Reply, value: object) -> str:
    """The text to cut: the reply or, after a chain of thought, only its answer.

    The middle of a long text is left out.
    """
    text = value.answer if isinstance(value, ReasonedAnswer) else reply.text
    return (
        text
        if len(text) <= LONGEST_SHOWN_REPLY
        else f"{text[: LONGEST_SHOWN_REPLY // 2]} ... {text[-LONGEST_SHOWN_REPLY // 2 :]}"
    )


def replace_answer(value: T, answer: str, parse: Callable[[str], Parsed[T]]) -> T:
    """The parsed value with its answer replaced by the cut one."""
    return cast(T, replace(value, answer=answer)) if isinstance(value, ReasonedAnswer) else parse(answer).value


def count_cuts(cuts: Sequence[ShortenedAnswer | None]) -> Mapping[str, Any]:
    """The state update that counts the calls that ask for a cut: their usage and their malformed replies.

    A reply that is no excerpt of its text counts as malformed. None in `cuts` stands for a text that did not fit the
    window.
    """
    fitting_cuts = [cut for cut in cuts if cut is not None]
    usage: dict[str, Usage] = {}
    for cut in fitting_cuts:
        usage = merge_usage(usage, {PROMPT: cut.reply.usage})
    malformed = [cut.reply.raw for cut in fitting_cuts if cut.answer is None]
    return {
        "usage": usage,
        "malformed": {PROMPT: CountedReplies(count=len(malformed), replies=malformed)} if malformed else {},
    }
