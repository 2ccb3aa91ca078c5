"""Take the pictures of the page, of a report and of a method's graph for docs/: make pictures.

It needs Chromium and the extra [dev]. `python docs/pictures.py --states FOLDER` takes every state of the page into a
folder, in a wide and in a narrow window, light and dark, to be looked at.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "page")]

from browser import Page, open_browser  # noqa: E402
from openai_bodies import Response, make_error  # noqa: E402
from page_server import ServedPage, serve_page  # noqa: E402

import quorum  # noqa: E402
from quorum.graphs import METHODS  # noqa: E402
from quorum.serving.method_drawing import draw_graph  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
OPEN_GRAPHS = ("concat",)  # are drawn with what is inside their nodes
QUESTION = "Who led the first expedition to reach the South Pole?"
# JavaScript: the page can be asked; the last question is answered by all methods.
READY = "!!document.querySelector('#question') && document.querySelectorAll('.segments label').length === 3"
ANSWERED = "[...document.querySelectorAll('.turn')].at(-1)?.querySelectorAll('.footer').length === 1"
ENTER = 13
EFFORTS = {"Fast": 0, "Careful": 1, "Thorough": 2}
WINDOWS = {"wide": (1360, 900, "light"), "dark": (1360, 900, "dark"), "phone": (390, 844, "light")}


def ask(page: Page, url: str, effort: str, ready: str = ANSWERED) -> None:
    """Ask the question anew, and wait until the condition `ready` holds."""
    page.visit(url, READY)
    page.run(f"document.querySelectorAll('.segments input')[{EFFORTS[effort]}].click()")
    page.run("document.querySelector('#question').focus()")
    page.send("Input.insertText", text=QUESTION)
    page.press("Enter", key_code=ENTER)
    page.wait_until(ready)


def drop(page: Page, *files: Path) -> None:
    """Drop files on the page, into a new collection of the suggested name."""
    data = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        page.send("Input.dispatchDragEvent", type=kind, x=700, y=400, data=data)
    page.wait_until("!!document.querySelector('.adding .primary')")


def take_picture(page: Page, path: Path) -> None:
    """Save a picture of the window."""
    page.run("new Promise((done) => setTimeout(done, 400))")  # what is new takes a moment to be drawn
    page.run("document.activeElement.blur()")
    page.save_picture(path, is_whole_page=False)


def take_states(page: Page, server: ServedPage, folder: Path) -> None:
    """Save a picture of each state of the page in each window."""
    files = [folder / "handbook" / name for name in ("travel.txt", "leave.md", "broken.pdf")]
    files[0].parent.mkdir(parents=True)
    files[0].write_text("The travel desk of Vell books all train tickets.\n")
    files[1].write_text("# Leave\n\nLeave is asked for in writing.\n")
    files[2].write_bytes(b"%PDF-1.4 nothing")

    def take(name: str) -> None:
        for window, (width, height, colors) in WINDOWS.items():
            page.set_size(width, height)
            page.set_color_scheme(colors)
            take_picture(page, folder / f"{name}-{window}.png")
        page.set_size(1360)
        page.set_color_scheme("light")

    page.visit(server.url, READY)
    take("start")
    ask(page, server.url, "Careful")
    take("answer")
    page.run("document.querySelector('button.source').click()")
    page.wait_until("!!document.querySelector('.source-pane')")
    take("source")
    ask(page, server.url, "Thorough")
    take("methods")
    server.model.reply(Response("unknown", hold=True))
    page.run("localStorage.setItem('quorum.choice', JSON.stringify({model: 'openai:gpt'}))")
    ask(page, server.url, "Thorough", "!!document.querySelector('.running')")
    take("asking")
    server.model.reply(make_error(401, "Incorrect API key provided"))
    server.model.release_held_replies()
    ask(page, server.url, "Thorough")
    take("error")
    page.run("localStorage.clear()")
    page.visit(f"{server.url}documents", "!!document.querySelector('.page-view .cards')")
    take("collections")
    drop(page, files[0].parent)
    take("drop")
    page.run("document.querySelector('.adding .primary').click()")
    page.wait_until("document.querySelector('.upload')?.dataset.state === 'finished'")
    page.wait_until("document.querySelectorAll('.cards tbody tr').length === 2")
    take("documents")


def take_report_picture(page: Page, folder: Path) -> None:
    """Compare four methods on the sample with the embedded model, and save a picture of the report's first screen."""
    sample = ROOT / "data" / "sample"
    quorum.compare(
        sample / "corpus",
        sample / "questions.jsonl",
        methods="no_retrieval,mcq,post_fusion,sure",
        out=folder,
        context=quorum.Context(store=str(folder / "store"), journal="off"),
    )
    page.send("Emulation.setScrollbarsHidden", hidden=True)
    page.set_size(1200, 1000)
    page.open_report(folder / "report.html")
    take_picture(page, PICTURES / "report.png")


def take_graph_pictures(page: Page, folder: Path) -> None:
    """Save a picture of each graph that the documentation shows."""
    for name in OPEN_GRAPHS:
        (file := folder / f"{name}.svg").write_text(draw_graph(name, METHODS[name].graph, is_open=True))
        page.open(file)
        width, height = page.run("['width', 'height'].map((side) => document.documentElement[side].baseVal.value)")
        page.set_size(int(width), int(height))
        page.save_picture(PICTURES / f"graph-{name}-open.png", is_whole_page=False)


def main(*options: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as name,
        serve_page(Path(name), "--allow-models", "openai:gpt") as server,
        open_browser(Path(name) / "browser") as page,
    ):
        page.set_size(1360)
        if options[:1] == ("--states",):
            take_states(page, server, Path(options[1]).resolve())
            return
        ask(page, server.url, "Thorough")
        take_picture(page, PICTURES / "page.png")
        take_graph_pictures(page, Path(name))
        take_report_picture(page, Path(name) / "run")


if __name__ == "__main__":
    main(*sys.argv[1:])
