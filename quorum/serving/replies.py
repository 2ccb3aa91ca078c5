"""What the server sends to a client: an answer with its sources, in OpenAI's format (a completion, or its chunks)."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from quorum.core.conversation import (
    CLOSEST_WITHOUT_HEADING,
    READ_HEADING,
    SOURCES_HEADING,
    UNSURE_NOTE,
    UNSURE_PREFIX,
)
from quorum.core.harmless_markdown import make_harmless
from quorum.core.state import Passage, Result, Usage
from quorum.core.text import format_count
from quorum.documents.places import describe_place
from quorum.evaluation.shown.headline import Headline, list_sources, make_headline
from quorum.evaluation.shown.public_result import make_public_result
from quorum.evaluation.shown.support import ShownResult

SNIPPET_LENGTH = 90  # characters of a passage on each side of the span that supports the answer


@dataclass(frozen=True)
class ServedAnswer:
    """What a client gets for a request.

    sources: the text that follows the answer (a note, a quote, the list of sources), or empty; result: None if the
    request was not a question, for example if the client asked for a title of its chat; is_warned: whether the answer
    begins with "Not sure.".
    """

    answer: str
    sources: str = ""
    result: Mapping[str, Any] | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)
    is_warned: bool = False


def make_served_answer(result: ShownResult, *, wants_sources: bool) -> ServedAnswer:
    """What a client gets for a result. If the client wants sources, an unsure answer begins with "Not sure.", and the
    result's note, what was searched for the answer unknown, the quoted sentence and the list of the passages that were
    read follow.
    """
    headline, public_result, usage = make_headline(result), make_public_result(result), result.get("usage") or {}
    answer = headline.text if headline.answer_text is None else f"{headline.text}\n\n{headline.answer_text}"
    answer = make_harmless(answer)
    if not wants_sources:
        return ServedAnswer(answer, "", public_result, usage)
    is_warned = not headline.is_sure and not headline.is_unknown
    # such as that the reader reads only English, and, for the answer unknown, what was searched
    remarks = "".join(f"\n\n{remark}" for remark in (result.get("note"), result.get("search_note")) if remark)
    said = f"\n\n{headline.badge_text}" if headline.badge == "none" else ""
    sources = remarks + format_quote(headline) + said + format_sources(result)
    return ServedAnswer(UNSURE_PREFIX + answer if is_warned else answer, sources, public_result, usage, is_warned)


def format_quote(headline: Headline) -> str:
    """A Markdown quote of the sentence that supports the answer, with the marked words in bold, and of the closest
    sentence, if that is another; empty without one.

    With a warning, a heading above the quote tells whether it says the answer.
    """
    if headline.quote is None:
        return ""
    parts = (
        f"**{escape_markup(text)}**" if is_marked else escape_markup(text) for text, is_marked in headline.split_quote()
    )
    quote = " ".join("".join(parts).split())
    closest = " ".join(escape_markup(headline.closest or "").split())
    more = f"\n\n{CLOSEST_WITHOUT_HEADING}\n> {closest}" if closest else ""
    heading = f"{headline.quote_heading}\n" if headline.quote_heading else ""
    return f"\n\n{heading}> {quote}{more}"


def escape_markup(text: str) -> str:
    r"""A document's text, escaped so that it cannot put pictures, or links behind other words, into a chat.

    An address that stands in the text stays readable; some clients make it a link to itself.

    >>> print(escape_markup(r"[map](http://example.org) and \[map]"))
    \[map](http://example.org) and \\\[map]
    """
    return re.sub(r"[\\\[<]", r"\\\g<0>", text)


def format_sources(result: Result) -> str:
    """A numbered list of the passages that were read, first those that support the answer, each with the words around
    the supporting span; empty if none was read. If the answer cites passages, they have the numbers of its marks.
    """
    sources, left_out = list_sources(result)
    texts = [format_source(source.passage, source.start, source.end) for source in sources]
    if any(source.number is not None for source in sources):
        # No list of Markdown's numbers: clients would number it from the first on.
        marks = ["" if source.number is None else f"[{source.number}] " for source in sources]
        lines = [f"- {mark}{text}" for mark, text in zip(marks, texts, strict=True)]
    else:
        lines = [f"{number}. {text}" for number, text in enumerate(texts, start=1)]
    lines += [f"... and {format_count(left_out, 'more passage')}"] if left_out else []
    heading = READ_HEADING if result.get("unknown") else SOURCES_HEADING
    return heading + "\n".join(lines) if lines else ""


def format_source(passage: Passage, start: int | None, end: int | None) -> str:
    """A passage as a source, such as 'Title (handbook.pdf, p. 12): "…the words…"'. start, end: the supporting span; the
    words around it are quoted. Without a span, the passage's first words are quoted.

    Markup is escaped (see `escape_markup`).
    """
    text = passage["text"]
    snippet_start, snippet_end = find_snippet(text, start or 0, end or 0)
    words = " ".join(text[snippet_start:snippet_end].split())
    snippet = f"{'…' if snippet_start else ''}{words}{'…' if snippet_end < len(text) else ''}"
    place = describe_place(passage)
    name = (" ".join(passage["title"].split()) or passage["id"]) + (f" ({place})" if place else "")
    source = f'{name}: "{snippet}"'
    return escape_markup(source)


def find_snippet(text: str, start: int, end: int) -> tuple[int, int]:
    """The range of the text that shows the span [start, end) with at most SNIPPET_LENGTH characters on each side.

    So that no word is cut, each boundary of the range moves towards the span, to the first white space on the way. A
    boundary stays if it is the beginning or the end of the text, or if there is no white space between it and the span.

    >>> find_snippet("one two three", 4, 7), find_snippet("字" * 1000, 500, 510)
    ((0, 13), (410, 600))
    """
    snippet_start, snippet_end = max(0, start - SNIPPET_LENGTH), min(len(text), end + SNIPPET_LENGTH)
    if snippet_start and (cut_word := re.search(r"\s", text[snippet_start:start])):
        snippet_start += cut_word.end()
    if snippet_end < len(text) and (last_word := re.search(r"\s\S*\Z", text[end:snippet_end])):
        snippet_end = end + last_word.start()
    return snippet_start, snippet_end


def count_usage(usage: Mapping[str, Usage]) -> dict[str, Any]:
    """The tokens of all calls together, in the form of OpenAI's field "usage"."""
    prompt = sum(item["input_tokens"] for item in usage.values())
    completion = sum(item["output_tokens"] for item in usage.values())
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": sum(item["cached_tokens"] for item in usage.values())},
    }


def make_head(model: str, kind: str) -> dict[str, Any]:
    """The fields with which every completion and every chunk begins. kind: "chat.completion" or
    "chat.completion.chunk".
    """
    return {"id": f"chatcmpl-{token_hex(12)}", "object": kind, "created": int(time.time()), "model": model}


def make_completion(model: str, served_answer: ServedAnswer) -> dict[str, Any]:
    """The response to a request that does not ask for a stream."""
    message = {"role": "assistant", "content": served_answer.answer + served_answer.sources, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    quorum_part = {} if served_answer.result is None else {"quorum": served_answer.result}
    head = make_head(model, "chat.completion")
    return {**head, "choices": [choice], "usage": count_usage(served_answer.usage), **quorum_part}


def format_event(event: Mapping[str, Any] | str) -> str:
    """One server-sent event. A string, such as "[DONE]", is sent unchanged; anything else as JSON."""
    return f"data: {event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)}\n\n"


def format_chunk(
    head: Mapping[str, Any], delta: Mapping[str, Any], finish_reason: str | None = None, **more_fields: Any
) -> str:
    """One chunk of a completion as an event."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
    return format_event({**head, "choices": [choice], **more_fields})


def format_remaining_events(
    head: Mapping[str, Any], served_answer: ServedAnswer, sent_answer: str, *, wants_usage: bool
) -> Iterator[str]:
    """The events at the end of a stream: the answer if none of it was sent, its sources, the whole result, the usage if
    the client wants it.
    """
    # OpenAI gives the usage in the last chunk; the chunks before have the field, too, with null.
    usage_field = {"usage": None} if wants_usage else {}
    if not sent_answer:
        yield format_chunk(head, {"content": served_answer.answer}, **usage_field)
    elif served_answer.is_warned:  # what was sent while it was written cannot begin with the warning any more
        yield format_chunk(head, {"content": f"\n\n{UNSURE_NOTE}"}, **usage_field)
    if served_answer.sources:
        yield format_chunk(head, {"content": served_answer.sources}, **usage_field)
    quorum_part = {} if served_answer.result is None else {"quorum": served_answer.result}
    yield format_chunk(head, {}, "stop", **quorum_part, **usage_field)
    if wants_usage:
        yield format_event({**head, "choices": [], "usage": count_usage(served_answer.usage)})
    yield format_event("[DONE]")
