"""Asks the model to cut wordy replies down to their short answers, and says which prompts ask for one."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel

from quorum.algorithms.question_kind import is_yes_no_question
from quorum.core.context import Context
from quorum.core.errors import TooLong
from quorum.core.state import CountedReplies, Usage, merge_usage
from quorum.core.text import is_unknown, normalize
from quorum.models.call import Reply, call
from quorum.prompts import Overrides, render_prompt
from quorum.prompts.any_method import SHORTEN
from quorum.prompts.prompt import Prompt

MAX_WORDS = 12  # of a short answer; a title, or a date with a place, has fewer
# Characters. The prompt shows only the beginning and the end of a longer reply, because its short answer stands there.
LONGEST_SHOWN_REPLY = 6000
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class ShortenedAnswer:
    """answer: the shortened answer, or None if the wordy one stays; reply: the reply to the prompt `shorten`."""

    answer: str | None
    reply: Reply


def wants_short_answer(prompt: Prompt[Any], context: Context) -> bool:
    """Whether the prompt asks for a short answer, and the setting `answer_type` does, too."""
    return context.answer_type in ("auto", "short") and prompt.short_answer is not None


def is_wordy(answer: str) -> bool:
    """Whether an answer has too many words for a short one. A wordy "unknown" is fine: it is read as unknown anyway."""
    return len(WORD.findall(answer)) > MAX_WORDS and not is_unknown(answer)


async def cut_texts(
    question: str, texts: Sequence[str], context: Context, overrides: Overrides, model: str | BaseChatModel | None
) -> dict[str, ShortenedAnswer | None]:
    """Ask for the short answer in each of these texts; None for a text that does not fit into the model's window."""
    distinct_texts = list(dict.fromkeys(texts))
    cuts = await asyncio.gather(
        *(ask_for_cut(question, choose_text_to_cut(text), context, overrides, model) for text in distinct_texts)
    )
    return dict(zip(distinct_texts, cuts, strict=True))


async def ask_for_cut(
    question: str, text: str, context: Context, overrides: Overrides, model: str | BaseChatModel | None
) -> ShortenedAnswer | None:
    """Ask for the short answer in a text; None if the text does not fit into the model's window."""
    rendered_prompt = render_prompt(SHORTEN.name, overrides, question=question, answer=text)
    try:
        (reply,) = await call(
            SHORTEN.name,
            rendered_prompt.text,
            context=context,
            prompt_version=rendered_prompt.version,
            temperature=0.0,
            model=model,
        )
    except TooLong:
        return None
    answer = SHORTEN.parse(reply.text, question).value
    is_verdict = is_yes_no_question(question) and normalize(answer) in ("yes", "no")
    return ShortenedAnswer(answer if is_verdict or is_excerpt(answer, text) else None, reply)


def is_excerpt(answer: str, text: str) -> bool:
    """Whether an answer is short and adds nothing to the text: the text has all words of the answer, in this order.

    >>> text = "It was built in Oslo, by Ida Brenn."
    >>> [is_excerpt(answer, text) for answer in ("Ida Brenn", "Brenn, Oslo", "unknown")]
    [True, False, False]
    """
    wanted_words = WORD.findall(answer.casefold())
    words = iter(WORD.findall(text.casefold()))
    return 0 < len(wanted_words) <= MAX_WORDS and not is_unknown(answer) and all(word in words for word in wanted_words)


def choose_text_to_cut(text: str) -> str:
    """The text to show. The middle of a long one is left out."""
    if len(text) <= LONGEST_SHOWN_REPLY:
        return text
    return f"{text[: LONGEST_SHOWN_REPLY // 2]} ... {text[-LONGEST_SHOWN_REPLY // 2 :]}"


def count_cuts(cuts: Sequence[ShortenedAnswer]) -> Mapping[str, Any]:
    """The state update that counts the calls that ask for a cut: their usage and their malformed replies.

    A reply that is no excerpt of its text counts as malformed.
    """
    usage: dict[str, Usage] = {}
    for cut in cuts:
        usage = merge_usage(usage, {SHORTEN.name: cut.reply.usage})
    malformed = [cut.reply.raw for cut in cuts if cut.answer is None]
    return {
        "usage": usage,
        "malformed": {SHORTEN.name: CountedReplies(count=len(malformed), replies=malformed)} if malformed else {},
    }
