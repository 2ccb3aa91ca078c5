"""Measures what Quorum's savings, which must change no answer, save on your data: python -m benchmarks.savings DATA

Every question is asked with each saving and without it. The run fails if the two answers differ. The savings are:

lazy ranking           the method sure
staged votes           post_fusion, with one sample and with several
staged fallback        concat_pf, with one sample and with several
both rounds at once    concat_pf; saves rounds, not calls
equal passages         if a question has the same passage several times, its prompt is sent once
equal calls            a prompt that several methods share is sent once

For the first four savings, both runs use one journal, so that a prompt that both send gets the same reply, and the
calls and tokens of each run are counted as if it had been alone. For the last two savings, the answers with a journal
are compared with answers without one. A run without a journal, too, makes identical calls only once if they are under
way at the same time. The rounds of a question are the supersteps in which the model is called.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage

from benchmarks.harness import format_share, judge_targets, report
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Result
from quorum.datasets.records import Record
from quorum.evaluation.run.columns import Column, parse_columns
from quorum.evaluation.run.dataset import DataSet, read_data
from quorum.evaluation.run.spending import Spending
from quorum.graphs import answer

SAMPLED = "samples={samples};temperature=0.7"
# Saving -> (the method without it, the method with it). {samples} is the option --samples.
PAIRS = {
    "lazy ranking": ("sure", "sure[ranking=lazy]"),
    "staged votes": ("post_fusion", "post_fusion[vote=staged]"),
    "staged votes, {samples} samples": (f"post_fusion[{SAMPLED}]", f"post_fusion[{SAMPLED};vote=staged]"),
    "staged fallback": ("concat_pf", "concat_pf[vote=staged]"),
    "staged fallback, {samples} samples": (f"concat_pf[{SAMPLED}]", f"concat_pf[{SAMPLED};vote=staged]"),
    # concat_pf's rounds: one prompt with all passages, and one prompt for each passage
    "both rounds at once": ("concat_pf", "concat_pf[speculative=true]"),
}
# Methods without a saving. They send some of the same prompts.
METHODS_WITH_EQUAL_CALLS = ("post_fusion", "concat", "concat_pf", "pf_concat", "sure")


class RoundCounter(AsyncCallbackHandler):
    """Collects the supersteps of one question in which a model was asked, as `steps`."""

    def __init__(self) -> None:
        self.steps: set[int] = set()

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.steps.add((metadata or {})["langgraph_step"])


@dataclass
class Cost:
    """The cost of one method with its settings, as if it had run alone.

    answers: question id -> (answer, whether it is unknown).
    """

    calls: int = 0
    tokens: int = 0
    rounds: int = 0
    answers: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def add(self, question_id: str, result: Result, rounds: int) -> None:
        usage = (result.get("usage") or {}).values()
        self.calls += sum(item["calls"] for item in usage)
        self.tokens += sum(item["input_tokens"] + item["output_tokens"] for item in usage)
        self.rounds += rounds
        self.answers[question_id] = result["answer"], result["unknown"]


async def ask_all(dataset: DataSet, columns: Sequence[Column], at_once: int, spent: Spending) -> dict[str, Cost]:
    """Ask every question by every column: column name -> cost.

    `at_once` questions run at the same time; each is asked by one column after the other. spent: counts the calls that
    are really made.
    """
    cost_of_column: dict[str, Cost] = {column.name: Cost() for column in columns}
    records = dataset.read_records()  # one iterator for all workers: each takes the next question from it

    async def work() -> None:
        for record in records:
            for column in columns:
                round_counter = RoundCounter()
                result = await ask_question(record, column, dataset, [round_counter, spent])
                cost_of_column[column.name].add(record["id"], result, len(round_counter.steps))

    await asyncio.gather(*(work() for _ in range(at_once)))
    return cost_of_column


async def ask_question(
    record: Record, column: Column, dataset: DataSet, callbacks: list[AsyncCallbackHandler]
) -> Result:
    context = column.make_context(dataset.get_task(record))
    passages = record["passages"] or None
    return await answer(record["question"], column.method, context, given=passages, config={"callbacks": [*callbacks]})


def make_pair_row(full_cost: Cost, cost_with_saving: Cost) -> dict[str, Any]:
    """How many answers are the same without and with a saving, and the costs: [without it, with it]."""
    return {
        "same_answers": sum(
            full_cost.answers[question_id] == answer for question_id, answer in cost_with_saving.answers.items()
        ),
        "questions": len(full_cost.answers),
        "calls": [full_cost.calls, cost_with_saving.calls],
        "tokens": [full_cost.tokens, cost_with_saving.tokens],
        "rounds": [full_cost.rounds, cost_with_saving.rounds],
    }


def make_sharing_row(
    column_names: Sequence[str], spent: Spending, cost_without_journal: dict[str, Cost], cost_of_column: dict[str, Cost]
) -> dict[str, Any]:
    """How many answers are the same with and without a journal, and the costs: [those of the columns as if each had run
    alone, that of the calls that were really made].
    """
    alone_costs = [cost_of_column[name] for name in column_names]
    compared_pairs = [
        (name, question_id) for name in column_names for question_id in cost_without_journal[name].answers
    ]
    return {
        "same_answers": sum(
            cost_without_journal[name].answers[question_id] == cost_of_column[name].answers[question_id]
            for name, question_id in compared_pairs
        ),
        "questions": len(compared_pairs),
        "calls": [sum(item.calls for item in alone_costs), spent.calls],
        "tokens": [sum(item.tokens for item in alone_costs), spent.input_tokens + spent.output_tokens],
        "rounds": None,
    }


async def measure_savings(dataset: DataSet, context: Context, samples: int, at_once: int) -> dict[str, dict[str, Any]]:
    """The rows of the table: saving -> measurements. The context's journal must be empty."""

    def make_columns(names: Iterable[str], context: Context) -> list[Column]:
        return parse_columns(",".join(dict.fromkeys(name.format(samples=samples) for name in names)), context)

    # The first method, post_fusion, is measured alone: only equal passages can save calls in it.
    spent_by_first, spent_by_others = Spending(), Spending()
    cost_of_column = await ask_all(
        dataset, make_columns(METHODS_WITH_EQUAL_CALLS[:1], context), at_once, spent_by_first
    )
    cost_of_column |= await ask_all(
        dataset, make_columns(METHODS_WITH_EQUAL_CALLS[1:], context), at_once, spent_by_others
    )
    cost_without_journal = await ask_all(
        dataset, make_columns(METHODS_WITH_EQUAL_CALLS, replace(context, journal="off")), at_once, Spending()
    )
    cost_of_column |= await ask_all(
        dataset, make_columns([name for pair in PAIRS.values() for name in pair], context), at_once, Spending()
    )
    rows = {
        saving.format(samples=samples): make_pair_row(*(cost_of_column[name.format(samples=samples)] for name in pair))
        for saving, pair in PAIRS.items()
    }
    rows["equal passages asked once"] = make_sharing_row(
        METHODS_WITH_EQUAL_CALLS[:1], spent_by_first, cost_without_journal, cost_of_column
    )
    rows["equal calls asked once"] = make_sharing_row(
        METHODS_WITH_EQUAL_CALLS, add_spending(spent_by_first, spent_by_others), cost_without_journal, cost_of_column
    )
    return rows


def add_spending(spending: Spending, more_spending: Spending) -> Spending:
    total = Spending()
    for part in ("calls", "input_tokens", "output_tokens"):
        setattr(total, part, getattr(spending, part) + getattr(more_spending, part))
    return total


def format_row(name: str, row: dict[str, Any]) -> list[str]:
    """The cells of one line of the table."""
    numbers = [f"{row['same_answers']} of {row['questions']}"]
    for part in ("calls", "tokens"):
        full_count, count_with_saving = row[part]
        numbers += [f"{full_count:,}", f"{count_with_saving:,}", format_share(count_with_saving / full_count - 1)]
    rounds = row["rounds"] and [f"{total / row['questions']:.2f}" for total in row["rounds"]]
    return [name, *numbers, *(rounds or ["", ""])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "data", type=Path, help="a data set; for a question without passages of its own, QUORUM_COLLECTION is searched"
    )
    parser.add_argument("--k", type=int, default=10, help="passages per question")
    parser.add_argument("--limit", type=int, help="ask only this many questions")
    parser.add_argument("--model", default="embedded")
    parser.add_argument(
        "--samples", type=int, default=3, help="replies to each prompt, when a saving is measured with several samples"
    )
    parser.add_argument("--at-once", type=int, default=8, help="questions asked at the same time")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            context = Context(model=options.model, k=options.k, journal=str(Path(folder) / "journal.sqlite"))
            dataset = read_data(options.data, options.limit)
            rows = asyncio.run(measure_savings(dataset, context, options.samples, options.at_once))
        except SetupError as error:
            raise SystemExit(str(error)) from None
    # "with it": with the saving; the column without a title is the difference in percent.
    header = ("saving", "same answer", "calls", "with it", "", "tokens", "with it", "", "rounds", "with it")
    verdict = judge_targets({name: row["same_answers"] == row["questions"] for name, row in rows.items()})
    report("savings", header, [format_row(*item) for item in rows.items()], savings=rows, **verdict)
    if not verdict["met"]:
        raise SystemExit(f"These savings changed an answer: {', '.join(verdict['missed'])}.")


if __name__ == "__main__":
    main()
