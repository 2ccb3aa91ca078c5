"""The report in a browser: it opens, sorts, filters, shows all about a question, and runs no script of the data."""

import json
from pathlib import Path

import pytest
from browser import Page
from report_folder import HTML_ATTACK, METHODS

# JavaScript: an array of the buttons with the questions, one in each visible row.
QUESTION_BUTTONS = "[...document.querySelectorAll('#rows > tr > td.q > button')]"
# JavaScript: the buttons with the methods of the opened questions; a click shows the whole answer below.
ANSWER_BUTTONS = "[...document.querySelectorAll('.answers > tbody > tr > td > button')]"
FIRST_METHOD_COLUMN = 2  # the columns before it show the question's number and its text


@pytest.fixture
def opened_report(page: Page, report: Path) -> Page:
    """The tab in which the report is open. `report` is the path of report.html."""
    page.set_size(1200)
    page.set_color_scheme("light")
    page.open_report(report)
    return page


def count_questions(report: Path) -> int:
    """The number of questions of the report: 100 or 5,000."""
    return (report.parent / "results.jsonl").read_text(encoding="utf-8").count("\n") // len(METHODS)


def set_field(page: Page, field_id: str, value: str) -> None:
    """Set a form field, and send the events that a browser sends when a user changes it."""
    page.run(
        f"(() => {{ const field = document.getElementById('{field_id}'); field.value = {json.dumps(value)};"
        "field.dispatchEvent(new Event('input', {bubbles: true})); field.dispatchEvent(new Event('change')); })()"
    )


def list_marks(page: Page, method: int) -> list[str]:
    """The marks of a method in the visible rows of the table: ✓ right, ✗ wrong, ? unknown, ! failed.

    method: its index in METHODS.
    """
    column = FIRST_METHOD_COLUMN + method
    marks: list[str] = page.run(
        f"[...document.querySelectorAll('#rows > tr')].map((row) => row.children[{column}].textContent)"
    )
    return marks


def test_the_report_opens_without_network_or_errors(opened_report: Page, report: Path) -> None:
    assert opened_report.run(f"{QUESTION_BUTTONS}.length") == 50
    assert (
        opened_report.run("document.getElementById('question-count').textContent")
        == f"{count_questions(report):,} questions"
    )
    # The intervals of 100 questions are too wide to name a best method.
    verdict = "sure is best" if count_questions(report) > 1000 else "No clear winner yet"
    assert opened_report.run("document.querySelector('.verdict').textContent").startswith(verdict)
    assert opened_report.run("document.querySelectorAll('svg circle').length") > 3
    assert opened_report.errors == []
    assert [address for address in opened_report.requested_urls if not address.startswith("file:")] == []


def test_buttons_lead_to_the_next_and_the_previous_page_of_questions(opened_report: Page, report: Path) -> None:
    opened_report.run("document.getElementById('next-page').click()")
    assert opened_report.run(f"{QUESTION_BUTTONS}[0].textContent").startswith("What is number 50 of")
    assert (
        opened_report.run("document.getElementById('page-number').textContent")
        == f"page 2 of {count_questions(report) // 50}"
    )
    opened_report.run("document.getElementById('previous-page').click()")
    assert opened_report.run(f"{QUESTION_BUTTONS}[0].textContent").startswith("What is number 0 of")


def test_the_column_of_a_method_is_sorted_both_ways(opened_report: Page) -> None:
    method = METHODS.index("sure")
    column = FIRST_METHOD_COLUMN + method
    opened_report.run(f"document.querySelectorAll('#head button')[{column}].click()")
    assert set(list_marks(opened_report, method)) == {"✓"}
    assert (
        opened_report.run(f"document.querySelectorAll('#head th')[{column}].getAttribute('aria-sort')") == "descending"
    )
    opened_report.run(f"document.querySelectorAll('#head button')[{column}].click()")
    assert list_marks(opened_report, method)[0] == "!"
    assert "✓" not in list_marks(opened_report, method)[:2]


def test_questions_are_filtered_by_words_and_by_kind(opened_report: Page, report: Path) -> None:
    set_field(opened_report, "text", "number 77")
    assert opened_report.run(f"{QUESTION_BUTTONS}[0].textContent").startswith("What is number 77 of")
    set_field(opened_report, "text", "")
    set_field(opened_report, "kind", "failed")
    set_field(opened_report, "method", "1")
    assert set(list_marks(opened_report, 1)) == {"!"}
    set_field(opened_report, "kind", "unknown")
    assert set(list_marks(opened_report, 1)) == {"?"}
    set_field(opened_report, "kind", "none_right")
    assert not any("✓" in list_marks(opened_report, method) for method in range(len(METHODS)))
    set_field(opened_report, "text", "no such words anywhere")
    assert opened_report.run(f"{QUESTION_BUTTONS}.length") == 0
    assert (
        opened_report.run("document.getElementById('question-count').textContent")
        == f"0 of {count_questions(report):,} questions"
    )


def open_answers(page: Page, count: int) -> None:
    """Open every method of the opened questions; there are `count` of them."""
    page.wait_until(f"{ANSWER_BUTTONS}.length === {count}")
    page.run(f"{ANSWER_BUTTONS}.forEach((one) => one.click())")
    assert page.run("document.querySelectorAll('.answer').length") == count


def test_an_opened_question_is_a_table_of_methods_and_each_shows_everything(opened_report: Page, report: Path) -> None:
    number = count_questions(report) - 3
    set_field(opened_report, "text", f"q{number}")
    opened_report.run(f"{QUESTION_BUTTONS}[0].click()")
    opened_report.wait_until(f"{ANSWER_BUTTONS}.length === 3")
    assert opened_report.run(f"{QUESTION_BUTTONS}[0].getAttribute('aria-expanded')") == "true"
    assert opened_report.run(f"{ANSWER_BUTTONS}.map((one) => one.textContent)") == list(METHODS)
    cells = "[...document.querySelectorAll('.answers > tbody > tr')].map((row) => row.cells[4].textContent)"
    assert opened_report.run(cells) == ["1", "5", "5"]  # calls
    assert opened_report.run("document.querySelectorAll('.answer').length") == 0
    open_answers(opened_report, 3)
    text = opened_report.run("document.querySelector('td.details').textContent")
    expected_texts = (
        "retrieve",
        "passage_answer ×2",
        "vote",
        "summary",
        "Because",
        "A reply",
        f"passage about {number}",
    )
    assert all(expected_text in text for expected_text in expected_texts), text
    assert (
        opened_report.run("[...document.querySelectorAll('mark')].map((one) => one.textContent)[0]")
        == f"answer {number}"
    )
    opened_report.run(f"{ANSWER_BUTTONS}[1].click()")
    assert opened_report.run("document.querySelectorAll('.answer').length") == 2
    opened_report.run(f"{QUESTION_BUTTONS}[0].click()")
    assert opened_report.run("document.querySelectorAll('.answer').length") == 0
    opened_report.run(f"{QUESTION_BUTTONS}[0].click()")
    opened_report.wait_until("document.querySelectorAll('.answer').length === 2")  # what was open is open again
    assert opened_report.errors == []


def test_no_script_from_the_data_runs(opened_report: Page) -> None:
    # A click draws all rows again, so each button is looked up anew.
    opened_report.run(f"for (let place = 0; place < 20; place++) {QUESTION_BUTTONS}[place].click()")
    open_answers(opened_report, 20 * 3)
    opened_report.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert opened_report.run("typeof window.hacked") == "undefined"
    assert opened_report.run("document.querySelectorAll('img').length") == 0
    assert opened_report.run("document.querySelectorAll('script:not([type])').length") == 1  # the report's own script
    assert HTML_ATTACK in opened_report.run("document.querySelector('.passage p').textContent")
    assert HTML_ATTACK in opened_report.run(f"{QUESTION_BUTTONS}[0].textContent")


def test_a_script_put_into_the_page_is_refused(opened_report: Page) -> None:
    opened_report.run(
        "(() => { const one = document.createElement('script'); one.textContent = 'window.hacked = true';"
        "document.body.append(one); })()"
    )
    assert opened_report.run("typeof window.hacked") == "undefined"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_screens_need_no_scrolling_sideways(opened_report: Page, width: int) -> None:
    opened_report.set_size(width)
    opened_report.run(f"{QUESTION_BUTTONS}[0].click()")
    open_answers(opened_report, 3)
    opened_report.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert opened_report.run("document.documentElement.scrollWidth") <= width


def test_the_dark_colours_are_dark_and_readable(opened_report: Page) -> None:
    def brightness(css_property: str) -> float:
        color = opened_report.run(f"getComputedStyle(document.body).{css_property}")  # "rgb(250, 250, 250)"
        return sum(map(int, color[4:-1].split(",")[:3])) / 3

    assert (brightness("backgroundColor") > 240, brightness("color") < 50) == (True, True)
    opened_report.set_color_scheme("dark")
    assert (brightness("backgroundColor") < 40, brightness("color") > 200) == (True, True)


def test_a_row_opens_by_the_keyboard_and_keeps_the_focus(opened_report: Page) -> None:
    opened_report.run(f"{QUESTION_BUTTONS}[3].focus()")
    for kind in ("keyDown", "keyUp"):
        opened_report.send(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
        )
    opened_report.wait_until(f"{ANSWER_BUTTONS}.length === 3")
    assert opened_report.run(f"document.activeElement === {QUESTION_BUTTONS}[3]")
