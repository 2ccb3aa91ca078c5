"""Take the pictures of the page, of a report and of five methods' graphs for docs/: make pictures.

It needs Chromium and the extras [dev,ui]. `python docs/pictures.py --graphs` takes those of the graphs only.
"""

import json
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "page")]

from browser import Page, open_browser  # noqa: E402
from openai_bodies import Response, make_error  # noqa: E402
from page_server import serve_page  # noqa: E402
from page_steps import ask_by_link  # noqa: E402

import quorum  # noqa: E402
from quorum.graphs import METHODS  # noqa: E402

# Their graphs are drawn; those in OPEN_GRAPHS also with their subgraphs open.
GRAPHS = ("concat", "concat_pf", "pf_concat", "sure", "blendfilter")
OPEN_GRAPHS = ("concat",)
QUESTION = "Who led the first expedition to reach the South Pole?"
# JavaScript: CARDS lists the cards of the methods; the others are conditions to wait for. A badge such as 2/5 says how
# many of a node's parallel runs have ended. A graph shows states when one of its nodes has a state, such as running.
CARDS = "[...document.querySelectorAll('.card')]"
ALL_METHODS_ENDED = f"{CARDS}.length && {CARDS}.every((card) => card.dataset.phase !== 'running')"
ALL_GRAPHS_DRAWN = f"document.querySelectorAll('.graph svg').length === {CARDS}.length"
A_BADGE_IS_SHOWN = "!!document.querySelector('.run-count')"
ALL_GRAPHS_SHOW_STATES = f"{CARDS}.every((card) => card.querySelector('[data-state]'))"


def open_question(page: Page, url: str, question: str, methods: str, ready: str, **settings: str) -> None:
    """Ask a question by a link, and wait until the graphs are drawn and the condition `ready` holds."""
    ask_by_link(page, f"{url}?{urlencode({'q': question, 'methods': methods, **settings})}")
    page.wait_until(f"({ready}) && {ALL_GRAPHS_DRAWN} && {ALL_GRAPHS_SHOW_STATES}")


def take_picture(page: Page, name: str) -> None:
    """Save a picture of the window in docs/pictures."""
    page.run("new Promise((done) => setTimeout(done, 400))")  # the nodes take a moment to change colour
    page.run("document.activeElement.blur()")
    page.run("window.scrollTo(0, 0)")
    page.save_picture(ROOT / "docs" / "pictures" / f"{name}.png", is_whole_page=False)


def take_report_picture(page: Page, folder: Path) -> None:
    """Compare three methods on the sample with the embedded model, and save a picture of the report's first screen."""
    sample = ROOT / "data" / "sample"
    quorum.compare(
        sample / "corpus",
        sample / "questions.jsonl",
        methods="base,post_fusion,sure",
        out=folder,
        context=quorum.Context(store=str(folder / "store"), journal="off"),
    )
    page.send("Emulation.setScrollbarsHidden", hidden=True)
    page.set_size(1200, 1330)  # down to the axis of the first plot
    page.open(folder / "report.html")
    take_picture(page, "report")


def take_graph_pictures(page: Page) -> None:
    """Save a picture of each method's graph. The page must show a graph, because it then has Mermaid's module."""
    drawings = [(f"graph-{name}", METHODS[name].draw()) for name in GRAPHS]
    drawings += [(f"graph-{name}-open", METHODS[name].draw(is_open=True)) for name in OPEN_GRAPHS]
    for name, drawing in drawings:
        width, height = page.run(
            f"""import("nicegui-mermaid").then(async ({{mermaid}}) => {{
                mermaid.initialize({{startOnLoad: false, flowchart: {{useMaxWidth: false}}}});
                const {{svg}} = await mermaid.render("picture", {json.dumps(drawing)});
                document.body.innerHTML = '<div style="display: inline-block; padding: 16px">' + svg + "</div>";
                document.body.style.background = "white";
                const {{width, height}} = document.body.firstChild.getBoundingClientRect();
                return [Math.ceil(width), Math.ceil(height)];
            }})"""
        )
        page.set_size(width, height)
        page.save_picture(ROOT / "docs" / "pictures" / f"{name}.png", is_whole_page=False)


def main(*options: str) -> None:
    (ROOT / "docs" / "pictures").mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_page(Path(folder)) as server,
        open_browser(Path(folder) / "browser") as page,
    ):
        page.set_size(1360)
        open_question(page, server.url, QUESTION, "concat,post_fusion,sure", ALL_METHODS_ENDED)
        if "--graphs" in options:
            take_graph_pictures(page)
            return
        take_picture(page, "page")
        page.set_color_scheme("dark")
        take_picture(page, "page-dark")
        page.set_color_scheme("light")
        page.set_size(390)
        take_picture(page, "page-narrow")
        page.set_size(1360)
        # Hold the replies to prompts with a single passage, so that post-fusion is still at work in the picture.
        server.model.reply(lambda request: Response("unknown", hold="[2]" not in request.text))
        open_question(
            page,
            server.url,
            QUESTION,
            "concat_pf,post_fusion",
            A_BADGE_IS_SHOWN,
            model="openai:gpt",
        )
        take_picture(page, "page-running")
        server.model.release_held_replies()
        page.wait_until(ALL_METHODS_ENDED)
        server.model.reply(make_error(401, "Incorrect API key provided"))
        open_question(page, server.url, QUESTION, "concat[model=openai:gpt],concat", ALL_METHODS_ENDED)
        take_picture(page, "page-error")
        take_graph_pictures(page)
        take_report_picture(page, Path(folder) / "run")


if __name__ == "__main__":
    main(*sys.argv[1:])
