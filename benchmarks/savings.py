"""What the exact savings, which change no answer, save on your data: python -m benchmarks.savings DATA [--k 10]

Asks every question both ways, first with every call and then with the saving. Both use one journal, so a prompt that
both send has one reply. The savings: lazy ranking (sure); staged votes (post_fusion, and the fallback of concat_pf,
also with several samples); both rounds of concat_pf at once; equal calls, of repeated passages or several methods,
asked once. A different answer fails the run. Calls and tokens are counted as if each way had run alone. The rounds of a
question are the supersteps in which the model is called.
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
# Saving -> the method without and with it.
PAIRS = {
    "lazy ranking": ("sure", "sure[ranking=lazy]"),
    "staged votes": ("post_fusion", "post_fusion[vote=staged]"),
    "staged votes, {samples} samples": (f"post_fusion[{SAMPLED}]", f"post_fusion[{SAMPLED};vote=staged]"),
    "staged fallback": ("concat_pf", "concat_pf[vote=staged]"),
    "staged fallback, {samples} samples": (f"concat_pf[{SAMPLED}]", f"concat_pf[{SAMPLED};vote=staged]"),
    # concat_pf's rounds: one prompt with all passages, and one prompt for each passage
    "both rounds at once": ("concat_pf", "concat_pf[speculative=true]"),
}
# Methods, without any saving, some of whose calls are the same.
METHODS_WITH_EQUAL_CALLS = ("post_fusion", "concat", "concat_pf", "pf_concat", "sure")


class RoundCounter(AsyncCallbackHandler):
    """The supersteps of one question in which a model was asked."""

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
    """The cost of one way, as if it had run alone; answers: by question."""

    calls: int = 0
    tokens: int = 0
    rounds: int = 0
    answers: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def add(self, question: str, result: Result, rounds: int) -> None:
        usage = (result.get("usage") or {}).values()
        self.calls += sum(item["calls"] for item in usage)
        self.tokens += sum(item["input_tokens"] + item["output_tokens"] for item in usage)
        self.rounds += rounds
        self.answers[question] = result["answer"], result["unknown"]


async def ask_all(dataset: DataSet, columns: Sequence[Column], at_once: int, spent: Spending) -> dict[str, Cost]:
    """Ask every question by every column. `at_once` questions run at the same time; each goes through the columns in
    order.
    """
    cost_of_column: dict[str, Cost] = {column.name: Cost() for column in columns}
    waiting = dataset.read_records()

    async def work() -> None:
        for record in waiting:
            for column in columns:
                rounds = RoundCounter()
                result = await ask_question(record, column, dataset, [rounds, spent])
                cost_of_column[column.name].add(record["id"], result, len(rounds.steps))

    await asyncio.gather(*(work() for _ in range(at_once)))
    return cost_of_column


async def ask_question(
    record: Record, column: Column, dataset: DataSet, watching: list[AsyncCallbackHandler]
) -> Result:
    context = column.make_context(dataset.get_task(record))
    passages = record["passages"] or None
    return await answer(record["question"], column.method, context, given=passages, config={"callbacks": [*watching]})


def make_pair_row(full_cost: Cost, cost_with_saving: Cost) -> dict[str, Any]:
    """The answers and the costs of both ways, side by side."""
    return {
        "same_answers": sum(
            full_cost.answers[question] == answer for question, answer in cost_with_saving.answers.items()
        ),
        "questions": len(full_cost.answers),
        "calls": [full_cost.calls, cost_with_saving.calls],
        "tokens": [full_cost.tokens, cost_with_saving.tokens],
        "rounds": [full_cost.rounds, cost_with_saving.rounds],
    }


def make_sharing_row(
    names: Sequence[str], spent: Spending, cost_without_journal: dict[str, Cost], cost_of_column: dict[str, Cost]
) -> dict[str, Any]:
    """The cost of these columns as if each had run alone, and that of the calls that were really made. Answers are
    compared with those without a journal.
    """
    alone_costs = [cost_of_column[name] for name in names]
    compared_pairs = [(name, question) for name in names for question in cost_without_journal[name].answers]
    return {
        "same_answers": sum(
            cost_without_journal[name].answers[asked_question] == cost_of_column[name].answers[asked_question]
            for name, asked_question in compared_pairs
        ),
        "questions": len(compared_pairs),
        "calls": [sum(item.calls for item in alone_costs), spent.calls],
        "tokens": [sum(item.tokens for item in alone_costs), spent.input_tokens + spent.output_tokens],
        "rounds": None,
    }


async def measure_savings(dataset: DataSet, context: Context, samples: int, at_once: int) -> dict[str, dict[str, Any]]:
    """All rows. The context's journal must be empty."""

    def make_columns(names: Iterable[str], context: Context) -> list[Column]:
        return parse_columns(",".join(dict.fromkeys(name.format(samples=samples) for name in names)), context)

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
        dataset, make_columns([way for pair in PAIRS.values() for way in pair], context), at_once, Spending()
    )
    figures = {
        name.format(samples=samples): make_pair_row(*(cost_of_column[way.format(samples=samples)] for way in pair))
        for name, pair in PAIRS.items()
    }
    figures["equal passages asked once"] = make_sharing_row(
        METHODS_WITH_EQUAL_CALLS[:1], spent_by_first, cost_without_journal, cost_of_column
    )
    figures["equal calls asked once"] = make_sharing_row(
        METHODS_WITH_EQUAL_CALLS, add_spending(spent_by_first, spent_by_others), cost_without_journal, cost_of_column
    )
    return figures


def add_spending(spending: Spending, more_spending: Spending) -> Spending:
    total = Spending()
    for part in ("calls", "input_tokens", "output_tokens"):
        setattr(total, part, getattr(spending, part) + getattr(more_spending, part))
    return total


def format_row(name: str, row: dict[str, Any]) -> list[str]:
    """One line of the table."""
    numbers = [f"{row['same_answers']} of {row['questions']}"]
    for part in ("calls", "tokens"):
        full_count, count_with_saving = row[part]
        numbers += [f"{full_count:,}", f"{count_with_saving:,}", format_share(count_with_saving / full_count - 1)]
    rounds = row["rounds"] and [f"{total / row['questions']:.2f}" for total in row["rounds"]]
    return [name, *numbers, *(rounds or ["", ""])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--samples", type=int, default=3, help="outputs per prompt where several are drawn")
    parser.add_argument("--at-once", type=int, default=8, help="questions at once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            context = Context(model=options.model, k=options.k, journal=str(Path(folder) / "journal.sqlite"))
            dataset = read_data(options.data, options.limit)
            figures = asyncio.run(measure_savings(dataset, context, options.samples, options.at_once))
        except SetupError as error:
            raise SystemExit(str(error)) from None
    header = ("saving", "same answer", "calls", "with it", "", "tokens", "with it", "", "rounds", "with it")
    same = judge_targets({name: row["same_answers"] == row["questions"] for name, row in figures.items()})
    report("savings", header, [format_row(*item) for item in figures.items()], savings=figures, **same)
    if not same["met"]:
        raise SystemExit(f"An answer changed: {', '.join(same['missed'])}.")


if __name__ == "__main__":
    main()
