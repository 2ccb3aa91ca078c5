"""The headline of a result: the answer, the sentence that is quoted and the words marked in it. Every view shows it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from quorum.algorithms.agreement import says_more
from quorum.core.conversation import (
    CLOSEST_SENTENCE_HEADING,
    CLOSEST_WITHOUT_HEADING,
    NO_PASSAGE_CONTAINS,
    STATED_HEADING,
)
from quorum.core.shown_answer import get_shown_answer, list_cited_passages
from quorum.core.state import Passage
from quorum.core.text import normalize
from quorum.documents.places import describe_place
from quorum.evaluation.shown.shown_support import Support, holds_answer
from quorum.nodes.evidence import find_span, has_only_votes_as_evidence

Badge = Literal["stated", "by_content", "votes", "none", "unknown", "unchecked"]
BADGE_TEXTS: dict[Badge, str] = {
    "stated": "stands in the passages",
    "by_content": "a passage says it in other words",
    "votes": "passages voted for it",
    "none": NO_PASSAGE_CONTAINS,
    "unknown": "No passage supports an answer.",
    "unchecked": "",
}
UNSURE_WORDS = "not sure: perhaps "
MOST_SOURCES = 20  # passages that a list of sources names; of the others it gives the number


@dataclass(frozen=True)
class Headline:
    """What every view says about a result.

    text: the answer, or "unknown"; answer_text: the reply as the model wrote it, if it says more than the answer, else
    None; a verdict at its beginning, as in "Yes. It opens at nine.", is left out. is_unknown: whether there is no
    answer; is_sure: whether it is shown without a warning (false if unknown). badge: what the passages say about the
    answer: it is "stated", or said "by_content"; passages voted for it ("votes"); "none" contains it; "unchecked" if
    this was not looked for, as in an evaluation's rows. quote: the sentence to show, or None: one that says the
    answer, if there is one; quote_heading: empty, or words above the sentence of an answer with a warning, which tell
    if it does not say the answer; mark: (start, end) in `quote` of the words to mark, or None: they are part of the
    answer or hold it, except under "unknown". source: the quoted passage; start: where the quote begins in its text.
    closest: beside a quote that says an answer with a warning, the sentence that fits the question better but does not
    say it, or None.
    """

    text: str
    answer_text: str | None
    is_unknown: bool
    is_sure: bool
    badge: Badge
    quote: str | None = None
    quote_heading: str = ""
    mark: tuple[int, int] | None = None
    source: Passage | None = None
    start: int | None = None
    closest: str | None = None

    @property
    def shown_text(self) -> str:
        """The answer with the warning, if it needs one.

        >>> Headline("165 EUR", None, False, False, "stated").shown_text
        'not sure: perhaps 165 EUR'
        """
        return self.text if self.is_sure or self.is_unknown else UNSURE_WORDS + self.text

    @property
    def badge_text(self) -> str:
        return BADGE_TEXTS[self.badge]

    @property
    def place(self) -> str:
        """Where the quote stands: the file, page and headings of its passage, else its title or id; "" without one."""
        passage = self.source
        return "" if passage is None else describe_place(passage) or passage["title"] or passage["id"]

    def split_quote(self) -> list[tuple[str, bool]]:
        """The quote in parts, without empty ones: [(part, whether it is marked), ...]."""
        quote, (start, end) = self.quote or "", self.mark or (0, 0)
        return [part for part in ((quote[:start], False), (quote[start:end], True), (quote[end:], False)) if part[0]]


def make_headline(result: Mapping[str, Any]) -> Headline:
    """The headline of a result with or without `support`: of a run, a served answer, or a row of an evaluation.

    >>> make_headline({"answer": "unknown", "unknown": True}).text
    'unknown'
    """
    support, is_unknown = cast("Support | None", result.get("support")), bool(result.get("unknown"))
    text = get_shown_answer({**result, "answer": result.get("answer") or "", "unknown": is_unknown})
    is_long = result.get("citations") is not None  # a long answer is its own text, with its Markdown
    answer_text = "" if is_long or is_unknown else str(result.get("answer_text") or "").strip()
    more = remove_verdict(answer_text, text) if answer_text and says_more(answer_text, text) else None
    is_sure = not is_unknown and (support is None or support["is_certain"])
    headline = Headline(
        text=text,
        answer_text=more,
        is_unknown=is_unknown,
        is_sure=is_sure,
        badge=choose_badge(result, support),
    )
    return headline if support is None else add_quote(headline, support, result.get("passages") or [])


def remove_verdict(answer_text: str, answer: str) -> str:
    """The reply to a yes/no question without the verdict before its sentence, which stands above it.

    >>> remove_verdict("Yes. It opens at nine.", "yes")
    'It opens at nine.'
    """
    verdict = re.match(r"\W*(yes|no)\b[\s.,;:!*–—-]*(?=\S)", answer_text, re.IGNORECASE)
    is_repeated = verdict is not None and verdict[1].lower() == answer
    return answer_text[verdict.end() :] if verdict and is_repeated else answer_text


def choose_badge(result: Mapping[str, Any], support: "Support | None") -> Badge:
    """What the passages say about the answer, in one word."""
    if result.get("unknown"):
        return "unknown"
    if support is not None and support["state"] != "none":
        return support["state"]
    if result.get("evidence"):
        known_result = cast(Any, {**result, "answer": result.get("answer") or ""})  # an error's row has no answer
        return "votes" if has_only_votes_as_evidence(known_result) else "stated"
    return "unchecked" if support is None else "none"


def add_quote(headline: Headline, support: "Support", passages: list[Passage]) -> Headline:
    """The headline with the sentence to quote: the one that supports the answer; if there is none, or no answer, the
    closest one. A reply that is this sentence is not shown a second time.

    With a warning, the closest sentence is shown, too, if it does not hold the answer.
    """
    closest = None if headline.is_sure else support["closest"]
    has_other = closest is not None and not headline.is_unknown and not holds_answer(headline.text, closest["sentence"])
    is_said = has_other and support["sentence"] is not None
    statement: Any = support if is_said or not closest else closest
    source = next((passage for passage in passages if passage["id"] == statement["passage"]), None)
    if source is None or statement["sentence"] is None:
        return headline
    quote, span = statement["sentence"], statement["span"]
    mark = None if span is None else (span[0] - statement["start"], span[1] - statement["start"])
    if mark is not None and not headline.is_unknown and not fits(quote[slice(*mark)], headline.text):
        mark = None
    heading = "" if headline.is_sure else CLOSEST_SENTENCE_HEADING
    if has_other:
        heading = STATED_HEADING if is_said else CLOSEST_WITHOUT_HEADING
    is_repeated = headline.answer_text is not None and normalize(headline.answer_text) == normalize(quote)
    answer_text = None if is_repeated else headline.answer_text
    return replace(
        headline,
        answer_text=answer_text,
        quote=quote,
        quote_heading=heading,
        mark=mark,
        source=source,
        start=statement["start"],
        closest=closest["sentence"] if closest and is_said else None,
    )


def fits(marked_words: str, answer: str) -> bool:
    """Whether marked words do not contradict the answer: one of them holds the other, as whole words.

    >>> fits("190 EUR", "165 EUR"), fits("165 EUR a night", "165 EUR")
    (False, True)
    """
    return find_span(marked_words, answer) is not None or find_span(answer, marked_words) is not None


@dataclass(frozen=True)
class Source:
    """A passage that was read. start, end: the span of its text that supports the answer, or None; number: its number
    in the marks of a long answer that cites it, else None.
    """

    passage: Passage
    start: int | None
    end: int | None
    number: int | None = None

    @property
    def name(self) -> str:
        """The passage's title (or its id), and its place."""
        place = describe_place(self.passage)
        return " ".join(f"{self.passage['title'] or self.passage['id']}{f' ({place})' if place else ''}".split())


def list_sources(result: Mapping[str, Any]) -> tuple[list[Source], int]:
    """The passages that were read, first those that the answer cites or that support it, each once, and how many more
    there are.

    >>> sources, left_out = list_sources({"passages": [{"id": "a", "title": "A", "text": "One."}], "unknown": False})
    >>> [source.name for source in sources], left_out
    (['A'], 0)
    """
    passages = {passage["id"]: passage for passage in result.get("passages") or []}
    cited = list_cited_passages({"unknown": True, **result})
    sources = [Source(item.passage, item.start, item.end, item.number) for item in cited]
    spans: dict[str, tuple[int | None, int | None]] = {}
    for item in (*(result.get("evidence") or []), *([result["support"]] if result.get("support") else [])):
        if item["passage"] in passages and spans.get(item["passage"], (None, None)) == (None, None):
            spans[item["passage"]] = (item["start"], item["end"])
    spans |= {id_: (None, None) for id_ in passages if id_ not in spans}
    cited_ids = {item.passage["id"] for item in cited}
    sources += [Source(passages[id_], *span) for id_, span in spans.items() if id_ not in cited_ids]
    return sources[:MOST_SOURCES], max(0, len(sources) - MOST_SOURCES)
