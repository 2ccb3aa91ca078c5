"""On the page: label answers with y, n and s, without seeing whose they are; a refuted promise withholds answers."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from axe import find_faults
from browser import Page
from page_server import ServedPage, serve_page

import quorum

sys.path.insert(0, str(Path(__file__).parents[1]))

from decision_results import write_results

from quorum.evaluation.decisions.answer_labels import LABELS, read_pair

ENTER = 13
# y, and then n before the browser has painted anything: as soon as the page has taken the y
PRESS_FAST = """(async () => {
    for (const key of ["y", "n"]) {
        dispatchEvent(new KeyboardEvent("keydown", {key}));
        for (let step = 0; step < 5; step++) await null;
    }
})()"""
QUESTION = "Who books train tickets?"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    folder = tmp_path_factory.mktemp("watched")
    (folder / "desk.txt").write_text("The travel desk of Vell books all train tickets.")
    quorum.index(folder / "desk.txt", collection="desk", context=quorum.Context(store=str(folder / ".quorum")))
    write_results(folder / "run", {"concat": 0.4, "sure": 0.9}, questions=12)
    options = ("--collection", "desk", "--model", "openai:test", "--set", "journal=off", "--label", "run")
    promise = ("--watch", "promised=concat", "--score-at-least", "0.9", "--label-share", "0.999")
    with serve_page(folder, *options, *promise, "--on-refuted", "withhold") as running:
        running.model.reply("the travel desk")
        yield running


@pytest.mark.parametrize(("width", "colours"), [(1360, "light"), (390, "dark")])
def test_answers_are_labelled_with_keys(page: Page, watched: ServedPage, width: int, colours: str) -> None:
    pair = read_pair([str(watched.folder / "run")])
    first, second = pair.list_tasks()[:2]
    page.set_size(width)
    page.set_color_scheme(colours)
    page.visit(f"{watched.url}label", "document.querySelectorAll('.page-view a').length === 2")
    faults = {"lists": find_faults(page)}
    page.run("[...document.querySelectorAll('.page-view a')].find((one) => one.textContent === 'run').click()")
    page.wait_until(f"document.querySelector('h2')?.textContent === {json.dumps(first.question)}")
    shown = page.run("[...document.querySelectorAll('.labelled .answer')].map((one) => one.textContent)")
    assert shown == list(first.answers)
    faults["answers"] = find_faults(page)
    page.run(PRESS_FAST)
    page.wait_until(f"document.querySelector('h2')?.textContent === {json.dumps(second.question)}")
    page.press("y", key_code=89)
    page.wait_until("document.querySelectorAll('.labelled')[1].classList.contains('current')")
    faults["one said"] = find_faults(page)
    page.press("s", key_code=83)
    page.wait_until(f"document.querySelector('h2')?.textContent !== {json.dumps(second.question)}")
    assert {state: found for state, found in faults.items() if found} == {}
    lines = [json.loads(line) for line in (watched.folder / "run" / LABELS).read_text().splitlines()]
    assert [line["right"] for line in lines[-4:]] == [*first.sort_by_method([True, False]), None, None]


def test_a_withheld_answer_says_why(page: Page, watched: ServedPage) -> None:
    body = {"model": "concat", "messages": [{"role": "user", "content": QUESTION}]}
    for _ in range(12):
        httpx.post(f"{watched.url}v1/chat/completions", json=body, timeout=60)
    labels = f"{watched.url}v1/labels/promised"
    page.set_size(1360)
    page.visit(f"{watched.url}label", "!!document.querySelector('.page-view a')")
    page.wait_until(f"fetch('{labels}').then((one) => one.json()).then((one) => one.waiting >= 11)")
    for task in httpx.get(labels, timeout=60).json()["data"]:
        httpx.post(labels, json={"task": task["id"], "right": [False]}, timeout=60)
    page.visit(watched.url, "document.querySelectorAll('.segments label').length === 3")
    page.run("document.querySelectorAll('.segments input')[0].click()")
    page.run("document.querySelector('#question').focus()")
    page.send("Input.insertText", text=QUESTION)
    page.press("Enter", key_code=ENTER)
    page.wait_until("document.querySelectorAll('.footer').length === 1")
    assert page.run("document.querySelector('.answer.unknown').textContent") == "The server withholds this answer."
    assert "was promised, and refuted on" in page.run("document.querySelector('.group').textContent")
    assert find_faults(page) == []
