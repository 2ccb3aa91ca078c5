"""The report: no text from outside becomes markup, and the page, the Markdown and the CSV files hold the figures."""

import base64
import csv
import gzip
import json
import re
from dataclasses import replace
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from report_folder import HTML_ATTACK, METHODS, make_decision, make_report

import quorum
from quorum.evaluation.report.axes import Axis, choose_ticks
from quorum.evaluation.report.csv_files import escape_formula, format_cell
from quorum.evaluation.report.figure import STYLE, draw_figure
from quorum.evaluation.report.figure_rows import FigureContent, FigureRow, collect_figure
from quorum.evaluation.report.markdown import escape_markdown
from quorum.evaluation.report.page import read_asset
from quorum.evaluation.report.questions import SharedTexts, pack
from quorum.evaluation.report.write import write_report

NO_WINNER = "No clear winner yet. "


class Elements(HTMLParser):
    """What a page contains: the names of its elements (tags) and of its event handlers, the addresses that it could
    load, and the attributes and the text of each script.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self.is_in_script = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        self.addresses += [str(value) for name, value in attributes if name in ("src", "href")]
        self.is_in_script = tag == "script"
        if self.is_in_script:
            self.scripts.append((dict(attributes), ""))

    def handle_endtag(self, tag: str) -> None:
        self.is_in_script = False

    def handle_data(self, data: str) -> None:
        if self.is_in_script:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_report(tmp_path_factory.mktemp("report"), 60)


def unpack(text: str) -> Any:
    """What `pack` was given."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def list_elements(page: Path) -> Elements:
    elements = Elements()
    elements.feed(page.read_text(encoding="utf-8"))
    return elements


def test_no_text_becomes_markup_and_nothing_is_loaded(page: Path) -> None:
    elements = list_elements(page)
    assert "img" not in elements.tags
    assert (elements.handlers, elements.addresses) == ([], [])
    script_types = [attributes.get("type") for attributes, _ in elements.scripts]
    # the index of the questions, three groups of questions (all packed), and the only script that runs
    assert script_types == [*["text/plain"] * 4, None]
    text = page.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name, not an address
    assert "://" not in re.sub(r"<script type.*?</script>", "", text, flags=re.DOTALL)


def test_the_policy_lets_only_the_script_of_the_page_run(page: Path) -> None:
    text, script = page.read_text(encoding="utf-8"), list_elements(page).scripts[-1][1]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert base64.b64encode(sha256(script.encode()).digest()).decode() in policy[1]


def test_the_page_holds_the_passages_answers_and_replies_of_every_question(page: Path) -> None:
    scripts = list_elements(page).scripts
    index = unpack(scripts[0][1])
    assert (index["methods"], len(index["rows"])) == (list(METHODS), 60)
    assert index["rows"][7][:3] == [
        "q7",
        f"What is number 7 of the things that were asked? {HTML_ATTACK}",
        ["answer 7", "an answer 7"],
    ]
    question_groups = [unpack(text) for _, text in scripts[1:-1]]
    assert [len(group) for group in question_groups] == [25, 25, 10]
    question = question_groups[1][2]
    assert len(question["passages"]) == 3  # each passage once, though three methods read it
    answer = question["answers"][2]
    assert question["texts"].count(f"A reply {HTML_ATTACK}") == 1  # though it is the reply to three methods
    assert question["texts"][answer["replies"][0][1]] == f"A reply {HTML_ATTACK}"
    assert answer["path"] == ["retrieve", "passage_answer ×2", "vote"]
    [[number, start, end]] = answer["evidence"]
    assert question["passages"][number][2][start:end] == "answer 27"


def test_answers_in_the_index_have_their_marks(page: Path) -> None:
    rows = unpack(list_elements(page).scripts[0][1])["rows"]
    results = [json.loads(line) for line in (page.parent / "results.jsonl").read_text().splitlines()]
    for result in results:
        score, mark, _ = rows[int(result["id"][1:])][3 + METHODS.index(result["method"])]
        # e: error, u: unknown, r: right, w: wrong
        expected_mark = "e" if result["error"] else "u" if result["unknown"] else "r" if result["em"] else "w"
        assert (mark, score) == (expected_mark, None if result["error"] else result["em"])


def test_the_recommendation_comes_first_and_errors_are_reported(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.index(f'class="verdict">{NO_WINNER}') < text.index("<svg") < text.index("How sure is this?")
    assert "Answers that failed count neither as right nor as wrong" in text
    assert text.count("<svg") == 4  # the figure and a chart, each drawn for a broad screen and for a narrow one


def test_the_markdown_and_csv_files_hold_the_figures(page: Path) -> None:
    folder = page.parent
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    assert markdown.startswith(f"## {NO_WINNER}")
    assert "](figure.svg)" in markdown
    assert "| p of being the best |" in markdown
    assert re.search(r"\| concat \|.*\| (0\.\d{3}|&lt; 0\.001)( \\\*)? \|", markdown)
    assert re.search(r"\| (\w|\\_)+, recommended \|", markdown)
    assert "```sh\nquorum compare given " in markdown
    assert "<script" not in markdown
    with (folder / "report.csv").open(encoding="utf-8", newline="") as file:
        methods = list(csv.DictReader(file))
    assert [method["method"] for method in methods] == list(METHODS)
    assert float(methods[0]["cost"]) == pytest.approx((700 * 0.15 + 9 * 0.6) / 1e6)
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        questions = list(csv.DictReader(file))
    assert len(questions) == 180
    assert questions[0]["gold"] == "answer 0 | an answer 0"


def test_the_report_says_that_no_method_keeps_within_the_budget(tmp_path: Path) -> None:
    page = write_report(make_decision(tmp_path, 12, budget={"calls": 0.5}))
    assert "No method keeps within 0.5 calls a question." in page.read_text(encoding="utf-8")


def test_both_tables_show_the_same_shares(tmp_path: Path) -> None:
    """Both show the shares of `MethodFigures`, which sum to 100%: where "unknown" is right, it counts as right only."""
    decision = make_decision(tmp_path, 12)
    figures = [replace(figure, right=0.5, wrong=0.375, unknown=0.125) for figure in decision.figures]
    page = write_report(replace(decision, figures=figures)).read_text(encoding="utf-8")
    titles = re.findall(r'scope="col">([^<]+)<', page[page.index('<table class="methods">') :])
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", page[page.index('<table class="methods">') : page.index("<details")])[1:]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    assert [[row[titles.index(name)] for name in ("right", "wrong", "wrongly unknown")] for row in cells] == [
        ["50.0%", "37.5%", "12.5%"]
    ] * len(METHODS)
    lines = [line.split(" | ") for line in (tmp_path / "report.md").read_text(encoding="utf-8").splitlines()]
    column_titles = next(line for line in lines if line[0] == "| method" and "wrongly unknown, %" in line)
    first_row = lines.index(column_titles) + 2
    explanation = "elsewhere it counts as wrongly unknown."
    assert explanation in page
    assert explanation in lines[first_row + len(METHODS) + 1][0]
    place = column_titles.index("wrongly unknown, %")
    assert [line[place] for line in lines[first_row : first_row + 3]] == ["12.5"] * 3


def test_methods_that_do_not_serve_the_questions_are_named_with_their_reason(tmp_path: Path) -> None:
    reason = "The method 'react' gives no long answers; choose another."
    decision = make_decision(tmp_path, 12)
    plan = replace(decision.scores.plan, left_out_reasons={"react": reason, "self_ask": reason})
    decision = replace(decision, scores=replace(decision.scores, plan=plan))
    page = write_report(decision)
    sentence = "Compared without react, self_ask: The method 'react' gives no long answers."
    assert sentence in unescape(page.read_text(encoding="utf-8"))
    assert escape_markdown(sentence) in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_the_same_comparison_makes_the_same_page(tmp_path: Path) -> None:
    first_page, second_page = make_report(tmp_path / "a", 30), make_report(tmp_path / "b", 30)
    assert first_page.read_bytes() == second_page.read_bytes()


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\t=1"])
def test_a_spreadsheet_executes_no_formula(text: str) -> None:
    assert escape_formula(text) == f"'{text}"
    assert escape_formula("1889") == "1889"
    assert format_cell(-1.5) == -1.5


def test_texts_are_escaped_in_markdown_and_packed_for_the_page() -> None:
    assert escape_markdown("a_b *c* <d> [e](f) | `g`\n\nh") == r"a\_b \*c\* &lt;d&gt; \[e\](f) \| \`g\` h"
    text = pack(["</script><!--", "\u2028 &", "\ud800"])
    assert not set("<>&\u2028") & set(text)
    assert unpack(text) == ["</script><!--", "\u2028 &", "?"]  # a lone surrogate, which UTF-8 cannot hold, is "?"


def test_what_a_method_lacks_takes_no_room_in_the_page_and_a_zero_stays() -> None:
    row = {"error": None, "calls": 0, "seconds": 0.123, "answer": "unknown", "unknown": True}
    answer = SharedTexts().pack_answer(row, {}, None)
    assert answer.keys() == {"calls", "seconds", "scores_by_measure", "headline", "badge"}
    assert (answer["calls"], answer["seconds"]) == (0, 0.12)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 2600), (0.31, 0.44), (0, 1e-6)])
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    ticks = choose_ticks(Axis(low, high, 0, 100))
    assert 3 <= len(ticks) <= 8
    assert all(low - 1e-12 <= tick <= high + 1e-12 for tick in ticks)


def test_the_figure_is_a_file_of_its_own_with_every_method_and_no_markup_of_theirs(page: Path) -> None:
    """figure.svg is well-formed, has a title and a description, and is what the page and a notebook show."""
    text = (page.parent / "figure.svg").read_text(encoding="utf-8")
    assert text in page.read_text(encoding="utf-8")
    figure = ElementTree.fromstring(text)
    assert [child.tag.rpartition("}")[2] for child in figure][:3] == ["title", "desc", "style"]
    assert all(f">{name}<" in text for name in METHODS)
    row = FigureRow(HTML_ATTACK, 0.5, 0.4, 0.6, 9.0, "9 tokens", "leader", "best")
    hostile = draw_figure(FigureContent(HTML_ATTACK, "exact match", "tokens", (row,)))
    assert {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(hostile).iter()} <= {
        *("svg", "title", "desc", "style", "rect", "g", "line", "circle", "text", "tspan")
    }


def test_rows_of_the_figure_are_sorted_by_quality_and_only_the_chosen_method_is_recommended(tmp_path: Path) -> None:
    decision = make_decision(tmp_path, 60)
    content = collect_figure(decision.figures, decision.recommendation, None)
    assert [row.quality for row in content.rows] == sorted((row.quality for row in content.rows), reverse=True)
    tags = {row.name: row.tag for row in content.rows if row.tag}
    assert tags == {decision.recommendation.cheapest: "recommended"}
    assert content.headline == decision.recommendation.verdict.headline


def read_colours(style: str) -> list[dict[str, str]]:
    """The colours of a style sheet by name: for light screens, and for dark ones."""
    blocks = re.findall(r"\{([^{}]*--ink:[^{}]*)\}", style)
    return [dict(re.findall(r"--([\w-]+):\s*(#\w+)", block)) for block in blocks]


def test_the_report_and_its_figure_have_the_colours_of_the_page() -> None:
    page_style = (Path(quorum.__file__).parent / "page" / "src" / "app.css").read_text(encoding="utf-8")
    page_colours = read_colours(page_style)
    names = {"page", "paper", "ink", "soft", "line", "faint", "accent", "mark", "mark-ink", "wrong"}
    for style, shared_names in ((read_asset("report.css"), names), (STYLE, names & {"paper", "ink", "soft", "line"})):
        # Paper has colours of its own, which are printed well: the third block of report.css.
        for own, expected in zip(read_colours(style)[:2], page_colours, strict=True):
            assert {name: own[name] for name in shared_names} == {name: expected[name] for name in shared_names}
