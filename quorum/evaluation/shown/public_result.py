"""A result as a program that shows it gets it: what every view says is computed here, once.

Passages come without the folders of their files, and Markdown without links, pictures and tags that act.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

from quorum.algorithms.vote_key import vote_key
from quorum.core.conversation import CLOSEST_WITHOUT_HEADING
from quorum.core.harmless_markdown import make_harmless
from quorum.core.shown_answer import get_shown_answer
from quorum.core.state import Passage, Place
from quorum.core.text import format_count
from quorum.documents.places import describe_place, get_file_name, list_places, make_document_id
from quorum.evaluation.shown.headline import Headline, list_sources, make_headline

# Fields of a passage; clients do not learn where its file lies.
PUBLIC_FIELDS = ("id", "title", "text", "score", "retriever_score")
Verdict = Literal["supported", "unclear", "unknown"]
VERDICT_TEXTS: dict[Verdict, str] = {
    "supported": "",
    "unclear": "The documents do not say this clearly.",
    "unknown": "The documents do not say.",
}

WITHHELD_TEXT = "The server withholds this answer."  # a promise about it is refuted; the note says which


def make_public_passage(passage: Passage) -> dict[str, Any]:
    """A passage as a client gets it, with its metadata. place: the file's name (without folders), the page or line, and
    the headings.
    """
    public = {name: passage[name] for name in PUBLIC_FIELDS if name in passage}  # type: ignore[literal-required]
    if passage.get("metadata"):
        public["metadata"] = passage["metadata"]
    place = describe_place(passage)
    return make_metadata_public(public | ({"place": place} if place else {}))


def make_metadata_public(item: Mapping[str, Any]) -> dict[str, Any]:
    """A passage or citation whose metadata name files of the server by their names, without the folders."""
    if not isinstance(item.get("metadata"), Mapping):
        return dict(item)
    metadata = {
        key: PurePath(value).name if isinstance(value, str) and PurePath(value).is_absolute() else value
        for key, value in item["metadata"].items()
    }
    return {**item, "metadata": metadata}


def make_public_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """The whole result as a client gets it."""
    public = {**result, "passages": [make_public_passage(passage) for passage in result.get("passages") or []]}
    if result.get("citations"):
        public["citations"] = [make_metadata_public(citation) for citation in result["citations"]]
    return public


def describe_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """The whole result, and what a view says about it.

    answer_markdown: the answer to show; verdict, verdict_text: whether the documents say it, and the sentence that a
    view shows if they do not, or not clearly; headline: the answer with its warning, and the sentence to quote;
    citations: the passages that the answer cites, or in which it stands, in the order in which to list them; totals:
    calls and tokens of all prompts together; votes_text: how many passages voted for the answer, or empty. A passage
    from a file also has the id of its document and its page, or null, and its last page, if that is a later one.
    """
    public = make_public_result(result)
    public["passages"] = [
        {**shown, **locate_passage(passage)}
        for shown, passage in zip(public["passages"], result.get("passages") or [], strict=True)
    ]
    if "answer" not in result:  # a graph of one's own may return none
        return public
    headline = make_headline(result)
    verdict = choose_verdict(headline)
    return {
        **public,
        "answer_markdown": make_harmless(get_shown_answer({**result, "unknown": bool(result.get("unknown"))})),
        "verdict": verdict,
        "verdict_text": WITHHELD_TEXT if "refuted_promise" in result else VERDICT_TEXTS[verdict],
        "headline": describe_headline(headline),
        "citations": list_citations(result),
        "totals": sum_usage(result.get("usage") or {}),
        "votes_text": count_votes(result),
    }


def locate_passage(passage: Passage) -> dict[str, Any]:
    """{document_id, page, last_page} of the passage's first place; empty for a passage that comes from no file."""
    place = next(iter(list_places(passage)), None)
    return {} if place is None else {"document_id": make_document_id(place["file"]), **get_pages(place)}


def get_pages(place: Place | None) -> dict[str, int | None]:
    """{page, last_page} of a place; last_page only if it is a later one, page None if there are no pages.

    >>> get_pages({"file": "a.pdf", "page": 3, "last_page": 4}), get_pages({"file": "a.md"})
    ({'page': 3, 'last_page': 4}, {'page': None})
    """
    pages: dict[str, int | None] = {"page": place.get("page") if place else None}
    if place and "last_page" in place:
        pages["last_page"] = place["last_page"]
    return pages


def count_votes(result: Mapping[str, Any]) -> str:
    """How many of the passages that answered voted for the answer; empty for a method that does not vote.

    >>> votes = [{"answer": "Tim", "unknown": False}, {"answer": "tim.", "unknown": False},
    ...          {"answer": "unknown", "unknown": True}]
    >>> count_votes({"answer": "Tim", "votes": votes})
    '2 of 3 votes'
    """
    votes = result.get("votes") or []
    if not votes or result.get("unknown"):
        return ""
    key = vote_key(str(result["answer"]))
    count = sum(not vote.get("unknown") and vote_key(str(vote["answer"])) == key for vote in votes)
    return f"{count} of {format_count(len(votes), 'vote')}"


def choose_verdict(headline: Headline) -> Verdict:
    """Whether the documents say the answer, so that a view shows it without a warning."""
    if headline.is_unknown:
        return "unknown"
    return "supported" if headline.is_sure and headline.badge in ("stated", "by_content", "votes") else "unclear"


def describe_headline(headline: Headline) -> dict[str, Any]:
    """The headline as JSON. more: the reply as the model wrote it, if it says more than the answer; mark: [start, end]
    of the words of the quote to mark, or null; passage, start: where the quote stands; closest: a sentence to show
    below it, or null.
    """
    return {
        "text": headline.shown_text,
        "more": None if headline.answer_text is None else make_harmless(headline.answer_text),
        "badge": headline.badge,
        "badge_text": headline.badge_text,
        "quote": headline.quote,
        "quote_heading": headline.quote_heading,
        "closest": headline.closest,
        "closest_heading": CLOSEST_WITHOUT_HEADING if headline.closest is not None else "",
        "mark": None if headline.mark is None else list(headline.mark),
        "place": headline.place,
        "passage": None if headline.source is None else headline.source["id"],
        "start": headline.start,
    }


def list_citations(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """[{n, passage, start, end, document, document_id, page, metadata}]: the passages that a long answer cites, with
    the numbers of its marks; for any other answer those that support it, numbered from 1.

    document: the name of the passage's file, or its title; document_id: by which the server gives it, None if it is no
    file; beside page stands last_page if the passage ends on a later page.
    """
    if result.get("unknown"):
        return []
    sources = [source for source in list_sources(result)[0] if source.number is not None or source.start is not None]
    is_marked = any(source.number is not None for source in sources)
    cited = [source for source in sources if not is_marked or source.number is not None]
    citations = []
    for number, source in enumerate(cited, start=1):
        place = next(iter(list_places(source.passage)), None)
        citations.append(
            {
                "n": source.number or number,
                "passage": source.passage["id"],
                "start": source.start,
                "end": source.end,
                "document": get_file_name(place) if place else source.passage["title"] or source.passage["id"],
                "document_id": make_document_id(place["file"]) if place else None,
                **get_pages(place),
            }
        )
        if source.passage.get("metadata"):
            citations[-1] = make_metadata_public({**citations[-1], "metadata": source.passage["metadata"]})
    return citations


def sum_usage(usage: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """The calls and tokens of all prompts together.

    >>> sum_usage({"answer": {"calls": 2, "input_tokens": 30, "output_tokens": 4, "cached_tokens": 0}})["calls"]
    2
    """
    names = ("calls", "input_tokens", "output_tokens")
    return {name: sum(counts.get(name, 0) for counts in usage.values()) for name in names}


def make_public_update(update: Mapping[str, Any]) -> dict[str, Any]:
    """What a node changed, as JSON for clients: passages by their ids, because the result holds them once; without
    empty values, LangChain's messages and other objects.
    """
    values = {str(name): make_public_value(value) for name, value in update.items() if name != "messages"}
    return {name: value for name, value in values.items() if value is not None and value not in ("", [], {})}


def make_public_value(value: Any) -> Any:
    """JSON of a value of the state."""
    if isinstance(value, Mapping):
        if "text" in value and "id" in value:  # a passage
            return value["id"]
        return make_public_update(make_metadata_public(value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [make_public_value(item) for item in value]
    return value if value is None or isinstance(value, str | bool | int | float) else str(type(value).__name__)
