"""Formats results for the terminal: with colours, or as plain text in a pipe."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from quorum.cli.terminal import make_console
from quorum.core.conversation import CLOSEST_SENTENCE_HEADING
from quorum.core.places import describe_place, make_file_link
from quorum.core.shown_answer import get_shown_answer, list_cited_passages
from quorum.core.state import Evidence, Passage, Result
from quorum.core.text import format_count
from quorum.evaluation.support import ShownResult, Support, is_unsure
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

    If the answer is unsure, the first line says so, and the sentence is only the one that fits the question best.
    colours: mark text by colours; otherwise by double brackets. shows_scores: also show the passages' ids and scores,
    for debugging a run.
    """
    support = result.get("support")
    parts: list[RenderableType] = [format_headline(result), Text(" · ".join(describe_run(result, method)), style="dim")]
    if result.get("rationale"):
        parts += [Text(), Text(result["rationale"] or "")]
    passages = {passage["id"]: (rank, passage) for rank, passage in enumerate(result.get("passages") or [], start=1)}
    if support is not None:
        parts += [Text(), *format_support(support, result["passages"], colours=colours)]
    cited = [Evidence(passage=c.passage["id"], start=c.start, end=c.end) for c in list_cited_passages(result)]
    evidence, unsupported_ids = cited or result.get("evidence") or [], result.get("voters_without_evidence") or []
    parts += [Text(), Text(choose_passages_heading(result), style="bold")]
    if search_note := result.get("search_note"):
        parts.append(Text(search_note))
    for item in evidence:
        if item["passage"] in passages:
            rank, passage = passages[item["passage"]]
            parts += format_passage(item, rank, passage, colours=colours, shows_scores=shows_scores)
    if unsupported_ids:
        parts.append(Text("Passages that voted for the answer but do not contain it:", style="bold"))
    for id_ in unsupported_ids:
        if id_ in passages:
            rank, passage = passages[id_]
            passage_name = f"{rank}. {passage['title'] or id_}"
        else:
            passage_name = id_
        parts.append(Padding(Text(passage_name, style="dim"), (0, 0, 0, 3)))
    return Group(*parts)


def format_headline(result: ShownResult) -> Text:
    """The answer, or "not sure: perhaps ANSWER" if its certainty is too low, or "unknown" if there is no answer."""
    if result["unknown"]:
        return Text("unknown", style="bold red")
    if is_unsure(result):
        return Text("not sure: perhaps ", style="bold yellow").append(result["answer"])
    # The lines of a long answer are printed as they are: if they were broken, its tables and code would be, too.
    is_long = result.get("citations") is not None
    return Text(get_shown_answer(result), style="bold green", no_wrap=is_long, overflow="ignore" if is_long else None)


def format_support(support: Support, passages: Sequence[Passage], *, colours: bool) -> list[RenderableType]:
    """The sentence that supports the answer, with the answer marked, and the place of its passage in the document.

    If it is not certain that the sentence supports the answer, a heading above it says so.
    """
    answer_start, answer_end = support["span"] or (support["start"], support["start"])
    sentence = mark_span(
        support["sentence"], answer_start - support["start"], answer_end - support["start"], colours=colours
    )
    heading = [] if support["is_certain"] else [Text(CLOSEST_SENTENCE_HEADING, style="bold")]
    places = [format_place(passage) for passage in passages if passage["id"] == support["passage"]][:1]
    return [*heading, Padding(sentence, (0, 0, 0, 3)), *(Padding(place, (0, 0, 0, 3)) for place in places)]


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


def choose_passages_heading(result: Result) -> str:
    """The heading above the passages: "Cited passages" if the answer cites them, "Evidence" if they contain it.

    Otherwise the heading says that they only voted for the answer, or that no passage contains it.
    """
    if list_cited_passages(result):
        return "Cited passages"
    evidence = result.get("evidence") or []
    if not evidence:
        return "No passage contains the answer." if not result["unknown"] else "No passage supports an answer."
    return "Passages that voted for the answer" if has_only_votes_as_evidence(result) else "Evidence"


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


def make_plain_table(first: str, *others: str, align_right: bool = False) -> Table:
    """An empty table without lines, with these column titles. align_right: align all columns right but the first."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right" if align_right else "left", overflow="fold")
    return table
