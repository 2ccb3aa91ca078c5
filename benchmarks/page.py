"""Measures the page of `quorum serve` in a real Chromium: python -m benchmarks.page

Bytes that the first visit loads; milliseconds until a question can be asked, until the largest paint, and from Enter
to the first text of the answer; how far the layout shifts meanwhile; memory of 20 open pages, in the browser and in
the server. The model is a loopback server that answers at once, so nearly all of the time is the page's and the
server's own.

`--visits N` (10): loads and questions that are measured; each figure is their median. `--tabs N` (20). Needs Chromium.
"""

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parents[1] / "tests" / "page")]

from browser import Page, open_browser  # noqa: E402
from openai_bodies import Response  # noqa: E402
from page_server import ServedPage, serve_page  # noqa: E402

import quorum  # noqa: E402
from benchmarks.harness import report  # noqa: E402

TEXT = "The Lumen Tower was finished in 1931. It stands in the harbour of Vell, and took nine years."
REPLY = "It was finished in 1931, after nine years of work in the harbour of Vell [1]. " * 20
QUESTION = "How was the Lumen Tower built, and why did it take so long?"
IS_ASKABLE = (
    "!!document.querySelector('#question') && document.querySelectorAll('.segments input').length === 3"
    " && document.querySelectorAll('[aria-label=Collection] option').length > 0"
)
# Runs in every page before its own scripts: one method is asked; notes when conditions first hold, paints, shifts.
WATCH = """
localStorage.setItem('quorum.choice', '{"effort": "Fast"}');
window.measured = {shift: 0, largest: 0, usable: 0, text: 0, enter: 0};
const observe = (type, read) =>
  new PerformanceObserver(list => list.getEntries().forEach(read)).observe({type, buffered: true});
observe('layout-shift', one => { if (!one.hadRecentInput) measured.shift += one.value; });
observe('largest-contentful-paint', one => { measured.largest = one.startTime; });
addEventListener('keydown', event => {
  if (event.key === 'Enter') { measured.enter = performance.now(); measured.text = 0; }
}, true);
setInterval(() => {
  if (!measured.usable && (USABLE)) measured.usable = performance.now();
  if (measured.enter && !measured.text && (TEXT)) measured.text = performance.now();
}, 4);
"""


@dataclass(frozen=True)
class Subject:
    """A page to measure. usable: JavaScript, whether a question can be asked; text: whether the first text of an answer
    is shown; modifiers: keys held with Enter, as in `Page.press`; path: what is loaded.
    """

    name: str
    usable: str = IS_ASKABLE
    text: str = "document.querySelector('.turn')?.innerText.includes('finished in 1931')"
    modifiers: int = 0
    path: str = ""


@dataclass
class CountingPage:
    """Counts the bytes that a tab receives, also those of web sockets."""

    page: Page
    received: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        record = self.page.record_event

        def count(message: dict[str, Any]) -> None:
            params = message.get("params", {})
            if message.get("method") == "Network.loadingFinished":
                self.received.append(int(params["encodedDataLength"]))
            elif message.get("method") == "Network.webSocketFrameReceived":
                self.received.append(len(params["response"]["payloadData"]))
            record(message)

        self.page.record_event = count  # type: ignore[method-assign]


def read_memory(process_ids: list[int]) -> float:
    """The memory of processes in MB; what several share counts once."""
    total = 0
    for process_id in process_ids:
        try:
            lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it has ended
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1000


def list_family(process_id: int) -> list[int]:
    """A process and all its descendants."""
    children: list[int] = []
    for file in Path(f"/proc/{process_id}/task").glob("*/children"):
        children += [int(one) for one in file.read_text().split()]
    return [process_id, *(one for child in children for one in list_family(child))]


def find_children(word: str) -> list[int]:
    """The processes below this one whose command has this word, with their descendants."""
    found: set[int] = set()
    for process_id in list_family(os.getpid())[1:]:
        try:
            command = Path(f"/proc/{process_id}/cmdline").read_text()
        except OSError:
            continue
        if word in command:
            found.update(list_family(process_id))
    return sorted(found)


def visit(page: Page, counting: CountingPage, subject: Subject, url: str) -> dict[str, float]:
    """Load the page as at a first visit, ask one question, and return what was measured."""
    page.send("Network.clearBrowserCache")
    page.send("Network.setCacheDisabled", cacheDisabled=True)
    script = page.send(
        "Page.addScriptToEvaluateOnNewDocument",
        source=WATCH.replace("USABLE", subject.usable).replace("TEXT", subject.text),
    )
    counting.received.clear()
    page.visit(url + subject.path, "!!window.measured?.usable")
    time.sleep(1)  # whatever it still loads
    page.run("0")
    size = sum(counting.received)
    page.run("document.querySelector('textarea').focus()")
    if not page.run("document.querySelector('textarea').value"):
        page.send("Input.insertText", text=QUESTION)
    time.sleep(0.5)
    page.press("Enter", key_code=13, modifiers=subject.modifiers)
    page.wait_until("!!measured.text")
    time.sleep(1)
    measured: dict[str, float] = page.run("measured")
    page.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    return {
        "kB": size / 1000,
        "usable ms": measured["usable"],
        "largest paint ms": measured["largest"],
        "Enter to text ms": measured["text"] - measured["enter"],
        "layout shift": measured["shift"],
    }


def open_tabs(page: Page, url: str, count: int) -> list[str]:
    """Open so many tabs, and return their ids."""
    return [page.send("Target.createTarget", url=url)["targetId"] for _ in range(count)]


def measure_memory(page: Page, subject: Subject, served: ServedPage, tabs: int) -> dict[str, float]:
    """Memory that so many open pages take, in the browser and in the server."""
    page.visit(served.url + subject.path, "!!document.querySelector('textarea')")
    time.sleep(3)
    server = find_children("serve")  # with several subjects all servers; only this one's changes
    before = read_memory(find_children("user-data-dir")), read_memory(server)
    ids = open_tabs(page, served.url + subject.path, tabs)
    time.sleep(12)
    after = read_memory(find_children("user-data-dir")), read_memory(server)
    for one in ids:
        page.send("Target.closeTarget", targetId=one)
    return {f"{tabs} tabs, browser MB": after[0] - before[0], f"{tabs} tabs, server MB": after[1] - before[1]}


def measure(subjects: list[Subject], visits: int, tabs: int) -> dict[str, dict[str, float]]:
    """{subject: {figure: its median}}. The subjects take turns, so that all meet the same load of the machine."""
    figures: dict[str, list[dict[str, float]]] = {subject.name: [] for subject in subjects}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        (folder / "towers.txt").write_text(TEXT)
        servers = {}
        for subject in subjects:
            own = folder / subject.name
            own.mkdir()
            quorum.index(folder / "towers.txt", collection="towers", context=quorum.Context(store=str(own / ".quorum")))
            options = ("--collection", "towers", "--model", "openai:test", "--set", "journal=off")
            servers[subject.name] = stack.enter_context(serve_page(own, *options))
            servers[subject.name].model.reply(Response(REPLY))
        page = stack.enter_context(open_browser(folder / "profile"))
        page.set_size(1360)
        counting = CountingPage(page)
        for number in range(visits + 1):  # the first one warms up
            for subject in subjects:
                measured = visit(page, counting, subject, servers[subject.name].url)
                figures[subject.name] += [measured] if number else []
        memory = {one.name: measure_memory(page, one, servers[one.name], tabs) for one in subjects}
    return {
        name: {key: median(one[key] for one in measured) for key in measured[0]} | memory[name]
        for name, measured in figures.items()
    }


def main(arguments: list[str] | None = None, subjects: list[Subject] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page")
    parser.add_argument("--visits", type=int, default=10)
    parser.add_argument("--tabs", type=int, default=20)
    options = parser.parse_args(arguments)
    measured = measure(subjects or [Subject("page")], options.visits, options.tabs)
    names = list(next(iter(measured.values())))
    rows = [(name, *(f"{figures[name]:,.3f}" for figures in measured.values())) for name in names]
    report("page", ("what", *measured), rows, figures=measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
