"""Decides which columns (methods with their settings) are asked which questions in each round, and where the answers
go.
"""

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
class QuestionRound:
    """Columns, and the questions that they are asked in the same round. A column is not asked a question that it has
    answered already. race: decides which columns are still asked; None: all are.
    """

    columns: Sequence[Column]
    dataset: DataSet
    race: RunningRace | None = None

    def is_asked(self, name: str) -> bool:
        """Whether a column is still asked."""
        return self.race is None or self.race.is_live(name)

    async def wait_for_turn(self, record: Record, concurrency: int) -> None:
        """In a race, wait while too many earlier questions are not settled (see `RunningRace`)."""
        if self.race is not None:
            await self.race.wait_for_turn(record["id"], concurrency)


@dataclass(frozen=True)
class Recorder:
    """Where answers go. details: receives the details of each answer, None if no details are requested; spending:
    counts the calls; report_progress: called after each row; race: receives each row.
    """

    results: Results
    details: Details | None
    spending: Spending
    report_progress: Callable[[], None]
    race: RunningRace | None = None

    def add(self, row: Row) -> None:
        """Append a row to the results, pass it to the race if there is one, and report progress."""
        self.results.append(row)
        if self.race is not None:
            self.race.add(row)
        self.report_progress()


def split_into_rounds(
    columns: Sequence[Column], dataset: DataSet, results: Results, race: RunningRace | None = None
) -> Iterator[QuestionRound]:
    """The rounds of an evaluation. Ask all questions of a round before you take the next round from the iterator,
    because the questions of the next round may depend on the answers.

    Without a screening column (`Options.screening_column`), there is one round: all columns are asked all questions (in
    a race, until they are dropped). With a screening column, there are two: in the first round, this column is asked
    all questions; in the second, the other columns are asked only the questions that it did not answer correctly. If
    the screening column failed on a question, the other columns are not asked it in this run.
    """
    screening_columns = [column for column in columns if column.name == results.screening_method]
    if screening_columns:
        yield QuestionRound(screening_columns, dataset)
        excluded_ids = results.screened_out_ids | results.scores[screening_columns[0].name].error_messages.keys()
        dataset = replace(
            dataset, count=dataset.count - len(excluded_ids), excluded_ids=dataset.excluded_ids | excluded_ids
        )
    yield QuestionRound([column for column in columns if column not in screening_columns], dataset, race)
