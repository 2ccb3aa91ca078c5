"""Who can use the page of `quorum serve`: with the keyboard alone, on narrow and dark screens, with an access token."""

from pathlib import Path

import pytest
from browser import Page
from page_server import ServedPage, serve_page
from page_steps import (
    ALL_METHODS_ENDED,
    ENTER,
    PAGE_READY,
    QUESTION,
    RIGHT,
    SPACE,
    TAB,
    ask_by_link,
    make_link,
    open_tab,
    read_texts,
    reset_page_and_check_errors,
    send_question,
)

__all__ = ["reset_page_and_check_errors"]  # a fixture that pytest uses for every test of this file


def test_the_page_is_used_with_the_keyboard_alone(page: Page, served_page: ServedPage) -> None:
    page.visit(served_page.url, PAGE_READY)
    page.wait_until("document.activeElement === document.querySelector('textarea')")
    page.send("Input.insertText", text=QUESTION)
    page.press("Tab", key_code=TAB)
    assert page.run("document.activeElement.innerText") == "Ask"
    page.press("Tab", key_code=TAB)
    assert page.run("document.activeElement.getAttribute('aria-label')") == "Collection"
    for _ in range(3):  # to the fields Model and Passages, and to the first method
        page.press("Tab", key_code=TAB)
    assert page.run("document.activeElement.dataset.method") == "concat"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press(" ", key_code=SPACE, text=" ")
    page.wait_until("document.querySelector('.methods legend').innerText === 'Methods · 2 chosen'")
    page.press("Enter", key_code=ENTER, modifiers=2)  # Ctrl+Enter
    page.wait_until(ALL_METHODS_ENDED)
    page.run("document.querySelector('[role=tab]').focus()")
    page.press("ArrowRight", key_code=RIGHT)
    page.press("Enter", key_code=ENTER, text="\r")
    page.wait_until("document.querySelectorAll('[role=tab]')[1].getAttribute('aria-selected') === 'true'")


def test_every_field_has_a_name(page: Page, served_page: ServedPage) -> None:
    page.visit(served_page.url, PAGE_READY)
    page.run("document.querySelectorAll('.q-expansion-item .q-item').forEach((one) => one.click())")
    page.wait_until("document.querySelectorAll('.setting-fields input').length > 20")
    tree = page.send("Accessibility.getFullAXTree")["nodes"]
    fields = ("textbox", "checkbox", "combobox", "button", "spinbutton", "link", "tab")
    nameless_fields = [
        node for node in tree if node.get("role", {}).get("value") in fields and not node["name"].get("value")
    ]
    assert [node["role"]["value"] for node in nameless_fields if not node.get("ignored")] == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_screens_need_no_scrolling_sideways(page: Page, served_page: ServedPage, width: int) -> None:
    ask_by_link(page, make_link(served_page, methods="post_fusion,sure"))
    page.set_size(width)
    page.wait_until(ALL_METHODS_ENDED)
    page.wait_until("document.querySelectorAll('.graph svg').length === 2")
    page.run("document.querySelectorAll('.q-expansion-item .q-item').forEach((one) => one.click())")
    page.wait_until("document.querySelectorAll('.setting-fields input').length > 20")
    for name in ("Votes", "Candidates", "Steps", "Costs", "Passages"):
        for card in (0, 1):
            open_tab(page, card, name)
        assert page.run("document.documentElement.scrollWidth") <= width, name


def test_the_dark_colours_are_dark_and_readable(page: Page, served_page: ServedPage) -> None:
    def brightness(css_property: str) -> float:
        text = page.run(f"getComputedStyle(document.body).{css_property}")
        return sum(map(float, text[text.index("(") + 1 : -1].split(",")[:3])) / 3

    page.visit(served_page.url, PAGE_READY)
    assert (brightness("backgroundColor") > 240, brightness("color") < 50) == (True, True)
    page.set_color_scheme("dark")
    page.wait_until("document.body.classList.contains('body--dark')")
    assert (brightness("backgroundColor") < 40, brightness("color") > 200) == (True, True)


def test_the_page_asks_for_its_token(page: Page, served_page: ServedPage, tmp_path: Path) -> None:
    token = "correct-horse-battery"
    with serve_page(tmp_path, "--token", token, "--collection", "none-yet") as page_with_token:
        page.visit(page_with_token.url, "!!document.querySelector('input[type=password]')")
        assert page.run("!!document.querySelector('textarea')") is False
        page.visit(f"{page_with_token.url}?token={token}&q=Why", PAGE_READY)
        page.wait_until("location.search === '?q=Why'")
        page.wait_until("document.querySelector('textarea').value === 'Why'")
        send_question(page)
        page.wait_until(ALL_METHODS_ENDED)
        assert "no collection 'none-yet'" in read_texts(page, ".answer")[0]
        page.errors.clear()  # the page that asks for a token has status 401, which the console calls an error
        assert token not in page_with_token.log.read_text()
