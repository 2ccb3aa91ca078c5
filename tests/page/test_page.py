"""The report in a browser: it opens, sorts, filters, shows everything about a question, and runs nobody's script."""

import json
from pathlib import Path

import pytest
from browser import Page
from report_folder import HTML_ATTACK, METHODS

ROWS = "[...document.querySelectorAll('#rows > tr > td.q > button')]"


@pytest.fixture
def opened(page: Page, report: Path) -> Page:
    page.set_size(1200)
    page.set_color_scheme("light")
    page.open(report)
    return page


def count_questions(report: Path) -> int:
    return (report.parent / "results.jsonl").read_text(encoding="utf-8").count("\n") // len(METHODS)


def set_field(page: Page, name: str, value: str) -> None:
    """Set a field as a user does."""
    page.run(
        f"(() => {{ const field = document.getElementById('{name}'); field.value = {json.dumps(value)};"
        "field.dispatchEvent(new Event('input', {bubbles: true})); field.dispatchEvent(new Event('change')); })()"
    )


def list_marks(page: Page, method: int) -> list[str]:
    """The marks of a method on this page of the table."""
    value: list[str] = page.run(
        f"[...document.querySelectorAll('#rows > tr')].map((row) => row.children[{method + 2}].textContent)"
    )
    return value


def test_the_report_opens_without_network_or_errors(opened: Page, report: Path) -> None:
    assert opened.run(f"{ROWS}.length") == 50
    assert opened.run("document.getElementById('found').textContent") == f"{count_questions(report):,} questions"
    verdict = "sure is best" if count_questions(report) > 1000 else "Too few questions to choose"
    assert opened.run("document.querySelector('.verdict').textContent").startswith(verdict)
    assert opened.run("document.querySelectorAll('svg circle').length") > 3
    assert opened.errors == []
    assert [address for address in opened.requested_urls if not address.startswith("file:")] == []


def test_pages_follow_one_another(opened: Page, report: Path) -> None:
    opened.run("document.getElementById('after').click()")
    assert opened.run(f"{ROWS}[0].textContent").startswith("What is number 50 of")
    assert opened.run("document.getElementById('where').textContent") == f"page 2 of {count_questions(report) // 50}"
    opened.run("document.getElementById('before').click()")
    assert opened.run(f"{ROWS}[0].textContent").startswith("What is number 0 of")


def test_a_method_is_sorted_both_ways(opened: Page) -> None:
    opened.run("document.querySelectorAll('#head button')[4].click()")
    assert set(list_marks(opened, 2)) == {"✓"}
    assert opened.run("document.querySelectorAll('#head th')[4].getAttribute('aria-sort')") == "descending"
    opened.run("document.querySelectorAll('#head button')[4].click()")
    assert list_marks(opened, 2)[0] == "!"
    assert "✓" not in list_marks(opened, 2)[:2]


def test_words_and_kinds_filter(opened: Page, report: Path) -> None:
    set_field(opened, "text", "number 77")
    first = opened.run(f"{ROWS}[0].textContent")
    assert first.startswith("What is number 77 of")
    set_field(opened, "text", "")
    set_field(opened, "kind", "failed")
    set_field(opened, "method", "1")
    assert set(list_marks(opened, 1)) == {"!"}
    set_field(opened, "kind", "unknown")
    assert set(list_marks(opened, 1)) == {"?"}
    set_field(opened, "kind", "none")
    assert not any("✓" in list_marks(opened, method) for method in range(3))
    set_field(opened, "text", "no such words anywhere")
    assert opened.run(f"{ROWS}.length") == 0
    assert opened.run("document.getElementById('found').textContent") == f"0 of {count_questions(report):,} questions"


def test_a_question_opens_to_everything(opened: Page, report: Path) -> None:
    number = count_questions(report) - 3
    set_field(opened, "text", f"q{number}")
    opened.run(f"{ROWS}[0].click()")
    opened.wait_until("document.querySelectorAll('.answer').length === 3")
    assert opened.run(f"{ROWS}[0].getAttribute('aria-expanded')") == "true"
    text = opened.run("document.querySelector('.inside').textContent")
    parts = ("retrieve", "passage_answer ×2", "vote", "summary", "Because", "A reply", f"passage about {number}")
    assert all(part in text for part in parts), text
    assert opened.run("[...document.querySelectorAll('mark')].map((one) => one.textContent)[0]") == f"answer {number}"
    opened.run(f"{ROWS}[0].click()")
    assert opened.run("document.querySelectorAll('.answer').length") == 0
    assert opened.errors == []


def test_no_script_from_the_data_runs(opened: Page) -> None:
    opened.run(f"{ROWS}.slice(0, 20).forEach((button, place) => {ROWS}[place].click())")
    opened.wait_until("document.querySelectorAll('.answer').length === 60")
    opened.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert opened.run("typeof window.hacked") == "undefined"
    assert opened.run("document.querySelectorAll('img').length") == 0
    assert opened.run("document.querySelectorAll('script:not([type])').length") == 1
    assert HTML_ATTACK in opened.run("document.querySelector('.passage p').textContent")
    assert HTML_ATTACK in opened.run(f"{ROWS}[0].textContent")


def test_a_script_put_into_the_page_is_refused(opened: Page) -> None:
    opened.run(
        "(() => { const one = document.createElement('script'); one.textContent = 'window.hacked = true';"
        "document.body.append(one); })()"
    )
    assert opened.run("typeof window.hacked") == "undefined"


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_screens_need_no_scrolling_sideways(opened: Page, width: int) -> None:
    opened.set_size(width)
    opened.run(f"{ROWS}[0].click()")
    opened.wait_until("document.querySelectorAll('.answer').length === 3")
    opened.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert opened.run("document.documentElement.scrollWidth") <= width


def test_dark_is_dark_and_readable(opened: Page) -> None:
    def brightness(of: str) -> float:
        text = opened.run(f"getComputedStyle(document.body).{of}")
        return sum(map(int, text[4:-1].split(",")[:3])) / 3

    assert (brightness("backgroundColor") > 240, brightness("color") < 50) == (True, True)
    opened.set_color_scheme("dark")
    assert (brightness("backgroundColor") < 40, brightness("color") > 200) == (True, True)


def test_a_row_opens_by_the_keyboard_and_keeps_the_focus(opened: Page) -> None:
    opened.run(f"{ROWS}[3].focus()")
    for kind in ("keyDown", "keyUp"):
        opened.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
    opened.wait_until("document.querySelectorAll('.answer').length === 3")
    assert opened.run(f"document.activeElement === {ROWS}[3]")
