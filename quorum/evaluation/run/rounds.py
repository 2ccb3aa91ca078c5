"""Decides which columns are asked which questions in each round, and where the answers go."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from quorum.datasets.records import Record
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.dataset import DataSet
from quorum.evaluation.run.details import Details
from quorum.evaluation.run.race import RunningRace
from quorum.evaluation.run.results import Results
from quorum.evaluation.run.spending import Spending


@dataclass(frozen=True)
class Round:
    """Columns, and the questions to ask them unless they have answered already. race: decides which columns are still
    asked; None: all are.
    """

    columns: Sequence[Column]
    dataset: DataSet
    race: RunningRace | None = None

    def is_asked(self, name: str) -> bool:
        """Whether a column is still asked."""
        return self.race is None or self.race.is_live(name)

    async def wait_for_turn(self, record: Record, concurrency: int) -> None:
        """Wait until a question may be asked."""
        if self.race is not None:
            await self.race.wait_for_turn(record["id"], concurrency)


@dataclass(frozen=True)
class Recorder:
    """Where answers go. details: receives the details of each answer, None if not requested; spent: counts the calls;
    report_progress: called after each row; race: receives each row.
    """

    results: Results
    details: Details | None
    spent: Spending
    report_progress: Callable[[], None]
    race: RunningRace | None = None

    def add(self, row: Row) -> None:
        """Write a row now."""
        self.results.append(row)
        if self.race is not None:
            self.race.add(row)
        self.report_progress()


def split_into_rounds(
    columns: Sequence[Column], dataset: DataSet, results: Results, race: RunningRace | None = None
) -> Iterator[Round]:
    """The rounds of an evaluation. Each begins when the one before it is answered, and may look at its results.

    Without a screening column, all columns are asked all questions (in a race, until they are dropped). A screening
    column is asked first, and the others are only asked the questions that it did not answer correctly. Questions on
    which its calls failed wait for another run.
    """
    first = [column for column in columns if column.name == results.screening_method]
    if first:
        yield Round(first, dataset)
        settled = results.known_ids | results.scores[first[0].name].failed.keys()
        dataset = replace(dataset, count=dataset.count - len(settled), excluded_ids=dataset.excluded_ids | settled)
    yield Round([column for column in columns if column not in first], dataset, race)
