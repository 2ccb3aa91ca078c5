"""Decides which columns are asked which questions in each round, and where the answers go."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.details import Details
from quorum.evaluation.run.results import Results, Row
from quorum.evaluation.run.spending import Spending


@dataclass(frozen=True)
class Round:
    """These columns are asked these questions, as far as they have not answered them yet."""

    columns: Sequence[Column]
    dataset: DataSet


@dataclass(frozen=True)
class Recorder:
    """Where answers go. details: how each answer came about, None if not requested; spent: counts the calls; tell:
    called after each row.
    """

    results: Results
    details: Details | None
    spent: Spending
    tell: Callable[[], None]

    def add(self, row: Row) -> None:
        """Write a row now."""
        self.results.append(row)
        self.tell()


def rounds(columns: Sequence[Column], dataset: DataSet, results: Results) -> Iterator[Round]:
    """The rounds of an evaluation. Each begins when the one before it is answered, and may look at its results.

    All columns are asked all questions. Or the column `unless` is asked first, and the others only the questions that
    it did not get right. Questions on which its calls failed wait for another run.
    """
    first = [column for column in columns if column.name == results.unless]
    if first:
        yield Round(first, dataset)
        settled = results.known | results.scores[first[0].name].failed
        dataset = replace(dataset, count=dataset.count - len(settled), without=dataset.without | settled)
    yield Round([column for column in columns if column not in first], dataset)
