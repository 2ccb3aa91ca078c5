"""Lays out results: with colours on a terminal, as plain text in a pipe."""

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from quorum.core.places import describe_place, make_file_link
from quorum.core.state import Evidence, Passage, Result
from quorum.core.text import format_count
from quorum.nodes.evidence import is_claimed


def stdout() -> Console:
    """The console for data; in a pipe 100 columns wide, unless COLUMNS says otherwise."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    return Console(file=sys.stdout, width=width, markup=False, emoji=False, highlight=False)


def stderr() -> Console:
    """The console for messages and progress."""
    return Console(file=sys.stderr, markup=False, emoji=False, highlight=False)


def format_result(result: Result, method: str, *, colours: bool, numbers: bool = False) -> RenderableType:
    """The answer on the first line, what it took on the second, then the passages that support it and where they stand.

    numbers: also show ids and scores, for debugging a run.
    """
    head = Text(
        "unknown" if result["unknown"] else result["answer"], style="bold red" if result["unknown"] else "bold green"
    )
    parts: list[RenderableType] = [head, Text(" · ".join(describe_run(result, method)), style="dim")]
    if result.get("rationale"):
        parts += [Text(), Text(result["rationale"] or "")]
    evidence, unsupported = result.get("evidence") or [], result.get("unsupported") or []
    parts += [Text(), Text(name_evidence(result), style="bold")]
    passages = {passage["id"]: (rank, passage) for rank, passage in enumerate(result.get("passages") or [], start=1)}
    for item in evidence:
        if item["passage"] in passages:
            parts += format_passage(item, *passages[item["passage"]], colours=colours, numbers=numbers)
    if unsupported:
        parts.append(Text("Voted for it, but do not contain it:", style="bold"))
    for id_ in unsupported:
        rank, passage = passages.get(id_, (None, None))
        named = f"{rank}. {passage['title'] or id_}" if passage else id_
        parts.append(Padding(Text(named, style="dim"), (0, 0, 0, 3)))
    return Group(*parts)


def name_evidence(result: Result) -> str:
    """The heading above the passages: "Evidence" if they contain the answer, else what the method says about them."""
    evidence = result.get("evidence") or []
    if not evidence:
        return "No passage contains the answer." if not result["unknown"] else "No passage supports an answer."
    return "Voted for it" if is_claimed(result) else "Evidence"


def format_passage(
    item: Evidence, rank: int, passage: Passage, *, colours: bool, numbers: bool = False
) -> list[RenderableType]:
    """A passage with its rank among those retrieved and where it stands, the span that supports the answer marked.

    On a terminal that can, the place is a link that opens the file.
    """
    title = Text(f"{rank}. {passage['title'] or passage['id']}", style="bold")
    if place := describe_place(passage):
        address = make_file_link(passage)
        title.append(f"  {place}", style=Style(bold=False, dim=True, link=address or None))
    if numbers or (not place and passage["title"]):
        score = [f"score {passage['score']:.3f}"] if numbers and "score" in passage else []
        title.append("  " + " · ".join([*score, passage["id"]]), style="not bold dim")
    text, start, end = passage["text"], item["start"], item["end"]
    if start is None or end is None:
        return [title, Padding(Text(text), (0, 0, 1, 3))]
    marked = Text(text[:start])
    marked.append(text[start:end] if colours else f"[[{text[start:end]}]]", style="bold black on bright_yellow")
    marked.append(text[end:])
    return [title, Padding(marked, (0, 0, 1, 3))]


def describe_run(result: Result, method: str) -> list[str]:
    """The line below the answer: method, confidence, calls, tokens and problems of the run."""
    usage = (result.get("usage") or {}).values()
    calls = sum(one["calls"] for one in usage)
    malformed = sum(one["count"] for one in (result.get("malformed") or {}).values())
    verbose = sum(one["count"] for one in (result.get("verbose") or {}).values())
    confidence, dropped = result.get("confidence"), result.get("dropped") or 0
    return [
        method,
        *([f"confidence {confidence:.2f}"] if confidence is not None else []),
        format_count(calls, "call"),
        f"{sum(one['input_tokens'] for one in usage):,} tokens in, {sum(one['output_tokens'] for one in usage):,} out",
        *([format_count(malformed, "malformed reply", "malformed replies")] if malformed else []),
        *([format_count(verbose, "wordy answer")] if verbose else []),
        *(["not greedy: the model refuses temperature 0"] if result.get("not_greedy") else []),
        *([f"{format_count(dropped, 'passage')} dropped to fit the window"] if dropped else []),
    ]


def make_methods_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Name, what it does, calls and depth of every method."""
    table = make_plain_table("method", "summary", "calls", "depth", "paper")
    for row in rows:
        table.add_row(
            Text(row["name"], style="bold"), row["summary"], row["calls"], row["depth"], row["paper"].partition(",")[0]
        )
    return table


def make_plain_table(first: str, *others: str, right: bool = False) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold")
    for name in others:
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table
