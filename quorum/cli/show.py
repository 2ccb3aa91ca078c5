"""Formats results for the terminal: with colours, or as plain text in a pipe."""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from quorum.cli.terminal import make_console
from quorum.core.conversation import CLOSEST_WITHOUT_HEADING
from quorum.core.shown_answer import list_cited_passages
from quorum.core.state import Evidence, Passage, Result
from quorum.core.text import format_count
from quorum.documents.places import describe_place, make_file_link
from quorum.evaluation.shown.headline import UNSURE_WORDS, Headline, list_sources, make_headline
from quorum.evaluation.shown.support import ShownResult
from quorum.nodes.evidence import has_only_votes_as_evidence

if TYPE_CHECKING:
    from quorum.evaluation.decisions.recorded_results import RecordedResults


def make_stdout_console() -> Console:
    """The console for results. If stdout is not a terminal and COLUMNS is not set, the console is 100 columns wide."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    return make_console(sys.stdout, width)


def make_stderr_console() -> Console:
    """The console for messages and progress."""
    return make_console(sys.stderr)


def print_missing_answers(results: "RecordedResults") -> None:
    """Print on stderr how many questions of the results have no accepted answer; nothing if all have one."""
    if results.missing_answers_note:
        typer.echo(f"quorum: {results.folder}: {results.missing_answers_note}", err=True)


def format_result(result: ShownResult, method: str, *, colours: bool, shows_scores: bool = False) -> RenderableType:
    """The answer on the first line; the method with its calls and tokens on the second; then the rationale, if there is
    one, the sentence that supports the answer, and the passages.

    If the answer needs a warning, the first line says so, and the sentence is only the one that fits the question best.
    colours: mark text by colours; otherwise by double brackets. shows_scores: also show the passages' ids and scores,
    for debugging a run.
    """
    headline = make_headline(result)
    parts: list[RenderableType] = [
        format_headline(headline),
        Text(" · ".join(describe_run(result, method)), style="dim"),
    ]
    if headline.answer_text is not None:
        parts += [Text(), Text(headline.answer_text)]
    if result.get("rationale"):
        parts += [Text(), Text(result["rationale"] or "")]
    if headline.quote is not None:
        parts += [Text(), *format_quote(headline, colours=colours)]
    parts += [Text(), *format_passages(result, headline, colours=colours, shows_scores=shows_scores)]
    return Group(*parts)


def format_headline(headline: Headline) -> Text:
    """The answer, or "not sure: perhaps ANSWER" if it needs a warning, or "unknown" if there is no answer."""
    if headline.is_unknown:
        return Text(headline.text, style="bold red")
    if headline.is_sure:
        # The lines of a long answer are printed as they are: if they were broken, its tables and code would be, too.
        is_long = "\n" in headline.text
        return Text(headline.text, style="bold green", no_wrap=is_long, overflow="ignore" if is_long else None)
    return Text(UNSURE_WORDS, style="bold yellow").append(headline.text)


def format_quote(headline: Headline, *, colours: bool) -> list[RenderableType]:
    """The quoted sentence with its mark, and the place of its passage in the document; then the closest sentence, if
    the quoted one is another.

    With a warning, a heading above the sentence tells whether it says the answer.
    """
    start, end = (None if headline.is_unknown else headline.mark) or (0, 0)  # "unknown": nothing there is the answer
    sentence = mark_span(headline.quote or "", start, end, colours=colours)
    heading = [Text(headline.quote_heading, style="bold")] if headline.quote_heading else []
    places = [] if headline.source is None else [format_place(headline.source)]
    parts: list[RenderableType] = [*heading, Padding(sentence, (0, 0, 0, 3))]
    parts += [Padding(place, (0, 0, 0, 3)) for place in places]
    if headline.closest is not None:
        parts += [Text(CLOSEST_WITHOUT_HEADING, style="bold"), Padding(Text(headline.closest), (0, 0, 0, 3))]
    return parts


def format_passages(
    result: ShownResult, headline: Headline, *, colours: bool, shows_scores: bool
) -> list[RenderableType]:
    """The passages that were read: those that support the answer in full, the others by their titles."""
    ranks = {passage["id"]: rank for rank, passage in enumerate(result.get("passages") or [], start=1)}
    sources, left_out = list_sources(result)
    supporting_ids = {item["passage"] for item in result.get("evidence") or []}
    if headline.badge == "by_content" and headline.source is not None:
        supporting_ids.add(headline.source["id"])
    heading = choose_passages_heading(result, headline)
    parts: list[RenderableType] = [Text(heading, style="bold")] if heading else []
    if search_note := result.get("search_note"):
        parts.append(Text(search_note))
    supporting_ids |= {source.passage["id"] for source in sources if source.number is not None}
    for source in sources:
        passage = source.passage
        if passage["id"] in supporting_ids:
            evidence = Evidence(passage=passage["id"], start=source.start, end=source.end)
            parts += format_passage(evidence, ranks[passage["id"]], passage, colours=colours, shows_scores=shows_scores)
    unsupported_ids = [id_ for id_ in result.get("voters_without_evidence") or [] if id_ not in supporting_ids]
    named = {source.passage["id"]: source.passage for source in sources}
    others = [passage for id_, passage in named.items() if id_ not in {*supporting_ids, *unsupported_ids}]
    lines = [f"{ranks[id_]}. {named[id_]['title'] or id_}" if id_ in named else id_ for id_ in unsupported_ids]
    if lines:
        parts.append(Text("Passages that voted for the answer but do not contain it:", style="bold"))
        parts += [Padding(Text(line, style="dim"), (0, 0, 0, 3)) for line in lines]
    if others:
        parts.append(Text("Other passages read:" if supporting_ids or lines else "Passages read:", style="bold"))
        for passage in others:
            line = Text(f"{ranks[passage['id']]}. {passage['title'] or passage['id']}", style="dim")
            if describe_place(passage):
                line.append("  ").append(format_place(passage))
            parts.append(Padding(line, (0, 0, 0, 3)))
    if left_out:
        parts.append(Padding(Text(f"and {format_count(left_out, 'more passage')}", style="dim"), (0, 0, 0, 3)))
    return parts


def mark_span(text: str, start: int, end: int, *, colours: bool) -> Text:
    """The text with characters [start, end) marked: by colours, or without `colours` by double brackets."""
    marked_text = Text(text[:start])
    if start < end:
        marked_text.append(
            text[start:end] if colours else f"[[{text[start:end]}]]", style="bold black on bright_yellow"
        )
    return marked_text.append(text[end:])


def format_place(passage: Passage) -> Text:
    """A passage's file, page and headings; without a file, its title or id.

    A terminal that supports links shows a link that opens the file.
    """
    place = describe_place(passage) or passage["title"] or passage["id"]
    return Text(place, style=Style(dim=True, link=make_file_link(passage) or None))


def choose_passages_heading(result: Result, headline: Headline) -> str:
    """The heading above the passages: "Cited passages" if the answer cites them, "Evidence" if they support it.

    Otherwise the heading says that they only voted for the answer, or that no passage contains it; empty if this was
    not looked for.
    """
    if list_cited_passages(result):
        return "Cited passages"
    if headline.badge in ("none", "unknown", "unchecked"):
        return headline.badge_text
    if headline.badge == "votes" or (result.get("evidence") and has_only_votes_as_evidence(result)):
        return "Passages that voted for the answer"
    return "Evidence"


def format_passage(
    evidence: Evidence, rank: int, passage: Passage, *, colours: bool, shows_scores: bool = False
) -> list[RenderableType]:
    """A passage with its rank, its place and a mark on the span that supports the answer. rank: from 1.

    On a terminal that supports links, the place is a link that opens the file.
    """
    title = Text(f"{rank}. {passage['title'] or passage['id']}", style="bold")
    if place := describe_place(passage):
        file_link = make_file_link(passage)
        title.append(f"  {place}", style=Style(bold=False, dim=True, link=file_link or None))
    if shows_scores or (not place and passage["title"]):
        score = [f"score {passage['score']:.3f}"] if shows_scores and "score" in passage else []
        title.append("  " + " · ".join([*score, passage["id"]]), style="not bold dim")
    text, start, end = passage["text"], evidence["start"], evidence["end"]
    if start is None or end is None:
        return [title, Padding(Text(text), (0, 0, 1, 3))]
    return [title, Padding(mark_span(text, start, end, colours=colours), (0, 0, 1, 3))]


def describe_run(result: Result, method: str) -> list[str]:
    """The parts of the line below the answer: method, confidence, calls, tokens, and what went wrong."""
    usage = (result.get("usage") or {}).values()
    calls = sum(counts["calls"] for counts in usage)
    tokens_in = sum(counts["input_tokens"] for counts in usage)
    tokens_out = sum(counts["output_tokens"] for counts in usage)
    malformed = sum(replies["count"] for replies in (result.get("malformed") or {}).values())
    wordy_answers = sum(replies["count"] for replies in (result.get("wordy_answers") or {}).values())
    confidence, dropped_count = result.get("confidence"), result.get("dropped") or 0
    return [
        method,
        *([f"confidence {confidence:.2f}"] if confidence is not None else []),
        format_count(calls, "call"),
        f"{tokens_in:,} tokens in, {tokens_out:,} out",
        *([format_count(malformed, "malformed reply", "malformed replies")] if malformed else []),
        *([format_count(wordy_answers, "wordy answer")] if wordy_answers else []),
        *(["temperature refused: the model does not take temperature 0"] if result.get("temperature_refused") else []),
        *([f"{format_count(dropped_count, 'passage')} dropped to fit the model's window"] if dropped_count else []),
    ]


def make_methods_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Name, summary, number of calls, depth (how many of the calls follow one another) and paper of every method."""
    table = make_plain_table("method", "summary", "calls", "depth", "paper")
    for row in rows:
        table.add_row(
            Text(row["name"], style="bold"), row["summary"], row["calls"], row["depth"], row["paper"].partition(",")[0]
        )
    return table


def make_plain_table(*titles: str) -> Table:
    """An empty table of texts without lines, with these column titles. For numbers there is `NumberTable`."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold")
    return table
