"""results.jsonl, a line for each question and method: reads the lines of earlier runs, and appends new ones."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from quorum.core.errors import SetupError
from quorum.core.private_files import open_private_bytes
from quorum.core.text import AnswerMeasure
from quorum.evaluation.run.answer_measure import check_answer_measure
from quorum.evaluation.run.column_scores import ColumnScores, Row
from quorum.evaluation.run.result_files import explain_write_errors, repair_and_read_lines

# {column: {measure or count: value}}; the value is None if no question has the measure
Summary = Mapping[str, Mapping[str, float | int | None]]


class Results:
    """results.jsonl, open for appending whole lines. Questions that earlier lines answer are not asked again.

    A method is here a column, a method with all its settings, by its name: "concat[k=10]".

    scores: method -> the scores of its lines that count; answered_pairs: (method, id) of the questions that were
    answered without an error; screened_out_ids: questions that the screening method answered correctly, which no other
    method is asked; is_counted: tells for a method and a question's id whether their line counts; None if all lines
    count. answer_measure: how answers are compared, which must be true of earlier lines, too; None: it is not checked.
    """

    def __init__(
        self,
        path: Path,
        methods: Iterable[str],
        screening_method: str | None = None,
        answer_measure: AnswerMeasure | None = None,
    ) -> None:
        self.answer_measure = answer_measure
        self.scores = {name: ColumnScores() for name in methods}
        self.screening_method = screening_method
        self.screened_out_ids: set[str] = set()
        self.answered_pairs: set[tuple[str, str]] = set()
        self.is_counted: Callable[[str, str], bool] | None = None
        self.path = path
        self.file = open_private_bytes(path, "a+b")
        try:
            self.resume()
        except BaseException:
            self.file.close()
            raise

    def resume(self) -> None:
        """Count the lines of an earlier run."""
        for number, line in enumerate(repair_and_read_lines(self.file), start=1):
            try:
                row = cast(Row, json.loads(line))
                check_answer_measure(row, self.answer_measure, self.path)
                self.count(row)
            except (ValueError, KeyError, TypeError, AttributeError):
                raise SetupError(
                    f"{self.path}, line {number} is not a result; remove the line, or give another folder with --out."
                ) from None

    def recount(self, is_counted: Callable[[str, str], bool]) -> None:
        """Count the lines again, but only those for which `is_counted(method, id)` is true. Append nothing afterwards:
        `answered_pairs` no longer holds the pairs of the other lines, although their questions were answered.
        """
        self.scores = {name: ColumnScores() for name in self.scores}
        self.screened_out_ids, self.answered_pairs, self.is_counted = set(), set(), is_counted
        self.resume()

    def count(self, row: Row) -> None:
        """Add the row to the scores, unless its question is answered already or `is_counted` leaves it out."""
        key = (row["method"], row["id"])
        if key in self.answered_pairs or (self.is_counted is not None and not self.is_counted(*key)):
            return
        self.scores[row["method"]].add(row)
        # Without accepted answers ("gold"), the answer "unknown" has em 1, but does not show any knowledge.
        if row["method"] == self.screening_method and row["em"] == 1 and row["gold"]:
            self.screened_out_ids.add(row["id"])
        if row["error"] is None:
            self.answered_pairs.add(key)

    def append(self, row: Row) -> None:
        """Write one whole line now, so that a kill loses at most the line being written."""
        with explain_write_errors(self.path):
            self.file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self.file.flush()
        self.count(row)

    def summarize(self) -> dict[str, dict[str, float | int | None]]:
        return {name: scores.summarize() for name, scores in self.scores.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # the buffer holds a line that a full disk cut short, which was already reported
            self.file.close()
