"""A judge's preference between the summaries of two methods (SuRe, section 4.3, figure 4b)."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.core.private_files import open_private_text
from quorum.core.text import format_count, squad_exact_match
from quorum.evaluation.experiments.analyses import AnalysisTable
from quorum.evaluation.metrics.statistics import compute_mean_interval, number_units
from quorum.nodes.ask import ask
from quorum.parsing.answers import Parsed, add_malformed_flag
from quorum.prompts.evaluation import PREFERENCE

Outcome = Literal["first", "second", "tie", "unscored", "failed"]


@dataclass(frozen=True)
class Pair:
    """Two summaries that led to the right answer of a question."""

    id: str
    question: str
    answer: str
    first_summary: str
    second_summary: str
    group: str | None = None  # the document or conversation that the question belongs to


@dataclass(frozen=True)
class Verdict:
    """The judge's verdict on a pair. preferred: for each order in which the judge saw the summaries, 0 if it preferred
    the first method's summary, 1 for the second method's, None for a tie. Orders without a verdict are missing.

    Outcome "first": the first method wins; "second": the second method wins; "unscored": a reply could not be read;
    "failed": a call failed permanently.
    """

    outcome: Outcome
    preferred: list[int | None]


def read_pairs(results: Path, first_method: str, second_method: str) -> Iterator[Pair]:
    """The pairs of summaries (each answer's rationale) for the questions that both methods answered correctly. A
    question is left out if one of the answers has no summary, or if the question has no gold answer that a summary
    could support.
    """
    rows_of_question: dict[str, dict[str, dict[str, Any]]] = {}
    with results.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            is_right = row["error"] is None and row["em"] == 1 and row["gold"]
            if row["method"] in (first_method, second_method) and is_right and row.get("rationale"):
                rows_of_question.setdefault(row["id"], {})[row["method"]] = row
    for id_, rows in sorted(rows_of_question.items()):
        if len(rows) == 2:
            first, second = rows[first_method], rows[second_method]
            answer = next(gold for gold in first["gold"] if squad_exact_match(first["answer"], [gold]))
            yield Pair(id_, first["question"], answer, first["rationale"], second["rationale"], first.get("group"))


async def ask_judge(pair: Pair, context: Context) -> Verdict:
    """The judge's verdict. The judge sees the summaries in both orders, because judges favour the first text."""
    preferred_methods: list[int | None] = []
    for is_swapped in (False, True):
        texts = (pair.second_summary, pair.first_summary) if is_swapped else (pair.first_summary, pair.second_summary)
        try:
            preference = await ask_preference(pair, texts, context)
        except CallError:
            return Verdict("failed", preferred_methods)
        if preference.malformed:
            return Verdict("unscored", preferred_methods)
        preferred_methods.append(
            preference.value if preference.value is None or not is_swapped else 1 - preference.value
        )
    return Verdict(decide_outcome(preferred_methods), preferred_methods)


async def ask_preference(pair: Pair, texts: tuple[str, str], context: Context) -> Parsed[int | None]:
    """Ask which of two summaries is better: 0 for the first of `texts`, 1 for the second, None for a tie.

    A reply that cannot be read is marked as malformed, so that it does not count as a tie.
    """
    replies = await ask(
        PREFERENCE.read_with(add_malformed_flag(PREFERENCE.parse)),
        Runtime(context=context),
        question=pair.question,
        answer=pair.answer,
        first=texts[0],
        second=texts[1],
        call_subject=pair.id,
    )
    return replies.values[0]


def decide_outcome(preferred_methods: list[int | None]) -> Outcome:
    """The method that wins in both orders, or wins in one and ties in the other; else a tie."""
    lead = sum(0 if method is None else 1 - 2 * method for method in preferred_methods)
    return "first" if lead > 0 else "second" if lead < 0 else "tie"


async def compare_summaries(
    folder: Path,
    names: tuple[str, str],
    context: Context,
    judge: str,
    *,
    concurrency: int,
    config: RunnableConfig,
    report_progress: Callable[[int, int], None],
) -> list[AnalysisTable]:
    """Ask the judge about every pair, write preference.jsonl, and count the outcomes. Replies in the journal need no
    call. names: the two methods. report_progress: called with the number of judged pairs and of all pairs.
    """
    pairs = list(read_pairs(folder / "results.jsonl", *names))
    judge_context = replace(context, model=judge)
    verdicts: dict[str, Verdict] = {}

    async def judge_pair(pair: Pair) -> None:
        verdicts[pair.id] = await ask_judge(pair, judge_context)
        report_progress(len(verdicts), len(pairs))

    await RunnableLambda(judge_pair).abatch(pairs, {**config, "max_concurrency": concurrency})
    lines = (json.dumps({"id": pair.id, **vars(verdicts[pair.id])}) + "\n" for pair in pairs)
    with open_private_text(folder / "preference.jsonl") as file:
        file.writelines(lines)
    return [count_outcomes(names, pairs, verdicts)]


def count_outcomes(names: tuple[str, str], pairs: list[Pair], verdicts: Mapping[str, Verdict]) -> AnalysisTable:
    """A table of the share of the scored pairs that each method won, and of the ties, with intervals.

    It also has the mean length of each method's summaries, because judges favour longer texts.
    """
    outcomes = [verdicts[pair.id].outcome for pair in pairs]
    scored_pairs = [pair for pair in pairs if verdicts[pair.id].outcome not in ("unscored", "failed")]
    scored_outcomes = [verdicts[pair.id].outcome for pair in scored_pairs]
    units = number_units(
        [pair.id for pair in scored_pairs], {pair.id: pair.group for pair in scored_pairs if pair.group is not None}
    )
    rows: list[dict[str, Any]] = []
    sides = (
        ("first", names[0], [len(pair.first_summary) for pair in pairs]),
        ("second", names[1], [len(pair.second_summary) for pair in pairs]),
    )
    for side, name, lengths in sides:
        share = (
            compute_mean_interval([outcome == side for outcome in scored_outcomes], units) if scored_outcomes else None
        )
        rows.append({"summaries of": name, "preferred": share, "mean characters": sum(lengths) // max(1, len(lengths))})
    rows.append(
        {
            "summaries of": "neither",
            "preferred": compute_mean_interval([outcome == "tie" for outcome in scored_outcomes], units)
            if scored_outcomes
            else None,
        }
    )
    unscored_counts = ", ".join(
        f"{outcomes.count(outcome)} {outcome}" for outcome in ("unscored", "failed") if outcome in outcomes
    )
    title = f"{format_count(len(pairs), 'question')} that both methods answered correctly with a summary"
    title += f", {unscored_counts}" if unscored_counts else ""
    return AnalysisTable(title=title, rows=rows)
