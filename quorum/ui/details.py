"""The details of an answer: passages with marked evidence, votes, candidates, steps with prompts, costs."""

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import html

from quorum.core.state import Evidence, Passage, Result
from quorum.core.text import format_count
from quorum.documents.places import describe_place
from quorum.evaluation.shown.trace import Step
from quorum.nodes.evidence import has_only_votes_as_evidence
from quorum.ui.run import Answer, list_node_states
from quorum.ui.texts import draw_folded_section, draw_table, format_cell

# At most this many passages, lines of the table of votes, steps, inner steps and replies are shown: thousands would
# slow a browser down.
MAX_SHOWN = 100

DetailTab = tuple[str, Callable[[], None]]


def list_detail_tabs(answer: Answer) -> dict[str, DetailTab]:
    """The tabs that this answer has: name -> (title, function that draws the content)."""
    result: Result = answer.result or {}
    tabs: dict[str, DetailTab] = {}
    passages, votes = result.get("passages") or [], result.get("votes") or []
    candidates = result.get("candidates") or []
    if passages:
        tabs["passages"] = (f"Passages {len(passages)}", lambda: draw_passages(result))
    if votes:
        tabs["votes"] = (f"Votes {len(votes)}", lambda: draw_votes(result))
    if candidates or result.get("summaries"):
        tabs["candidates"] = (f"Candidates {len(candidates)}", lambda: draw_candidates(result))
    if answer.root.steps:
        tabs["steps"] = ("Steps", lambda: draw_steps(answer))
        tabs["costs"] = ("Costs", lambda: draw_costs(answer))
    return tabs


BADGE_OF_UNSUPPORTED_VOTE = "voted for the answer, does not contain it"


def draw_passages(result: Result) -> None:
    passages = result.get("passages") or []
    evidence_by_passage = {item["passage"]: item for item in result.get("evidence") or []}
    unsupported_ids = set(result.get("voters_without_evidence") or [])
    evidence_badge = "voted for the answer" if has_only_votes_as_evidence(result) else "evidence"
    with html.ol().classes("passages"):
        for rank, passage in enumerate(passages[:MAX_SHOWN], start=1):
            evidence = evidence_by_passage.get(passage["id"])
            vote_badge = BADGE_OF_UNSUPPORTED_VOTE if passage["id"] in unsupported_ids else None
            draw_passage(rank, passage, evidence, evidence_badge if evidence else vote_badge)
    draw_truncation_note(len(passages), "passages")


def draw_passage(rank: int, passage: Passage, evidence: Evidence | None, badge: str | None) -> None:
    """Draw a passage and mark the span that supports the answer. badge: the passage's role in the answer."""
    with html.li().classes("passage" + (" evidence" if evidence else "")).props(f"data-rank={rank}"):
        with html.div().classes("title"):
            html.b(f"{rank}. {passage['title'] or passage['id']}")
            if badge:
                html.span(badge).classes("badge")
            html.small(describe_place(passage) or passage["id"])
        with html.p():
            for text, is_marked in split_at_evidence(passage["text"], evidence):
                (html.mark if is_marked else html.span)(text)


def split_at_evidence(text: str, evidence: Evidence | None) -> list[tuple[str, bool]]:
    """The text in parts, without empty ones: [(part, whether it is the evidence, which is marked), ...]."""
    start, end = (None, None) if evidence is None else (evidence["start"], evidence["end"])
    if start is None or end is None:
        return [(text, False)]
    return [part for part in ((text[:start], False), (text[start:end], True), (text[end:], False)) if part[0]]


def draw_votes(result: Result) -> None:
    """Draw the answers by number of votes, with bars, and then the vote of each passage."""
    votes = result.get("votes") or []
    passage_numbers_of_answer: dict[str, list[int]] = {}
    for vote in votes:
        voted_answer = "unknown" if vote["unknown"] else vote["answer"]
        passage_numbers_of_answer.setdefault(voted_answer, []).append(vote["rank"] + 1)
    with html.div().classes("ballots"):
        for voted_answer, numbers in sorted(passage_numbers_of_answer.items(), key=lambda item: -len(item[1])):
            with html.div().classes("ballot" + (" unknown" if voted_answer == "unknown" else "")):
                html.span(voted_answer)
                html.i().style(f"width: {100 * len(numbers) / len(votes):.1f}%")
                voting_passages = ", ".join(map(str, sorted(set(numbers))))
                html.small(f"{format_count(len(numbers), 'vote')} · by passage {voting_passages}")
    has_weights = any("weight" in vote for vote in votes)
    headers = ["passage", "answer", *(["weight"] if has_weights else [])]
    lines = [
        [
            vote["rank"] + 1,
            "unknown" if vote["unknown"] else vote["answer"],
            *([vote.get("weight")] if has_weights else []),
        ]
        for vote in votes[:MAX_SHOWN]
    ]
    draw_table(headers, lines)
    draw_truncation_note(len(votes), "votes")


def draw_candidates(result: Result) -> None:
    """Draw every candidate with its score, its summary, and whether the summary supports it; then the summaries that
    belong to no candidate.
    """
    candidates = result.get("candidates") or []
    scores, validity = result.get("scores") or [], result.get("validity") or []
    summaries = result.get("summaries") or []
    with html.ol().classes("candidates"):
        for rank, candidate in enumerate(candidates):
            with html.li().classes("chosen" if candidate == result.get("answer") else ""):
                html.b(candidate)
                facts = [f"score {format_cell(scores[rank])}"] if rank < len(scores) else []
                facts += [("supported" if validity[rank] else "not supported")] if rank < len(validity) else []
                html.small(" · ".join(facts))
                if rank < len(summaries):
                    html.p(summaries[rank])
    for summary in summaries[len(candidates) :]:
        html.p(summary)


def draw_steps(answer: Answer) -> None:
    """Draw the run's nodes with their prompts and replies."""
    with html.div().classes("steps"):
        for graph in answer.root.steps:
            for step in graph.steps[:MAX_SHOWN]:
                draw_step(step)
            draw_truncation_note(len(graph.steps), "steps")


def draw_step(step: Step) -> None:
    """Draw a step with its inner steps."""
    time_taken = [] if step.seconds is None else [f"{step.seconds:.2f} s"]
    facts = " · ".join([*step.details, *step.changes, *time_taken])
    if not (step.prompt or step.reply or step.steps or step.error):
        with html.div().classes("step"):
            html.span(step.name)
            html.small(facts)
        return
    with draw_folded_section(step.name, facts).classes(f"step {step.kind}"):
        if step.error:
            html.p(step.error).classes("error")
        if step.prompt:
            html.span("query" if step.kind == "search" else "prompt").classes("label")
            html.pre(step.prompt)
        if step.reply:
            html.span("reply").classes("label")
            html.pre(step.reply).classes("reply")
        for inner in step.steps[:MAX_SHOWN]:
            draw_step(inner)
        draw_truncation_note(len(step.steps), "steps")


def draw_costs(answer: Answer) -> None:
    """Draw calls and tokens by prompt, malformed replies, and the seconds of every node."""
    result: Result = answer.result or {}
    usage: Mapping[str, Mapping[str, Any]] = result.get("usage") or {}
    malformed = result.get("malformed") or {}
    columns = ("calls", "input_tokens", "output_tokens", "cached_tokens")
    if usage:
        lines = [[prompt, *(int(counts[column]) for column in columns)] for prompt, counts in usage.items()]
        sums = ["in all", *(sum(int(counts[column]) for counts in usage.values()) for column in columns)]
        draw_table(["prompt", "calls", "tokens in", "out", "cached"], [*lines, sums] if len(lines) > 1 else lines)
    for prompt, prompt_replies in malformed.items():
        with draw_folded_section(
            f"{format_count(prompt_replies['count'], 'malformed reply', 'malformed replies')} to {prompt}"
        ):
            for reply in prompt_replies["replies"][:MAX_SHOWN]:
                html.pre(reply)
    if result.get("dropped"):
        html.p(f"{format_count(result['dropped'], 'passage')} dropped to fit the model's window.")
    draw_table(
        ["node", "times", "seconds"],
        [[node, node_state.begin_count, node_state.seconds] for node, node_state in list_node_states(answer).items()],
    )


def draw_truncation_note(count: int, noun: str) -> None:
    """Say, below a list of `count` items, that only the first are shown, if that is so."""
    if count > MAX_SHOWN:
        html.p(f"The first {MAX_SHOWN} of {count:,} {noun}.").classes("note")
