"""axe finds nothing serious in any state of the page."""

from collections.abc import Iterator

import pytest
from axe import find_faults
from browser import Page
from openai_bodies import Response, make_error
from page_server import ServedPage, serve_page

import quorum

ENTER, ESCAPE = 13, 27
READY = "!!document.querySelector('#question') && document.querySelectorAll('.segments label').length === 3"
TEXT = "The travel desk of Vell books all train tickets. It opens at nine and closes at five."
LONG = "The travel desk books them [1].\n\n| what | who |\n|---|---|\n| trains | the desk |\n\n```\ncode\n```\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    folder = tmp_path_factory.mktemp("desk")
    (folder / "desk.txt").write_text(TEXT)
    quorum.index(folder / "desk.txt", collection="desk", context=quorum.Context(store=str(folder / ".quorum")))
    options = ("--collection", "desk", "--model", "openai:test", "--set", "journal=off")
    with serve_page(folder, *options) as running:
        yield running


def ask(page: Page, question: str, effort: int) -> None:
    page.run(f"document.querySelectorAll('.segments input')[{effort}].click()")
    page.run("document.querySelector('#question').focus()")
    page.send("Input.insertText", text=question)
    page.press("Enter", key_code=ENTER)


def open_start(page: Page, desk: ServedPage) -> None:
    page.visit(desk.url, READY)
    page.run("localStorage.clear()")


def wait_for_end(page: Page, turns: int = 1) -> None:
    page.wait_until(f"document.querySelectorAll('.footer').length === {turns}")


@pytest.mark.parametrize(("width", "colours"), [(1360, "light"), (390, "dark")])
def test_start_dialogs_and_answers(page: Page, desk: ServedPage, width: int, colours: str) -> None:
    page.set_size(width)
    page.set_color_scheme(colours)
    desk.model.reply("the travel desk")
    open_start(page, desk)
    faults = {"start": find_faults(page)}
    for number, name in enumerate(("methods", "settings")):
        page.run(f"document.querySelectorAll('.bar .pick')[{number}].click()")
        page.wait_until("document.querySelectorAll('.dialog :is(.method, .setting)').length > 5")
        faults[name] = find_faults(page)
        page.press("Escape", key_code=ESCAPE)
        page.wait_until("!document.querySelector('.dialog')")
    ask(page, "Who books train tickets?", 2)
    wait_for_end(page)
    page.run("[...document.querySelectorAll('.table tbody button')][1].click()")
    page.wait_until("document.querySelectorAll('.graph svg').length === 1")
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.wait_until("document.querySelectorAll('.calls details').length > 0")
    page.run("document.querySelectorAll('.calls details').forEach((one) => { one.open = true; })")
    faults["several methods, one opened"] = find_faults(page)
    page.run("document.querySelector('button.source').click()")
    page.wait_until("!!document.querySelector('.source-pane mark')")
    faults["source"] = find_faults(page)
    page.press("Escape", key_code=ESCAPE)
    page.run("document.querySelector('.burger').click()")
    page.run("document.querySelector('.conversations .more').click()")
    faults["conversations"] = find_faults(page)
    assert {state: found for state, found in faults.items() if found} == {}


def test_asking_streaming_retrying_and_errors(page: Page, desk: ServedPage) -> None:
    page.set_size(1360)
    page.set_color_scheme("light")
    open_start(page, desk)
    desk.model.release_event.clear()
    desk.model.reply([make_error(503, "busy", Retry_After="1"), Response(LONG, hold=True)])
    ask(page, "How are train tickets booked, and why?", 0)
    page.wait_until("!!document.querySelector('.running')")
    faults = {"asking": find_faults(page)}
    page.wait_until("!!document.querySelector('.retrying')")
    faults["retrying"] = find_faults(page)
    desk.model.release_held_replies()
    wait_for_end(page)
    faults["a long answer"] = find_faults(page)
    desk.model.reply(make_error(401, "no such key"))
    ask(page, "Who books flights?", 2)
    page.wait_until("document.querySelectorAll('.failure').length === 1")
    faults["error"] = find_faults(page)
    for path in ("documents", "documents/desk", "compare"):
        page.visit(f"{desk.url}{path}", "!!document.querySelector('main h1')")
        faults[path] = find_faults(page)
    assert {state: found for state, found in faults.items() if found} == {}
