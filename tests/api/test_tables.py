"""How an evaluation and a comparison look in a terminal and in a notebook."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from quorum.api.results import Comparison, Evaluation
from quorum.api.tables import Table

HTML_WITH_SCRIPT = '<script>alert("1")</script>&'


def make_row(method: str, **fields: Any) -> dict[str, Any]:
    row = {"method": method, "n": 1200, "em": 0.5, "em_low": 0.4, "em_high": 0.6, "unknown": 0.125, "calls": 2.0}
    return {**row, "seconds_p50": 0.25, "errors": 0, **fields}


def make_evaluation(folder: Path, *rows: dict[str, Any], differences: list[dict[str, Any]] | None = None) -> Evaluation:
    return Evaluation(folder, ("em",), list(rows), differences or [], {"calls": 0})


def make_difference(method: str, **fields: Any) -> dict[str, Any]:
    row = {"method": method, "baseline": "concat", "measure": "em", "n": 1200, "difference": 0.1}
    return {**row, "low": -0.05, "high": 0.25, "p": 0.2, "p_holm": 0.2, "questions_needed": 2500, **fields}


class HtmlContent(HTMLParser):
    """The texts between the tags of an HTML text, in order, and the names of its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_terminal_gets_aligned_columns(tmp_path: Path) -> None:
    result = make_evaluation(
        tmp_path, make_row("concat"), make_row("sure", em=1.0, em_low=None, errors=3, seconds_p50=None)
    )
    assert str(result) == (
        "method      n                 EM  %Unk  calls  p50 s  errors\n"
        "concat  1,200  50.0 [40.0, 60.0]  12.5    2.0   0.25       0\n"
        "sure    1,200              100.0  12.5    2.0      -       3"
    )
    assert repr(result) == str(result)


def test_differences_follow_with_their_baseline(tmp_path: Path) -> None:
    differences = [
        make_difference("sure"),
        make_difference("react", difference=0.0, low=0.0, high=0.0, p_holm=0.0001, questions_needed=None),
        make_difference("sure", measure="f1"),
    ]
    result = make_evaluation(tmp_path, make_row("concat"), differences=differences)
    assert str(result).split("\n\n")[1].splitlines() == [
        "Difference from concat on 1,200 questions; the intervals hold together, p is corrected for all methods; n "
        "needed: questions that would show it",
        "method                   EM      p  n needed",
        "sure    +10.0 [-5.0, +25.0]  0.200     2,500",
        "react        0.0 [0.0, 0.0]  <.001         -",
    ]


def test_a_notebook_gets_the_same_cells(tmp_path: Path) -> None:
    result = make_evaluation(tmp_path, make_row("concat"), differences=[make_difference("sure")])
    page = HtmlContent(result._repr_html_())
    assert page.tags == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert [text for table in result.tables() for line in (table.header, *table.rows) for text in line] == [
        text for text in page.texts if not text.startswith("Difference")
    ]


def test_the_html_of_a_table_is_escaped() -> None:
    table = Table(HTML_WITH_SCRIPT, [HTML_WITH_SCRIPT, "n"], [[HTML_WITH_SCRIPT, "1"]])
    page = HtmlContent(table._repr_html_())
    assert "script" not in page.tags
    assert page.texts == [HTML_WITH_SCRIPT, HTML_WITH_SCRIPT, "n", HTML_WITH_SCRIPT, "1"]


def test_the_html_of_a_comparison_is_escaped(tmp_path: Path) -> None:
    evaluation = make_evaluation(
        tmp_path, make_row(HTML_WITH_SCRIPT), differences=[make_difference(HTML_WITH_SCRIPT, baseline=HTML_WITH_SCRIPT)]
    )
    comparison = Comparison(
        best=HTML_WITH_SCRIPT,
        cheapest=HTML_WITH_SCRIPT,
        front=[HTML_WITH_SCRIPT],
        sentences=[HTML_WITH_SCRIPT],
        figures=[],
        estimate=[],
        report=tmp_path / HTML_WITH_SCRIPT / "report.html",
        evaluation=evaluation,
    )
    page = HtmlContent(comparison._repr_html_())
    assert "script" not in page.tags
    assert page.texts.count(HTML_WITH_SCRIPT) == 3  # a sentence, and the method in each of the two tables
    assert HTML_WITH_SCRIPT in str(comparison)


def test_a_row_holds_the_last_outcome_of_its_question(tmp_path: Path) -> None:
    lines = [
        {"method": "concat", "id": "1", "answer": None, "error": "timeout"},
        {"method": "concat", "id": "2", "answer": "Ada Korn", "error": None},
        {"method": "concat", "id": "1", "answer": "1874", "error": None, "reused_calls": 2},
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert make_evaluation(tmp_path).rows == [lines[2], lines[1]]
