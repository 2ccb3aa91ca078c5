"""The results of evaluations and comparisons: plain tables, which print well in a terminal and in a notebook."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.api.tables import Table
from quorum.evaluation.metrics.measure_titles import MEASURE_TITLES
from quorum.evaluation.report.figure import Figure

if TYPE_CHECKING:
    from quorum.evaluation.decisions.decide import Decision
    from quorum.evaluation.run.score import Scores

Row = dict[str, Any]

COLUMN_TITLES = {
    **MEASURE_TITLES,
    "contains": "contains",
    "unknown": "%Unk",
    "calls": "calls",
    "input_tokens": "tokens in",
    "output_tokens": "out",
    "seconds_p50": "p50 s",
    "seconds_p95": "p95 s",
}
SHARE_MEASURES = ("contains", "unknown", "recall", "hit", "mrr")
COST_MEASURES = ("calls", "input_tokens", "output_tokens", "seconds_p50", "seconds_p95")
# "unscored": answers that the judge did not decide, because its reply could not be read;
# "judge_errors": answers on which a call of the judge failed.
FAILURE_COUNTS = ("errors", "malformed", "unscored", "judge_errors")


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The result of `evaluate`. `rows` has a row for each question and method; each access reads results.jsonl.

    Print the evaluation, or leave it as the last line of a notebook's cell.
    """

    folder: Path
    """Where config.json, results.jsonl and summary.json lie."""
    measures: tuple[str, ...]
    """The measures of the answers, the deciding one first."""
    table: list[Row]
    """A row for each method, as in summary.json: `method`, `n` (questions), the mean of each measure (not in percent:
    an EM of 0.5 says that half of the answers match exactly), the 95% interval of each measure that methods are
    compared by (for EM `em_low` and `em_high`), the calls and tokens per question, counted as if the method had run
    alone, percentiles of the seconds (`seconds_p50`, `seconds_p95`), and counts such as `errors` and `malformed`.
    """
    differences: list[Row]
    """A row for each method and measure, with the `difference` of its mean from the baseline's, the interval from `low`
    to `high` (the intervals of all methods hold together), `p_holm` (p adjusted for all methods) and `questions_needed`
    (about how many questions would show the difference; None if these do, if the means are equal, if there are fewer
    than two questions, or if a race dropped one of the two methods or has not ended).
    """
    spent: dict[str, int]
    """The calls and tokens of this run; replies that came from the journal do not count, nor do embeddings that were
    cached or computed in this process.
    """
    metrics: tuple[str, ...] = ()
    """The names of the metrics that a package or you added."""

    @property
    def rows(self) -> list[Row]:
        """A row for each question and method, as in results.jsonl. Each access reads the file."""
        return list(read_answers(self.folder / "results.jsonl"))

    def tables(self) -> list[Table]:
        """The tables that `str` and a notebook show."""
        return [
            make_measures_table(self.table, self.measures, self.metrics),
            *make_difference_tables(self.differences, self.measures),
        ]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables()))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables())


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `compare`, with its recommendation.

    Print the comparison, or leave it as the last line of a notebook's cell.
    """

    best: str | None
    """The method with the highest mean among those within the budget; None if no method is within the budget, or if a
    race ended at `max_cost` with more than one method left.
    """
    cheapest: str | None
    """The recommended method, the cheapest of those that may be the best and are within `margin` of the highest mean;
    use this one. None without a `best`, and if answering "unknown" always is recommended (`wrong_cost`).
    """
    front: list[str]
    """The methods on the Pareto front of quality and cost, the cheapest first."""
    sentences: list[str]
    """The recommendation in more words, the most important sentence first."""
    figures: list[Row]
    """A row for each method: `name`, `n` (questions), `errors`, `quality` with `low` and `high` (in 0..1; with
    `wrong_cost` the mean worth of an answer, in -wrong_cost..1); per question `calls`, `tokens`, `cost` (dollars; None:
    no price) and `seconds` (95th percentile); the shares `right`, `wrong` and `unknown`.
    """
    estimate: list[Row]
    """A row for each method with the calls, tokens and dollars expected per question."""
    report: Path
    """The path of report.html."""
    evaluation: Evaluation
    """The whole `Evaluation`."""
    race: list[Row] = field(default_factory=list)
    """A row for each method of a race: `method`, `asked` (questions it was asked), `of` (questions in all), `dropped`
    (whether the race dropped it), `mean` with `low` and `high`; empty without a race.
    """
    screen: list[Row] = field(default_factory=list)
    """A row for each search that the screen before a race measured: `methods` (that search so), `k`, `mean` of the
    recall with `low` and `high`, `kept` (whether these methods were raced); empty without a screen.
    """
    certain: bool = False
    """Whether no other method may be the best."""
    may_be_best: list[str] = field(default_factory=list)
    """The methods that may be the best."""
    not_among_best: list[str] = field(default_factory=list)
    """The methods that are not among the best."""
    headline: str = ""
    """The recommendation in at most 15 words, as the report's headline."""
    summary: list[str] = field(default_factory=list)
    """Three sentences: what to use, what it costs, and what would settle the question."""
    figure: Figure = field(default_factory=lambda: Figure(""))
    """The report's picture: each method's quality with its interval, and its cost. `figure.save("figure.svg")` writes
    it, and a notebook shows it.
    """

    def __str__(self) -> str:
        words = [self.headline, *self.summary, "", *self.sentences, ""]
        return "\n".join([*words, str(self.evaluation), "", f"The report is {self.report}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        summary = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.summary)
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in self.sentences)
        return (
            f"<h3>{escape(self.headline)}</h3>{summary}{self.figure.svg}{self.evaluation._repr_html_()}"
            f"<details><summary>How sure is this?</summary><ul>{items}</ul></details>"
            f"<p>The report is <code>{escape(str(self.report))}</code></p>"
        )


def make_evaluation(scores: "Scores") -> Evaluation:
    """Scores as plain data."""
    differences = [
        {"method": name, "baseline": comparison["baseline"], "measure": measure, "n": comparison["n"], **difference}
        for comparison in scores.comparisons
        for name, measures in comparison["methods"].items()
        for measure, difference in measures.items()
    ]
    spent = scores.spending
    return Evaluation(
        folder=scores.folder,
        measures=scores.measures,
        table=[{"method": name, **row} for name, row in scores.summary.items()],
        differences=differences,
        spent={
            "calls": spent.calls,
            "input_tokens": spent.input_tokens,
            "output_tokens": spent.output_tokens,
            "embedding_tokens": sum(counts["tokens"] for counts in spent.embeddings.usage.values()),
        },
        metrics=tuple(scores.plan.config.get("metrics") or ()),
    )


def make_comparison(decision: "Decision") -> Comparison:
    """A decision as plain data."""
    from quorum.evaluation.report.figure import draw_figure
    from quorum.evaluation.report.figure_rows import collect_figure

    recommendation = decision.recommendation
    expected_costs = decision.estimate.methods if decision.estimate is not None else {}
    return Comparison(
        best=recommendation.best,
        cheapest=recommendation.cheapest,
        front=list(recommendation.pareto_front),
        sentences=list(recommendation.sentences),
        figures=[asdict(figure) for figure in decision.figures],
        estimate=[{"name": name, **asdict(cost)} for name, cost in expected_costs.items()],
        report=decision.scores.folder / "report.html",
        evaluation=make_evaluation(decision.scores),
        race=[] if decision.scores.race is None else decision.scores.race.to_json()["methods"],
        screen=[] if (found := decision.scores.plan.screening) is None else [asdict(item) for item in found.searches],
        certain=recommendation.is_certain,
        may_be_best=[] if recommendation.choice is None else recommendation.choice.may_be_best,
        not_among_best=[] if recommendation.choice is None else recommendation.choice.not_among_best,
        headline=recommendation.verdict.headline,
        summary=recommendation.verdict.sentences,
        figure=Figure(draw_figure(collect_figure(decision.figures, recommendation, decision.scores.race))),
    )


def read_answers(path: Path) -> Iterator[Row]:
    """The lines of results.jsonl. If a question failed and was asked again, only its last line counts."""
    rows: dict[tuple[str, str], Row] = {}
    with path.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            key = (row["method"], row["id"])
            if key not in rows or rows[key]["error"] is not None:
                rows[key] = row
    return iter(rows.values())


def make_measures_table(rows: Sequence[Row], measures: Sequence[str], metrics: Sequence[str] = ()) -> Table:
    """A row for each method: its measures, its costs and, if there are any, its failures. metrics: those that a package
    or the caller added.
    """
    names = dict.fromkeys((*measures, *SHARE_MEASURES, *metrics, *COST_MEASURES))
    measure_names = [name for name in names if any(row.get(name) is not None for row in rows)]
    failure_names = [name for name in FAILURE_COUNTS if any(row.get(name) for row in rows)]
    titles = [COLUMN_TITLES.get(name, name) for name in measure_names]
    titles += [name.replace("_", " ") for name in failure_names]
    return Table("", ["method", "n", *titles], [make_measures_row(row, measure_names, failure_names) for row in rows])


def make_measures_row(row: Row, measure_names: Sequence[str], failure_names: Sequence[str]) -> list[str]:
    """The cells of one method: its name, its number of questions, its measures, its counts of failures."""
    measure_cells = [format_cell(row, name) for name in measure_names]
    return [row["method"], f"{row['n']:,}", *measure_cells, *(f"{row[name]:,}" for name in failure_names)]


def format_cell(row: Mapping[str, Any], name: str) -> str:
    """A cost as a number, any other measure in percent, with its interval if it has one.

    The cell is '-' if the method has no such measure.
    """
    value, low, high = (row.get(key) for key in (name, f"{name}_low", f"{name}_high"))
    if value is None:
        return "-"
    if name in COST_MEASURES:
        return f"{value:,.2f}" if name.startswith("seconds") else f"{value:,.1f}"
    if name not in COLUMN_TITLES:  # a metric of a package or of the caller, which need not be a share
        return f"{value:,.3f}"
    return (
        format_percent(value)
        if low is None or high is None
        else f"{format_percent(value)} [{format_percent(low)}, {format_percent(high)}]"
    )


def make_difference_tables(rows: Sequence[Row], measures: Sequence[str]) -> list[Table]:
    """For each baseline, a table with the difference of every method from it in the deciding measure."""
    measure = measures[0]
    tables = []
    for baseline in dict.fromkeys(row["baseline"] for row in rows):
        baseline_rows = [row for row in rows if row["baseline"] == baseline and row["measure"] == measure]
        cells = [
            [
                row["method"],
                format_interval(row["difference"], row["low"], row["high"], "+"),
                # "race": a race dropped one of the two methods, or has not ended, so there is no p-value
                "-" if row.get("test") == "race" else "<.001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}",
                "-" if row["questions_needed"] is None else f"{row['questions_needed']:,}",
            ]
            for row in baseline_rows
        ]
        if cells:
            title = describe_differences(baseline, baseline_rows[0]["n"])
            tables.append(Table(title, ["method", COLUMN_TITLES[measure], "p", "n needed"], cells))
    return tables


def describe_differences(baseline: str, questions: int) -> str:
    """The title of a table of differences: its baseline, and the meaning of its columns."""
    return (
        f"Difference from {baseline} on {questions:,} questions; the intervals hold together, p is corrected for all "
        "methods; n needed: questions that would show it"
    )


def format_interval(value: float, low: float, high: float, sign: str = "") -> str:
    """'61.0 [52.1, 69.9]', in percent. sign: "+" to put a plus before positive numbers."""
    return f"{format_percent(value, sign)} [{format_percent(low, sign)}, {format_percent(high, sign)}]"


def format_percent(share: float, sign: str = "") -> str:
    """A share in percent. sign: "+" to put a plus before a positive number."""
    value = round(100 * share, 1) + 0.0
    return f"{value:{sign if value else ''}.1f}"
