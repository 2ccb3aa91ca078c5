"""For tests of the page: what to wait for, and how to type, click and read."""

import json
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from browser import Page
from page_server import ServedPage

QUESTION = "Who designed the Eiffel Tower?"
# JavaScript: whether the page is loaded, the cards of the methods, whether all methods have ended.
PAGE_READY = "document.readyState === 'complete' && !!document.querySelector('textarea')"
CARDS = "[...document.querySelectorAll('.card')]"
ALL_METHODS_ENDED = f"{CARDS}.length && {CARDS}.every((card) => card.dataset.phase !== 'running')"
TAB, ENTER, SPACE, RIGHT = 9, 13, 32, 39  # key codes


@pytest.fixture(autouse=True)
def reset_page_and_check_errors(page: Page, served_page: ServedPage) -> Iterator[None]:
    """Before each test of a file that imports this fixture: a wide window with light colours, and a model that replies
    with the same name to every prompt. After the test: check that the page has caused no error and no request to
    another machine.
    """
    page.set_size(1200)
    page.set_color_scheme("light")
    served_page.model.release_event.clear()  # replies with `hold` wait again until they are released
    served_page.model.reply("Stephen Sauvestre")
    yield
    served_page.model.release_held_replies()
    assert page.errors == []
    assert {urlsplit(url).hostname for url in page.requested_urls if urlsplit(url).scheme not in ("data", "blob")} == {
        "127.0.0.1"
    }


def make_link(
    served_page: ServedPage, question: str = QUESTION, methods: str = "concat", more_parameters: str = ""
) -> str:
    return f"{served_page.url}?q={quote(question)}&methods={quote(methods)}{more_parameters}"


def read_texts(page: Page, selector: str) -> list[str]:
    value: list[str] = page.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText)")
    return value


def send_question(page: Page) -> None:
    """Press Ctrl+Enter in the field of the question."""
    page.run("document.querySelector('textarea').focus()")
    page.press("Enter", key_code=ENTER, modifiers=2)


def ask_by_link(page: Page, link: str) -> None:
    """Open a link that fills the form, and send the question."""
    page.visit(link, f"{PAGE_READY} && document.querySelector('textarea').value !== ''")
    send_question(page)
    page.wait_until(f"{CARDS}.length > 0")


def open_tab(page: Page, card: int, name: str) -> None:
    """In the card with this index, open the tab whose label starts with `name`, and wait until its content is drawn.

    Does nothing if the card has no such tab.
    """
    tabs = f"[...{CARDS}[{card}].querySelectorAll('[role=tab]')]"
    tab = f"{tabs}.find((one) => one.innerText.startsWith('{name}'))"
    if page.run(f"!!{tab}"):
        page.run(f"{tab}.click()")
        panel = f"{CARDS}[{card}].querySelector('.q-tab-panel')"
        page.wait_until(f"{tab}.getAttribute('aria-selected') === 'true' && !!{panel}?.innerText")
